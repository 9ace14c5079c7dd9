use flakewise_history::{HistoryError, MaintainOptions, ReportOptions};
use flakewise_model::Outcome::{Failed, Passed};
use flakewise_model::{Batch, Value};
use flakewise_testkit::{BatchBuilder, test_id};

use crate::{count, open, scratch};

/// A run with one failure that was judged.
fn judged(run: &str, hours: i64) -> Batch {
    let mut batch = BatchBuilder::new(run, "c1", hours)
        .attempt("test_b", Failed)
        .attempt("test_b", Passed)
        .attempt("test_a", Failed)
        .verdict("test_b", "flaky", Some("transient"), 1.0)
        .verdict("test_a", "regression", None, 0.03)
        .build();
    batch.reports[0].verdicts[0].evidence = r#"[{"passed-again": "it's \u00e9"}]"#.into();
    batch
}

const TABLE: &str = "acme~shop/verdicts";

#[test]
fn a_verdict_is_a_row_with_all_that_is_known_of_its_run() {
    let (_folder, history) = scratch();
    let appended = history.append(&[judged("r1", 26)]).expect("written");
    assert_eq!((appended.reports_added, appended.attempts_added, appended.verdicts_added), (1, 3, 2));
    let rows = history.sql("SELECT * FROM verdicts", 10).expect("readable");
    assert_eq!(
        rows.columns.join(" "),
        "project day test variant run report ordinal finding conclusion detail probability started_at \
         commit dirty branch evidence"
    );
    let text = |value: &str| Value::Text(value.to_owned());
    let report = judged("r1", 26).reports[0].id.to_string();
    let expected = [
        text("acme/shop"),
        text("2026-11-02"),
        text(test_id("test_b").as_str()),
        text("os=linux"),
        text("r1"),
        text(&report),
        Value::Integer(0),
        text(judged("r1", 26).reports[0].verdicts[0].finding.as_str()),
        text("flaky"),
        text("transient"),
        Value::Float(1.0),
        text("2026-11-02T02:00:00Z"),
        text("c1"),
        Value::Boolean(false),
        text("main"),
        text(r#"[{"passed-again": "it's \u00e9"}]"#),
    ];
    assert_eq!(rows.rows[1], expected, "rows are sorted by test");
    assert_eq!(rows.rows[0][9], Value::Null, "a regression has no finer name");
    assert_eq!(
        count(&history, "SELECT count(*) FROM verdicts JOIN runs USING (run, day, commit)"),
        2,
        "a verdict and its run speak of one day"
    );
}

#[test]
fn the_same_verdict_twice_adds_nothing() {
    let (folder, history) = scratch();
    history.append(&[judged("r1", 0)]).expect("written");
    let again = open(&folder).append(&[judged("r1", 0), judged("r2", 1)]).expect("written");
    assert_eq!((again.reports_known, again.verdicts_added), (1, 2));
    assert_eq!(count(&history, "SELECT count(*) FROM verdicts"), 4);
}

#[test]
fn reports_without_verdicts_do_not_touch_the_table() {
    let (folder, history) = scratch();
    let plain = |run: &str| BatchBuilder::new(run, "c1", 0).attempt("test_a", Passed).build();
    history.append(&[plain("r1")]).expect("written");
    assert!(!folder.path().join(TABLE).exists(), "no verdict, no table");
    history.append(&[judged("r2", 0)]).expect("written");
    let log = folder.path().join(TABLE).join("_delta_log");
    let entries = || std::fs::read_dir(&log).expect("there").count();
    let before = entries();
    history.append(&[plain("r3")]).expect("written");
    assert_eq!(entries(), before);
    // Not even looked at: a table nobody can read is in nobody's way.
    for entry in std::fs::read_dir(&log).expect("there") {
        std::fs::write(entry.expect("readable").path(), "not a log").expect("written");
    }
    history.append(&[plain("r4")]).expect("written");
    history.report(&ReportOptions::default()).expect("readable");
    history.show("test_a", 1).expect("readable");
    assert!(history.append(&[judged("r5", 0)]).expect_err("damaged").is_store_trouble());
}

#[test]
fn a_verdict_that_was_lost_on_the_way_is_added_by_the_next_try() {
    let (folder, history) = scratch();
    history.append(&[judged("r1", 0)]).expect("written");
    // As if the process had died after `attempts` and before `verdicts`.
    std::fs::remove_dir_all(folder.path().join(TABLE)).expect("removed");
    let again = history.append(&[judged("r1", 0)]).expect("written");
    assert_eq!((again.reports_known, again.attempts_added, again.verdicts_added), (1, 0, 2));
    assert_eq!(count(&history, "SELECT count(*) FROM verdicts"), 2);
    assert_eq!(count(&history, "SELECT count(*) FROM attempts"), 3);
}

#[test]
fn without_verdicts_the_table_is_empty_and_has_its_columns() {
    let (folder, history) = scratch();
    history.append(&[BatchBuilder::new("r1", "c1", 0).attempt("test_a", Passed).build()]).expect("written");
    let empty = history.sql("SELECT * FROM verdicts", 10).expect("readable");
    assert_eq!(empty.rows.len(), 0);
    let types = "SELECT column_name, data_type FROM information_schema.columns
                 WHERE table_name = 'verdicts' ORDER BY ordinal_position";
    let before = history.sql(types, 100).expect("readable");
    assert_eq!(count(&history, "SELECT count(*) FROM verdicts WHERE probability > 0.5 AND NOT dirty"), 0);
    assert!(!folder.path().join(TABLE).exists(), "asking makes no table");
    history.append(&[judged("r2", 0)]).expect("written");
    let after = history.sql(types, 100).expect("readable");
    let names = |rows: &flakewise_model::Rows| rows.rows.iter().map(|row| row[0].clone()).collect::<Vec<_>>();
    assert_eq!(names(&before), names(&after));
}

#[test]
fn maintenance_merges_verdicts_and_keeps_them() {
    let (_folder, history) = scratch();
    for number in 0..4 {
        history.append(&[judged(&format!("r{number}"), number)]).expect("written");
    }
    let all = || history.sql("SELECT * FROM verdicts ORDER BY test, run", 100).expect("readable");
    let before = all();
    let options = MaintainOptions {
        dry_run: false,
        keep: std::time::Duration::ZERO,
        expire: None,
        expire_attempts: None,
    };
    let done = history.maintain(&options, &|_, _, _| {}).expect("maintained");
    let summary = done.iter().find(|summary| summary.table == "verdicts").expect("there");
    assert_eq!((summary.files_before, summary.files_after, summary.doubles_dropped), (4, 1, 0));
    assert_eq!(all(), before);
    let again = history.append(&[judged("r3", 3), judged("r4", 4)]).expect("written");
    assert_eq!(again.verdicts_added, 2, "ids are remembered");
}

#[test]
fn maintenance_of_a_store_without_verdicts_makes_no_table() {
    let (folder, history) = scratch();
    history.append(&[BatchBuilder::new("r1", "c1", 0).attempt("test_a", Passed).build()]).expect("written");
    let options = MaintainOptions {
        dry_run: false,
        keep: std::time::Duration::ZERO,
        expire: None,
        expire_attempts: None,
    };
    let done = history.maintain(&options, &|_, _, _| {}).expect("maintained");
    assert_eq!(
        done.iter().map(|summary| summary.table).collect::<Vec<_>>(),
        ["runs", "attempts", "test_days"]
    );
    assert!(!folder.path().join(TABLE).exists());
}

#[test]
fn a_verdict_can_be_held_against_what_came_later() {
    let (_folder, history) = scratch();
    let run = |name: &str, hours| BatchBuilder::new(name, "c1", hours).bystanders(10);
    let blamed = run("r1", 0)
        .attempt("test_x", Failed)
        .verdict("test_x", "regression", None, 0.2)
        .attempt("test_y", Failed)
        .verdict("test_y", "regression", None, 0.1);
    let later = run("r2", 1).attempt("test_x", Passed).attempt("test_y", Failed);
    history.append(&[blamed.build(), later.build()]).expect("written");
    let query = "SELECT verdicts.test, verdicts.commit, round(probability, 2) AS probability
                 FROM verdicts JOIN mixed ON verdicts.test = mixed.test AND verdicts.variant = mixed.variant
                   AND verdicts.commit = mixed.revision
                 WHERE conclusion = 'regression'";
    let rows = history.sql(query, 10).expect("valid").rows;
    let text = |value: &str| Value::Text(value.to_owned());
    assert_eq!(rows, [[text(test_id("test_x").as_str()), text("c1"), Value::Float(0.2)]]);
    let query = "SELECT conclusion, detail, count(*) AS failures, count(DISTINCT test) AS tests
                 FROM verdicts GROUP BY conclusion, detail ORDER BY failures DESC";
    let rows = history.sql(query, 10).expect("valid").rows;
    assert_eq!(rows, [[text("regression"), Value::Null, Value::Integer(2), Value::Integer(2)]]);
}

#[test]
fn verdicts_of_a_later_format_are_refused_and_nothing_else_is() {
    let (folder, history) = scratch();
    history.append(&[judged("r1", 0)]).expect("written");
    let path = folder.path().join(TABLE).join("_delta_log/00000000000000000000.json");
    let text = std::fs::read_to_string(&path).expect("there");
    let newer = text.replace(r#""flakewise.format":"1""#, r#""flakewise.format":"99""#);
    assert_ne!(newer, text);
    std::fs::write(&path, newer).expect("written");
    let error = history.sql("SELECT 1", 1).expect_err("from the future");
    assert!(matches!(error, HistoryError::NewerFormat { found: 99, .. }), "{error:?}");
    history.report(&ReportOptions::default()).expect("readable");
}
