use flakewise_history::{HistoryError, MaintainOptions};
use flakewise_model::Outcome::{Failed, Passed};
use flakewise_testkit::BatchBuilder;

use crate::{count, open, scratch};

#[test]
fn the_same_report_twice_adds_nothing() {
    let (_folder, history) = scratch();
    let batch = BatchBuilder::new("r1", "c1", 0).attempt("test_a", Passed).attempt("test_b", Failed).build();
    let first = history.append(std::slice::from_ref(&batch)).expect("a fresh folder can be written to");
    assert_eq!((first.reports_added, first.reports_known, first.attempts_added), (1, 0, 2));
    let second = history.append(&[batch.clone(), batch]).expect("asking twice is fine");
    assert_eq!((second.reports_added, second.reports_known, second.attempts_added), (0, 1, 0));
    assert_eq!(count(&history, "SELECT count(*) FROM attempts"), 2);
    assert_eq!(count(&history, "SELECT count(*) FROM reports"), 1);
}

#[test]
fn a_known_report_among_new_ones_is_left_out() {
    let (_folder, history) = scratch();
    let old = BatchBuilder::new("r1", "c1", 0).attempt("test_a", Passed).build();
    let new = BatchBuilder::new("r2", "c1", 1).attempt("test_a", Passed).build();
    history.append(std::slice::from_ref(&old)).expect("written");
    let appended = history.append(&[old, new]).expect("written");
    assert_eq!((appended.reports_added, appended.reports_known), (1, 1));
    assert_eq!(count(&history, "SELECT count(*) FROM attempts"), 2);
}

#[test]
fn every_attempt_keeps_its_worker() {
    let (_folder, history) = scratch();
    let batches = ["r1", "r2"].map(|run| {
        let mut batch = BatchBuilder::new(run, "c1", 0).bystanders(6).build();
        let shared: std::sync::Arc<str> = "gw0".into();
        // One text for several, a text of its own that is equal, another one, and none.
        let workers = [
            Some(shared.clone()),
            Some("gw1".into()),
            Some(shared.clone()),
            Some("gw0".into()),
            None,
            Some(shared),
        ];
        for (attempt, worker) in batch.reports[0].attempts.iter_mut().zip(workers) {
            attempt.worker = worker;
        }
        batch
    });
    history.append(&batches).expect("written");
    for (number, worker) in
        ["= 'gw0'", "= 'gw1'", "= 'gw0'", "= 'gw0'", "IS NULL", "= 'gw0'"].iter().enumerate()
    {
        let query =
            format!("SELECT count(*) FROM attempts WHERE test LIKE '%_{number:03}' AND worker {worker}");
        assert_eq!(count(&history, &query), 2, "{query}");
    }
}

#[test]
fn writers_that_begin_at_the_same_moment_add_each_report_once() {
    const WRITERS: usize = 8;
    const APPENDS: usize = 3;
    let (folder, history) = scratch();
    let batch = |id: String| BatchBuilder::new(&id, "c", 0).attempt("test_a", Passed).build();
    let barrier = std::sync::Barrier::new(WRITERS);
    let added: usize = std::thread::scope(|scope| {
        let write = |writer: usize| {
            let (folder, barrier) = (&folder, &barrier);
            scope.spawn(move || {
                let history = open(folder);
                barrier.wait();
                let append = |number: usize| {
                    // One of its own, and one that all of them send.
                    let batches = [batch(format!("r{writer}.{number}")), batch(format!("common.{number}"))];
                    history.append(&batches).expect("each gets its turn").reports_added
                };
                (0..APPENDS).map(append).sum::<usize>()
            })
        };
        let writers: Vec<_> = (0..WRITERS).map(write).collect();
        writers.into_iter().map(|writer| writer.join().expect("no panic")).sum()
    });
    let expected = (WRITERS + 1) * APPENDS;
    let rows = i64::try_from(expected).expect("few");
    // Two may both have come before the common report was there; one of them added it.
    assert!((expected..=2 * WRITERS * APPENDS).contains(&added), "{added}");
    for table in ["attempts", "reports"] {
        assert_eq!(count(&history, &format!("SELECT count(*) FROM {table}")), rows, "{table}");
        let reports = count(&history, &format!("SELECT count(DISTINCT report) FROM {table}"));
        assert_eq!(reports, rows, "{table}");
    }
}

