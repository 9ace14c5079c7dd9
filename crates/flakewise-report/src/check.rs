//! A check of a pull request as one comment.

use flakewise_model::RunReport;

use crate::finding::{Findings, findings_within};
use crate::risk::RiskReport;
use crate::run::markdown::run_within;

/// The first line of the comment, by which it is found again and updated.
const MARKER: &str = "<!-- flakewise check -->\n";
/// GitHub refuses a comment of more than 65,536 characters.
const MOST: usize = 65_000;
/// What the run may take of it. Names and notices come on top, so less is tried until
/// all fits.
const LIMITS: [usize; 4] = [40_000, 20_000, 8_000, 2_000];
/// What predictions may take beyond what is reserved for their end.
const PREDICTIONS: usize = 20_000;

/// What a check says, as Markdown for a comment on the pull request.
pub fn check_markdown(report: &RunReport, risks: Option<&RiskReport>) -> String {
    let named = risks.filter(|risks| !risks.risks.is_empty());
    let predictions = named.map(|risks| findings_within(&Findings::from(risks), PREDICTIONS));
    let mut out = String::new();
    for limit in LIMITS {
        out = format!("{MARKER}{}", run_within(report, limit));
        if out.len() <= MOST {
            break;
        }
    }
    // What cannot be shown is not cut in two: that could become markup.
    if let Some(predictions) = predictions.filter(|text| out.len() + text.len() < MOST) {
        out.push('\n');
        out.push_str(&predictions);
    }
    out
}
