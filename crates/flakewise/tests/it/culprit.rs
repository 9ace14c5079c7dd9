//! `flakewise culprit` on a small suite, with the real pytest.

use flakewise_testkit::TestContext;
use serde_json::Value;

use crate::{context, python};

/// Tests that pass something on to others, some only together, one only every
/// third time.
const SUITE: &str = "
import os, pathlib

STATE = set()

def turn(name):
    file = pathlib.Path(os.environ['STATE'], name)
    with file.open('a') as out:
        out.write('x')
    return len(file.read_text())

def test_first():
    STATE.add('a')

def test_nothing():
    pass

def test_second():
    if 'a' in STATE:
        STATE.add('b')

def test_third():
    if 'b' in STATE:
        STATE.add('c')

def test_victim_of_three():
    assert 'c' not in STATE

def test_sometimes():
    if turn('sometimes') % 3 == 0:
        STATE.add('s')

def test_victim_sometimes():
    assert 's' not in STATE

def test_brittle():
    assert 'a' in STATE

def test_cleans():
    STATE.clear()

def test_alternates():
    assert turn('alternates') % 2
";

struct Project {
    context: TestContext,
    state: TestContext,
}

impl Project {
    fn new() -> Self {
        let project = Self { context: context(), state: context() };
        project.context.write("test_it.py", SUITE);
        project
    }

    fn ask(&self, arguments: &[&str]) -> flakewise_testkit::Output {
        let mut command = self.context.command();
        command
            .args(["culprit", "--seed", "7", "--format", "json"])
            .args(arguments)
            .args(["--", &python(), "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_it.py"])
            .env("STATE", self.state.path());
        self.context.finish(&mut command)
    }

    fn report(&self, arguments: &[&str]) -> Value {
        let output = self.ask(arguments);
        assert_eq!(output.code, Some(0), "{}", output.stderr);
        serde_json::from_str(&output.stdout).expect("a document")
    }
}

fn names(list: &Value) -> Vec<&str> {
    let all = list.as_array().expect("a list").iter();
    all.map(|test| test["name"].as_str().expect("a name").trim_start_matches("test_it.py::")).collect()
}

#[test]
fn a_chain_of_three_is_found_and_what_cleans_up() {
    let report = Project::new().report(&["--all", "test_victim_of_three"]);
    assert_eq!(report["answer"], "victim");
    let culprits = report["culprits"].as_array().expect("a list");
    assert_eq!(culprits.len(), 1, "none does it by itself: {report:#}");
    assert_eq!(names(&culprits[0]["tests"]), ["test_first", "test_second", "test_third"]);
    assert_eq!((&culprits[0]["forks"]["failed"], &culprits[0]["forks"]["passed"]), (&10.into(), &0.into()));
    assert_eq!(culprits[0]["proved"], true);
    assert_eq!(
        culprits[0]["reproduce"],
        "python -m pytest test_it.py::test_first test_it.py::test_second test_it.py::test_third \
         test_it.py::test_victim_of_three"
    );
    assert_eq!(names(&report["cleaners"]), ["test_cleans"]);
}

#[test]
fn one_that_works_every_third_time_is_found() {
    let report = Project::new().report(&["test_victim_sometimes"]);
    let culprits = report["culprits"].as_array().expect("a list");
    assert_eq!(names(&culprits[0]["tests"]), ["test_sometimes"], "{report:#}");
    let failed = culprits[0]["forks"]["failed"].as_u64().expect("a number");
    assert!((3..=4).contains(&failed), "of ten: {failed}");
    assert_eq!(culprits[0]["proved"], true);
}

#[test]
fn what_a_brittle_test_needs_is_found() {
    let report = Project::new().report(&["test_it.py::test_brittle"]);
    assert_eq!((&report["answer"], &report["alone"]["failed"]), (&"brittle".into(), &10.into()));
    assert_eq!(names(&report["culprits"][0]["tests"]), ["test_first"]);
}

#[test]
fn tests_that_need_nobody_are_told_apart() {
    let project = Project::new();
    assert_eq!(project.report(&["test_alternates"])["answer"], "flaky-alone");
    let calm = project.report(&["test_nothing"]);
    assert_eq!((&calm["answer"], &calm["culprits"]), (&"no-difference".into(), &Value::Array(vec![])));
}

#[test]
fn a_name_that_no_test_has_is_an_error() {
    let output = Project::new().ask(&["test_nowhere"]);
    assert_eq!(output.code, Some(12));
    assert!(output.stderr.contains("error: no test is called `test_nowhere`"), "{}", output.stderr);
}
