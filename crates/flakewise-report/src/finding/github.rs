//! Findings as annotations of GitHub Actions.

use super::{Finding, Findings, Level};
use crate::words::{number, plural};
use crate::workflow::{LIMIT, command};

/// Tests named in one annotation.
const NAMES: usize = 10;
/// Pieces of evidence in one annotation.
const EVIDENCE: usize = 8;
/// The longest message in bytes: the runner cuts longer ones.
const MESSAGE: usize = 4_096;

/// At most ten annotations of each level, which is what GitHub shows of a step,
/// and a notice about the rest.
pub fn findings_github(findings: &Findings) -> String {
    let mut out = String::new();
    let mut hidden = 0;
    for level in [Level::Error, Level::Warning, Level::Note] {
        // The notice about the rest is one of the ten.
        let shown = if level == Level::Note { LIMIT - 1 } else { LIMIT };
        let of_level = || findings.findings.iter().filter(|finding| finding.level == level);
        out.extend(of_level().take(shown).map(annotation));
        hidden += of_level().skip(shown).map(|finding| finding.subjects.len()).sum::<usize>();
    }
    if hidden > 0 {
        let more = plural(hidden as u64, "more test has a finding", "more tests have findings");
        let notice = format!("{more}; GitHub shows {LIMIT} annotations of a level");
        out.push_str(&command("notice", &[], &[notice]));
    }
    out
}

fn annotation(finding: &Finding) -> String {
    let level = match finding.level {
        Level::Error => "error",
        Level::Warning => "warning",
        Level::Note => "notice",
    };
    let mut properties = Vec::new();
    if let Some(place) = finding.subjects.first().and_then(|subject| subject.place.as_ref()) {
        properties.push(("file", place.path.clone()));
        properties.push(("line", place.line.to_string()));
        if place.end_line > place.line {
            properties.push(("endLine", place.end_line.to_string()));
        }
    }
    properties.push(("title", finding.title.clone()));
    command(level, &properties, &message(finding))
}

/// How the tests failed, what the finding says, which tests it is about if there
/// are several, and where its kind is explained.
fn message(finding: &Finding) -> Vec<String> {
    let mut lines: Vec<String> =
        finding.subjects.first().and_then(|subject| subject.failure.clone()).into_iter().collect();
    lines.extend(finding.lines(EVIDENCE));
    if finding.subjects.len() > 1 {
        lines.extend(finding.subjects.iter().take(NAMES).map(|subject| format!("- {}", subject.name)));
        let more = finding.subjects.len().saturating_sub(NAMES) as u64;
        if more > 0 {
            lines.push(format!("- and {} more", number(more)));
        }
    }
    let page = format!("{}: {}", finding.kind.id(), finding.kind.url());
    let mut left = MESSAGE - page.len();
    lines.retain(|line| {
        // A line end takes three bytes, and a percent sign as well.
        let length = line.len() + 2 * line.matches('%').count() + 3;
        let fits = length <= left;
        left -= if fits { length } else { 0 };
        fits
    });
    lines.push(page);
    lines
}
