use flakewise_model::Outcome::{Failed, Passed, Skipped};
use flakewise_model::{
    Batch, Fingerprint, OutcomesAt, PastFailures, PastRuns, Phase, SeenOn, Tally, Variant,
};
use flakewise_testkit::{BatchBuilder, at, test_id};

use crate::scratch;

/// Gives all failures of a batch this fingerprint.
fn marked(mut batch: Batch, fingerprint: &str) -> Batch {
    for attempt in &mut batch.reports[0].attempts {
        if let Some(failure) = &mut attempt.failure {
            failure.fingerprint = Some(Fingerprint::from_text(fingerprint));
        }
    }
    batch
}

#[test]
fn without_a_history_nothing_is_known() {
    let (folder, history) = scratch();
    let past = history.failures_elsewhere(&[(test_id("test_x"), None)], Some("c1"));
    assert_eq!(past.expect("no error"), [PastFailures::none(test_id("test_x"))]);
    let outcomes = history.outcomes_at(&[(test_id("test_x"), None)], "c1", None);
    assert_eq!(outcomes.expect("no error"), [OutcomesAt::none(test_id("test_x"))]);
    assert_eq!(history.seen_on(&[(test_id("test_x"), None)]).expect("no error"), [[]]);
    assert_eq!(history.passed_runs(&[test_id("test_x")], None, 1).expect("no error"), [[]]);
    assert_eq!(history.packages_at("c1", None).expect("no error"), None);
    assert_eq!(std::fs::read_dir(folder.path()).expect("there").count(), 0, "asking makes nothing");
}

#[test]
fn failures_on_other_revisions_are_told_by_fingerprint() {
    let (_folder, history) = scratch();
    let run = |name: &str, commit: &str, hours, outcomes: &[_], fingerprint: &str| {
        let batch = BatchBuilder::new(name, commit, hours).bystanders(10);
        let batch = outcomes.iter().fold(batch, |batch, outcome| batch.attempt("test_x", *outcome));
        marked(batch.build(), fingerprint)
    };
    let batches = [
        run("r1", "c1", 1, &[Passed], ""),
        run("r2", "c2", 2, &[Failed, Failed], "alike"),
        run("r3", "c3", 3, &[Failed, Passed], "alike"),
        run("r4", "c4", 4, &[Failed], "other"),
        run("r5", "c4", 5, &[Passed, Skipped], ""),
        run("r6", "here", 6, &[Failed, Passed], "alike"),
    ];
    history.append(&batches).expect("written");
    let alike = || Some(Fingerprint::from_text("alike"));
    let ask = [(test_id("test_unknown"), alike()), (test_id("test_x"), alike())];
    let past = history.failures_elsewhere(&ask, Some("here")).expect("readable");
    let expected = PastFailures {
        test: test_id("test_x"),
        attempts: 7,
        failures: 4,
        alike: 3,
        revisions: 4,
        alike_revisions: 2,
        mixed_revisions: 2,
        last_seen: Some(at(5)),
        last_failed: Some(at(4)),
    };
    assert_eq!(past, [PastFailures::none(test_id("test_unknown")), expected.clone()]);
    let everywhere = history.failures_elsewhere(&ask[1..], None).expect("readable").remove(0);
    assert_eq!((everywhere.revisions, everywhere.alike_revisions, everywhere.mixed_revisions), (5, 3, 3));
    let unmarked = history.failures_elsewhere(&[(test_id("test_x"), None)], Some("here")).expect("readable");
    assert_eq!(unmarked, [PastFailures { alike: 0, alike_revisions: 0, ..expected }]);
}

#[test]
fn a_fingerprint_is_asked_for_its_own_test_only() {
    let (_folder, history) = scratch();
    let batch = BatchBuilder::new("r1", "c1", 0).attempt("test_a", Failed).attempt("test_b", Failed).build();
    history.append(&[marked(batch, "one")]).expect("written");
    let mark = |text: &str| Some(Fingerprint::from_text(text));
    let ask = [(test_id("test_a"), mark("one")), (test_id("test_b"), mark("two"))];
    let past = history.failures_elsewhere(&ask, None).expect("readable");
    assert_eq!(past.iter().map(|past| past.alike).collect::<Vec<_>>(), [1, 0]);
}

