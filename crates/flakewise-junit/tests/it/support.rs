//! What the tests share.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use flakewise_junit::{Issue, IssueLevel, Limits, Report, read_bytes};
use flakewise_model::{Attempt, Run, RunId, TestIds, Timestamp, Variant};

/// The run that all attempts of the tests are part of.
pub(crate) fn run() -> Arc<Run> {
    Arc::new(Run {
        id: RunId::new("test"),
        commit: None,
        dirty: false,
        branch: None,
        variant: Variant::default(),
        provider: None,
        url: None,
        started: Timestamp::UNIX_EPOCH,
        roots: None,
        packages: None,
    })
}

/// Reads with the limits that everybody gets.
pub(crate) fn parse(bytes: &[u8]) -> (Report, Vec<Issue>) {
    read_bytes(bytes, &run(), &Limits::default(), &mut TestIds::default())
}

/// A report and its issues in one line each.
pub(crate) fn summary(report: &Report, issues: &[Issue]) -> String {
    let mut out = format!(
        "{}{}, {} tests declared\n",
        report.dialect,
        if report.complete { "" } else { ", incomplete" },
        report.declared_tests.map_or_else(|| "no".into(), |declared| declared.to_string()),
    );
    for attempt in &report.attempts {
        writeln!(out, "{}", line(attempt)).expect("writing to a String succeeds");
    }
    for issue in issues {
        let level = match issue.level {
            IssueLevel::Suboptimal => "suboptimal",
            IssueLevel::Invalid => "invalid",
        };
        writeln!(out, "{level} at {issue}").expect("writing to a String succeeds");
    }
    out
}

fn line(attempt: &Attempt) -> String {
    let mut out = format!("{:<9} {}", attempt.outcome.name(), attempt.number);
    if let Some(duration) = attempt.duration {
        write!(out, " {duration:?}").expect("writing to a String succeeds");
    }
    write!(out, " {}", attempt.test).expect("writing to a String succeeds");
    if let Some(failure) = &attempt.failure {
        let kind = failure.kind.as_deref().map(|kind| format!("{kind}: ")).unwrap_or_default();
        let first = failure.message.lines().next().unwrap_or_default();
        write!(out, " — {kind}{first}").expect("writing to a String succeeds");
    }
    out
}

/// The real reports.
pub(crate) fn reports() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/reports")
}

/// All files below a directory, sorted.
pub(crate) fn files(directory: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(directory).expect("the directory can be listed") {
        let path = entry.expect("the entry can be read").path();
        if path.is_dir() {
            files.extend(self::files(&path));
        } else {
            files.push(path);
        }
    }
    files.sort();
    files
}
