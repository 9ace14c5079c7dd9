//! The real binary on the zoo, a suite whose every test has a known behaviour.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use flakewise_testkit::TestContext;
use flakewise_testkit::zoo::{self, Expectation, Expected, Zoo};
use serde_json::Value;

use crate::python;

#[test]
fn the_calm_zoo_is_judged_right_every_time() {
    // Two at a time: no run may know of another.
    std::thread::scope(|scope| {
        for first in 0..2 {
            scope.spawn(move || {
                for round in (first..rounds("FLAKEWISE_ZOO_CALM")).step_by(2) {
                    // Nothing in it hangs.
                    check(round, &zoo::CALM, Duration::from_mins(10), &zoo::calm_expectations());
                }
            });
        }
    });
}

#[test]
fn the_whole_zoo_is_judged_right_through_crashes_and_hangs() {
    for round in 0..rounds("FLAKEWISE_ZOO_WHOLE") {
        check(round, &zoo::WHOLE, time_to_hang(), &zoo::expectations());
    }
}

/// How often: once, unless CI asks for more.
fn rounds(variable: &str) -> usize {
    std::env::var(variable).ok().and_then(|count| count.parse().ok()).unwrap_or(1)
}

/// After which a test is taken to hang. Each test that does costs it several
/// times, so it is relative to the speed of the machine: to how long Python
/// takes to start and import pytest. No other test of the zoo takes as long.
fn time_to_hang() -> Duration {
    let began = Instant::now();
    let status = Command::new(python()).args(["-c", "import pytest"]).status();
    assert!(status.expect("Python starts").success());
    Duration::from_secs(5).max(20 * began.elapsed())
}

/// Runs the zoo once and compares every verdict with the model.
fn check(round: usize, arguments: &[&str], test_timeout: Duration, expectations: &[Expectation]) {
    let context = TestContext::new(env!("CARGO_BIN_EXE_flakewise"));
    let zoo = zoo::materialise(&context.path().join("zoo"));
    let state = context.path().join("state");
    std::fs::create_dir(&state).expect("a folder can be made");
    // Checking what reproduces hundreds of failures uses its whole budget, so only the first round does it.
    let checked: &[&str] = if round == 0 { &[] } else { &["--reproduce-budget", "0"] };
    let output = context
        .command()
        .args(["run", "--format", "json", "--verify-base", "--max-failures", "1000"])
        .args(checked)
        .args(["--test-timeout", &format!("{}s", test_timeout.as_secs())])
        .args(["--no-store", "--base", &zoo.base, "--", &python()])
        .args(arguments)
        .current_dir(&zoo.path)
        .env("PYTHONHASHSEED", "0")
        .env("ZOO_STATE", &state)
        .output()
        .expect("the binary starts");
    let report: Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("not JSON: {error}\n{}", String::from_utf8_lossy(&output.stderr)));
    let wrong = compare(&report, expectations);
    assert!(
        wrong.is_empty(),
        "round {round}, seed {}:\n{}\nnotices: {}",
        report["seed"],
        wrong.join("\n"),
        report["notices"]
    );
    assert_eq!(report["complete"], true, "lost: {}", report["lost"]);
    assert_eq!(
        output.status.code(),
        report["exit"]["code"].as_i64().and_then(|code| i32::try_from(code).ok())
    );
    for process in zoo::grandchildren(&state) {
        assert!(!Path::new(&format!("/proc/{process}")).exists(), "process {process} was left behind");
    }
    nothing_is_left(&zoo);
}

/// The user's repository is as it was.
fn nothing_is_left(zoo: &Zoo) {
    let git = |arguments: &[&str]| {
        let output = Command::new("git").args(arguments).current_dir(&zoo.path).output().expect("git starts");
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    assert_eq!(git(&["worktree", "list"]).lines().count(), 1);
    assert_eq!(git(&["rev-parse", "HEAD"]).trim(), zoo.change);
}

/// What was said that is not expected, one line for each.
fn compare(report: &Value, expectations: &[Expectation]) -> Vec<String> {
    let mut said: BTreeMap<&str, (&str, Option<&str>, &Value)> = BTreeMap::new();
    for failure in report["failures"].as_array().into_iter().flatten() {
        let verdict = &failure["verdict"];
        let name = failure["name"].as_str().unwrap_or_default();
        said.insert(
            name,
            (verdict["conclusion"].as_str().unwrap_or("?"), verdict["detail"].as_str(), failure),
        );
    }
    let mut wrong = Vec::new();
    for Expectation { test, expected } in expectations {
        match said.remove(test) {
            Some((conclusion, detail, failure)) if !expected.allows_verdict(conclusion, detail) => {
                let attempts = failure["attempts"].as_array().into_iter().flatten();
                let attempts: Vec<_> =
                    attempts.map(|one| format!("{} {}", one["phase"], one["outcome"])).collect();
                wrong.push(format!(
                    "{test}: {conclusion}/{}, expected {expected:?}\n    {}\n    {}",
                    detail.unwrap_or("-"),
                    attempts.join(", ").replace('"', ""),
                    failure["evidence"],
                ));
            }
            None if !expected.allows_pass() && !expected.allows_skip() => {
                wrong.push(format!("{test}: did not fail, expected {expected:?}"));
            }
            _ => {}
        }
    }
    wrong.extend(said.into_keys().map(|test| format!("{test}: failed and is not in the model")));
    // The model and the suite must not drift apart.
    let count = |is: fn(Expected) -> bool| expectations.iter().filter(|one| is(one.expected)).count() as u64;
    let selected = report["counts"]["selected"].as_u64().unwrap_or_default();
    if selected != count(|_| true) {
        wrong.push(format!("{selected} tests ran, the model has {}", expectations.len()));
    }
    let passed = report["counts"]["passed"].as_u64().unwrap_or_default();
    let (least, most) = (count(|one| one == Expected::Passes), count(Expected::allows_pass));
    if !(least..=most).contains(&passed) {
        wrong.push(format!("{passed} tests passed, expected {least} to {most}"));
    }
    wrong
}
