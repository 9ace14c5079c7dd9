use std::time::Duration;

use chrono::NaiveDate;
use flakewise_history::{Expiry, History, MaintainOptions, MaintainSummary, ReportOptions};
use flakewise_model::Batch;
use flakewise_model::Outcome::Passed;
use flakewise_testkit::BatchBuilder;

use crate::{count, open, scratch};

fn maintain(history: &History, dry_run: bool) -> Vec<MaintainSummary> {
    let options = MaintainOptions { dry_run, keep: Duration::ZERO, expire: None, expire_attempts: None };
    history.maintain(&options, &|_, _, _| {}).expect("maintained")
}

#[test]
fn small_files_of_a_day_become_one_and_nothing_is_lost() {
    let (folder, history) = scratch();
    for number in 0..12 {
        let batch = BatchBuilder::new(&format!("r{number}"), "c1", number * 4).bystanders(20).build();
        history.append(&[batch]).expect("written");
    }
    let before = history.sql("SELECT * FROM attempts ORDER BY test, run", 1000).expect("readable");
    let plan = maintain(&history, true);
    assert_eq!(history.sql("SELECT * FROM attempts ORDER BY test, run", 1000).expect("readable"), before);
    let done = maintain(&history, false);
    let merged = |summary: &&MaintainSummary| summary.table != "test_days";
    for (plan, done) in plan.iter().filter(merged).zip(done.iter().filter(merged)) {
        assert_eq!((plan.days_compacted, plan.files_before, plan.files_after), (2, 12, 1));
        assert_eq!((done.days_compacted, done.files_before, done.files_after), (2, 12, 1));
        assert_eq!(done.doubles_dropped, 0);
    }
    assert_eq!(history.sql("SELECT * FROM attempts ORDER BY test, run", 1000).expect("readable"), before);
    let left = files(folder.path(), "attempts");
    assert_eq!(left, 1, "dead files are removed");
    assert!(
        maintain(&history, false).iter().all(|summary| summary.days_compacted == 0),
        "nothing is left to do"
    );
}

#[test]
fn small_days_share_a_file() {
    let (folder, history) = scratch();
    history.append(&runs_of_days(80)).expect("written");
    maintain(&history, false);
    assert_eq!(count(&history, "SELECT count(*) FROM attempts"), 80 * 3);
    // One for each span of 32 days.
    let left = files(folder.path(), "attempts");
    assert!((3..=4).contains(&left), "{left}");
    assert_eq!(files(folder.path(), "runs"), left);
    assert!(maintain(&history, false).iter().all(|summary| summary.days_compacted == 0));
    // What comes late joins the file of its days.
    let late = BatchBuilder::new("late", "c9", 9 * 24).bystanders(3).build();
    history.append(&[late]).expect("written");
    let summaries = maintain(&history, false);
    let attempts = summaries.iter().find(|summary| summary.table == "attempts").expect("there");
    assert_eq!((attempts.files_before, attempts.files_after), (2, 1));
    assert_eq!(count(&history, "SELECT count(*) FROM attempts"), 81 * 3);
    assert_eq!(count(&history, "SELECT count(DISTINCT run) FROM attempts"), 81);
}

#[test]
fn two_processes_that_merge_the_same_files_double_nothing() {
    for table in ["runs", "attempts"] {
        let (folder, history) = scratch();
        for number in 0..6 {
            let batch = BatchBuilder::new(&format!("r{number}"), "c1", 0).bystanders(3).build();
            history.append(&[batch]).expect("written");
        }
        // When one has opened the table and decided what to merge, the other one does it.
        let options = MaintainOptions {
            dry_run: false,
            keep: Duration::from_hours(1),
            expire: None,
            expire_attempts: None,
        };
        let merge_too = |what: &str, _, _| {
            if what.starts_with(table) {
                let other = || open(&folder).maintain(&options, &|_, _, _| {}).expect("maintained");
                std::thread::scope(|scope| scope.spawn(other).join().expect("no panic"));
            }
        };
        let summaries = history.maintain(&options, &merge_too).expect("maintained");
        let summary = summaries.iter().find(|summary| summary.table == table).expect("there");
        assert_eq!((summary.days_compacted, summary.days_left_to_others), (0, 1), "{summary:?}");
        assert_eq!(count(&history, "SELECT count(*) FROM attempts"), 18);
        assert_eq!(count(&history, "SELECT count(*) FROM reports"), 6);
    }
}

#[test]
fn days_that_are_too_old_expire_in_whole_spans() {
    let (folder, history) = scratch();
    history.append(&runs_of_days(100)).expect("written");
    maintain(&history, false);
    let days = "SELECT count(DISTINCT day) FROM attempts";
    let newest = "SELECT CAST(max(day) AS INT) FROM attempts";
    let last =
        NaiveDate::from_epoch_days(i32::try_from(count(&history, newest)).expect("a day")).expect("a day");
    let expire = |days, today: NaiveDate, dry_run| {
        let expire = Some(Expiry { days, today });
        let options =
            MaintainOptions { dry_run, keep: Duration::from_hours(1), expire, expire_attempts: None };
        history.maintain(&options, &|_, _, _| {}).expect("maintained")
    };
    let expired = |summaries: &[MaintainSummary]| -> Vec<usize> {
        summaries.iter().map(|summary| summary.days_expired).collect()
    };
    // Neither a clock that is behind nor one that is ahead removes what is recent.
    let long_ago = NaiveDate::from_ymd_opt(2020, 1, 1).expect("a date");
    assert_eq!(expired(&expire(40, long_ago, false)), [0, 0, 0]);
    let in_years = NaiveDate::from_ymd_opt(2090, 1, 1).expect("a date");
    let planned = expired(&expire(40, in_years, true));
    assert_eq!(count(&history, days), 100);
    assert_eq!(expired(&expire(40, in_years, false)), planned);
    assert!(planned.iter().all(|days| *days == planned[0]), "runs, attempts and roll-ups: {planned:?}");
    let left = 100 - i64::try_from(planned[0]).expect("few");
    assert!((41..41 + 32).contains(&left), "{left} days are left");
    for table in ["attempts", "reports", "test_days"] {
        let query = format!("SELECT count(DISTINCT day) FROM {table}");
        assert_eq!(count(&history, &query), left, "{table}");
        let query = format!("SELECT count(*) FROM {table} WHERE day < DATE '{last}' - INTERVAL '71' DAY");
        assert_eq!(count(&history, &query), 0, "{table}");
    }
    assert_eq!(expired(&expire(40, last, false)), [0, 0, 0], "nothing is left to do");
    // What comes late is gone with the next time, and only that.
    history.append(&[BatchBuilder::new("late", "c1", 0).bystanders(3).build()]).expect("written");
    assert_eq!(count(&history, days), left + 1);
    assert_eq!(expired(&expire(40, last, false)), [1, 1, 0]);
    assert_eq!(count(&history, days), left);
    assert_eq!(open(&folder).report(&ReportOptions::default()).expect("a report").runs, left.unsigned_abs());
}

