//! `flakewise hunt` on small suites, with the real pytest.

use std::path::Path;
use std::process::Command;
#[cfg(feature = "history")]
use std::{
    path::PathBuf,
    process::{Child, Stdio},
    time::{Duration, Instant},
};

use flakewise_testkit::TestContext;
use serde_json::Value;

use crate::{context, python};

/// Passes and fails in turn, whoever runs it; and a test that needs another.
const FLAKY: &str = "
import os, pathlib

STATE = {}

def turn(name):
    file = pathlib.Path(os.environ['STATE'], name)
    with file.open('a') as out:
        out.write('x')
    return len(file.read_text())

def test_alternates():
    STATE['set'] = True
    assert turn('a') % 2 == 0, 'an odd turn'

def test_needs_another():
    assert STATE.get('set')
";

/// Nothing to find.
const CALM: &str = "
import pytest

class TestCalm:
    @pytest.mark.parametrize('number', range(4))
    def test_it(self, number):
        assert number < 4

def test_other():
    pass

@pytest.mark.skip
def test_skipped():
    pass
";

/// Green in its own order, and not in others.
const ORDERED: &str = "
STATE = set()

def test_wants_it_clean():
    assert 'dirty' not in STATE

def test_logs_in():
    STATE.add('in')

def test_needs_the_login():
    assert 'in' in STATE

def test_makes_it_dirty():
    STATE.add('dirty')

def test_calm():
    pass
";

/// A repository with one commit, and a folder of state outside of it.
struct Project {
    context: TestContext,
    state: TestContext,
}

impl Project {
    fn new(test: &str) -> Self {
        let project = Self { context: context(), state: context() };
        project.context.write("test_it.py", test);
        project.context.write("pytest.ini", "[pytest]\n");
        for arguments in [
            &["init", "--quiet", "--initial-branch=main"][..],
            &["add", "--all"],
            &["-c", "user.name=a", "-c", "user.email=a@b.example", "commit", "--quiet", "-m", "tests"],
        ] {
            let status = Command::new("git").args(arguments).current_dir(project.path()).status();
            assert!(status.expect("git starts").success());
        }
        project.context.write(".git/info/exclude", "__pycache__/\n.flakewise/\n");
        project
    }

    fn path(&self) -> &Path {
        self.context.path()
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.context.command();
        command
            .args(["hunt", "--format", "json", "--seed", "7"])
            .args(arguments)
            .args(["--", &python(), "-m", "pytest", "-q", "-p", "no:cacheprovider"])
            .env("STATE", self.state.path());
        command
    }

    fn hunt(&self, arguments: &[&str]) -> Value {
        let output = self.context.finish(&mut self.command(arguments));
        assert_eq!(output.code, Some(0), "{}", output.stderr);
        serde_json::from_str(&output.stdout).expect("a document")
    }

    /// Begins a hunt, and waits until it has written some attempts down.
    #[cfg(feature = "history")]
    fn begin(&self) -> Child {
        let child = self
            .command(&["--budget", "10m"])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the binary starts");
        let deadline = Instant::now() + Duration::from_mins(2);
        while self.journals().iter().all(|journal| lines(journal) < 12) {
            assert!(Instant::now() < deadline, "no attempts are written down");
            std::thread::yield_now();
        }
        child
    }

    #[cfg(feature = "history")]
    fn journals(&self) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(self.path().join(".flakewise/spool")).into_iter().flatten().flatten();
        let is_journal = |path: &PathBuf| path.to_string_lossy().ends_with(".journal.jsonl");
        entries.map(|entry| entry.path()).filter(is_journal).collect()
    }

    #[cfg(feature = "history")]
    fn count(&self, what: &str) -> u64 {
        let query = format!("SELECT {what} AS number FROM attempts");
        let output = self.context.run(["sql", "--format", "json", &query]);
        let row: Value = serde_json::from_str(output.stdout.trim()).expect("a row");
        row["number"].as_u64().expect("a number")
    }

    /// Nobody works in the folder any more.
    #[cfg(feature = "history")]
    fn is_deserted(&self) -> bool {
        let folder = self.path().canonicalize().expect("there");
        let processes = std::fs::read_dir("/proc").expect("listed").flatten();
        !processes
            .filter_map(|entry| std::fs::read_link(entry.path().join("cwd")).ok())
            .any(|cwd| cwd == folder)
    }
}

#[cfg(feature = "history")]
fn lines(path: &Path) -> usize {
    std::fs::read_to_string(path).map_or(0, |text| text.lines().count())
}

#[cfg(feature = "history")]
fn signal(child: &Child, name: &str) {
    let status = Command::new("kill").args([&format!("-{name}"), &child.id().to_string()]).status();
    assert!(status.expect("kill starts").success());
}

