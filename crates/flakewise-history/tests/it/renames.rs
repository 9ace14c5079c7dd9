//! Tests that were renamed or moved.

use std::time::Duration;

use flakewise_history::{History, MaintainOptions, Matches, ReportOptions};
use flakewise_model::Outcome::{Failed, Passed};
use flakewise_model::{Rename, RenameAction, RenameDecision, TestId, Timestamp};
use flakewise_testkit::{BatchBuilder, test_id};

use crate::{count, open, scratch};

fn decision(action: RenameAction, former: &str, current: &str, minutes: i64) -> RenameDecision {
    RenameDecision {
        rename: Rename { former: test_id(former), current: test_id(current), similarity: Some(0.9) },
        action,
        commit: Some("c2".to_owned()),
        decided: Timestamp::from_timestamp(1_790_000_000 + 60 * minutes, 0).expect("a time"),
    }
}

fn found(former: &str, current: &str) -> RenameDecision {
    decision(RenameAction::Found, former, current, 0)
}

/// A test that is flaky under one name, and goes on under another.
fn renamed() -> (tempfile::TempDir, History) {
    let (folder, history) = scratch();
    let run = |name: &str, commit: &str, hours| BatchBuilder::new(name, commit, hours).bystanders(10);
    let batches = [
        run("r1", "c1", 0).attempt("test_old", Failed).attempt("test_old", Passed).build(),
        run("r2", "c1", 1).attempt("test_old", Passed).build(),
        run("r3", "c2", 2).attempt("test_new", Passed).build(),
        run("r4", "c3", 3).attempt("test_new", Failed).attempt("test_new", Passed).build(),
    ];
    history.append(&batches).expect("written");
    (folder, history)
}

/// The flaky tests with their first attempts, failed and all.
fn flaky(history: &History) -> Vec<(TestId, u64, u64)> {
    let report = history.report(&ReportOptions::default()).expect("readable");
    let findings = report.findings.into_iter();
    findings.map(|finding| (finding.test, finding.rate.failures, finding.rate.attempts)).collect()
}

#[test]
fn a_test_keeps_its_past_under_its_new_id() {
    let (folder, history) = renamed();
    assert_eq!(flaky(&history).len(), 2, "nobody has said that it is one test");
    assert_eq!(history.decide_renames(&[found("test_old", "test_new")]).expect("written"), 1);
    for history in [&history, &open(&folder)] {
        assert_eq!(flaky(history), [(test_id("test_new"), 2, 4)]);
        for name in ["test_old", "test_new"] {
            let Matches::One(shown) = history.show(test_id(name).as_str(), 20).expect("readable") else {
                panic!("{name} is one test");
            };
            assert_eq!((shown.test, shown.attempts), (test_id("test_new"), 6));
        }
    }
}

#[test]
fn a_reader_that_knew_of_no_renames_sees_those_of_another_process() {
    let (folder, history) = renamed();
    assert_eq!(flaky(&history).len(), 2);
    open(&folder).decide_renames(&[found("test_old", "test_new")]).expect("written");
    assert_eq!(flaky(&history), [(test_id("test_new"), 2, 4)]);
    // A rename in a store without runs is announced too.
    let (folder, history) = scratch();
    history.decide_renames(&[found("test_old", "test_new")]).expect("written");
    open(&folder).append(&[BatchBuilder::new("r1", "c1", 0).build()]).expect("written");
    let history = open(&folder);
    history.append(&[BatchBuilder::new("r2", "c1", 1).attempt("test_old", Passed).build()]).expect("written");
    let shown = history.show(test_id("test_new").as_str(), 1).expect("readable");
    assert!(matches!(shown, Matches::One(_)), "{shown:?}");
}

#[test]
fn what_judges_a_failure_sees_the_runs_under_the_former_id() {
    let (_folder, history) = renamed();
    let past = |history: &History| {
        let past = history.failures_elsewhere(&[(test_id("test_new"), None)], Some("c3")).expect("readable");
        (past[0].attempts, past[0].failures)
    };
    assert_eq!(past(&history), (1, 0));
    history.decide_renames(&[found("test_old", "test_new")]).expect("written");
    assert_eq!(past(&history), (4, 1));
}

#[test]
fn an_assumed_rename_is_not_recorded() {
    let (folder, history) = renamed();
    history.assume_renames(&[found("test_old", "test_new").rename]);
    assert_eq!(flaky(&history), [(test_id("test_new"), 2, 4)]);
    assert_eq!(flaky(&open(&folder)).len(), 2);
    assert_eq!(open(&folder).renames().expect("readable"), []);
}

#[test]
fn what_was_undone_is_not_found_again_but_can_be_added() {
    let (_folder, history) = renamed();
    let decide = |decision| history.decide_renames(&[decision]).expect("written");
    assert_eq!(decide(found("test_old", "test_new")), 1);
    assert_eq!(decide(found("test_old", "test_new")), 0, "another job found it too");
    assert_eq!(decide(decision(RenameAction::Undone, "test_old", "test_new", 1)), 1);
    assert_eq!(flaky(&history).len(), 2);
    let later = RenameDecision {
        commit: Some("c9".to_owned()),
        ..decision(RenameAction::Found, "test_old", "test_new", 2)
    };
    assert_eq!(decide(later), 0);
    assert_eq!(flaky(&history).len(), 2);
    assert_eq!(decide(decision(RenameAction::Added, "test_old", "test_new", 3)), 1);
    assert_eq!(flaky(&history), [(test_id("test_new"), 2, 4)]);
    let actions: Vec<_> = history.renames().expect("readable").iter().map(|row| row.action).collect();
    assert_eq!(actions, [RenameAction::Found, RenameAction::Undone, RenameAction::Added]);
}

#[test]
fn a_test_may_be_renamed_there_and_back_and_there_again() {
    let (_folder, history) = renamed();
    for (number, (former, current)) in
        (0..).zip([("test_old", "test_new"), ("test_new", "test_old"), ("test_old", "test_new")])
    {
        let found = RenameDecision {
            commit: Some(format!("c{number}")),
            ..decision(RenameAction::Found, former, current, number)
        };
        assert_eq!(history.decide_renames(&[found]).expect("written"), 1);
        assert_eq!(flaky(&history), [(test_id(current), 2, 4)]);
    }
}

#[test]
fn decisions_survive_maintenance_and_are_rows_for_sql() {
    let (_folder, history) = renamed();
    assert_eq!(count(&history, "SELECT count(*) FROM renames"), 0, "no rename, no table");
    history.decide_renames(&[found("test_old", "test_mid")]).expect("written");
    history.decide_renames(&[decision(RenameAction::Added, "test_mid", "test_new", 5)]).expect("written");
    let before = history.renames().expect("readable");
    let options =
        &MaintainOptions { dry_run: false, keep: Duration::ZERO, expire: None, expire_attempts: None };
    history.maintain(options, &|_, _, _| {}).expect("maintained");
    assert_eq!(history.renames().expect("readable"), before);
    assert_eq!(flaky(&history), [(test_id("test_new"), 2, 4)], "a test may be renamed twice");
    let query = "SELECT count(*) FROM attempts JOIN renames ON attempts.test = renames.former";
    assert_eq!(count(&history, query), 3);
}

#[test]
fn the_commits_of_a_branch_come_latest_first() {
    let (_folder, history) = renamed();
    assert_eq!(history.commits("main").expect("readable"), ["c3", "c2", "c1"]);
    assert_eq!(history.commits("feature").expect("readable"), [] as [String; 0]);
    let (_folder, empty) = scratch();
    assert_eq!(empty.commits("main").expect("an empty history has none"), [] as [String; 0]);
}
