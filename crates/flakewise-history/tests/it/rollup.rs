//! Roll-ups say what the attempts say, whenever they were made.

use std::path::PathBuf;
use std::time::Duration;

use flakewise_history::{History, MaintainOptions, MaintainSummary, ReportOptions};
use flakewise_model::Outcome::{Errored, Failed, Passed, Skipped};
use flakewise_model::{Batch, FlakeRate, Outcome, Phase, Variant};
use flakewise_testkit::BatchBuilder;
use proptest::prelude::*;
use tempfile::TempDir;

use crate::{count, open, scratch};

fn maintain(history: &History) -> MaintainSummary {
    let options =
        MaintainOptions { dry_run: false, keep: Duration::ZERO, expire: None, expire_attempts: None };
    let summaries = history.maintain(&options, &|_, _, _| {}).expect("maintained");
    summaries.into_iter().find(|summary| summary.table == "test_days").expect("it rolls up")
}

/// What everybody who reads roll-ups answers.
fn answers(history: &History) -> Vec<String> {
    let mut answers = Vec::new();
    for days in [None, Some(2)] {
        let options = ReportOptions { days };
        answers.push(format!("{:#?}", history.report(&options).expect("readable")));
        answers.push(format!("{:#?}", history.overview(&options).expect("readable")));
    }
    for name in ["test_0", "test_1", "test_flaky", "test_good", "bystander_000", "test_"] {
        for steps in [2, 100] {
            answers.push(format!("{:#?}", history.show_within(name, steps, 0).expect("readable")));
        }
    }
    answers
}

/// The same answers without roll-ups.
fn answers_of_attempts(folder: &TempDir) -> Vec<String> {
    let table = folder.path().join("acme~shop/test_days");
    let aside = folder.path().join("aside");
    let is_there = table.exists();
    if is_there {
        std::fs::rename(&table, &aside).expect("moved");
    }
    let answers = answers(&open(folder));
    if is_there {
        std::fs::rename(&aside, &table).expect("moved back");
    }
    answers
}

#[derive(Clone, Debug)]
enum Action {
    Append(RunSketch),
    Maintain,
}

#[derive(Clone, Debug)]
struct RunSketch {
    hours: i64,
    commit: Option<u8>,
    dirty: bool,
    branch: &'static str,
    os: &'static str,
    /// Of an earlier run: it has several reports then.
    again: bool,
    outage: bool,
    attempts: Vec<(u8, u8, u8)>,
}

fn actions() -> impl Strategy<Value = Vec<Action>> {
    let attempts = prop::collection::vec((0..6_u8, 0..8_u8, 0..12_u8), 1..20);
    let run = (
        0..24 * 40_i64,
        prop::option::weighted(0.9, 0..12_u8),
        prop::bool::weighted(0.1),
        prop::sample::select(vec!["main", "feature"]),
        prop::sample::select(vec!["linux", "linux", "linux", "windows"]),
        prop::bool::weighted(0.1),
        prop::bool::weighted(0.1),
        attempts,
    );
    let run = run.prop_map(|(hours, commit, dirty, branch, os, again, outage, attempts)| {
        Action::Append(RunSketch { hours, commit, dirty, branch, os, again, outage, attempts })
    });
    prop::collection::vec(prop_oneof![5 => run, 1 => Just(Action::Maintain)], 4..16)
}

fn batch(number: usize, sketch: &RunSketch) -> Batch {
    let run = if sketch.again { number / 2 } else { number };
    let mut batch = BatchBuilder::new(&format!("run-{run}"), "", sketch.hours).run(|run| {
        run.commit = sketch.commit.map(|commit| format!("c{commit}"));
        run.dirty = sketch.dirty;
        run.branch = Some(sketch.branch.to_owned());
        run.variant = Variant::default().with("os", sketch.os);
    });
    if sketch.outage {
        for place in 0..30 {
            batch = batch.attempt(&format!("test_bystander_{place:03}"), Failed);
        }
    } else {
        batch = batch.bystanders(25);
    }
    for (test, phase, outcome) in &sketch.attempts {
        let outcome: Outcome = match outcome {
            0 => Failed,
            1 => Errored,
            2 => Skipped,
            _ => Passed,
        };
        let phase = match phase {
            0 => Phase::Retry,
            1 => Phase::Base,
            2 => Phase::Fresh,
            _ => Phase::First,
        };
        batch = batch.phase(phase, &format!("test_{test}"), outcome);
    }
    batch.build()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 8, ..ProptestConfig::default() })]

    /// Runs of any order in time, of one commit on several days, in several reports, with
    /// outages and reruns, and `maintain` at any moment.
    #[test]
    fn roll_ups_say_what_the_attempts_say(actions in actions()) {
        let (folder, history) = scratch();
        for (number, action) in actions.iter().enumerate() {
            match action {
                Action::Append(sketch) => {
                    history.append(&[batch(number, sketch)]).expect("written");
                }
                Action::Maintain if number > 0 && folder.path().join("acme~shop/attempts").exists() => {
                    maintain(&history);
                }
                Action::Maintain => {}
            }
        }
        if folder.path().join("acme~shop/attempts").exists() {
            prop_assert_eq!(answers(&history), answers_of_attempts(&folder));
            maintain(&history);
            prop_assert_eq!(answers(&history), answers_of_attempts(&folder));
        }
    }
}