#[test]
fn tests_that_pass_and_fail_are_found_and_told_apart() {
    let project = Project::new(FLAKY);
    let report = project.hunt(&["--no-store", "--jobs", "1", "--budget", "10m"]);
    let found = |name: &str| {
        let all = report["found"].as_array().expect("a list");
        all.iter().find(|test| test["name"] == name).unwrap_or_else(|| panic!("{name} is not in {report:#}"))
    };
    let alternates = found("test_it.py::test_alternates");
    assert_eq!(
        (&alternates["kind"], &alternates["failures"], &alternates["runs"]),
        (&"alone".into(), &1.into(), &2.into())
    );
    let message = alternates["failure_message"].as_str().expect("a text");
    assert!(message.starts_with("AssertionError: an odd turn"), "{message}");
    assert_eq!(alternates["file"], "test_it.py");
    let needs = found("test_it.py::test_needs_another");
    assert_eq!(
        (&needs["kind"], &needs["failures"], &needs["runs"]),
        (&"fails-alone".into(), &10.into(), &10.into())
    );
    assert_eq!(report["end"], "exhausted", "both are found");
    assert_eq!(report["executions"], 2 + 2 + 10);
    assert_eq!(report["found"].as_array().expect("a list").len(), 2);
}

#[cfg(feature = "history")]
#[test]
fn the_next_hunt_goes_on_from_there() {
    let project = Project::new(CALM);
    // They end at once, when the suite has run.
    let enough = ["--budget", "10m", "--hidden", "1000"];
    let first = project.hunt(&enough);
    let second = project.hunt(&enough);
    assert_eq!((&first["end"], &second["end"]), (&"hidden".into(), &"hidden".into()));
    assert_eq!(
        (&first["tests"], &first["skipped"], &first["known_executions"]),
        (&5.into(), &1.into(), &0.into())
    );
    let number = |report: &Value| report["executions"].as_u64().expect("a number");
    let skipped = 1;
    assert_eq!(second["known_executions"], number(&first) - skipped);
    assert_eq!(project.count("count(*)"), number(&first) + number(&second));
    assert_eq!((&second["found"], &second["always_fail"]), (&Value::Array(vec![]), &Value::Array(vec![])));
    assert_eq!(project.journals(), [] as [PathBuf; 0]);
    assert!(project.is_deserted());
}

#[cfg(feature = "history")]
#[test]
fn an_interrupt_loses_nothing() {
    let project = Project::new(CALM);
    let child = project.begin();
    signal(&child, "INT");
    let output = child.wait_with_output().expect("it ends");
    let report: Value = serde_json::from_slice(&output.stdout).expect("a report all the same");
    assert_eq!(output.status.code(), Some(130));
    assert_eq!(report["end"], "interrupted");
    assert_eq!(report["executions"], project.count("count(*)"));
    assert_eq!(project.journals(), [] as [PathBuf; 0]);
    assert!(project.is_deserted());
}

#[cfg(feature = "history")]
#[test]
fn what_a_killed_hunt_has_done_is_known_to_the_next_and_counted_once() {
    let project = Project::new(CALM);
    let mut child = project.begin();
    signal(&child, "KILL");
    child.wait().expect("it ends");
    let report = project.hunt(&["--budget", "2s"]);
    let known = report["known_executions"].as_u64().expect("a number");
    assert!(known >= 9, "{known}");
    let new = report["executions"].as_u64().expect("a number");
    let skipped = 1;
    assert_eq!(project.count("count(*)"), known + skipped + new);
    assert_eq!(project.count("count(*)"), project.count("count(DISTINCT concat(run, test, attempt))"));
    assert!(project.is_deserted());
}

#[test]
fn how_tests_behave_is_measured_apart_and_written_with_their_outcomes() {
    let project = Project::new(FLAKY);
    let path = project.path().join("out/table.jsonl");
    let file = path.to_str().expect("a plain path");
    project.hunt(&[
        "--no-store",
        "--jobs",
        "1",
        "--budget",
        "10m",
        "--features",
        file,
        "--measured-runs",
        "2",
    ]);
    let text = std::fs::read_to_string(&path).expect("written");
    let rows: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).expect("a row")).collect();
    assert_eq!(rows.len(), 2);
    for row in &rows {
        assert_eq!(row["measured_runs"], 2);
        for name in ["Run Time", "Covered Lines", "Max. Threads", "Assertions"] {
            assert!(row["features"][name].is_f64(), "{name} of {row}");
        }
        assert!(row["features"].get("Wait Time").is_some(), "missing is told");
    }
    // Measured runs are not counted: these are all of the others.
    let needs =
        rows.iter().find(|row| row["test"].as_str().is_some_and(|test| test.ends_with("needs_another")));
    let needs = needs.expect("there");
    assert_eq!((&needs["together"]["passed"], &needs["alone"]["failed"]), (&1.into(), &10.into()));
}

#[test]
fn parts_of_a_hunt_share_the_tests() {
    let project = Project::new(CALM);
    let tests = |shard: &str| {
        let report = project.hunt(&["--no-store", "--budget", "1s", "--shard", shard]);
        let number = |name: &str| report[name].as_u64().expect("a number");
        number("tests") + number("skipped")
    };
    assert_eq!(tests("1/2") + tests("2/2"), 6);
}

