//! Flaky tests of the history as findings.

use flakewise_model::{Conclusion, FlakyTest, HistoryReport};

use super::{Finding, Findings, Kind, Level, Subject};
use crate::rate_change::latest_change;
use crate::text::{failure, rate, reasons};
use crate::words::{count, day, duration, test_name};

const WIDTH: usize = 200;

impl From<&HistoryReport> for Findings {
    /// The costliest first.
    fn from(report: &HistoryReport) -> Self {
        let tests = count(report.findings.len() as u64, "flaky test");
        Self {
            findings: report.findings.iter().map(|test| finding(test, &report.findings)).collect(),
            summary: format!(
                "{tests} in {} of {}",
                count(report.attempts, "attempt"),
                count(report.runs, "run")
            ),
            notes: Vec::new(),
        }
    }
}

fn finding(test: &FlakyTest, all: &[FlakyTest]) -> Finding {
    let kind = Kind::from(test.verdict.conclusion);
    let mut evidence = reasons(&test.verdict);
    evidence.extend(latest_change(test, all));
    evidence.push(format!(
        "cost: {} disturbed, {} lost; since {}, last seen {}",
        count(test.cost.runs_disturbed, "run"),
        duration(test.cost.time_lost),
        day(test.since),
        day(test.last_seen)
    ));
    let mut subject = Subject::new(&test.test, &test_name(&test.test)).at(None, &test.test);
    subject.failure = test.failures.first().map(|group| failure(group, WIDTH));
    let conclusion = match test.verdict.conclusion {
        Conclusion::Flaky => "flaky".to_owned(),
        _ => format!("probably flaky ({})", test.verdict.probability),
    };
    Finding {
        verdict: Some(rate(test.rate, test.reruns)),
        evidence,
        actions: vec![format!("next: {}", kind.advice()), format!("evidence: `flakewise show {}`", test.id)],
        ..Finding::new(kind, Level::Warning, conclusion, vec![subject])
    }
}