/// One run with three attempts on each day.
fn runs_of_days(days: i64) -> Vec<Batch> {
    let run = |day| BatchBuilder::new(&format!("r{day}"), &format!("c{day}"), day * 24).bystanders(3).build();
    (0..days).map(run).collect()
}

/// The data files of a table.
fn files(store: &std::path::Path, table: &str) -> usize {
    let folder = std::fs::read_dir(store.join("acme~shop").join(table)).expect("there");
    let names = folder.map(|entry| entry.expect("readable").path());
    names.filter(|path| path.extension().is_some_and(|end| end == "parquet")).count()
}

#[test]
fn reports_taken_in_twice_are_dropped_and_stay_known() {
    let (folder, history) = scratch();
    let batch = BatchBuilder::new("r1", "c1", 0).bystanders(5).build();
    history.append(std::slice::from_ref(&batch)).expect("written");
    // As if its id had been forgotten: the same report under a second id would
    // be new, so its rows are copied under the first id by hand.
    let table = folder.path().join("acme~shop/attempts");
    let log = table.join("_delta_log");
    let newest = newest_with_add(&log);
    let copy = newest.1.replace(".parquet\"", "-copy.parquet\"");
    let name = file_name(&newest.1);
    std::fs::copy(table.join(&name), table.join(name.replace(".parquet", "-copy.parquet"))).expect("copied");
    std::fs::write(log.join(format!("{:020}.json", newest.0 + 1)), copy).expect("written");
    assert_eq!(count(&history, "SELECT count(*) FROM attempts"), 10);
    let summary = maintain(&history, false).into_iter().find(|summary| summary.table == "attempts");
    assert_eq!(summary.expect("there").doubles_dropped, 5);
    assert_eq!(count(&history, "SELECT count(*) FROM attempts"), 5);
    assert_eq!(history.append(&[batch]).expect("written").reports_known, 1);
}

#[test]
fn appending_goes_on_after_maintenance() {
    let (_folder, history) = scratch();
    for number in 0..3 {
        let batch = BatchBuilder::new(&format!("r{number}"), "c1", 0).attempt("test_a", Passed).build();
        history.append(&[batch]).expect("written");
        maintain(&history, false);
    }
    assert_eq!(count(&history, "SELECT count(*) FROM attempts"), 3);
}

#[test]
fn columns_of_a_later_version_survive_maintenance_by_this_one() {
    let (folder, history) = scratch();
    for number in 0..2 {
        let batch = BatchBuilder::new(&format!("r{number}"), "c1", 0).attempt("test_a", Passed).build();
        history.append(&[batch]).expect("written");
    }
    // As if a later version had added a column: it is in the table's schema, and
    // this version does not know it.
    let log = folder.path().join("acme~shop/attempts/_delta_log");
    let first = std::fs::read_to_string(log.join("00000000000000000000.json")).expect("there");
    let metadata =
        first.lines().find(|line| line.starts_with("{\"metaData\"")).expect("a table has metadata");
    let field = r#"{\"name\":\"shiny\",\"type\":\"string\",\"nullable\":true,\"metadata\":{}},"#;
    let widened = metadata.replacen(r#"\"fields\":["#, &format!(r#"\"fields\":[{field}"#), 1);
    assert_ne!(widened, metadata, "the schema is where we think");
    std::fs::write(log.join("00000000000000000003.json"), widened).expect("written");
    assert_eq!(count(&history, "SELECT count(*) FROM attempts"), 2);
    maintain(&history, false);
    assert_eq!(count(&history, "SELECT count(*) FROM attempts WHERE shiny IS NULL"), 2);
}

fn newest_with_add(log: &std::path::Path) -> (u64, String) {
    std::fs::read_dir(log)
        .expect("there")
        .filter_map(|entry| {
            let path = entry.ok()?.path();
            let version = path.file_stem()?.to_str()?.parse().ok()?;
            let text = std::fs::read_to_string(&path).ok()?;
            let lines: Vec<_> =
                text.lines().filter(|line| line.starts_with("{\"add\"")).map(str::to_owned).collect();
            (!lines.is_empty()).then(|| (version, lines.join("\n")))
        })
        .max_by_key(|(version, _): &(u64, String)| *version)
        .expect("a commit adds a file")
}

fn file_name(actions: &str) -> String {
    let start = actions.find("\"path\":\"").expect("an add has a path") + 8;
    let end = actions[start..].find('"').expect("closed") + start;
    actions[start..end].to_owned()
}
