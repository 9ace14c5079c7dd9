//! Ids from source are those that runners report.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use flakewise_model::{Run, RunId, TestId, TestIds, Timestamp, Variant};
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
        roots: None,
        packages: None,
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
        let (report, _) = flakewise_junit::read_bytes(
            &bytes,
            &run,
            &flakewise_junit::Limits::default(),
            &mut TestIds::default(),
        );
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
    files.iter().flat_map(|file| &file.tests).map(|test| without_parameters(&test.id)).collect()
}

/// Titles that take in a value are not known from the source.
fn without_values(mut ids: BTreeSet<String>) -> BTreeSet<String> {
    ids.retain(|id| !id.contains("::parametrised") && !id.contains("broken.test"));
    assert!(ids.len() > 10);
    ids
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

#[test]
fn go_ids_are_those_of_gotestsum() {
    let mut found = found("gotestsum");
    // What a broken build, a set-up or a panic keeps from running.
    for lost in ["broken::TestNeverBuilt", "panics::TestNeverReached", "setup::TestNeverRuns"] {
        assert!(found.remove(&format!("go:example.com/acme/orders/{lost}")), "{lost}");
    }
    let mut reported = reported("gotestsum/round1", |name| name == "plain.xml");
    reported.retain(|id| !id.ends_with("::TestMain"));
    assert!(found.len() > 10);
    assert_eq!(found, reported);
}

#[test]
fn vitest_ids_are_those_reported() {
    let mut reported = reported("vitest/round1", |name| name == "report.xml");
    // The failure of a set-up is reported like a test.
    assert!(reported.remove("vitest:tests/orders.test.js::broken beforeAll"));
    assert_eq!(without_values(found("vitest")), without_values(reported));
}

#[test]
fn jest_ids_are_those_reported_with_a_file() {
    // These reports leave out the titles around a test.
    let found = found("jest").into_iter().map(|id| {
        let id: TestId = id.parse().expect("an id");
        TestId::builder(id.scheme(), &id.module()).finish(&id.name(), None).to_string()
    });
    let reported = reported("jest/round1", |name| name == "templates.xml");
    assert_eq!(without_values(found.collect()), without_values(reported));
}

#[test]
fn node_ids_are_those_reported_without_a_file() {
    let mut found: BTreeSet<String> =
        found("node").iter().map(|id| id.replacen("node:orders.test.mjs::", "node:::", 1)).collect();
    // Tests within a test are reported in its place.
    assert!(found.remove("node:::has subtests"));
    let mut reported = reported("node/round1", |_| true);
    reported.retain(|id| !id.starts_with("node:::has subtests::"));
    assert_eq!(without_values(found), without_values(reported));
}