#[test]
fn an_ingest_that_died_between_the_tables_is_completed() {
    let (folder, history) = scratch();
    let batch = BatchBuilder::new("r1", "c1", 0).attempt("test_a", Passed).build();
    history.append(std::slice::from_ref(&batch)).expect("written");
    // As if the process had died after `runs` and before `attempts`.
    std::fs::remove_dir_all(folder.path().join("acme~shop/attempts")).expect("removed");
    let appended = history.append(&[batch]).expect("written");
    assert_eq!(appended.reports_added, 1);
    assert_eq!(count(&history, "SELECT count(*) FROM attempts"), 1);
    assert_eq!(count(&history, "SELECT count(*) FROM reports"), 1);
}

#[test]
fn ids_are_remembered_across_checkpoints() {
    let (folder, history) = scratch();
    let batches: Vec<_> = (0..3)
        .map(|number| BatchBuilder::new(&format!("r{number}"), "c", 0).attempt("test_a", Passed).build())
        .collect();
    for batch in &batches {
        history.append(std::slice::from_ref(batch)).expect("written");
    }
    let keep = std::time::Duration::ZERO;
    history
        .maintain(
            &MaintainOptions { dry_run: false, keep, expire: None, expire_attempts: None },
            &|_, _, _| {},
        )
        .expect("maintained");
    assert!(checkpoints(&folder) > 0, "maintenance makes a checkpoint");
    let appended = open(&folder).append(&batches).expect("written");
    assert_eq!(appended.reports_known, 3);
    assert_eq!(count(&history, "SELECT count(*) FROM attempts"), 3);
}

/// Otherwise every reader would read every entry of the log.
#[test]
fn appends_make_a_checkpoint_now_and_then() {
    let (folder, history) = scratch();
    for number in 0..25 {
        let batch = BatchBuilder::new(&format!("r{number}"), "c", 0).attempt("test_a", Passed).build();
        history.append(&[batch]).expect("written");
    }
    assert_eq!(checkpoints(&folder), 2);
    assert_eq!(count(&open(&folder), "SELECT count(*) FROM attempts"), 25);
}

fn checkpoints(store: &tempfile::TempDir) -> usize {
    let log = store.path().join("acme~shop/attempts/_delta_log");
    let entries = std::fs::read_dir(log).expect("the log is there");
    let names = entries.map(|entry| entry.expect("readable").file_name());
    names.filter(|name| name.to_string_lossy().contains("checkpoint.")).count()
}

#[test]
fn each_file_holds_one_day_and_is_sorted_by_test() {
    let (_folder, history) = scratch();
    let day = |hours| {
        BatchBuilder::new(&format!("r{hours}"), "c1", hours)
            .attempt("test_b", Passed)
            .attempt("test_a", Passed)
            .attempt("test_c", Passed)
            .build()
    };
    history.append(&[day(1), day(30), day(54)]).expect("written");
    assert_eq!(count(&history, "SELECT count(DISTINCT day) FROM attempts"), 3);
    let rows = history.sql("SELECT day, test FROM attempts", 100).expect("valid");
    for day in rows.rows.chunks(3) {
        assert!(day.iter().all(|row| row[0] == day[0][0]), "one day per file: {day:?}");
        let tests: Vec<_> = day.iter().map(|row| format!("{:?}", row[1])).collect();
        assert!(tests.is_sorted(), "{tests:?}");
    }
}

#[test]
fn a_store_that_cannot_be_written_to_says_so() {
    let folder = tempfile::tempdir().expect("made");
    let file = folder.path().join("not-a-folder");
    std::fs::write(&file, "").expect("written");
    let store = flakewise_history::StoreUrl::parse(file.to_str().expect("UTF-8")).expect("parsed");
    let history = flakewise_history::History::new(store, "p");
    let batch = BatchBuilder::new("r1", "c1", 0).attempt("test_a", Passed).build();
    let error = history.append(&[batch]).expect_err("a file is not a folder");
    assert!(error.is_store_trouble(), "{error:?}");
}

#[test]
fn nothing_there_yet_is_told_apart_from_trouble() {
    let (_folder, history) = scratch();
    let error = history.sql("SELECT 1", 1).expect_err("no tables");
    assert!(matches!(error, HistoryError::NoHistory { .. }), "{error:?}");
}

#[test]
fn queries_cannot_change_anything() {
    let (_folder, history) = scratch();
    history.append(&[BatchBuilder::new("r1", "c1", 0).attempt("t", Passed).build()]).expect("written");
    for query in [
        "DROP TABLE attempts",
        "CREATE TABLE x AS SELECT 1",
        "INSERT INTO attempts SELECT * FROM attempts",
        "COPY attempts TO '/tmp/never.csv'",
        "SET datafusion.execution.batch_size = 1",
        "CREATE EXTERNAL TABLE t STORED AS CSV LOCATION '/etc/passwd'",
    ] {
        assert!(history.sql(query, 1).is_err(), "{query} must be refused");
    }
}
