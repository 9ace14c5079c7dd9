//! Risks as annotations of GitHub Actions.

use super::report::{Risk, RiskReport};
use super::words;
use crate::words::{plural, test_name};
use crate::workflow::{LIMIT, command};

/// Reasons per annotation.
const REASONS: usize = 3;

/// A warning for each test that is named; notices for the most likely ones if
/// none is.
pub fn risk_github(report: &RiskReport) -> String {
    let (level, shown) = match report.risks.as_slice() {
        [] => ("notice", &report.most_likely),
        _ => ("warning", &report.risks),
    };
    let mut out: String = shown.iter().take(LIMIT).map(|risk| annotation(level, risk)).collect();
    let hidden = shown.len().saturating_sub(LIMIT) as u64;
    if hidden > 0 {
        let more = plural(hidden, "more test is likely flaky", "more tests are likely flaky");
        out.push_str(&command(
            "notice",
            &[],
            &[format!("{more}; GitHub shows {LIMIT} annotations of a kind")],
        ));
    }
    out
}

fn annotation(level: &str, risk: &Risk) -> String {
    let properties = [
        ("file", risk.path.clone()),
        ("line", risk.line.max(1).to_string()),
        ("endLine", risk.end_line.max(risk.line).max(1).to_string()),
        ("title", format!("{} risk of being flaky: {}", risk.risk, words::name(&test_name(&risk.test)))),
    ];
    let mut lines = Vec::new();
    if let Some(guess) = risk.category {
        let means = words::category(guess.category);
        lines.push(format!("If so, {} ({}): {means}", guess.category.name(), guess.probability));
    }
    lines.extend(risk.reasons.iter().take(REASONS).map(|reason| format!("- {}", words::reason(reason))));
    lines.push(format!("next: {}", words::advice(risk.category.map(|guess| guess.category))));
    command(level, &properties, &lines)
}
