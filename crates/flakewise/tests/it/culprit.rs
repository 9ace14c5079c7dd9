//! `flakewise culprit` on a small suite, with the real pytest.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use flakewise_testkit::TestContext;
use serde_json::Value;

use crate::{context, python};

/// Tests that pass something on to others, some only together, one only every
/// third time.
const SUITE: &str = "
import os, pathlib

STATE = set()

def turn(name):
    # By another process: what a test itself writes is put back.
    file = pathlib.Path(os.environ['STATE'], name)
    os.system(f'printf x >> {file}')
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

def test_sets():
    assert list({'a', 'b', 'c', 'd'})[0] != 'a'
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

    fn command(&self, name: &str, arguments: &[&str]) -> Command {
        let mut command = self.context.command();
        command
            // However slow the machine is.
            .args([name, "--format", "json", "--budget", "10m"])
            .args(arguments)
            .args(["--", &python(), "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_it.py"])
            .env("STATE", self.state.path());
        command
    }

    fn ask(&self, arguments: &[&str]) -> flakewise_testkit::Output {
        self.context.finish(&mut self.command("culprit", arguments))
    }

    /// Lines that a search under way has written down.
    fn answers(&self) -> usize {
        let files = std::fs::read_dir(self.context.path().join(".flakewise/culprit"));
        let lines = |entry: std::fs::DirEntry| std::fs::read_to_string(entry.path()).unwrap_or_default();
        files.into_iter().flatten().flatten().map(|entry| lines(entry).lines().count()).sum()
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
    // The command as it was given, but for the file it names.
    let chain = "test_it.py::test_first test_it.py::test_second test_it.py::test_third \
                 test_it.py::test_victim_of_three";
    let command = format!("{} -m pytest -q -p no:cacheprovider {chain}", python());
    assert_eq!(culprits[0]["reproduce"], command);
    assert_eq!(names(&report["cleaners"]), ["test_cleans"]);
}

