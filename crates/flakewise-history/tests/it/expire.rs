//! Attempts expire before what was rolled up of them.

use std::time::Duration;

use chrono::NaiveDate;
use flakewise_history::{Expiry, History, MaintainOptions, MaintainSummary, Matches, ReportOptions};
use flakewise_model::Outcome::{Failed, Passed};
use flakewise_model::{Batch, HistoryReport, TestHistory, Timestamp};
use flakewise_testkit::BatchBuilder;
use tempfile::TempDir;

use crate::{count, open, scratch};

/// Days from the first to the newest one.
const DAYS: i64 = 100;

fn maintain(history: &History, kept: Option<u32>, kept_attempts: Option<u32>) -> Vec<MaintainSummary> {
    let today = NaiveDate::from_ymd_opt(2090, 1, 1).expect("a date");
    let expiry = |days| Expiry { days, today };
    let options = MaintainOptions {
        dry_run: false,
        keep: Duration::ZERO,
        expire: kept.map(expiry),
        expire_attempts: kept_attempts.map(expiry),
    };
    history.maintain(&options, &|_, _, _| {}).expect("maintained")
}

/// How many days of a table have expired.
fn expired(summaries: &[MaintainSummary], table: &str) -> usize {
    summaries.iter().filter(|summary| summary.table == table).map(|summary| summary.days_expired).sum()
}

/// A run on a day.
fn run(day: i64) -> Batch {
    BatchBuilder::new(&format!("run-{day}"), &format!("c{}", day / 2), 24 * day)
        .attempt("test_flaky", if day % 7 == 3 { Failed } else { Passed })
        .attempt("test_good", Passed)
        .bystanders(5)
        .build()
}

/// A run that is reported late.
fn late_run(name: &str, day: i64) -> Batch {
    let run = BatchBuilder::new(name, "late", 24 * day + 5);
    run.attempt("test_flaky", Failed).attempt("test_good", Failed).bystanders(5).build()
}

/// Two histories of the same runs.
fn twins() -> [(TempDir, History); 2] {
    let twins = [scratch(), scratch()];
    for (_, history) in &twins {
        history.append(&(0..DAYS).map(run).collect::<Vec<_>>()).expect("written");
    }
    twins
}

fn report(history: &History) -> HistoryReport {
    history.report(&ReportOptions::default()).expect("readable")
}

/// All but single attempts and the time of the first one.
fn show(history: &History, test: &str) -> TestHistory {
    let Matches::One(shown) = history.show(test, 5).expect("readable") else { panic!("one test: {test}") };
    TestHistory { steps: Vec::new(), first_seen: Timestamp::default(), ..*shown }
}

/// The overview without single attempts.
fn overview(history: &History) -> String {
    let mut overview = history.overview(&ReportOptions::default()).expect("readable");
    for details in overview.tests.iter_mut().filter_map(|test| test.details.as_mut()) {
        details.steps.clear();
    }
    format!("{overview:#?}")
}

fn assert_same([(_, left), (_, right)]: &[(TempDir, History); 2]) {
    assert_eq!(format!("{:#?}", report(left)), format!("{:#?}", report(right)));
    assert_eq!(overview(left), overview(right));
    for test in ["test_flaky", "test_good"] {
        assert_eq!(show(left, test), show(right, test));
    }
}

#[test]
fn reports_stay_when_their_attempts_expire() {
    let twins = twins();
    let [(folder, history), (_, other)] = &twins;
    let attempts = "SELECT count(*) FROM attempts";
    let all = count(history, attempts);
    let days = expired(&maintain(history, None, Some(40)), "attempts");
    assert!((28..=60).contains(&days), "{days}");
    assert_eq!(
        count(history, "SELECT count(DISTINCT day) FROM attempts"),
        DAYS - i64::try_from(days).expect("few")
    );
    assert_eq!(count(history, "SELECT count(DISTINCT day) FROM reports"), DAYS);
    assert_eq!(count(history, "SELECT sum(attempts) FROM test_days"), all);
    maintain(other, None, None);
    assert_same(&twins);
    // Again with another process, when files that nothing refers to are gone.
    assert_eq!(expired(&maintain(&open(folder), None, Some(40)), "attempts"), 0);
    assert_same(&twins);

    // What comes later to such days counts at once, and after each `maintain`.
    for (number, day) in [0, 3, 20, 90].into_iter().enumerate() {
        for (_, history) in &twins {
            history.append(&[late_run(&format!("late-{number}"), day)]).expect("written");
        }
        assert_same(&twins);
        maintain(history, None, (number % 2 == 0).then_some(40));
        maintain(other, None, None);
        assert_same(&twins);
    }
    assert_eq!(count(history, "SELECT sum(attempts) FROM test_days"), all + 7, "the last one is not late");

    // New days, so that more attempts expire.
    for (_, history) in &twins {
        history.append(&(DAYS..DAYS + 40).map(run).collect::<Vec<_>>()).expect("written");
    }
    assert!(expired(&maintain(history, None, Some(40)), "attempts") >= 32);
    maintain(other, None, None);
    assert_same(&twins);
}

