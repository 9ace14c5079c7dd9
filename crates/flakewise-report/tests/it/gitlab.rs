use std::collections::HashSet;

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
fn the_same_input_gives_the_same_bytes() {
    assert_eq!(gitlab(&sample::rich()), gitlab(&sample::rich()));
}
