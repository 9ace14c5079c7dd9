//! Findings as a [code quality report] of GitLab.
//!
//! [code quality report]: https://docs.gitlab.com/ci/testing/code_quality/#code-quality-report-format

use serde::Serialize;

use super::{Finding, Findings, Kind, Level, Subject};
use crate::json::render;

/// The findings as a code quality report: one issue per test, the 5,000 most important
/// at most, and one that says how many are left out.
pub fn findings_gitlab(findings: &Findings) -> String {
    let (results, left_out) = findings.results();
    let mut issues: Vec<Issue<'_>> = results.map(|(finding, subject)| Issue::new(finding, subject)).collect();
    if let Some(last) = issues.last().filter(|_| left_out > 0) {
        issues.push(Issue {
            description: format!("{left_out} less important issues were left out"),
            check_name: "flakewise/left-out".to_owned(),
            fingerprint: "flakewise-left-out",
            severity: "info",
            // GitLab drops an issue without a location.
            location: last.location,
        });
    }
    render(&issues)
}

#[derive(Serialize)]
struct Issue<'a> {
    description: String,
    check_name: String,
    fingerprint: &'a str,
    severity: &'static str,
    location: Location<'a>,
}

#[derive(Clone, Copy, Serialize)]
struct Location<'a> {
    path: &'a str,
    lines: Lines,
}

#[derive(Clone, Copy, Serialize)]
struct Lines {
    begin: u32,
}

impl<'a> Issue<'a> {
    fn new(finding: &Finding, subject: &'a Subject) -> Self {
        let title = subject.title(&finding.conclusion);
        let quarantine = finding.quarantine.as_ref().map_or_else(String::new, |text| format!(" ({text})"));
        // GitLab drops an issue without a path, so the name stands in.
        let (path, begin) = match &subject.place {
            Some(place) => (place.path.as_str(), place.line),
            None => (subject.name.as_str(), 1),
        };
        Self {
            description: match &subject.failure {
                Some(failure) => format!("{title}: {failure}{quarantine}"),
                None => format!("{title}{quarantine}"),
            },
            check_name: format!("flakewise/{}", finding.kind.id()),
            fingerprint: subject.id.as_str(),
            severity: severity(finding),
            location: Location { path, lines: Lines { begin } },
        }
    }
}

fn severity(finding: &Finding) -> &'static str {
    match (finding.level, finding.kind) {
        _ if finding.quarantine.is_some() => "info",
        (Level::Note, _) => "info",
        (_, Kind::Regression | Kind::NewFlake | Kind::LostTest) => "critical",
        (_, Kind::Infrastructure | Kind::Undecided) => "major",
        _ => "minor",
    }
}