/// A run of three tests, of which one fails now and then.
fn run_at(day: i64, number: i64) -> Batch {
    let place = day * 4 + number;
    BatchBuilder::new(&format!("run-{place}"), &format!("c{}", place / 2), 24 * day + number)
        .attempt("test_flaky", if place % 7 == 3 { Failed } else { Passed })
        .attempt("test_good", Passed)
        .attempt("test_slow", if place % 5 == 0 { Skipped } else { Passed })
        .bystanders(10)
        .build()
}

#[test]
fn all_days_are_rolled_up_into_few_files_and_again_only_if_they_come_to_share_one() {
    let (folder, history) = scratch();
    let (mut most, mut rolled_up) = (0, Vec::new());
    for day in 0..49 {
        history.append(&[run_at(day, 0), run_at(day, 1)]).expect("written");
        if day % 6 == 0 {
            rolled_up.push(maintain(&history).days_rolled_up);
            most = most.max(data_files(&folder).len());
        }
    }
    // Two for each of three spans of 32 days, which begin on days 10 and 42.
    assert!(most <= 2 * 3, "{most} files");
    // Six new days, and those that share a file with them.
    assert_eq!(rolled_up, [1, 6 + 1, 6 + 7, 6 + 3, 6 + 9, 6 + 15, 6 + 21, 6 + 27, 6 + 1]);
    assert_eq!(answers(&history), answers_of_attempts(&folder));
    assert_eq!(maintain(&history).days_rolled_up, 0, "all is done");
    assert_eq!(
        count(&history, "SELECT sum(attempts) FROM test_days WHERE test LIKE '%test_flaky'"),
        98,
        "each attempt once"
    );
}

fn data_files(folder: &TempDir) -> Vec<PathBuf> {
    let files = std::fs::read_dir(folder.path().join("acme~shop/test_days")).expect("there");
    let files = files.map(|entry| entry.expect("readable").path());
    files.filter(|path| path.extension().is_some_and(|end| end == "parquet")).collect()
}

#[test]
fn a_report_that_comes_late_counts_at_once() {
    let (folder, history) = scratch();
    for day in 0..12 {
        history.append(&[run_at(day, 0)]).expect("written");
    }
    maintain(&history);
    // The commit of the third day passed then.
    let late = BatchBuilder::new("late", "c4", 24 * 2 + 5).attempt("test_good", Failed).bystanders(10);
    history.append(&[late.build()]).expect("written");
    let report = history.report(&ReportOptions::default()).expect("readable");
    assert!(report.findings.iter().any(|finding| finding.test.as_str().ends_with("test_good")), "{report:?}");
    assert_eq!(answers(&history), answers_of_attempts(&folder));
    // All days of the file are rolled up again.
    assert!(maintain(&history).days_rolled_up > 0);
    assert_eq!(answers(&history), answers_of_attempts(&folder));
}

#[test]
fn days_on_which_nothing_passed_are_covered_too() {
    let (folder, history) = scratch();
    // Days of one roll-up whose first or last one has failures only, or skips only.
    for (day, outcome) in [(0, Failed), (1, Passed), (2, Passed), (3, Skipped), (4, Failed), (12, Passed)] {
        let run = BatchBuilder::new(&format!("run-{day}"), "c1", 24 * day);
        history.append(&[run.attempt("test_flaky", outcome).build()]).expect("written");
    }
    maintain(&history);
    assert_eq!(
        count(&history, "SELECT count(DISTINCT rolled_from) FROM test_days WHERE day < '2026-11-08'"),
        1
    );
    assert_eq!(answers(&history), answers_of_attempts(&folder));
    let report = history.report(&ReportOptions::default()).expect("readable");
    assert_eq!(report.findings[0].rate, FlakeRate { failures: 2, attempts: 5 });
}

#[test]
fn several_processes_may_roll_up_at_the_same_time() {
    let (folder, history) = scratch();
    for day in 0..20 {
        history.append(&[run_at(day, 0), run_at(day, 1)]).expect("written");
    }
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let options = MaintainOptions {
                    dry_run: false,
                    keep: Duration::from_hours(1),
                    expire: None,
                    expire_attempts: None,
                };
                open(&folder).maintain(&options, &|_, _, _| {}).expect("maintained");
            });
        }
    });
    assert_eq!(answers(&history), answers_of_attempts(&folder));
    maintain(&history);
    assert_eq!(count(&history, "SELECT sum(attempts) FROM test_days WHERE test LIKE '%test_flaky'"), 40);
}

#[test]
fn a_dry_run_says_how_many_days_would_be_rolled_up_and_changes_nothing() {
    let (folder, history) = scratch();
    for day in 0..3 {
        history.append(&[run_at(day, 0)]).expect("written");
    }
    let options =
        MaintainOptions { dry_run: true, keep: Duration::ZERO, expire: None, expire_attempts: None };
    let days = |history: &History| {
        let summaries = history.maintain(&options, &|_, _, _| {}).expect("planned");
        summaries.iter().find(|summary| summary.table == "test_days").map(|summary| summary.days_rolled_up)
    };
    assert_eq!(days(&history), Some(3));
    assert!(!folder.path().join("acme~shop/test_days").exists());
    maintain(&history);
    history.append(&[run_at(2, 1)]).expect("written");
    assert_eq!(days(&history), Some(3), "all days of the file");
    maintain(&history);
    history.append(&[run_at(12, 0)]).expect("written");
    assert_eq!(days(&history), Some(1), "another span of 32 days");
}