#[test]
fn modified_work_trees_are_revisions_of_their_own_and_those_of_the_commit_at_hand_are_left_out() {
    let (_folder, history) = scratch();
    let run = |name: &str, commit: &str, outcome| {
        BatchBuilder::new(name, commit, 0).run(|run| run.dirty = true).attempt("test_x", outcome).build()
    };
    let batches =
        [run("r1", "c1", Failed), run("r2", "c1", Passed), run("r3", "c2", Failed), run("r4", "c2", Failed)];
    history.append(&batches).expect("written");
    let ask = [(test_id("test_x"), None)];
    let past = history.failures_elsewhere(&ask, Some("c2")).expect("readable").remove(0);
    assert_eq!((past.attempts, past.failures, past.revisions, past.mixed_revisions), (2, 1, 2, 0));
    let outcomes = history.outcomes_at(&[(test_id("test_x"), None)], "c1", None).expect("readable");
    assert_eq!(outcomes, [OutcomesAt::none(test_id("test_x"))], "they do not say what the commit does");
}

#[test]
fn different_outcomes_in_different_variants_are_not_mixed() {
    let (_folder, history) = scratch();
    let run = |name: &str, system: &str, outcome| {
        let variant = Variant::default().with("os", system);
        BatchBuilder::new(name, "c1", 0).run(|run| run.variant = variant).attempt("test_x", outcome).build()
    };
    history.append(&[run("r1", "linux", Passed), run("r2", "windows", Failed)]).expect("written");
    let past = history.failures_elsewhere(&[(test_id("test_x"), None)], Some("c2")).expect("readable");
    assert_eq!((past[0].failures, past[0].revisions, past[0].mixed_revisions), (1, 1, 0));
    let at_commit = |variant: Option<&str>| {
        let variant = variant.map(|system| Variant::default().with("os", system));
        let outcomes =
            history.outcomes_at(&[(test_id("test_x"), None)], "c1", variant.as_ref()).expect("readable");
        (outcomes[0].passed, outcomes[0].failed)
    };
    assert_eq!(at_commit(None), (1, 1));
    assert_eq!(at_commit(Some("linux")), (1, 0));
    assert_eq!(at_commit(Some("windows")), (0, 1));
    assert_eq!(at_commit(Some("macos")), (0, 0));
}

#[test]
fn an_outage_is_not_held_against_a_test() {
    let (_folder, history) = scratch();
    let mut outage = BatchBuilder::new("r1", "c1", 0);
    for number in 0..20 {
        outage = outage.attempt(&format!("test_{number}"), Failed);
    }
    history.append(&[outage.build()]).expect("written");
    let past = history.failures_elsewhere(&[(test_id("test_1"), None)], None).expect("readable");
    assert_eq!(past, [PastFailures::none(test_id("test_1"))]);
    let outcomes = history.outcomes_at(&[(test_id("test_1"), None)], "c1", None).expect("readable");
    assert_eq!(outcomes, [OutcomesAt::none(test_id("test_1"))]);
}

#[test]
fn a_try_at_the_base_counts_for_the_base() {
    let (_folder, history) = scratch();
    let head = BatchBuilder::new("r1", "head", 0).bystanders(10).attempt("test_x", Failed).build();
    let base = BatchBuilder::new("r1/base", "base", 0).phase(Phase::Base, "test_x", Passed).build();
    history.append(&[head, base]).expect("written");
    let outcomes = |commit: &str| {
        let outcomes = history.outcomes_at(&[(test_id("test_x"), None)], commit, None).expect("readable");
        (outcomes[0].passed, outcomes[0].failed, outcomes[0].last_seen)
    };
    assert_eq!(outcomes("base"), (1, 0, Some(at(0))));
    assert_eq!(outcomes("head"), (0, 1, Some(at(0))));
}

