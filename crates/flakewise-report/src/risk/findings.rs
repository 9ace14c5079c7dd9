//! Predicted risks as findings.

use super::report::{Risk, RiskReport};
use super::text::headline;
use super::words;
use crate::finding::{Finding, Findings, Level, Place, Subject};
use crate::words::test_name;

impl From<&RiskReport> for Findings {
    /// A warning for each test that is named; notes for the most likely ones if none
    /// is.
    fn from(report: &RiskReport) -> Self {
        let named = report.risks.iter().map(|risk| finding(Level::Warning, risk));
        let likely = report.most_likely.iter().map(|risk| finding(Level::Note, risk));
        let (_, headline) = headline(report);
        Self {
            findings: named.chain(likely).collect(),
            summary: format!("{headline}: {}", words::scope(&report.scope)),
            notes: words::honesty(report).into_iter().collect(),
        }
    }
}

fn finding(level: Level, risk: &Risk) -> Finding {
    let kind = risk.kind();
    let verdict = risk.category.map(|guess| {
        let means = words::category(guess.category);
        format!("if so, {} ({}): {means}", guess.category.name(), guess.probability)
    });
    let mut subject = Subject::new(&risk.test, &test_name(&risk.test));
    subject.place = Some(Place::new(&risk.path, risk.line, risk.end_line));
    subject.risk = Some(risk.risk);
    Finding {
        verdict,
        evidence: risk.reasons.iter().map(words::reason).collect(),
        actions: vec![format!("next: {}", kind.advice())],
        ..Finding::new(kind, level, format!("{} risk of being flaky", risk.risk), vec![subject])
    }
}
