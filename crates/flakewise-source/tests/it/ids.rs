//! Ids from source are those that runners report.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use flakewise_model::{Run, RunId, TestId, Timestamp, Variant};
use flakewise_source::read_tree;

fn run() -> Arc<Run> {
    Arc::new(Run {
        id: RunId::new("test"),
        commit: None,
        dirty: false,
        branch: None,
        variant: Variant::default(),
        provider: None,
        url: None,
        started: Timestamp::UNIX_EPOCH,
    })
}

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The ids of recorded reports, without parameters.
fn reported(reports: &str, keep: impl Fn(&str) -> bool) -> BTreeSet<String> {
    let folder = workspace().join("crates/flakewise-junit/testdata/reports").join(reports);
    let mut ids = BTreeSet::new();
    for entry in std::fs::read_dir(folder).expect("recorded reports") {
        let path = entry.expect("an entry").path();
        if !keep(&path.file_name().expect("a name").to_string_lossy()) {
            continue;
        }
        let bytes = std::fs::read(path).expect("a report");
        let run = run();
        let (report, _) = flakewise_junit::read_bytes(&bytes, &run, &flakewise_junit::Limits::default());
        ids.extend(report.attempts.iter().map(|attempt| without_parameters(&attempt.test)));
    }
    ids
}

fn without_parameters(id: &TestId) -> String {
    let classes = id.class_path();
    let builder = TestId::builder(id.scheme(), &id.module());
    let builder = classes.iter().fold(builder, |builder, class| builder.class(class));
    builder.finish(&id.name(), None).to_string()
}

fn found(suite: &str) -> BTreeSet<String> {
    let files = read_tree(&workspace().join("testdata/suites").join(suite), &[]);
    files.iter().flat_map(|file| &file.tests).map(|test| test.id.to_string()).collect()
}

/// A class whose set-up breaks is reported in the place of its tests.
fn without_broken(mut ids: BTreeSet<String>) -> BTreeSet<String> {
    ids.retain(|id| !id.contains("BrokenSetUpTest") && !id.contains("broken/"));
    assert!(ids.len() > 10);
    ids
}

#[test]
fn java_ids_are_those_of_surefire() {
    let found = without_broken(found("surefire"));
    assert_eq!(found, without_broken(reported("surefire/round1", |_| true)));
    assert_eq!(found, without_broken(reported("surefire-3.2/round1", |_| true)));
}

#[test]
fn java_ids_are_those_of_gradle() {
    assert_eq!(without_broken(found("gradle")), without_broken(reported("gradle/round1", |_| true)));
}

#[test]
fn python_ids_are_those_of_pytest() {
    let reported = reported("pytest/round1", |name| name == "xunit2.xml");
    assert_eq!(without_broken(found("pytest")), without_broken(reported));
}

#[test]
fn rust_ids_are_those_of_nextest() {
    let mut found = found("nextest");
    // What is ignored is not reported.
    assert!(found.remove(r"rust:acme-orders\:\:orders::is_ignored"));
    assert!(found.len() > 10);
    assert_eq!(found, reported("nextest/round1", |name| name == "report.xml"));
}
