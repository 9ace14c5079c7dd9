//! `flakewise check` on small suites, with the real pytest.

use flakewise_testkit::{Output, TestContext};
use serde_json::Value;

use crate::{commit_all, context, git, python, repository};

/// A test that passes when it is first run, and fails in every fifth run, also beside
/// itself.
const FLAKY: &str = "
import fcntl, os, pathlib

def test_new():
    with open(pathlib.Path(os.environ['STATE'], 'runs'), 'a+') as runs:
        fcntl.flock(runs, fcntl.LOCK_EX)
        runs.write('x')
        runs.flush()
        count = runs.tell()
    assert count % 5, 'the fifth time'
";
const CALM: &str = "\ndef test_calm():\n    assert True\n";
const NEW: &str = "tests/test_new.py::test_new";

/// A project in a repository, with a folder of state outside of it.
struct Project {
    context: TestContext,
    state: TestContext,
}

impl Project {
    /// A branch that adds a file to a project with one test.
    fn new(name: &str, content: &str) -> Self {
        let project = Self { context: repository(), state: context() };
        project.commit("tests/test_old.py", CALM);
        project.git(&["checkout", "--quiet", "-b", "work"]);
        project.commit(name, content);
        project
    }

    fn git(&self, arguments: &[&str]) {
        git(self.context.path(), arguments);
    }

    fn commit(&self, name: &str, content: &str) {
        self.context.write(name, content);
        commit_all(&self.context);
    }

    fn check(&self, options: &[&str]) -> Output {
        let mut command = self.context.command();
        command.env("STATE", self.state.path()).arg("check").args(options);
        command.args(["--", &python(), "-m", "pytest", "-q", "-p", "no:cacheprovider"]);
        self.context.finish(&mut command)
    }

    /// The exit code and the report.
    fn report(&self, options: &[&str]) -> (Option<i32>, Value) {
        let options: Vec<&str> = ["--no-store", "--format", "json"].iter().chain(options).copied().collect();
        let output = self.check(&options);
        let report = serde_json::from_str(&output.stdout)
            .unwrap_or_else(|error| panic!("not JSON: {error}\n{}\n{}", output.stdout, output.stderr));
        (output.code, report)
    }
}

#[test]
fn a_new_flaky_test_is_found_though_it_passed_in_the_suite() {
    let project = Project::new("tests/test_new.py", FLAKY);
    // Much longer than it takes: how many reruns there are must not depend on speed.
    let output = project.check(&["--no-store", "--share", "1000", "--write", "markdown=comment.md"]);
    assert_eq!(output.code, Some(1), "{}{}", output.stdout, output.stderr);
    for text in [
        &format!("NEW FLAKE  {NEW}"),
        "passed in the suite, then failed ",
        "it is flaky",
        "exit code 1: the command exited with 0; a new or changed test is flaky",
        "1 new flake, 1 passed in ",
    ] {
        assert!(output.stdout.contains(text), "`{text}` is not in\n{}", output.stdout);
    }
    let comment = std::fs::read_to_string(project.context.path().join("comment.md")).expect("written");
    assert!(comment.starts_with("<!-- flakewise check -->\n## 1 new flake, 1 passed\n"), "{comment}");
}

#[test]
fn new_and_changed_tests_are_rerun_until_a_flake_would_have_shown() {
    let project = Project::new("tests/test_new.py", CALM);
    let changed = "\ndef test_calm():\n    assert 1 + 1 == 2\n\ndef test_other():\n    pass\n";
    project.commit("tests/test_old.py", changed);
    let (code, report) = project.report(&["--share", "1000"]);
    assert_eq!(code, Some(0), "{report}");
    let review = &report["review"];
    // Two tests were added and one changed.
    assert_eq!((&review["tests"], &review["flaky"]), (&3.into(), &0.into()), "{report}");
    assert_eq!((&review["fewest"], &review["most"], &review["runs"]), (&66.into(), &66.into(), &198.into()));
    assert!(review["shows"].as_f64().is_some_and(|shows| shows >= 0.999), "{review}");
    // A rarer flake needs more reruns.
    let (_, report) = project.report(&["--share", "1000", "--detect", "0.5"]);
    assert_eq!(report["review"]["goal"], 10, "{report}");
}

#[test]
fn tests_that_did_not_change_are_not_rerun() {
    let project = Project::new("README", "changed");
    let (code, report) = project.report(&[]);
    assert_eq!((code, &report["review"]["tests"]), (Some(0), &0.into()), "{report}");
    let project = Project::new("tests/test_new.py", FLAKY);
    let (code, report) = project.report(&["--share", "0"]);
    assert_eq!((code, &report["review"]["runs"]), (Some(0), &0.into()), "{report}");
}

#[test]
fn a_test_that_fails_only_after_another_one_is_told_and_not_called_flaky() {
    // In the suite a third test, which did not change, comes between and resets the state.
    let tests = "
state = []

def test_a_sets():
    state.append(1)

def test_b_resets():
    state.clear()

def test_c_needs():
    assert not state
";
    let project = Project::new("tests/test_new.py", tests);
    project.git(&["checkout", "--quiet", "main"]);
    project.git(&["merge", "--quiet", "work"]);
    project.git(&["checkout", "--quiet", "-b", "more"]);
    let changed = tests
        .replace("state.append(1)", "state.append(2)")
        .replace("assert not state", "assert not state, 'left'");
    project.commit("tests/test_new.py", &changed);
    let output = project.check(&["--no-store", "--share", "1000"]);
    assert_eq!(output.code, Some(0), "{}{}", output.stdout, output.stderr);
    let told = "`tests/test_new.py::test_c_needs` failed when it was run with other new or changed tests, several \
                times in one process, and passed 66 times alone";
    assert!(output.stdout.contains(told), "{}", output.stdout);
}

#[test]
fn a_quarantined_test_does_not_fail_the_check() {
    let project = Project::new("tests/test_new.py", FLAKY);
    let add = ["quarantine", "add", NEW, "--any-failure", "--reason", "new", "--owner", "me"];
    let output = project.context.run(add);
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    let (code, report) = project.report(&["--share", "1000"]);
    assert_eq!(code, Some(0), "{report}");
    assert_eq!((&report["review"]["flaky"], &report["counts"]["quarantined"]), (&1.into(), &1.into()));
}

#[test]
fn a_check_needs_something_to_compare_with() {
    let context = context();
    context.write("test_a.py", CALM);
    let output = context.run(["check", "--", &python(), "-m", "pytest"]);
    assert_eq!(output.code, Some(20), "{}{}", output.stdout, output.stderr);
    assert!(output.stderr.contains("`check` requires a git repository"), "{}", output.stderr);
}

#[cfg(feature = "history")]
#[test]
fn reruns_are_in_the_history() {
    let project = Project::new("tests/test_new.py", CALM);
    let output = project.check(&["--share", "1000", "--detect", "0.5"]);
    assert_eq!(output.code, Some(0), "{}{}", output.stdout, output.stderr);
    let query = "select phase, outcome, count(*) n from attempts group by all order by phase";
    let output = project.context.run(["sql", query, "--format", "csv"]);
    assert_eq!(output.stdout.replace('\r', ""), "phase,outcome,n\nfirst,passed,2\norder,passed,10\n");
}
