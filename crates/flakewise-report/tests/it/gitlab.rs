use std::collections::HashSet;

use flakewise_model::FindingId;
use flakewise_report::{Findings, findings_gitlab};

use crate::{gitlab, sample};

#[test]
fn failures_become_issues() {
    insta::assert_snapshot!(gitlab(&sample::usual()));
}

#[test]
fn a_green_run_has_none() {
    assert_eq!(gitlab(&sample::green()), "[]\n");
}

#[test]
fn every_issue_has_what_gitlab_wants() {
    let mut report = sample::rich();
    report.failures[0].place = None;
    report.failures[1].place = Some(("./tests/test_db.py".into(), 0));
    let issues: serde_json::Value = serde_json::from_str(&gitlab(&report)).expect("it is JSON");
    let issues = issues.as_array().expect("a list");
    let (lost, failed): (Vec<_>, Vec<_>) =
        issues.iter().partition(|issue| issue["check_name"] == "flakewise/lost-test");
    assert_eq!(lost.len(), report.lost.len());
    let path_of = |id: &str| {
        let issue = failed.iter().find(|issue| issue["fingerprint"] == id).expect("an issue");
        issue["location"]["path"].clone()
    };
    assert_eq!(path_of(report.failures[0].id.as_str()), "tests/test_a.py");
    assert_eq!(path_of(report.failures[1].id.as_str()), "tests/test_db.py");
    let mut fingerprints = HashSet::new();
    for issue in issues {
        assert!(fingerprints.insert(issue["fingerprint"].as_str().expect("a text")));
        assert!(
            ["info", "minor", "major", "critical", "blocker"]
                .contains(&issue["severity"].as_str().expect("a text"))
        );
        assert!(issue["location"]["lines"]["begin"].as_u64() >= Some(1));
        assert!(!issue["description"].as_str().expect("a text").contains('\n'));
    }
}

#[test]
fn an_issue_says_how_many_are_left_out() {
    let report = sample::usual();
    let mut findings = Findings::from(&report);
    findings.findings.truncate(1);
    let first = findings.findings[0].subjects[0].clone();
    let mut issues = |number: u32| {
        let id = |number| FindingId::from_text(format!("{number:08x}"));
        let subjects =
            (0..number).map(|number| flakewise_report::Subject { id: id(number), ..first.clone() });
        findings.findings[0].subjects = subjects.collect();
        let issues: Vec<serde_json::Value> =
            serde_json::from_str(&findings_gitlab(&findings)).expect("it is JSON");
        (issues.len(), issues.last().expect("an issue").clone())
    };
    let (all, last) = issues(5_000);
    assert_eq!((all, last["fingerprint"].as_str()), (5_000, Some("00001387")));
    let (with_note, note) = issues(5_012);
    assert_eq!(with_note, 5_001);
    assert_eq!(note["description"], "12 less important issues were left out");
    assert_eq!((&note["severity"], &note["location"]), (&"info".into(), &last["location"]));
}

#[test]
fn the_same_input_gives_the_same_bytes() {
    assert_eq!(gitlab(&sample::rich()), gitlab(&sample::rich()));
}
