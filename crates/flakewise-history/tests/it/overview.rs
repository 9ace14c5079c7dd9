use std::time::Duration;

use flakewise_history::ReportOptions;
use flakewise_model::Outcome::{Failed, Passed};
use flakewise_model::{Conclusion, Tally};
use flakewise_testkit::{BatchBuilder, at};

use crate::scratch;

#[test]
fn an_overview_has_days_attempts_failures_and_kinds() {
    let (_folder, history) = scratch();
    let batches = [
        BatchBuilder::new("r1", "c1", 0)
            .bystanders(10)
            .attempt("test_flaky", Failed)
            .attempt("test_flaky", Passed)
            .verdict("test_flaky", "flaky", Some("transient"), 1.0)
            .build(),
        BatchBuilder::new("r2", "c2", 26)
            .bystanders(10)
            .attempt("test_flaky", Passed)
            .attempt("test_other", Failed)
            .build(),
    ];
    history.append(&batches).expect("written");
    let overview = history.overview(&ReportOptions::default()).expect("readable");
    assert_eq!((overview.project.as_str(), overview.runs, overview.largest_run), ("acme/shop", 2, 12));
    let names: Vec<_> = overview.tests.iter().map(|test| test.test.name()).collect();
    assert_eq!(names, ["test_flaky", "test_other"], "the costliest first, and none that never failed");

    let flaky = &overview.tests[0];
    assert_eq!(flaky.verdict.conclusion, Conclusion::Flaky);
    assert_eq!(flaky.kind.as_deref(), Some("transient"));
    assert_eq!((flaky.since, flaky.last_failed), (Some(at(0)), Some(at(0))));
    let (first, second) = (at(0).date_naive(), at(26).date_naive());
    let tally = |passed, failed| Tally { passed, failed };
    assert_eq!(flaky.days, [(first, tally(1, 1)), (second, tally(1, 0))]);
    let details = flaky.details.as_ref().expect("it is among the costliest");
    assert_eq!(details.steps.len(), 3);
    assert!(details.steps.is_sorted_by_key(|step| step.at));
    assert_eq!(details.failures[0].message, "test_flaky broke");

    // What is not flaky costs nobody anything here.
    let days: Vec<_> =
        overview.days.iter().map(|day| (day.day, day.runs, day.runs_disturbed, day.time_lost)).collect();
    assert_eq!(days, [(first, 1, 1, Duration::from_millis(500)), (second, 1, 0, Duration::ZERO)]);
}

#[test]
fn culprits_are_those_of_the_latest_search() {
    let (_folder, history) = scratch();
    let search = |run: &str, hours, evidence: &str| {
        let mut batch = BatchBuilder::new(run, "c1", hours)
            .verdict("test_victim", "flaky", Some("state-dependent"), 1.0)
            .build();
        batch.reports[0].verdicts[0].evidence = evidence.to_owned();
        batch
    };
    let found = |culprit: &str| {
        format!(
            r#"[{{"kind":"culprits","tests":["pytest:test_it.py::{culprit}"],"shared":["it leaves `x`"]}}]"#
        )
    };
    let early = search("culprit-1", 1, &found("test_early"));
    assert_eq!(history.append_verdicts(&early).expect("writable"), 0, "there is no history to add it to");
    let failing = BatchBuilder::new("r1", "c1", 0).bystanders(10).attempt("test_victim", Failed).build();
    history.append(&[failing]).expect("written");
    for batch in [
        search("culprit-2", 3, &found("test_late")),
        early,
        // Somebody else's bytes.
        search("culprit-3", 2, r#"[{"kind":"culprits","tests":7}]"#),
    ] {
        assert_eq!(history.append_verdicts(&batch).expect("written"), 1);
        assert_eq!(history.append_verdicts(&batch).expect("written"), 0, "it is there already");
    }
    let overview = history.overview(&ReportOptions::default()).expect("readable");
    assert_eq!((overview.runs, overview.attempts), (1, 11), "a search is no run");
    let victim = &overview.tests[0];
    assert_eq!(victim.kind.as_deref(), Some("state-dependent"));
    let [culprit] = victim.details.as_ref().expect("details").culprits.as_slice() else {
        panic!("{victim:?}")
    };
    assert_eq!(culprit.tests[0].as_str(), "pytest:test_it.py::test_late");
    assert_eq!(culprit.shared, ["it leaves `x`"]);
}

#[test]
fn an_overview_of_the_last_days_leaves_out_the_rest() {
    let (_folder, history) = scratch();
    let run = |name: &str, test: &str, hours| {
        BatchBuilder::new(name, name, hours)
            .bystanders(10)
            .attempt(test, Failed)
            .attempt(test, Passed)
            .build()
    };
    history.append(&[run("r1", "test_old", 0), run("r2", "test_new", 72)]).expect("written");
    let overview = history.overview(&ReportOptions { days: Some(2) }).expect("readable");
    assert_eq!(overview.runs, 1);
    assert_eq!(overview.tests.iter().map(|test| test.test.name()).collect::<Vec<_>>(), ["test_new"]);
    assert_eq!(overview.days.len(), 1);
}
