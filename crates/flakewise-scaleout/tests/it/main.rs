//! A real cluster: one scheduler and two executors on loopback, and a bucket of a real S3 server.

mod processes;

use std::process::{Command, Stdio};

use flakewise_history::{History, MaintainOptions, ReportOptions, StoreUrl};
use flakewise_model::Outcome::{Failed, Passed, Skipped};
use flakewise_model::Phase;
use flakewise_report::{report_json, rows_json};
use flakewise_testkit::BatchBuilder;
use tempfile::TempDir;

use crate::processes::{Bucket, Gate, Scheduler};

/// A history of some weeks in a folder, with flaky and broken tests, reruns and an outage.
fn history() -> (TempDir, History) {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let store = StoreUrl::parse(folder.path().to_str().expect("a UTF-8 path")).expect("a folder is a store");
    let history = History::new(store, "acme/shop");
    let batches: Vec<_> = (0..60_i64)
        .map(|number| {
            let outcome = |failed| if failed { Failed } else { Passed };
            let mut batch =
                BatchBuilder::new(&format!("r{number}"), &format!("c{}", number / 2), number * 12)
                    .bystanders(20)
                    .attempt("test_flaky", outcome(number % 7 == 3))
                    .attempt("test_broken", outcome(number > 50))
                    .attempt("test_skipped", Skipped);
            if number % 7 == 3 {
                batch = batch.phase(Phase::Fresh, "test_flaky", Passed);
            }
            if number == 30 {
                batch = (0..40).fold(batch, |batch, test| batch.attempt(&format!("test_{test}"), Failed));
            }
            batch.build()
        })
        .collect();
    for some in batches.chunks(5) {
        history.append(some).expect("written");
    }
    (folder, history)
}

const STATEMENTS: [&str; 4] = [
    "SELECT count(*) AS attempts, count(DISTINCT test) AS tests FROM attempts",
    "SELECT test, count(*) AS runs, count(*) FILTER (WHERE failed) AS failures
     FROM outcomes GROUP BY test ORDER BY failures DESC, test",
    "SELECT test, count(*) AS revisions FROM mixed GROUP BY test ORDER BY test",
    "SELECT day, sum(attempts) AS attempts FROM runs WHERE NOT outage GROUP BY day ORDER BY day",
];

/// What a command prints.
fn answer(command: &mut Command) -> String {
    let output = command.output().expect("the program starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("UTF-8")
}

#[test]
fn a_cluster_answers_as_one_process_does() {
    let (folder, history) = history();
    let bucket = Bucket::of(folder.path());
    let scheduler = Scheduler::start(bucket.address);
    let _executors = [scheduler.executor(bucket.address), scheduler.executor(bucket.address)];
    let run = |arguments: &[&str]| answer(scheduler.command(bucket.address).args(arguments));

    for statement in STATEMENTS {
        let expected = rows_json(&history.sql(statement, 1000).expect("the statement is right"));
        assert!(expected.lines().count() >= 1, "{statement}");
        assert_eq!(run(&["sql", statement, "--format", "json"]), expected, "{statement}");
    }
    let report = || report_json(&history.report(&ReportOptions::default()).expect("readable"));
    let from_attempts = report();
    assert!(from_attempts.contains("test_flaky"), "{from_attempts}");
    assert_eq!(run(&["report", "--format", "json"]), from_attempts);

    // Roll-ups that the cluster made, read by the cluster and, in a copy, by one process.
    let maintained = run(&["maintain"]);
    assert!(maintained.contains("30 days rolled up"), "{maintained}");
    assert_eq!(run(&["report", "--format", "json"]), from_attempts);
    let options = MaintainOptions {
        dry_run: false,
        keep: std::time::Duration::from_hours(1),
        expire: None,
        expire_attempts: None,
    };
    history.maintain(&options, &|_, _, _| {}).expect("it can be maintained");
    let rolled =
        "SELECT record, day, test, variant, run, phase, outcome, attempts, runs, spent_us, failure_message
                  FROM test_days ORDER BY 1, 2, 3, 4, 5, 6, 7";
    let expected = rows_json(&history.sql(rolled, 10_000).expect("the statement is right"));
    assert_eq!(run(&["sql", rolled, "--format", "json", "--limit", "10000"]), expected);
    assert_eq!(report(), from_attempts);
}

#[test]
fn an_executor_that_dies_in_the_middle_changes_no_answer() {
    let (folder, history) = history();
    let bucket = Bucket::of(folder.path());
    let scheduler = Scheduler::start(bucket.address);
    let gates = [Gate::before(bucket.address), Gate::before(bucket.address)];
    let [dying, surviving] = gates.each_ref().map(|gate| scheduler.executor(gate.address));

    let statement = STATEMENTS[1];
    let mut command = scheduler.command(bucket.address);
    command.args(["sql", statement, "--format", "json"]).stdout(Stdio::piped()).stderr(Stdio::piped());
    let query = command.spawn().expect("the program starts");
    // Both have a task now, and wait for their files.
    gates.iter().for_each(Gate::wait_for_arrival);
    dying.kill();
    gates[1].open();
    let output = query.wait_with_output().expect("it ends");
    let expected = rows_json(&history.sql(statement, 1000).expect("the statement is right"));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(String::from_utf8_lossy(&output.stdout), expected);
    // And the next query, with one executor.
    let again = answer(scheduler.command(bucket.address).args(["sql", statement, "--format", "json"]));
    assert_eq!(again, expected);
    drop(surviving);
}

#[test]
fn what_is_missing_is_said() {
    let (folder, _) = history();
    let bucket = Bucket::of(folder.path());
    let failure = |command: &mut Command| {
        let output = command.args(["sql", STATEMENTS[0]]).output().expect("the program starts");
        assert_eq!(output.status.code(), Some(2));
        String::from_utf8(output.stderr).expect("UTF-8")
    };
    // A port that nobody listens on.
    let nobody =
        std::net::TcpListener::bind("127.0.0.1:0").expect("a free port").local_addr().expect("it has one");
    let unreachable =
        failure(processes::program(bucket.address).env("FLAKEWISE_SCHEDULER", nobody.to_string()));
    assert!(unreachable.contains(&format!("no scheduler at {nobody}")), "{unreachable}");
    let scheduler = Scheduler::start(bucket.address);
    let missing = failure(scheduler.command(bucket.address).env("FLAKEWISE_PROJECT", "acme/other"));
    assert!(missing.contains("acme/other"), "{missing}");
}