#[test]
fn failures_alike_are_told_by_commit_with_how_first_attempts_ended() {
    let (_folder, history) = scratch();
    let run = |name: &str, commit: &str, hours, outcomes: &[_], fingerprint: &str| {
        let batch = BatchBuilder::new(name, commit, hours).bystanders(10);
        let batch = outcomes.iter().fold(batch, |batch, outcome| batch.attempt("test_x", *outcome));
        marked(batch.build(), fingerprint)
    };
    let dirty = BatchBuilder::new("r0", "c0", 9).run(|run| run.dirty = true).attempt("test_x", Failed);
    let feature = BatchBuilder::new("r6", "c3", 6).run(|run| run.branch = Some("feature".to_owned()));
    let base = BatchBuilder::new("r7/base", "c1", 7).run(|run| run.branch = None);
    let batches = [
        marked(dirty.build(), "alike"),
        run("r1", "c1", 1, &[Passed], ""),
        run("r2", "c2", 2, &[Failed, Failed, Passed], "alike"),
        run("r3", "c3", 3, &[Failed, Passed], "other"),
        run("r4", "c4", 4, &[Skipped], ""),
        feature.bystanders(10).attempt("test_x", Passed).build(),
        marked(base.phase(Phase::Base, "test_x", Failed).build(), "alike"),
    ];
    history.append(&batches).expect("written");
    let alike = |text: &str| Some(Fingerprint::from_text(text));
    let ask = [
        (test_id("test_x"), alike("alike")),
        (test_id("test_unknown"), None),
        (test_id("test_x"), alike("other")),
    ];
    let on = |commit: &str, branches: &[&str], alike, first_passed, first_failed, hours| SeenOn {
        commit: commit.to_owned(),
        branches: branches.iter().map(|&branch| branch.to_owned()).collect(),
        alike,
        first_passed,
        first_failed,
        last_seen: at(hours),
    };
    let seen = history.seen_on(&ask).expect("readable");
    let expected = [
        on("c1", &["main"], 1, 1, 0, 7),
        on("c3", &["feature", "main"], 0, 1, 1, 6),
        on("c2", &["main"], 2, 0, 1, 2),
    ];
    assert_eq!(seen[0], expected);
    assert_eq!(seen[1], []);
    let others: Vec<_> = seen[2].iter().map(|on| (on.commit.as_str(), on.alike)).collect();
    assert_eq!(others, [("c1", 0), ("c3", 1), ("c2", 0)]);
    let at_c2 = |text: &str| {
        let asked = [(test_id("test_x"), alike(text))];
        let outcomes = history.outcomes_at(&asked, "c2", None).expect("readable").remove(0);
        (outcomes.passed, outcomes.failed, outcomes.alike)
    };
    assert_eq!((at_c2("alike"), at_c2("other")), ((1, 2, 2), (1, 2, 0)));
}

#[test]
fn of_many_commits_the_newest_are_told_and_older_ones_only_with_failures_alike() {
    let (_folder, history) = scratch();
    let batches: Vec<_> = (0..300)
        .map(|number| {
            let outcome = if number % 3 == 0 { Failed } else { Passed };
            let batch = BatchBuilder::new(&format!("r{number}"), &format!("c{number}"), number);
            marked(batch.attempt("test_x", outcome).build(), "alike")
        })
        .collect();
    history.append(&batches).expect("written");
    let ask = [(test_id("test_x"), Some(Fingerprint::from_text("alike")))];
    let seen = history.seen_on(&ask).expect("readable").remove(0);
    assert_eq!(seen.len(), SeenOn::RECENT, "the newest fifty failures are among the newest commits");
    assert!(seen.is_sorted_by(|newer, older| newer.last_seen > older.last_seen));
    let rare: Vec<_> = (0..10)
        .map(|number| {
            let batch = BatchBuilder::new(&format!("old{number}"), &format!("old{number}"), number - 20);
            marked(batch.attempt("test_x", Failed).build(), "rare")
        })
        .collect();
    history.append(&rare).expect("written");
    let ask = [(test_id("test_x"), Some(Fingerprint::from_text("rare")))];
    let seen = history.seen_on(&ask).expect("readable").remove(0);
    assert_eq!(seen.len(), SeenOn::RECENT + 10);
    assert!(seen[SeenOn::RECENT..].iter().all(|on| on.alike == 1));
}

#[test]
fn what_was_installed_when_a_test_passed_is_known() {
    let (_folder, history) = scratch();
    let run = |name: &str, commit: &str, hours, outcome, packages: Option<&str>| {
        let batch = BatchBuilder::new(name, commit, hours).bystanders(10).attempt("test_x", outcome);
        batch.run(|run| run.packages = packages.map(Into::into))
    };
    let batches = [
        run("r1", "c1", 1, Passed, Some("httpx==0.27.0")).build(),
        run("r2", "c2", 2, Passed, None).build(),
        run("r3", "c2", 3, Passed, Some("httpx==0.27.2")).build(),
        run("r4", "c2", 4, Failed, Some("httpx==0.28.1")).build(),
        run("r5", "c3", 5, Passed, Some("httpx==0.28.0")).run(|run| run.dirty = true).build(),
    ];
    history.append(&batches).expect("written");
    let tests = [test_id("test_unknown"), test_id("test_x")];
    let variant = Variant::default().with("os", "linux");
    let runs = history.passed_runs(&tests, Some(&variant), 5).expect("readable");
    let told: Vec<_> =
        runs[1].iter().map(|run| (run.run.as_str(), run.commit.as_str(), &*run.packages, run.at)).collect();
    assert_eq!(told, [("r3", "c2", "httpx==0.27.2", at(3)), ("r1", "c1", "httpx==0.27.0", at(1))]);
    assert_eq!(runs[0], []);
    assert_eq!(history.passed_runs(&tests, None, 1).expect("readable")[1].len(), 1);
    let other = Variant::default().with("os", "windows");
    assert_eq!(history.passed_runs(&tests, Some(&other), 5).expect("readable")[1], []);
    let installed = |commit: &str| history.packages_at(commit, Some(&variant)).expect("readable");
    assert_eq!(installed("c2").as_deref(), Some("httpx==0.28.1"));
    assert_eq!(installed("c3"), None, "a modified work tree does not say what the commit does");
}