#[test]
fn a_command_without_tests_is_an_error_with_a_reason() {
    let project = Project::new("def test_it(:\n");
    let output = project.context.finish(&mut project.command(&["--budget", "1s"]));
    let last: Vec<&str> = output.stderr.lines().rev().take(2).collect();
    assert_eq!(output.code, Some(20));
    assert_eq!(
        last,
        ["hint: run the command without flakewise to see its output", "error: no tests were found"]
    );
}

/// A fixed address, as a server that tests start may have one.
const SHARED: &str = "
import os, socket, time

import pytest

@pytest.fixture
def server():
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind('\\0' + os.environ['STATE'])
        time.sleep(0.05)
        yield

@pytest.mark.parametrize('number', range(6))
def test_serves(server, number):
    pass

def test_calm():
    pass
";

#[test]
fn what_fails_only_beside_others_is_never_called_flaky() {
    let project = Project::new(SHARED);
    // The first ends when the orders have run, however slow the machine is.
    for arguments in [&["--orders=4", "--hidden=1e9", "--budget=10m"][..], &["--budget=8s"]] {
        let report = project.hunt(&[arguments, &["--jobs", "4"]].concat());
        let nothing = Value::Array(vec![]);
        assert_eq!((&report["found"], &report["always_fail"]), (&nothing, &nothing), "{report:#}");
        let beside = report["only_beside"].as_array().expect("a list");
        assert!(report["orders"] == 0 || !beside.is_empty(), "four at a time meet: {report:#}");
        for test in beside {
            assert!(["beside", "unconfirmed"].contains(&test["kind"].as_str().expect("a kind")), "{test:#}");
            assert_eq!(test["solo"]["failed"], 0);
            assert!(test["beside"]["failed"].as_u64().expect("a number") > 0);
        }
    }
    // Nor does the history blame them for it.
    #[cfg(feature = "history")]
    assert_eq!(project.count("sum(CASE WHEN outcome = 'passed' THEN 0 ELSE 1 END)"), 0);
}

#[test]
fn a_hunt_ends_with_its_budget_whatever_runs() {
    let tests = "import time\ndef test_quick():\n    pass\ndef test_slow():\n    time.sleep(100)\n";
    let project = Project::new(tests);
    let report = project.hunt(&["--budget", "3s", "--no-store"]);
    assert_eq!((&report["end"], &report["tests"]), (&"budget".into(), &2.into()), "{report:#}");
    // Neither is said to have failed; on a slow machine not even the first has run.
    assert_eq!(report["always_fail"], Value::Array(vec![]));
    let notice = report["notices"][0]["text"].as_str().expect("a text");
    let left = 2 - report["executions"].as_u64().expect("a number");
    assert!(left > 0 && notice.starts_with(&format!("budget exhausted, not run: {left} test")), "{notice}");
}

#[test]
fn other_orders_show_what_depends_on_order() {
    let project = Project::new(ORDERED);
    // Nothing is left to hunt for, so that orders are all.
    let report = project.hunt(&["--orders=3", "--hidden", "100"]);
    assert_eq!(report["orders"], 3);
    let found = report["found"].as_array().expect("a list");
    let kind = |name: &str| -> (String, Value) {
        let test = found.iter().find(|found| found["name"] == format!("test_it.py::{name}"));
        let test = test.expect("it is found");
        (test["kind"].as_str().expect("a kind").to_owned(), test["decision"].clone())
    };
    assert_eq!(found.len(), 2, "{found:?}");
    let (victim, decision) = kind("test_wants_it_clean");
    assert_eq!(victim, "passes-alone");
    assert_eq!(
        decision["fails"],
        serde_json::json!({"order": "reversed", "seed": null, "failed": 5, "runs": 5})
    );
    assert_eq!(decision["passes"]["order"], "original");
    let (brittle, decision) = kind("test_needs_the_login");
    assert_eq!(brittle, "fails-alone");
    assert_eq!(decision["fails"]["order"], "alone");
    assert!(decision["confidence"].as_f64().expect("a number") > 0.98);
}

#[test]
fn a_hunt_leaves_no_temporary_folders_of_pytest() {
    let project = Project::new(
        "
import os, pathlib, signal

def test_uses_a_folder(tmp_path):
    (tmp_path / 'file').write_text('x')

def test_dies_in_turn(tmp_path):
    turns = pathlib.Path(os.environ['STATE'], 'turns')
    with turns.open('a') as out:
        out.write('x')
    if len(turns.read_text()) % 3 == 2:
        os.kill(os.getpid(), signal.SIGKILL)
",
    );
    let temporary = context();
    let mut command = project.command(&["--no-store", "--budget", "5s"]);
    command.env("TMPDIR", temporary.path());
    let output = project.context.finish(&mut command);
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    let report: Value = serde_json::from_str(&output.stdout).expect("JSON");
    // How many there are depends on the machine.
    assert!(report["executions"].as_u64() >= Some(2), "{report:#}");
    let folders = temporary.path().read_dir().expect("it is there").flatten();
    let left: Vec<_> = folders
        .flat_map(|users| users.path().read_dir().expect("a folder").flatten())
        .map(|entry| entry.path())
        .collect();
    assert_eq!(left, Vec::<std::path::PathBuf>::new());
}
