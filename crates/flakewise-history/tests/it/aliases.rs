//! Tests whose ids had no path of a rootdir in histories of earlier versions.

use flakewise_history::{History, Matches, ReportOptions};
use flakewise_model::Outcome::{Failed, Passed};
use flakewise_model::{Batch, Fingerprint, PastFailures};
use flakewise_testkit::{BatchBuilder, test_id, test_id_in};

use crate::formats::thawed;
use crate::{count, open};

/// The frozen history of earlier versions and what it is continued by: one
/// service of its own has `test_moved`, two have `test_shared`.
fn continued() -> (tempfile::TempDir, History) {
    let folder = thawed("format-1-rootdir");
    let history = open(&folder);
    let new = |name: &str, service: &str, hours| {
        BatchBuilder::new(name, &format!("n{hours}"), hours).rootdir(service).bystanders(10)
    };
    let batches: [Batch; 3] = [
        new("new1", "svc-a", 60).attempt("test_moved", Passed).attempt("test_shared", Passed).build(),
        new("new2", "svc-b", 61).attempt("test_shared", Failed).build(),
        new("new3", "svc-a", 62).attempt("test_moved", Failed).attempt("test_moved", Passed).build(),
    ];
    history.append(&batches).expect("written");
    (folder, history)
}

#[test]
fn a_test_continues_under_its_new_id_and_nobody_guesses_between_two() {
    let (_folder, history) = continued();
    let report = history.report(&ReportOptions::default()).expect("readable");
    let findings: Vec<_> = report
        .findings
        .iter()
        .map(|finding| (finding.test.to_string(), finding.rate.failures, finding.rate.attempts))
        .collect();
    let moved = test_id_in("svc-a", "test_moved").to_string();
    // The old rows of `test_shared` may be of either service: they stay alone.
    let shared = test_id("test_shared").to_string();
    assert_eq!(findings, [(moved, 2, 6), (shared, 1, 4)]);
    assert_eq!(report.others_failing, 1, "`test_shared` of svc-b failed once, and that is all");
    assert_eq!(report.findings[0].failures[0].count, 2, "failures of both ids are one group");
    assert_eq!(report.findings[0].cost.runs_disturbed, 2);
}

#[test]
fn show_takes_either_id_and_the_findings_of_both() {
    let (_folder, history) = continued();
    let shown = |name: &str| match history.show(name, 20).expect("readable") {
        Matches::One(found) => (found.test.to_string(), found.attempts, found.steps.len()),
        other => panic!("{name}: {other:?}"),
    };
    let (old, new) = (test_id("test_moved"), test_id_in("svc-a", "test_moved"));
    let expected = (new.to_string(), 7, 7);
    for name in [old.as_str(), new.as_str(), "test_moved", "svc-a/tests/test_it.py::test_moved"] {
        assert_eq!(shown(name), expected, "{name}");
    }
    for id in [&old, &new] {
        assert_eq!(shown(flakewise_model::FindingId::of(id).as_str()), expected);
    }
    assert_eq!(shown(test_id("test_shared").as_str()).1, 4);
    assert_eq!(shown(test_id_in("svc-a", "test_shared").as_str()).1, 1);
}

#[test]
fn who_judges_a_failure_is_told_of_the_rows_under_the_former_id() {
    let (_folder, history) = continued();
    let fingerprint = |name: &str| {
        let old = history.show(test_id(name).as_str(), 1).expect("readable");
        let Matches::One(found) = old else { panic!("{old:?}") };
        Some(found.failures[0].fingerprint.clone().expect("failures have one"))
    };
    let ask: [(_, Option<Fingerprint>); 2] = [
        (test_id_in("svc-a", "test_moved"), fingerprint("test_moved")),
        (test_id_in("svc-a", "test_shared"), fingerprint("test_shared")),
    ];
    let past = history.failures_elsewhere(&ask, None).expect("readable");
    let figures = |past: &PastFailures| (past.attempts, past.alike, past.mixed_revisions);
    assert_eq!((figures(&past[0]), figures(&past[1])), ((7, 2, 2), (1, 0, 0)));
    let seen = history.seen_on(&ask).expect("readable");
    let commits = |place: usize| {
        let seen: &Vec<flakewise_model::SeenOn> = &seen[place];
        seen.iter().map(|on| (on.commit.as_str(), on.alike)).collect::<Vec<_>>()
    };
    assert_eq!(commits(0), [("n62", 1), ("n60", 0), ("c1", 0), ("c0", 1)]);
    assert_eq!(commits(1), [("n60", 0)]);
    let at = history.outcomes_at(&ask[..1], "c0", None).expect("readable");
    assert_eq!((at[0].passed, at[0].failed), (1, 1));
}

#[test]
fn the_first_run_with_new_ids_can_say_what_they_were() {
    let folder = thawed("format-1-rootdir");
    let history = open(&folder);
    let (moved, shared) = (test_id_in("svc-a", "test_moved"), test_id_in("svc-a", "test_shared"));
    let known = || {
        let past = history.failures_elsewhere(&[(moved.clone(), None), (shared.clone(), None)], None);
        past.expect("readable").iter().map(|past| past.attempts).collect::<Vec<_>>()
    };
    assert_eq!(known(), [0, 0], "nobody knows yet");
    history.assume_former([(moved.clone(), test_id("test_moved"))]);
    assert_eq!(known(), [4, 0]);
    // Another test turns out to have a claim, too.
    let other = BatchBuilder::new("new", "n1", 60).rootdir("svc-b").attempt("test_moved", Passed);
    history.append(&[other.build()]).expect("written");
    assert_eq!(known(), [0, 0]);
}

#[test]
fn a_test_at_the_top_may_have_had_the_id_all_along() {
    let folder = thawed("format-1-rootdir");
    let history = open(&folder);
    let new = BatchBuilder::new("new", "n1", 60).bystanders(3);
    let new = new.rootdir("svc-a").attempt("test_moved", Passed).rootdir("").attempt("test_moved", Failed);
    history.append(&[new.build()]).expect("written");
    let attempts = |test: &flakewise_model::TestId| match history.show(test.as_str(), 1).expect("readable") {
        Matches::One(found) => found.attempts,
        other => panic!("{other:?}"),
    };
    assert_eq!(attempts(&test_id_in("svc-a", "test_moved")), 1);
    assert_eq!(attempts(&test_id("test_moved")), 5);
    assert_eq!(count(&history, "SELECT count(*) FROM runs WHERE roots = '.' || chr(10) || 'svc-a'"), 1);
}

#[test]
fn orders_are_told_in_present_ids() {
    let folder = thawed("format-1-rootdir");
    let history = open(&folder);
    let in_process = |mut batch: Batch| {
        for attempt in &mut batch.reports[0].attempts {
            attempt.worker = Some("main".into());
        }
        batch
    };
    let old =
        BatchBuilder::new("old9", "c9", 50).attempt("test_before", Passed).attempt("test_moved", Failed);
    let new = BatchBuilder::new("new1", "n1", 60).rootdir("svc-a");
    let new = new.attempt("test_before", Passed).attempt("test_moved", Passed);
    history.append(&[in_process(old.build()), in_process(new.build())]).expect("written");
    let orders = history.failing_orders(&test_id_in("svc-a", "test_moved"), 5).expect("readable");
    assert_eq!(orders, [[test_id_in("svc-a", "test_before")]]);
}