#[test]
fn many_tests_are_asked_for_at_once_and_answered_in_order() {
    let (_folder, history) = scratch();
    let names: Vec<_> = (0..600).rev().map(|number| format!("test_{number:03} it's")).collect();
    let mut batch = BatchBuilder::new("r1", "c1", 0).bystanders(10);
    for name in names.iter().step_by(3) {
        batch = batch.attempt(name, Failed).attempt(name, Passed);
    }
    history.append(&[batch.build()]).expect("written");
    let tests: Vec<_> = names.iter().map(|name| test_id(name)).collect();
    let ask: Vec<_> = tests.iter().map(|test| (test.clone(), None)).collect();
    let past = history.failures_elsewhere(&ask, None).expect("readable");
    let outcomes = history.outcomes_at(&ask, "c1", None).expect("readable");
    for (place, test) in tests.iter().enumerate() {
        let there = u64::from(place % 3 == 0);
        assert_eq!((&past[place].test, past[place].mixed_revisions), (test, there));
        assert_eq!(
            (&outcomes[place].test, outcomes[place].passed, outcomes[place].failed),
            (test, there, there)
        );
    }
}

#[test]
fn runs_alone_are_told_from_runs_with_others() {
    let (_folder, history) = scratch();
    let run = BatchBuilder::new("r1", "c1", 0)
        .bystanders(10)
        .attempt("test_x", Passed)
        .phase(Phase::Postpone, "test_x", Failed)
        .phase(Phase::Fork, "test_x", Failed)
        .phase(Phase::Fork, "test_x", Failed)
        .phase(Phase::Fresh, "test_x", Passed)
        .phase(Phase::Order, "test_x", Failed)
        .build();
    let variant = run.run.variant.clone();
    history.append(&[run]).expect("written");
    let tests = [test_id("test_y"), test_id("test_x")];
    let runs = history.runs_at(&tests, "c1", &variant).expect("readable");
    assert_eq!(runs[0], PastRuns::default());
    assert_eq!(runs[1].together, Tally { passed: 1, failed: 1 });
    assert_eq!(runs[1].alone, Tally { passed: 1, failed: 2 });
    assert_eq!(runs[1].ordered, Tally { passed: 0, failed: 1 });
    let elsewhere = history.runs_at(&tests, "c2", &variant).expect("readable");
    assert_eq!(elsewhere[1], PastRuns::default());
}

#[test]
fn the_tests_before_a_failure_are_known_in_their_order() {
    let (_folder, history) = scratch();
    let in_process = |mut batch: flakewise_model::Batch, worker: &'static str| {
        for attempt in &mut batch.reports[0].attempts {
            attempt.worker = Some(worker.into());
        }
        batch
    };
    let passing =
        BatchBuilder::new("r1", "c1", 0).attempt("test_a", Passed).attempt("test_x", Passed).build();
    let older = BatchBuilder::new("r2", "c1", 1)
        .attempt("test_b", Passed)
        .attempt("test_c", Passed)
        .attempt("test_a", Passed)
        .attempt("test_x", Failed)
        .attempt("test_d", Passed)
        .build();
    let newer = BatchBuilder::new("r3", "c1", 2)
        .phase(Phase::Order, "test_d", Passed)
        .phase(Phase::Order, "test_x", Failed)
        .build();
    let alone = BatchBuilder::new("r4", "c1", 3).phase(Phase::Fork, "test_x", Failed).build();
    let of_no_process =
        BatchBuilder::new("r5", "c1", 4).attempt("test_a", Passed).attempt("test_x", Failed).build();
    let batches = [
        in_process(passing, "main"),
        in_process(older, "main"),
        in_process(newer, "fork-7"),
        in_process(alone, "fork-1"),
        of_no_process,
    ];
    history.append(&batches).expect("written");
    let ids = |names: &[&str]| names.iter().map(|name| test_id(name)).collect::<Vec<_>>();
    let orders = history.failing_orders(&test_id("test_x"), 5).expect("readable");
    assert_eq!(orders, [ids(&["test_d"]), ids(&["test_b", "test_c", "test_a"])]);
    assert_eq!(history.failing_orders(&test_id("test_x"), 1).expect("readable").len(), 1);
    assert_eq!(history.failing_orders(&test_id("test_y"), 5).expect("readable"), Vec::<Vec<_>>::new());
}
