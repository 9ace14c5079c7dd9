use flakewise_model::RunReport;

use crate::sample;

#[test]
fn a_run_has_a_stable_form() {
    insta::assert_snapshot!(sample::run_json(&sample::usual()));
}

/// Verdicts with their evidence, a line each.
fn verdicts(report: &RunReport) -> String {
    let document: serde_json::Value = serde_json::from_str(&sample::run_json(report)).expect("it is JSON");
    let mut lines = Vec::new();
    for failure in document["failures"].as_array().expect("a list") {
        let refusal = failure["refusal"].as_str().map_or_else(String::new, |why| format!(" refused: {why}"));
        lines.push(format!("{}{refusal}", failure["verdict"]));
        for evidence in failure["evidence"].as_array().expect("a list") {
            lines.push(format!("  {evidence}"));
        }
    }
    lines.dedup();
    lines.join("\n")
}

#[test]
fn every_verdict_and_every_reason_has_a_form() {
    insta::assert_snapshot!(verdicts(&sample::rich()));
}

#[test]
fn every_kind_of_flake_and_every_refusal_has_a_form() {
    insta::assert_snapshot!(verdicts(&sample::flakes()));
}

#[test]
fn the_three_probabilities_add_up() {
    for report in [sample::rich(), sample::flakes()] {
        let document: serde_json::Value =
            serde_json::from_str(&sample::run_json(&report)).expect("it is JSON");
        for failure in document["failures"].as_array().expect("a list") {
            let of = |name: &str| failure["verdict"][name].as_f64().expect("a number");
            assert!((of("flaky") + of("regression") + of("environment") - 1.0).abs() < 1e-9, "{failure}");
        }
    }
}

#[test]
fn incidents_and_failures_name_each_other() {
    let document: serde_json::Value =
        serde_json::from_str(&sample::run_json(&sample::rich())).expect("it is JSON");
    for failure in document["failures"].as_array().expect("a list") {
        let place = usize::try_from(failure["incident"].as_u64().expect("a place")).expect("it is small");
        let members = document["incidents"][place]["failures"].as_array().expect("a list");
        assert!(members.contains(&failure["id"]));
    }
}

#[test]
fn hostile_text_is_kept_as_it_is() {
    let report = sample::hostile();
    let document: serde_json::Value = serde_json::from_str(&sample::run_json(&report)).expect("it is JSON");
    assert_eq!(document["failures"][0]["name"], report.failures[0].name.as_str());
}

#[test]
fn the_same_input_gives_the_same_bytes() {
    assert_eq!(sample::run_json(&sample::rich()), sample::run_json(&sample::rich()));
}
