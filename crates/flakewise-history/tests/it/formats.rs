//! Tables written by other versions.

use std::path::Path;
use std::time::Duration;

use flakewise_history::{HistoryError, MaintainOptions, ReportOptions};
use flakewise_model::Outcome::{Failed, Passed};
use flakewise_model::Phase;
use flakewise_testkit::{BatchBuilder, test_id};

use crate::{count, open, scratch};

/// Copies a frozen store, so that it stays as it is.
pub(crate) fn thawed(name: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("made");
    copy(&Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata").join(name), folder.path());
    folder
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).expect("made");
    for entry in std::fs::read_dir(from).expect("the frozen store is in the repository") {
        let entry = entry.expect("readable");
        let target = to.join(entry.file_name());
        if entry.file_type().expect("known").is_dir() {
            copy(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).expect("copied");
        }
    }
}

/// Makes a frozen store of today's format again if `FLAKEWISE_FREEZE` names it;
/// those of older formats are never touched.
fn freeze(name: &str, batches: &[flakewise_model::Batch]) {
    if std::env::var_os("FLAKEWISE_FREEZE").is_some_and(|wanted| wanted == name) {
        let (folder, history) = scratch();
        history.append(batches).expect("written");
        copy(folder.path(), &Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata").join(name));
    }
}

/// What the frozen store `format-1` holds.
fn batches() -> Vec<flakewise_model::Batch> {
    (0..4)
        .map(|number| {
            BatchBuilder::new(&format!("r{number}"), &format!("c{}", number / 2), 12 * number)
                .bystanders(10)
                .attempt("test_flaky", if number == 1 { Failed } else { Passed })
                .build()
        })
        .collect()
}

#[test]
fn format_1_is_read_and_appended_to() {
    freeze("format-1", &batches());
    let folder = thawed("format-1");
    let history = open(&folder);
    let report = history.report(&ReportOptions::default()).expect("readable");
    assert_eq!((report.runs, report.attempts), (4, 44));
    assert_eq!(report.findings.len(), 1);
    assert_eq!(report.findings[0].test.name(), "test_flaky");
    let again = history.append(&batches()).expect("written");
    assert_eq!((again.reports_added, again.reports_known), (0, 4), "ids of reports have not changed");
    let more = BatchBuilder::new("new", "c9", 48).attempt("test_flaky", Passed).build();
    history.append(&[more]).expect("written");
    assert_eq!(count(&history, "SELECT count(*) FROM attempts"), 45);
}

#[test]
fn format_1_from_before_there_were_verdicts_takes_them_in() {
    let folder = thawed("format-1");
    let history = open(&folder);
    assert_eq!(count(&history, "SELECT count(*) FROM verdicts"), 0);
    let past = history.failures_elsewhere(&[(test_id("test_flaky"), None)], None).expect("readable");
    assert_eq!((past[0].attempts, past[0].mixed_revisions), (4, 1));
    history.append(&judged()).expect("written");
    assert_eq!(count(&history, "SELECT count(*) FROM verdicts"), 2);
}

/// What the frozen store `format-1-verdicts` holds.
fn judged() -> Vec<flakewise_model::Batch> {
    let judged = BatchBuilder::new("j1", "j1", 0)
        .bystanders(10)
        .attempt("test_flaky", Failed)
        .phase(Phase::Fork, "test_flaky", Passed)
        .attempt("test_broken", Failed)
        .verdict("test_flaky", "flaky", Some("state-dependent"), 1.0)
        .verdict("test_broken", "regression", None, 0.03);
    let base = BatchBuilder::new("j1/base", "j0", 0).phase(Phase::Base, "test_broken", Passed);
    vec![judged.build(), base.build()]
}

#[test]
fn format_1_with_verdicts_is_read_and_appended_to() {
    freeze("format-1-verdicts", &judged());
    let folder = thawed("format-1-verdicts");
    let history = open(&folder);
    let flaky = "SELECT count(*) FROM verdicts WHERE conclusion = 'flaky' AND probability = 1.0
                 AND detail = 'state-dependent' AND evidence = '{}' AND finding = '714509b5'";
    assert_eq!(count(&history, flaky), 1);
    let again = history.append(&judged()).expect("written");
    assert_eq!((again.reports_known, again.verdicts_added), (2, 0), "ids of reports have not changed");
    let more =
        BatchBuilder::new("j2", "j2", 1).attempt("test_x", Failed).verdict("test_x", "flaky", None, 0.9);
    assert_eq!(history.append(&[more.build()]).expect("written").verdicts_added, 1);
    assert_eq!(count(&history, "SELECT count(*) FROM verdicts"), 3);
}

/// What the frozen store `format-1-rootdir` holds: a history from before ids had
/// the path of the rootdir in front, of a repository with several services.
fn before_rootdirs() -> Vec<flakewise_model::Batch> {
    (0..4)
        .map(|number| {
            let mixed = if number == 1 { Failed } else { Passed };
            BatchBuilder::new(&format!("old{number}"), &format!("c{}", number / 2), 12 * number)
                .bystanders(10)
                .attempt("test_moved", mixed)
                .attempt("test_shared", mixed)
                .build()
        })
        .collect()
}

#[test]
fn format_1_from_before_rootdirs_were_part_of_ids_is_read() {
    freeze("format-1-rootdir", &before_rootdirs());
    let folder = thawed("format-1-rootdir");
    let history = open(&folder);
    let report = history.report(&ReportOptions::default()).expect("readable");
    assert_eq!((report.runs, report.attempts, report.findings.len()), (4, 48, 2));
    let again = history.append(&before_rootdirs()).expect("written");
    assert_eq!((again.reports_added, again.reports_known), (0, 4), "ids of reports have not changed");
}

#[test]
fn maintenance_gives_an_old_table_the_properties_of_new_ones_once() {
    let folder = thawed("format-1-verdicts");
    let history = open(&folder);
    let rows = || {
        let tables = [("runs", "run"), ("attempts", "run, test, attempt"), ("verdicts", "run, test")];
        tables.map(|(table, order)| {
            history.sql(&format!("SELECT * FROM {table} ORDER BY {order}"), 100).expect("readable")
        })
    };
    let before = rows();
    let entries = |table: &str| -> Vec<String> {
        let log = folder.path().join("acme~shop").join(table).join("_delta_log");
        let paths = std::fs::read_dir(log).expect("there").map(|entry| entry.expect("readable").path());
        let entries = paths.filter(|path| path.extension().is_some_and(|extension| extension == "json"));
        entries.map(|path| std::fs::read_to_string(path).expect("readable")).collect()
    };
    let options = MaintainOptions {
        dry_run: false,
        keep: Duration::from_hours(1),
        expire: None,
        expire_attempts: None,
    };
    for _ in 0..2 {
        history.maintain(&options, &|_, _, _| {}).expect("maintained");
        for (table, columns) in [
            ("runs", "day,started_at"),
            ("attempts", "day,started_at,test"),
            ("verdicts", "day,started_at,test"),
            ("test_days", "day,record,rolled_from,test"),
        ] {
            let bounds = format!(r#""delta.dataSkippingStatsColumns":"{columns}""#);
            let retention = r#""delta.logRetentionDuration":"interval 1 day""#;
            let says = |entry: &&String| entry.contains(&bounds) && entry.contains(retention);
            assert_eq!(entries(table).iter().filter(says).count(), 1, "{table}: {:?}", entries(table));
        }
    }
    assert_eq!(rows(), before);
}

#[test]
fn a_column_an_old_table_lacks_is_null_until_it_is_added() {
    let (folder, history) = scratch();
    history.append(&[BatchBuilder::new("r1", "c1", 0).attempt("test_a", Passed).build()]).expect("written");
    let log = folder.path().join("acme~shop/attempts/_delta_log");
    let path = log.join("00000000000000000000.json");
    let text = std::fs::read_to_string(&path).expect("there");
    let field = r#"{\"name\":\"worker\",\"type\":\"string\",\"nullable\":true,\"metadata\":{}},"#;
    let older = text.replace(field, "");
    assert_ne!(older, text, "the schema is where we think");
    std::fs::write(&path, older).expect("written");
    assert_eq!(count(&history, "SELECT count(*) FROM attempts WHERE worker IS NULL"), 1);
    history.append(&[BatchBuilder::new("r2", "c1", 1).attempt("test_a", Passed).build()]).expect("evolved");
    assert_eq!(count(&history, "SELECT count(*) FROM attempts WHERE worker IS NULL"), 2);
    let fresh = std::fs::read_to_string(log.join("00000000000000000002.json")).expect("the column was added");
    assert!(fresh.contains("worker"), "{fresh}");
}

#[test]
fn a_later_format_is_refused_with_advice() {
    let (folder, history) = scratch();
    history.append(&[BatchBuilder::new("r1", "c1", 0).attempt("test_a", Passed).build()]).expect("written");
    let path = folder.path().join("acme~shop/attempts/_delta_log/00000000000000000000.json");
    let text = std::fs::read_to_string(&path).expect("there");
    std::fs::write(&path, text.replace(r#""flakewise.format":"1""#, r#""flakewise.format":"99""#))
        .expect("written");
    let error = history.report(&ReportOptions::default()).expect_err("from the future");
    assert!(matches!(error, HistoryError::NewerFormat { found: 99, .. }), "{error:?}");
}
