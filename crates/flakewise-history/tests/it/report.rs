use flakewise_history::ReportOptions;
use flakewise_model::Outcome::{Failed, Passed, Skipped};
use flakewise_model::{Conclusion, Failure, Phase};
use flakewise_testkit::{BatchBuilder, at, test_id};

use crate::{count, scratch};

#[test]
fn passed_and_failed_on_one_commit_is_flaky_and_broken_is_not() {
    let (_folder, history) = scratch();
    let run = |number: i64, flaky, broken| {
        BatchBuilder::new(&format!("r{number}"), &format!("c{}", number / 2), number)
            .bystanders(10)
            .attempt("test_flaky", flaky)
            .attempt("test_broken", broken)
            .attempt("test_skipped", Skipped)
            .build()
    };
    let batches = [
        run(0, Passed, Passed),
        run(1, Passed, Passed),
        run(2, Failed, Failed),
        run(3, Passed, Failed),
        run(4, Passed, Failed),
        run(5, Passed, Failed),
    ];
    history.append(&batches).expect("written");
    let report = history.report(&ReportOptions::default()).expect("readable");
    assert_eq!(report.runs, 6);
    assert_eq!(report.others_failing, 1);
    assert_eq!(report.broken, 1);
    let [finding] = report.findings.as_slice() else { panic!("one finding: {report:?}") };
    assert_eq!(finding.test.name(), "test_flaky");
    assert_eq!(finding.verdict.conclusion, Conclusion::Flaky);
    assert_eq!((finding.rate.failures, finding.rate.attempts), (1, 6));
    assert_eq!(finding.cost.runs_disturbed, 1);
    assert_eq!((finding.since, finding.last_seen), (at(2), at(2)));
    assert_eq!(finding.failures[0].message, "test_flaky broke");
}

#[test]
fn failures_of_several_tests_are_listed_once() {
    let (_folder, history) = scratch();
    let run = |number: i64, outcome| {
        let mut batch = BatchBuilder::new(&format!("r{number}"), "c1", number)
            .bystanders(10)
            .attempt("test_a", outcome)
            .attempt("test_b", outcome)
            .attempt("test_c", Failed)
            .build();
        let down = Failure::new(Some("ConnectionError"), "the service is down", "");
        for attempt in &mut batch.reports[0].attempts {
            if attempt.test != test_id("test_c") && attempt.failure.is_some() {
                attempt.failure = Some(Box::new(down.clone()));
            }
        }
        batch
    };
    history.append(&[run(0, Failed), run(1, Passed), run(2, Failed)]).expect("written");
    let report = history.report(&ReportOptions::default()).expect("readable");
    let [shared] = report.shared_failures.as_slice() else { panic!("{:?}", report.shared_failures) };
    assert_eq!(shared.tests, [test_id("test_a"), test_id("test_b")]);
    assert_eq!((shared.failure.count, shared.failure.message.as_str()), (4, "the service is down"));
    assert_eq!((shared.failure.first_seen, shared.failure.last_seen), (at(0), at(2)));
}

#[test]
fn a_retry_that_passes_is_proof_and_costs_time() {
    let (_folder, history) = scratch();
    let batch = BatchBuilder::new("r1", "c1", 0)
        .bystanders(10)
        .attempt("test_x", Failed)
        .attempt("test_x", Failed)
        .attempt("test_x", Passed)
        .build();
    history.append(&[batch]).expect("written");
    let report = history.report(&ReportOptions::default()).expect("readable");
    assert_eq!(report.findings.len(), 1);
    assert_eq!(report.findings[0].cost.time_lost, std::time::Duration::from_millis(750));
}

#[test]
fn a_pass_on_any_rung_is_proof_and_running_again_costs_time() {
    for phase in [Phase::Rerun, Phase::Postpone, Phase::Fork, Phase::Fresh] {
        let (_folder, history) = scratch();
        let batch = BatchBuilder::new("r1", "c1", 0)
            .bystanders(10)
            .attempt("test_x", Failed)
            .phase(phase, "test_x", Failed)
            .phase(phase, "test_x", Passed)
            .build();
        history.append(&[batch]).expect("written");
        let report = history.report(&ReportOptions::default()).expect("readable");
        let [finding] = report.findings.as_slice() else { panic!("{phase:?}: {report:?}") };
        assert_eq!(finding.verdict.conclusion, Conclusion::Flaky);
        assert_eq!(finding.cost.time_lost, std::time::Duration::from_millis(750), "{phase:?}");
        assert_eq!(finding.cost.runs_disturbed, 1);
    }
}

#[test]
fn a_pass_at_the_base_is_no_proof_and_makes_no_ups_and_downs() {
    let (_folder, history) = scratch();
    let mut batches = Vec::new();
    for number in 0..6 {
        let (run, head) = (format!("r{number}"), format!("h{number}"));
        batches.push(BatchBuilder::new(&run, &head, number).bystanders(10).attempt("test_x", Failed).build());
        let base = BatchBuilder::new(&format!("{run}/base"), &format!("b{number}"), number);
        batches.push(base.run(|run| run.started = at(number)).phase(Phase::Base, "test_x", Passed).build());
    }
    history.append(&batches).expect("written");
    let report = history.report(&ReportOptions::default()).expect("readable");
    assert_eq!(report.findings, []);
    assert_eq!(report.broken, 1);
}

