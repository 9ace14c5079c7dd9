//! What a hunt found, as findings.

use flakewise_model::{FoundKind, FoundTest, HuntReport, TestId};

use super::text::{culprit_command, how};
use crate::finding::{Finding, Findings, Kind, Level, Subject};
use crate::words::{failure_line, plural, test_name};

const WIDTH: usize = 200;

impl From<&HuntReport> for Findings {
    fn from(report: &HuntReport) -> Self {
        let found = report.found.iter().chain(&report.only_beside).map(|found| finding(report, found));
        let subject = |test: &TestId| Subject::new(test, &test_name(test)).at(None, test);
        let never: Vec<Subject> = report.always_fail.iter().map(subject).collect();
        let always = (!never.is_empty()).then(|| Finding {
            actions: vec![format!("next: {}", Kind::AlwaysFails.advice())],
            ..Finding::new(Kind::AlwaysFails, Level::Warning, "never passed".to_owned(), never)
        });
        Self {
            findings: found.chain(always).collect(),
            summary: plural(report.found.len() as u64, "flaky test found", "flaky tests found"),
            notes: Vec::new(),
        }
    }
}

fn finding(report: &HuntReport, found: &FoundTest) -> Finding {
    let kind = Kind::from(found.kind);
    let next = match found.kind {
        FoundKind::FailsAlone | FoundKind::PassesAlone => format!("`{}`", culprit_command(report, found)),
        _ => kind.advice().to_owned(),
    };
    let mut subject = Subject::new(&found.test, &found.name).at(found.place.as_ref(), &found.test);
    subject.failure =
        found.failure.as_ref().map(|failure| failure_line(failure.kind.as_deref(), &failure.message, WIDTH));
    let conclusion = match found.kind {
        FoundKind::Beside => "flaky beside other tests",
        FoundKind::Unconfirmed => "failed beside other tests, not confirmed",
        _ => "flaky",
    };
    Finding {
        verdict: Some(how(found)),
        actions: vec![format!("next: {next}")],
        ..Finding::new(kind, Level::Warning, conclusion.to_owned(), vec![subject])
    }
}
