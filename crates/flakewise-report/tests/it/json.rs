use flakewise_report::run_json;

use crate::sample;

#[test]
fn a_run_has_a_stable_form() {
    insta::assert_snapshot!(run_json(&sample::usual()));
}

#[test]
fn every_verdict_and_every_reason_has_a_form() {
    let document: serde_json::Value = serde_json::from_str(&run_json(&sample::rich())).expect("it is JSON");
    let mut lines = Vec::new();
    for failure in document["failures"].as_array().expect("a list") {
        lines.push(failure["verdict"].to_string());
        for evidence in failure["evidence"].as_array().expect("a list") {
            lines.push(format!("  {evidence}"));
        }
    }
    lines.dedup();
    insta::assert_snapshot!(lines.join("\n"));
}

#[test]
fn incidents_and_failures_name_each_other() {
    let document: serde_json::Value = serde_json::from_str(&run_json(&sample::rich())).expect("it is JSON");
    for failure in document["failures"].as_array().expect("a list") {
        let place = usize::try_from(failure["incident"].as_u64().expect("a place")).expect("it is small");
        let members = document["incidents"][place]["failures"].as_array().expect("a list");
        assert!(members.contains(&failure["id"]));
    }
}

#[test]
fn hostile_text_is_kept_as_it_is() {
    let report = sample::hostile();
    let document: serde_json::Value = serde_json::from_str(&run_json(&report)).expect("it is JSON");
    assert_eq!(document["failures"][0]["name"], report.failures[0].name.as_str());
}

#[test]
fn the_same_input_gives_the_same_bytes() {
    assert_eq!(run_json(&sample::rich()), run_json(&sample::rich()));
}