#[test]
fn a_failure_at_the_base_alone_is_no_proof() {
    let (_folder, history) = scratch();
    let main = BatchBuilder::new("r1", "base", 0).bystanders(10).attempt("test_x", Passed).build();
    let head = BatchBuilder::new("r2", "head", 1).bystanders(10).attempt("test_x", Failed).build();
    let base = BatchBuilder::new("r2/base", "base", 1).phase(Phase::Base, "test_x", Failed).build();
    history.append(&[main, head, base]).expect("written");
    let report = history.report(&ReportOptions::default()).expect("readable");
    assert_eq!((report.findings, report.others_failing), (Vec::new(), 1));
    assert_eq!(count(&history, "SELECT count(*) FROM mixed"), 0);
    let past = history.failures_elsewhere(&[(test_id("test_x"), None)], None).expect("readable");
    assert_eq!((past[0].failures, past[0].mixed_revisions), (2, 0));
}

#[test]
fn a_failure_at_the_base_that_was_seen_there_otherwise_counts_and_disturbed_nobody() {
    let (_folder, history) = scratch();
    let main = BatchBuilder::new("r1", "base", 0).bystanders(10);
    let main = main.attempt("test_x", Failed).attempt("test_x", Passed).build();
    let base = BatchBuilder::new("r2/base", "base", 1).phase(Phase::Base, "test_x", Failed).build();
    history.append(&[main, base]).expect("written");
    assert_eq!(count(&history, "SELECT failed FROM mixed"), 2);
    let past = history.failures_elsewhere(&[(test_id("test_x"), None)], None).expect("readable");
    assert_eq!((past[0].failures, past[0].mixed_revisions), (2, 1));
    let report = history.report(&ReportOptions::default()).expect("readable");
    let [finding] = report.findings.as_slice() else { panic!("one finding: {report:?}") };
    assert_eq!(finding.verdict.conclusion, Conclusion::Flaky);
    assert_eq!((finding.rate.failures, finding.rate.attempts), (1, 1));
    assert_eq!((finding.reruns.failures, finding.reruns.attempts), (0, 1));
    assert_eq!(finding.cost.runs_disturbed, 1);
    assert_eq!(finding.cost.time_lost, std::time::Duration::from_millis(750));
}

#[test]
fn rates_are_of_first_attempts() {
    let (_folder, history) = scratch();
    let mut batches = Vec::new();
    for number in 0..10 {
        let batch = BatchBuilder::new(&format!("r{number}"), &format!("c{number}"), number).bystanders(10);
        batches.push(if number < 2 {
            let batch = batch.attempt("test_x", Failed).phase(Phase::Rerun, "test_x", Failed);
            let batch = batch.phase(Phase::Postpone, "test_x", Failed).phase(Phase::Fork, "test_x", Passed);
            batch.build()
        } else {
            batch.attempt("test_x", Passed).build()
        });
    }
    history.append(&batches).expect("written");
    let report = history.report(&ReportOptions::default()).expect("readable");
    let [finding] = report.findings.as_slice() else { panic!("one finding: {report:?}") };
    assert_eq!((finding.rate.failures, finding.rate.attempts), (2, 10));
    assert_eq!((finding.reruns.failures, finding.reruns.attempts), (4, 6));
}

#[test]
fn an_outage_proves_nothing() {
    let (_folder, history) = scratch();
    let mut good = BatchBuilder::new("good", "c1", 0);
    let mut outage = BatchBuilder::new("outage", "c1", 1);
    for number in 0..20 {
        good = good.attempt(&format!("test_{number}"), Passed);
        outage = outage.attempt(&format!("test_{number}"), if number < 15 { Failed } else { Passed });
    }
    history.append(&[good.build(), outage.build()]).expect("written");
    let report = history.report(&ReportOptions::default()).expect("readable");
    assert_eq!(report.outages, 1);
    assert_eq!(report.findings, []);
    assert_eq!(report.others_failing, 0, "tests that failed only in an outage did not fail");
}

#[test]
fn a_modified_work_tree_does_not_prove_flakiness_across_runs() {
    let (_folder, history) = scratch();
    let run = |name: &str, hours, outcome| {
        BatchBuilder::new(name, "c1", hours).run(|run| run.dirty = true).attempt("test_x", outcome).build()
    };
    history.append(&[run("r1", 0, Failed), run("r2", 1, Passed)]).expect("written");
    assert_eq!(history.report(&ReportOptions::default()).expect("readable").findings, []);
}

#[test]
fn the_window_counts_back_from_the_newest_attempt() {
    let (_folder, history) = scratch();
    let flaky = |name: &str, test: &str, hours| {
        BatchBuilder::new(name, name, hours).attempt(test, Failed).attempt(test, Passed).build()
    };
    history.append(&[flaky("old", "test_old", 0), flaky("new", "test_new", 24 * 20)]).expect("written");
    let names = |days| {
        let report = history.report(&ReportOptions { days }).expect("readable");
        report.findings.into_iter().map(|finding| finding.test.name()).collect::<Vec<_>>()
    };
    assert_eq!(names(Some(7)), ["test_new"]);
    assert_eq!(names(None), ["test_new", "test_old"]);
}

#[test]
fn a_run_belongs_to_the_day_its_attempts_began() {
    let (_folder, history) = scratch();
    let mut batch =
        BatchBuilder::new("r1", "c1", 0).attempt("test_x", Failed).attempt("test_x", Passed).build();
    // The report was written, or copied, ten days later.
    for attempt in &mut batch.reports[0].attempts {
        attempt.started = Some(at(-240));
    }
    history.append(&[batch]).expect("written");
    let report = history.report(&ReportOptions { days: Some(1) }).expect("readable");
    assert_eq!(report.findings.len(), 1);
}