#[test]
fn days_around_expired_ones_are_rolled_up_and_expire_too() {
    let twins = [scratch(), scratch()];
    let [(_, history), (_, other)] = &twins;
    // A span of 32 days begins on day 10.
    let append = |days: &[i64]| {
        for (_, history) in &twins {
            history.append(&days.iter().map(|day| run(*day)).collect::<Vec<_>>()).expect("written");
        }
    };
    append(&[20, 21, 100]);
    assert_eq!(expired(&maintain(history, None, Some(10)), "attempts"), 2);
    append(&[15, 30]);
    maintain(history, None, None);
    let rolled_up: usize = maintain(history, None, None).iter().map(|summary| summary.days_rolled_up).sum();
    assert_eq!(rolled_up, 0, "all is done");
    assert_eq!(expired(&maintain(history, None, Some(10)), "attempts"), 2);
    assert_eq!(count(history, "SELECT count(DISTINCT day) FROM attempts"), 1);
    maintain(other, None, None);
    assert_same(&twins);
}

#[test]
fn what_is_older_than_everything_else_goes_with_its_roll_ups() {
    let twins = twins();
    let [(_, history), (_, other)] = &twins;
    maintain(history, None, Some(10));
    let summaries = maintain(history, Some(60), Some(10));
    assert_eq!(expired(&summaries, "attempts"), 0, "they had expired before");
    assert!(expired(&summaries, "runs") > 0);
    assert_eq!(expired(&summaries, "test_days"), expired(&summaries, "runs"));
    maintain(other, Some(60), None);
    assert_same(&twins);
    let first = "SELECT CAST(min(day) AS INT) FROM test_days";
    assert_eq!(count(history, first), count(other, "SELECT CAST(min(day) AS INT) FROM attempts"));
    // Both at once.
    for (_, history) in &twins {
        history.append(&(DAYS..DAYS + 100).map(run).collect::<Vec<_>>()).expect("written");
    }
    maintain(history, Some(60), Some(10));
    maintain(other, Some(60), None);
    assert_same(&twins);
}

#[test]
fn a_report_says_how_many_days_are_lost() {
    let (folder, history) = scratch();
    history.append(&(0..DAYS).map(run).collect::<Vec<_>>()).expect("written");
    let days = expired(&maintain(&history, None, Some(40)), "attempts") as u64;
    let whole = report(&history);
    assert_eq!(whole.lost_days, 0);
    std::fs::remove_dir_all(folder.path().join("acme~shop/test_days")).expect("roll-ups");
    for history in [&history, &open(&folder)] {
        let rest = report(history);
        assert_eq!(rest.lost_days, days);
        assert_ne!(rest.findings, whole.findings);
        let overview = history.overview(&ReportOptions::default()).expect("readable");
        assert_eq!(overview.lost_days, days);
    }
    // Also when there are new ones.
    maintain(&history, None, None);
    assert_eq!(report(&history).lost_days, days);
}

#[test]
fn a_dry_run_says_how_many_days_would_expire() {
    let today = NaiveDate::from_ymd_opt(2090, 1, 1).expect("a date");
    for kept in [None, Some(60)] {
        let (_folder, history) = scratch();
        history.append(&(0..DAYS).map(run).collect::<Vec<_>>()).expect("written");
        let options = MaintainOptions {
            dry_run: true,
            keep: Duration::ZERO,
            expire: kept.map(|days| Expiry { days, today }),
            expire_attempts: Some(Expiry { days: 40, today }),
        };
        let planned = history.maintain(&options, &|_, _, _| {}).expect("planned");
        assert_eq!(count(&history, "SELECT count(DISTINCT day) FROM attempts"), DAYS);
        let done = maintain(&history, kept, Some(40));
        assert_eq!(expired(&planned, "attempts"), expired(&done, "attempts"), "{kept:?}");
        assert!(expired(&done, "attempts") > expired(&done, "runs"));
        assert_eq!(expired(&done, "runs") > 0, kept.is_some());
    }
}

#[test]
fn several_processes_lose_nothing() {
    let twins = twins();
    let [(folder, history), (_, other)] = &twins;
    maintain(history, None, None);
    std::thread::scope(|scope| {
        for writer in 0..2 {
            scope.spawn(move || {
                for number in 0..6 {
                    let late = late_run(&format!("late-{writer}-{number}"), 9 * number + writer);
                    open(folder).append(&[late]).expect("written");
                }
            });
            for kept_attempts in [None, Some(40 - 35 * u32::try_from(writer).expect("few"))] {
                scope.spawn(move || {
                    for _ in 0..3 {
                        let today = NaiveDate::from_ymd_opt(2090, 1, 1).expect("a date");
                        let options = MaintainOptions {
                            dry_run: false,
                            keep: Duration::from_hours(1),
                            expire: None,
                            expire_attempts: kept_attempts.map(|days| Expiry { days, today }),
                        };
                        open(folder).maintain(&options, &|_, _, _| {}).expect("maintained");
                    }
                });
            }
        }
    });
    for writer in 0..2 {
        for number in 0..6 {
            let late = late_run(&format!("late-{writer}-{number}"), 9 * number + writer);
            other.append(&[late]).expect("written");
        }
    }
    assert_same(&twins);
    maintain(history, None, Some(5));
    assert_same(&twins);
    assert!(count(history, "SELECT count(DISTINCT day) FROM attempts") < DAYS);
}
