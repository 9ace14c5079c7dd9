//! A run as a [code quality report] of GitLab.
//!
//! [code quality report]: https://docs.gitlab.com/ci/testing/code_quality/#code-quality-report-format

use flakewise_model::{Blame, FailureVerdict, RunReport, TestFailure};
use serde::Serialize;

use super::words;
use crate::json::render;
use crate::words::failure_line;

const WIDTH: usize = 200;

/// What is said about a run, as a code quality report.
pub fn run_gitlab(report: &RunReport) -> String {
    let issues: Vec<_> = report.failures.iter().map(Issue::from).collect();
    render(&issues)
}

#[derive(Serialize)]
struct Issue<'a> {
    description: String,
    check_name: String,
    fingerprint: &'a str,
    severity: &'static str,
    location: Location,
}

#[derive(Serialize)]
struct Location {
    path: String,
    lines: Lines,
}

#[derive(Serialize)]
struct Lines {
    begin: u32,
}

impl<'a> From<&'a TestFailure> for Issue<'a> {
    fn from(failure: &'a TestFailure) -> Self {
        let own = failure.first().and_then(|attempt| attempt.failure.as_deref());
        let (kind, message) = own.map_or((None, ""), |own| (own.kind.as_deref(), own.message.as_str()));
        Self {
            description: format!(
                "{}: {}: {}",
                words::conclusion(&failure.verdict),
                words::name(failure),
                failure_line(kind, message, WIDTH)
            ),
            check_name: format!("flakewise/{}", check(&failure.verdict)),
            fingerprint: failure.id.as_str(),
            severity: severity(&failure.verdict),
            location: location(failure),
        }
    }
}

/// The stable name of what is said.
fn check(verdict: &FailureVerdict) -> &'static str {
    match verdict.headline() {
        headline @ "new-flake" => headline,
        headline => verdict.blame.detail().unwrap_or(headline),
    }
}

fn severity(verdict: &FailureVerdict) -> &'static str {
    match verdict.blame {
        Blame::Regression => "critical",
        Blame::Flaky(_) if verdict.is_new_flake() => "critical",
        Blame::Infrastructure | Blame::Undecided(_) => "major",
        Blame::Flaky(_) | Blame::BrokenBefore | Blame::Environment => "minor",
    }
}

/// Where it failed. GitLab drops an issue without a path, so the file of the
/// test stands in, or its name.
fn location(failure: &TestFailure) -> Location {
    let (path, begin) = match &failure.place {
        Some((file, line)) => (file.clone(), (*line).max(1)),
        None => (failure.test.module(), 1),
    };
    let path = if path.is_empty() { failure.name.clone() } else { path };
    Location { path: path.strip_prefix("./").unwrap_or(&path).to_owned(), lines: Lines { begin } }
}