/// A page names the culprits that searches have found.
#[test]
#[cfg(feature = "history")]
fn a_report_names_the_culprit_that_was_found() {
    let project = Project::new();
    let victim = "import os\n\ndef test_sets_the_zone():\n    os.environ['ZONE'] = 'far'\n\n\
                  def test_reads_the_zone():\n    assert 'ZONE' not in os.environ\n";
    project.context.write("test_it.py", victim);
    let run = |arguments: &[&str]| {
        let mut command = project.context.command();
        project.context.finish(command.args(arguments))
    };
    let suite = ["run", "--", &python(), "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_it.py"];
    assert_eq!(run(&suite).code, Some(1));
    assert_eq!(project.report(&["test_reads_the_zone"])["answer"], "victim");
    let page = run(&["report", "--html", "page.html"]);
    assert_eq!(page.code, Some(0), "{}", page.stderr);
    let page = std::fs::read_to_string(project.context.path().join("page.html")).expect("written");
    assert!(page.contains(r#""culprits":[{"tests":["test_it.py::test_sets_the_zone"],"shared":["#), "{page}");
}

#[test]
fn one_that_works_every_third_time_is_found() {
    // One at a time, so that turns are taken in turn. With this seed it is cleaned
    // up after in the first orders in which it works.
    let report = Project::new().report(&["--jobs", "1", "--seed", "50", "test_victim_sometimes"]);
    let culprits = report["culprits"].as_array().expect("a list");
    assert_eq!(names(&culprits[0]["tests"]), ["test_sometimes"], "{report:#}");
    let count = |what: &str| culprits[0]["forks"][what].as_f64().expect("a number");
    let share = count("failed") / (count("failed") + count("passed"));
    assert!((share - 1.0 / 3.0).abs() < 0.04, "{share} of the runs");
    assert!(culprits[0]["confidence"].as_f64().expect("a number") >= 0.95);
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
    assert!(output.stderr.contains("error: no test matches `test_nowhere`"), "{}", output.stderr);
}

#[test]
fn a_search_that_is_killed_goes_on_where_it_was() {
    let project = Project::new();
    let arguments = ["--all", "test_victim_of_three"];
    let quiet = |command: &mut Command| command.stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    let mut first = quiet(&mut project.command("culprit", &arguments)).expect("the binary starts");
    let deadline = Instant::now() + Duration::from_mins(2);
    while project.answers() < 30 {
        assert!(Instant::now() < deadline, "no answers are written down");
        std::thread::yield_now();
    }
    first.kill().expect("it is there");
    first.wait().expect("it has ended");
    let report = project.report(&arguments);
    // Answers that came too late to matter are not looked at.
    assert!(report["known_answers"].as_u64().expect("a number") >= 20, "{report:#}");
    assert_eq!(names(&report["culprits"][0]["tests"]), ["test_first", "test_second", "test_third"]);
    assert_eq!(names(&report["cleaners"]), ["test_cleans"]);
    assert_eq!(project.answers(), 0, "it is over, so there is nothing to go on with");
    assert_eq!(project.report(&arguments)["known_answers"], 0);
}

/// Tests that end alike in every order, which takes some time to see.
const SLOW: &str = "
import time

import pytest

@pytest.mark.parametrize('number', range(12))
def test_calm(number):
    time.sleep(0.25)
";

#[test]
fn a_search_ends_with_its_budget_and_is_continued_by_the_same_command() {
    let project = Project::new();
    project.context.write("test_it.py", SLOW);
    let search = |name: &str| -> Value {
        let mut command = project.context.command();
        command.args([name, "test_calm[5]", "--budget", "5s", "--format", "json", "--"]);
        command.args([&python(), "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_it.py"]);
        let output = project.context.finish(&mut command);
        assert_eq!(output.code, Some(0), "{}", output.stderr);
        serde_json::from_str(&output.stdout).expect("a document")
    };
    // 64 orders of 12 tests take minutes.
    let first = search("culprit");
    assert_eq!((&first["answer"], &first["budget_exhausted"]), (&"undecided".into(), &true.into()));
    assert!(first["orders_tried"].as_u64().expect("a number") < 64, "{first:#}");
    assert!(project.answers() > 0, "progress is saved");
    assert!(search("culprit")["known_answers"].as_u64().expect("a number") > 0);
    assert_eq!(search("reproduce")["budget_exhausted"], true);
}

/// Runs the printed command by itself, without us: how often it fails.
fn failures_of(project: &Project, command: &str, runs: usize) -> usize {
    let once = || {
        let mut shell = Command::new("sh");
        shell.args(["-c", command]).current_dir(project.context.path()).env("STATE", project.state.path());
        let output = shell.stdin(Stdio::null()).output().expect("a shell");
        assert!(matches!(output.status.code(), Some(0 | 1)), "{output:?}");
        usize::from(!output.status.success())
    };
    (0..runs).map(|_| once()).sum()
}

#[test]
fn what_makes_a_test_fail_is_a_plain_command_with_its_chance() {
    let project = Project::new();
    let reproduce = |test: &str| -> Value {
        let output = project.context.finish(&mut project.command("reproduce", &["--seed", "7", test]));
        assert_eq!(output.code, Some(0), "{}", output.stderr);
        let report: Value = serde_json::from_str(&output.stdout).expect("a document");
        report["reproduced"].clone()
    };
    let text = |way: &Value, what: &str| way[what].as_str().expect("a text").to_owned();
    let chain = reproduce("test_victim_of_three");
    assert_eq!((&chain["chance"], &chain["repeats"]), (&1.0.into(), &1.into()));
    assert_eq!(names(&chain["before"]), ["test_first", "test_second", "test_third"]);
    assert_eq!(failures_of(&project, &text(&chain, "command"), 2), 2);
    // It fails every other time.
    let alone = reproduce("test_alternates");
    assert_eq!(names(&alone["before"]), [""; 0]);
    assert!((alone["chance"].as_f64().expect("a number") - 0.5).abs() < 0.01, "{alone}");
    assert_eq!(alone["repeats"], 5);
    assert_eq!(failures_of(&project, &text(&alone, "command"), 2), 1);
    // By the id of a finding, and by a hash seed.
    let id = flakewise_model::TestId::builder("pytest", "test_it.py").finish("test_sets", None);
    let id = flakewise_model::FindingId::of(&id);
    let sets = reproduce(id.as_str());
    assert_eq!(failures_of(&project, &text(&sets, "command"), 2), 2, "{sets}");
}
