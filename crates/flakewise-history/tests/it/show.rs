use flakewise_history::{Matches, ReportOptions};
use flakewise_model::Outcome::{Failed, Passed};
use flakewise_model::{FindingId, Phase};
use flakewise_testkit::BatchBuilder;

use crate::scratch;

#[test]
fn show_and_report_agree() {
    let (_folder, history) = scratch();
    let batches: Vec<_> = (0..30)
        .map(|number| {
            let outcome = if number % 7 == 3 { Failed } else { Passed };
            BatchBuilder::new(&format!("r{number}"), &format!("c{}", number / 2), number)
                .bystanders(10)
                .attempt("test_x", outcome)
                .build()
        })
        .collect();
    history.append(&batches).expect("written");
    let report = history.report(&ReportOptions::default()).expect("readable");
    let finding = report.findings.first().expect("test_x is flaky");
    let Matches::One(shown) = history.show(finding.test.as_str(), 10).expect("readable") else {
        panic!("the id names one test")
    };
    assert!(matches!(history.show(finding.id.as_str(), 10), Ok(Matches::One(found)) if found == shown));
    assert_eq!(shown.verdict, finding.verdict);
    assert_eq!((shown.rate, shown.reruns), (finding.rate, finding.reruns));
    assert_eq!(shown.cost, finding.cost);
    assert_eq!(shown.failures, finding.failures);
    assert_eq!(shown.attempts, 30);
    assert_eq!(shown.steps.len(), 10);
    assert!(shown.steps.is_sorted_by_key(|step| step.at));
}

#[test]
fn show_and_report_agree_on_attempts_of_every_phase() {
    let (_folder, history) = scratch();
    let mut batches = Vec::new();
    for (number, phase) in (0..).zip(Phase::ALL) {
        let outcome = if number % 2 == 0 { Failed } else { Passed };
        let batch = BatchBuilder::new(&format!("r{number}"), &format!("c{}", number / 3), number);
        let batch = batch.bystanders(10).attempt("test_x", Failed);
        batches.push(batch.phase(phase, "test_x", outcome).build());
    }
    history.append(&batches).expect("written");
    let report = history.report(&ReportOptions::default()).expect("readable");
    let [finding] = report.findings.as_slice() else { panic!("one finding: {report:?}") };
    let Matches::One(shown) = history.show(finding.test.as_str(), 10).expect("readable") else {
        panic!("the id names one test")
    };
    assert_eq!(shown.verdict, finding.verdict);
    assert_eq!((shown.rate, shown.reruns, shown.cost), (finding.rate, finding.reruns, finding.cost));
    assert_eq!(shown.failures, finding.failures);
}

#[test]
fn the_finding_of_a_run_names_its_test() {
    let (_folder, history) = scratch();
    let batch = BatchBuilder::new("r1", "c1", 0).bystanders(3).attempt("test_x", Failed).build();
    let test = batch.reports[0].attempts[3].test.clone();
    history.append(&[batch]).expect("written");
    let id = FindingId::of(&test);
    assert!(matches!(history.show(id.as_str(), 1), Ok(Matches::One(found)) if found.test == test));
}

#[test]
fn a_part_of_a_name_is_enough_if_it_names_one_test() {
    let (_folder, history) = scratch();
    let batch = BatchBuilder::new("r1", "c1", 0)
        .attempt("test_total", Passed)
        .attempt("test_total_of_two", Passed)
        .attempt("test_other", Passed)
        .build();
    history.append(&[batch]).expect("written");
    let show = |name: &str| history.show(name, 5).expect("readable");
    assert!(matches!(show("other"), Matches::One(_)));
    // The test whose whole name this is wins over those that contain it.
    assert!(matches!(show("test_total"), Matches::One(found) if found.test.name() == "test_total"));
    // So does the one whose whole id this is, as the runner writes it.
    let Matches::One(found) = show("test_total") else { unreachable!("shown above") };
    let native = found.test.as_str().trim_start_matches("pytest:").to_owned();
    assert!(matches!(show(&native), Matches::One(found) if found.test.name() == "test_total"), "{native}");
    assert!(matches!(show("total_"), Matches::One(_)));
    assert!(matches!(show("tal"), Matches::Several(names, false) if names.len() == 2));
    assert!(matches!(show("nonsense"), Matches::None));
    assert!(matches!(show("'; DROP TABLE attempts --"), Matches::None));
}
