//! `flakewise run` on small suites, with the real pytest.

use std::path::Path;
use std::process::Command;

use flakewise_testkit::{Output, TestContext};
use serde_json::Value;

use crate::{context, git, python};

/// A test that fails where it has not run before, and then passes.
const FLAKY: &str = "
import os, pathlib

def test_flaky():
    seen = pathlib.Path(os.environ['STATE'], 'seen')
    if not seen.exists():
        seen.touch()
        assert False, 'the first time'
";

/// A test that does what the world outside says.
#[cfg(feature = "history")]
const WORLDLY: &str = "
import os, pathlib

def test_worldly():
    assert not pathlib.Path(os.environ['STATE'], 'down').exists()

def test_calm():
    pass
";

/// A project in a repository, with a folder of state outside of it.
struct Project {
    context: TestContext,
    state: TestContext,
}

impl Project {
    /// A repository whose first commit holds these files, and whose second
    /// changes the file `README`.
    fn new(files: &[(&str, &str)]) -> Self {
        let project = Self { context: context(), state: context() };
        project.git(&["init", "--quiet", "--initial-branch=main"]);
        project.context.write(".git/info/exclude", "__pycache__/\n.flakewise/\n");
        for (name, content) in files {
            project.context.write(name, content);
        }
        project.commit("README", "one");
        project.commit("README", "two");
        project
    }

    fn path(&self) -> &Path {
        self.context.path()
    }

    /// Writes a file and commits everything.
    fn commit(&self, name: &str, content: &str) {
        self.context.write(name, content);
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "--message", "work"]);
    }

    fn git(&self, arguments: &[&str]) -> String {
        git(self.path(), arguments).trim().to_owned()
    }

    /// `flakewise run` with options, ready for a command.
    fn command(&self, options: &[&str]) -> Command {
        let mut command = self.context.command();
        command.arg("run").args(options).env("STATE", self.state.path()).env("PY", python());
        command
    }

    /// Runs pytest with these arguments.
    fn pytest(&self, options: &[&str], arguments: &[&str]) -> Output {
        let python = python();
        let words = [&python, "-m", "pytest"].into_iter().chain(arguments.iter().copied());
        self.context.finish(self.command(options).arg("--").args(words))
    }

    /// Runs a line of shell, in which `$PY` is Python.
    fn shell(&self, options: &[&str], line: &str) -> Output {
        self.context.finish(self.command(options).args(["--", "sh", "-c", line]))
    }

    /// Runs pytest without keeping anything; the exit code and the report.
    fn report(&self, options: &[&str], arguments: &[&str]) -> (Option<i32>, Value) {
        let options: Vec<_> = ["--no-store", "--format", "json"].iter().chain(options).copied().collect();
        let output = self.pytest(&options, arguments);
        (output.code, json(&output))
    }

    #[cfg(feature = "history")]
    fn sql(&self, query: &str) -> String {
        let output = self.context.run(["sql", query, "--format", "csv"]);
        assert_eq!(output.code, Some(0), "{}", output.stderr);
        output.stdout.replace('\r', "")
    }
}

fn json(output: &Output) -> Value {
    serde_json::from_str(&output.stdout)
        .unwrap_or_else(|error| panic!("not JSON: {error}\n{}\n{}", output.stdout, output.stderr))
}

/// `test_a.py::test_b flaky transient`, for every failure.
fn verdicts(report: &Value) -> Vec<String> {
    let failures = report["failures"].as_array().into_iter().flatten();
    let word = |value: &Value| value.as_str().unwrap_or("-").to_owned();
    let verdict = |failure: &Value| {
        let verdict = &failure["verdict"];
        [word(&failure["name"]), word(&verdict["conclusion"]), word(&verdict["detail"])].join(" ")
    };
    failures.map(verdict).collect()
}

/// `first failed` and so on, for every attempt of a failure.
fn attempts(failure: &Value) -> Vec<String> {
    let attempts = failure["attempts"].as_array().into_iter().flatten();
    attempts.map(|one| format!("{} {}", one["phase"], one["outcome"]).replace('"', "")).collect()
}

// Green runs

#[cfg(unix)]
#[test]
fn a_run_starts_few_processes_of_git() {
    use std::os::unix::fs::PermissionsExt as _;

    let project = Project::new(&[("test_one.py", "def test_one():\n    pass\n")]);
    let state = project.state.path();
    project.git(&["update-ref", "refs/remotes/origin/main", "HEAD"]);
    project.git(&["switch", "--quiet", "--create", "feature"]);
    project.commit("test_one.py", "def test_one():\n    assert True\n");
    // Counts, and is git.
    let path = std::env::var_os("PATH").expect("programs are found");
    let of_git = std::env::split_paths(&path).map(|folder| folder.join("git")).find(|path| path.exists());
    let of_git = of_git.expect("git is installed");
    let count = format!(
        "#!/bin/sh\necho \"$*\" >> '{}/asked'\nexec '{}' \"$@\"\n",
        state.display(),
        of_git.display()
    );
    project.state.write("bin/git", count);
    let executable = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(state.join("bin/git"), executable).expect("it is ours");
    let paths = [state.join("bin")].into_iter().chain(std::env::split_paths(&path));
    let paths = std::env::join_paths(paths).expect("no separators");
    let mut command = project.command(&["--no-store"]);
    let output =
        project.context.finish(command.env("PATH", paths).args(["--", &python(), "-m", "pytest", "-q"]));
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    let asked = std::fs::read_to_string(state.join("asked")).expect("git was asked");
    // Each is milliseconds for which the suite waits.
    assert_eq!(asked.lines().count(), 11, "{asked}");
}

#[test]
fn a_temporary_folder_with_a_long_name_is_no_trouble() {
    let project = Project::new(&[("test_one.py", "def test_one():\n    pass\n")]);
    let base = project.state.path().to_str().expect("a UTF-8 path").len();
    // A socket's path has some hundred bytes, whatever a folder's may have.
    for length in [60, 70, 76, 80, 90, 110] {
        let name = "x".repeat(length - base - 1);
        let folder = project.state.path().join(&name);
        std::fs::create_dir(&folder).expect("made");
        let mut command = project.context.command();
        command.args(["run", "--no-store", "--", &python(), "-m", "pytest", "-q"]).env("TMPDIR", &folder);
        let output = project.context.finish(&mut command);
        assert_eq!(output.code, Some(0), "{length}: {}{}", output.stdout, output.stderr);
        assert_eq!(std::fs::read_dir(&folder).expect("listed").count(), 0, "{length}");
    }
}

#[test]
fn a_green_run_is_one_line() {
    let project = Project::new(&[("test_a.py", "def test_a(): pass\ndef test_b(): pass\n")]);
    let output = project.pytest(&["--no-store"], &["-p", "no:terminal"]);
    assert_eq!(output.code, Some(0));
    assert!(output.stdout.starts_with("2 passed in "), "{}", output.stdout);
    assert_eq!((output.stdout.lines().count(), output.stderr.as_str()), (1, ""));
}

#[test]
fn nothing_is_left_in_the_work_tree_but_what_pytest_leaves() {
    let project = Project::new(&[("test_a.py", FLAKY)]);
    let output = project.pytest(&["--no-store", "--verify-base"], &["-q"]);
    assert_eq!(output.code, Some(1), "{}", output.stderr);
    assert_eq!(project.git(&["status", "--porcelain"]), "");
    assert_eq!(project.git(&["worktree", "list"]).lines().count(), 1);
}

#[cfg(feature = "history")]
#[test]
fn every_attempt_and_every_verdict_is_in_the_history() {
    let project = Project::new(&[("test_a.py", FLAKY), ("test_b.py", "def test_b(): pass\n")]);
    let output = project.pytest(&[], &["-q"]);
    assert_eq!(output.code, Some(1), "{}", output.stderr);
    let rows = project.sql(
        "SELECT concat_ws(' ', test, attempt, phase, outcome, worker) FROM attempts ORDER BY test, attempt",
    );
    let rows: Vec<&str> = rows.lines().skip(1).collect();
    let [first, rerun, later @ .., other] = &rows[..] else { panic!("{rows:?}") };
    assert_eq!(
        [*first, *rerun, *other],
        [
            "pytest:test_a.py::test_flaky 1 first failed main",
            "pytest:test_a.py::test_flaky 2 rerun passed main",
            "pytest:test_b.py::test_b 1 first passed main",
        ]
    );
    // How often it runs again, and where, depends on how long it takes.
    assert!(!later.is_empty(), "{rows:?}");
    for (number, row) in (3..).zip(later) {
        let told = row.strip_prefix(&format!("pytest:test_a.py::test_flaky {number} ")).expect("the next");
        let is_later = told == "postpone passed main"
            || told.starts_with("fork passed fork-")
            || told.starts_with("fresh passed fresh-");
        assert!(is_later, "{rows:?}");
    }
    insta::assert_snapshot!(
        project.sql("SELECT test, conclusion, detail, probability FROM verdicts"), @r"
        test,conclusion,detail,probability
        pytest:test_a.py::test_flaky,flaky,transient,1
        "
    );
    let evidence = project.sql("SELECT evidence FROM verdicts");
    assert!(evidence.contains("passed-again") && evidence.contains("untouched-by-change"), "{evidence}");
    let commit = project.git(&["rev-parse", "HEAD"]);
    assert!(project.sql("SELECT DISTINCT commit FROM attempts").contains(&commit));
}

// The exit code

#[test]
fn a_proved_flake_leaves_the_build_red_unless_it_is_tolerated() {
    let project = Project::new(&[("test_a.py", FLAKY)]);
    let (code, report) = project.report(&[], &[]);
    assert_eq!(verdicts(&report), ["test_a.py::test_flaky flaky transient"]);
    assert_eq!((code, report["exit"]["reason"].as_str()), (Some(1), Some("runner")));
    std::fs::remove_file(project.state.path().join("seen")).expect("it was there");
    let (code, report) = project.report(&["--tolerate", "flaky"], &[]);
    assert_eq!((code, report["exit"]["reason"].as_str()), (Some(0), Some("tolerated")));
}

#[test]
fn a_regression_beside_a_flake_is_not_tolerated() {
    let project = Project::new(&[("test_a.py", FLAKY), ("shop.py", "price = 3\n")]);
    project.commit("test_b.py", "import shop\ndef test_price():\n    assert shop.price == 3\n");
    project.commit("shop.py", "price = 4\n");
    let (code, report) = project.report(&["--tolerate", "flaky"], &[]);
    assert_eq!(
        verdicts(&report),
        ["test_b.py::test_price regression -", "test_a.py::test_flaky flaky transient"]
    );
    assert_eq!((code, report["exit"]["reason"].as_str()), (Some(1), Some("not-tolerated")));
}

#[test]
fn a_flake_is_not_tolerated_if_tests_were_lost() {
    let project = Project::new(&[("test_a.py", FLAKY), ("test_b.py", "def test_b(): pass\n")]);
    let (code, report) = project.report(&["--tolerate", "flaky"], &["-x"]);
    assert_eq!(verdicts(&report), ["test_a.py::test_flaky flaky transient"]);
    assert_eq!(report["lost"], serde_json::json!(["test_b.py::test_b"]));
    assert_eq!(report["complete"], false);
    assert_eq!((code, report["exit"]["reason"].as_str()), (Some(1), Some("lost")));
}

#[test]
fn a_crash_loses_no_test_and_is_never_green() {
    let crash = "import os\ndef test_a(): pass\ndef test_crash(): os._exit(0)\ndef test_z(): pass\n";
    let project = Project::new(&[("test_a.py", crash)]);
    let (code, report) = project.report(&["--tolerate", "flaky"], &[]);
    assert_eq!((report["complete"].as_bool(), report["counts"]["passed"].as_u64()), (Some(true), Some(2)));
    let failure = &report["failures"][0];
    assert_eq!(failure["name"], "test_a.py::test_crash");
    assert_eq!(attempts(failure), ["first crashed", "fork crashed", "fresh crashed"]);
    assert_eq!((code, report["exit"]["runner"].as_i64()), (Some(1), Some(0)));
}

#[test]
fn a_flake_is_not_tolerated_if_the_session_could_not_be_torn_down() {
    let conftest = "
import pytest

@pytest.fixture(scope='session', autouse=True)
def database():
    yield
    raise RuntimeError('still in use')
";
    let project = Project::new(&[("conftest.py", conftest), ("test_a.py", FLAKY)]);
    let (code, report) = project.report(&["--tolerate", "flaky"], &[]);
    assert_eq!(report["failures"][0]["verdict"]["conclusion"], "flaky");
    let notice = "the session's tear-down failed with RuntimeError: still in use";
    assert_eq!(report["notices"][0]["text"], notice);
    assert_eq!(code, Some(1));
}

#[test]
fn a_file_that_cannot_be_collected_is_told_and_never_green() {
    let project = Project::new(&[("test_a.py", "import nowhere\n"), ("test_b.py", "def test_b(): pass\n")]);
    let (code, report) = project.report(&["--tolerate", "flaky"], &[]);
    assert_eq!((code, report["complete"].as_bool()), (Some(2), Some(false)), "{report:#}");
    let notice = report["notices"][0]["text"].as_str().unwrap_or_default();
    assert!(notice.starts_with("`test_a.py` could not be collected: "), "{notice}");
    let (code, report) = project.report(&[], &["--continue-on-collection-errors"]);
    assert_eq!((code, report["counts"]["passed"].as_u64()), (Some(1), Some(1)));
    assert_eq!(report["complete"], false);
}

#[test]
fn other_exit_codes_of_pytest_are_kept() {
    let project = Project::new(&[("test_a.py", "def test_a(): pass\n")]);
    assert_eq!(project.pytest(&[], &["-k", "nothing"]).code, Some(5));
    assert_eq!(project.pytest(&[], &["missing.py"]).code, Some(4));
    assert_eq!(project.pytest(&[], &["--collect-only"]).code, Some(0));
    assert_eq!(project.pytest(&[], &["--help"]).code, Some(0));
}

// Commands that start pytest

#[test]
fn a_wrapper_keeps_its_exit_code() {
    let project = Project::new(&[("test_a.py", "def test_a(): assert False\n")]);
    let code = |line| project.shell(&["--no-store"], line).code;
    assert_eq!(code(r#""$PY" -m pytest"#), Some(1));
    assert_eq!(code(r#""$PY" -m pytest; exit 7"#), Some(7));
    assert_eq!(code(r#""$PY" -m pytest || true"#), Some(0));
}

#[test]
fn two_sessions_in_one_command_are_one_run() {
    let project =
        Project::new(&[("one/test_a.py", FLAKY), ("two/test_b.py", "def test_b(): assert 1 == 2\n")]);
    let line = r#""$PY" -m pytest one; "$PY" -m pytest two"#;
    let output = project.shell(&["--no-store", "--format", "json"], line);
    let report = json(&output);
    assert_eq!(
        verdicts(&report),
        ["two/test_b.py::test_b environment -", "one/test_a.py::test_flaky flaky transient"]
    );
    assert_eq!((output.code, report["counts"]["selected"].as_u64()), (Some(1), Some(2)));
}

#[test]
fn a_command_without_pytest_is_explained() {
    let project = Project::new(&[]);
    let run = |words: &[&str]| {
        project.context.finish(project.command(&["--no-store"]).arg("--").args(words)).snapshot()
    };
    insta::assert_snapshot!(run(&["true"]), @r"
    exit code: 0
    ----- stdout -----
    ----- stderr -----
    warning: `true` exited (exit status: 0) without starting pytest under the Flakewise agent
    hint: the command must start pytest with the environment it is given: with tox, add `pass_env = PYTEST_ADDOPTS, PYTHONPATH, FLAKEWISE_*`; Python started with `-E` or `-I` ignores `PYTHONPATH`
    ");
    insta::assert_snapshot!(run(&["sh", "-c", "exit 3"]), @r"
    exit code: 3
    ----- stdout -----
    ----- stderr -----
    warning: `sh` exited (exit status: 3) without starting pytest under the Flakewise agent
    hint: the command must start pytest with the environment it is given: with tox, add `pass_env = PYTEST_ADDOPTS, PYTHONPATH, FLAKEWISE_*`; Python started with `-E` or `-I` ignores `PYTHONPATH`
    ");
    let killed =
        project.context.finish(project.command(&["--no-store"]).args(["--", "sh", "-c", "kill -9 $$"]));
    assert_eq!(killed.code, Some(1), "a signal is never green: {}", killed.stderr);
    insta::assert_snapshot!(run(&["no-such-program"]), @r"
    exit code: 20
    ----- stdout -----
    ----- stderr -----
    error: failed to start `no-such-program`
      caused by: No such file or directory (os error 2)
    ");
    insta::assert_snapshot!(run(&["pytest", "--pdb"]), @r"
    exit code: 20
    ----- stdout -----
    ----- stderr -----
    error: `--pdb` needs an interactive terminal
    hint: debug with pytest itself, without `flakewise run --`
    ");
}

const UNITTEST: &str = "
import unittest

class Case(unittest.TestCase):
    def test_it(self):
        self.assertEqual(1, WANTED)
";

/// What a command without the agent exits with, and what is said about it.
fn unobserved(project: &Project, words: &[&str]) -> (Option<i32>, String) {
    let mut command = project.command(&["--no-store", "--tolerate", "flaky"]);
    let output = project.context.finish(command.arg("--").args(words));
    let ours = output.stderr.lines().skip_while(|line| !line.starts_with("warning: "));
    (output.code, ours.collect::<Vec<_>>().join("\n"))
}

#[test]
fn a_python_that_ignores_the_environment_runs_pytest_without_us() {
    let project = Project::new(&[
        ("test_good.py", "def test_good(): pass\n"),
        ("test_bad.py", "def test_bad(): assert 0\n"),
    ]);
    for option in ["-E", "-I"] {
        for (file, code) in [("test_good.py", 0), ("test_bad.py", 1)] {
            let words = [&python(), option, "-m", "pytest", "-q", file];
            let (exit, said) = unobserved(&project, &words);
            assert_eq!(exit, Some(code), "{option} {file}: {said}");
            assert!(said.contains("Python ignores `PYTHONPATH` when started with `-E` or `-I`"), "{said}");
        }
    }
}

#[test]
fn other_runners_are_named_and_keep_their_exit_code() {
    for (wanted, code) in [("1", 0), ("2", 1)] {
        let project = Project::new(&[("test_case.py", &UNITTEST.replace("WANTED", wanted))]);
        let (exit, said) = unobserved(&project, &[&python(), "-m", "unittest", "-q", "test_case"]);
        assert_eq!(exit, Some(code), "{said}");
        assert!(said.contains("Flakewise observes pytest only"), "{said}");
        // The same tests under pytest are observed.
        let output = project.context.finish(project.command(&["--no-store"]).args([
            "--",
            &python(),
            "-m",
            "pytest",
            "-q",
            "test_case.py",
        ]));
        assert_eq!(output.code, Some(code));
        assert!(!output.stderr.contains("without starting pytest"), "{}", output.stderr);
    }
}

#[test]
fn tox_that_passes_no_variables_keeps_its_exit_code() {
    // `.ci/run` installs one with tox; elsewhere there need not be one.
    let Some(python) = std::env::var_os("FLAKEWISE_GREEN_PYTHON") else {
        let on_ci = std::env::var("CI").is_ok_and(|value| value == "true");
        assert!(!on_ci, "FLAKEWISE_GREEN_PYTHON must name a Python with pytest and tox");
        return;
    };
    let python = Path::new(&python);
    let tox = format!(
        "[tox]\nno_package = true\nenv_list = tests\n\n[testenv]\nskip_install = true\nallowlist_externals = *\n\
         commands =\n    {} -m pytest -q\n",
        python.display()
    );
    for (body, code) in [("pass", 0), ("assert 0", 1)] {
        let project = Project::new(&[("tox.ini", &tox), ("test_it.py", &format!("def test_it(): {body}\n"))]);
        let program = python.with_file_name("tox");
        let (exit, said) = unobserved(&project, &[&program.to_string_lossy(), "-q"]);
        assert_eq!(exit, Some(code), "{said}");
        assert!(said.contains("tox does not pass the environment on by default"), "{said}");
    }
}

#[test]
fn errors_inside_of_the_agent_are_reported() {
    let conftest = "
import sys

observe = sys.modules.get('flakewise_agent.observe')
if observe is not None:
    def note(self, event, arguments):
        raise ZeroDivisionError('planted')
    observe.Observer.note = note
";
    let project = Project::new(&[("conftest.py", conftest), ("test_a.py", "def test_a(): assert 1 == 2\n")]);
    let output = project.shell(&["--no-store", "--format", "json"], r#""$PY" -m pytest -q"#);
    let report = json(&output);
    let notices: Vec<&str> =
        report["notices"].as_array().into_iter().flatten().filter_map(|one| one["text"].as_str()).collect();
    let ours = notices.iter().find(|text| text.starts_with("the pytest agent hit "));
    let ours = ours.unwrap_or_else(|| panic!("{notices:?}"));
    assert!(ours.contains("ZeroDivisionError: planted at observe.py:"), "{ours}");
    assert!(ours.ends_with("please report this"), "{ours}");
    assert_eq!(output.code, Some(1));
}

// What failures are compared with

#[test]
fn an_unknown_base_is_an_error() {
    let project = Project::new(&[("test_a.py", "def test_a(): pass\n")]);
    insta::assert_snapshot!(project.pytest(&["--base", "nonsense"], &[]).snapshot(), @r"
    exit code: 20
    ----- stdout -----
    ----- stderr -----
    error: there is no revision `nonsense`
    hint: pass a fetched branch, tag or commit, e.g. `origin/main`
    ");
}

#[test]
fn without_a_repository_the_change_is_unknown() {
    let project = Project { context: context(), state: context() };
    project.context.write("test_a.py", "def test_a(): assert 1 == 2\n");
    let (code, report) = project.report(&[], &[]);
    assert_eq!(verdicts(&report), ["test_a.py::test_a undecided change-unknown"]);
    assert_eq!((code, &report["change"]), (Some(1), &Value::Null));
}

#[test]
fn uncommitted_work_is_part_of_the_change() {
    let test = "import shop\ndef test_price():\n    assert shop.price() == 3\n";
    let project = Project::new(&[("test_a.py", test), ("shop.py", "def price():\n    return 3\n")]);
    project.context.write("shop.py", "def price():\n    return 4\n");
    let (_, report) = project.report(&["--verify-base"], &[]);
    assert_eq!(verdicts(&report), ["test_a.py::test_price regression -"]);
    assert_eq!(report["change"]["uncommitted"], true);
    let evidence = report["failures"][0]["evidence"].to_string();
    assert!(evidence.contains(r#""kind":"at-base""#) && evidence.contains("shop.py"), "{evidence}");
    assert_eq!(
        std::fs::read_to_string(project.path().join("shop.py")).expect("read"),
        "def price():\n    return 4\n"
    );
}

/// How the only failing test meets the change: `untouched-by-change`, or
/// `touches-change` with the files.
fn meeting(report: &Value) -> String {
    let kinds = ["touches-change", "untouched-by-change", "dependencies-unknown"];
    let proofs = report["failures"][0]["evidence"].as_array().expect("there is evidence");
    let is_meeting = |proof: &&Value| kinds.iter().any(|kind| proof["kind"] == *kind);
    let proof = proofs.iter().find(is_meeting).expect("it was compared with the change");
    let files = proof["files"].as_array().into_iter().flatten();
    let files = files.map(|file| format!(" {} {} {}", file["path"], file["touch"], file["keys"]));
    let said = format!("{}{}{}", proof["kind"], files.collect::<String>(), proof["reason"]);
    said.replace('"', "").replace(" null", "").replace("null", "")
}

#[test]
fn what_changed_in_a_configuration_file_decides_whether_a_test_depends_on_it() {
    let pyproject = "[project]\nname = 'shop'\nversion = '1'\n[tool.pytest.ini_options]\naddopts = '-q'\n";
    let broken = "def test_a(): assert False\n";
    let project = Project::new(&[("pyproject.toml", pyproject), ("test_a.py", broken)]);
    let meets = |content: &str| {
        project.context.write("pyproject.toml", content);
        meeting(&project.report(&[], &[]).1)
    };
    let bumped = pyproject.replace('1', "2");
    assert_eq!(meets(&format!("# Only a comment\n{pyproject}")), "untouched-by-change");
    assert_eq!(meets(&bumped), "untouched-by-change");
    assert_eq!(
        meets(&bumped.replace("-q", "-v")),
        "touches-change pyproject.toml configured [tool.pytest.ini_options.addopts]"
    );
    assert_eq!(
        meets(&format!("{bumped}[tool.shop]\nx = 1\n")),
        "touches-change pyproject.toml configured [tool.shop.x]"
    );
    let installs = meets(&bumped.replace("version = '2'", "version = '2'\ndependencies = ['x']"));
    assert!(
        installs.starts_with("dependencies-unknown") && installs.contains("project.dependencies"),
        "{installs}"
    );
    // A test that reads it itself depends on all of it.
    project.commit("test_a.py", "def test_a(): assert 'version = 1' in open('pyproject.toml').read()\n");
    assert_eq!(meets(&bumped), "touches-change pyproject.toml opened");
}

#[test]
fn a_source_of_another_language_is_not_cleared_where_something_may_run_it() {
    let plain = "def test_a(): assert False\n";
    let starts = "import subprocess\ndef test_a():\n    subprocess.run(['true'])\n    assert False\n";
    let project = Project::new(&[("src/App.java", "one"), ("test_a.py", plain)]);
    let meets = || meeting(&project.report(&[], &[]).1);
    project.context.write("src/App.java", "two");
    assert_eq!(meets(), "untouched-by-change");
    project.commit("test_a.py", starts);
    project.context.write("src/App.java", "three");
    let said = meets();
    assert!(said.starts_with("dependencies-unknown") && said.contains("App.java"), "{said}");
    // A document can only be opened, and that would have been seen.
    project.commit("src/App.java", "four");
    project.context.write("README", "three");
    assert_eq!(meets(), "untouched-by-change");
}

#[test]
fn a_mistyped_option_is_not_taken_for_the_command() {
    let project = Project::new(&[]);
    let output = project.pytest(&["--bas", "HEAD"], &[]);
    assert_eq!(output.code, Some(2));
    assert!(output.stderr.contains("'--bas'") && output.stderr.contains("'--base"), "{}", output.stderr);
}

#[test]
fn what_fails_at_the_base_too_was_broken_before() {
    let project = Project::new(&[("test_a.py", "def test_a(): assert 1 == 2\n")]);
    let (code, report) = project.report(&["--verify-base"], &[]);
    assert_eq!(verdicts(&report), ["test_a.py::test_a broken-before -"]);
    let attempts = attempts(&report["failures"][0]);
    assert_eq!(attempts[attempts.len() - 2..], ["base failed", "base failed"]);
    assert_eq!(code, Some(1));
}

#[test]
fn the_same_failure_at_the_base_has_the_same_fingerprint() {
    // Both say where the project is: the base is somewhere else.
    let test = "import os\ndef test_a(): open(os.path.abspath('missing/ü.txt'))\n\
        def test_b(): raise RuntimeError('in ' + os.getcwd() + '/ü')\n";
    let project = Project::new(&[("test_a.py", test)]);
    for style in ["native", "line", "long"] {
        let (_, report) = project.report(&["--verify-base"], &[&format!("--tb={style}")]);
        for failure in report["failures"].as_array().expect("a list") {
            let attempts = failure["attempts"].as_array().expect("a list");
            let failures: Vec<&Value> = attempts.iter().map(|attempt| &attempt["failure"]).collect();
            assert!(attempts.iter().any(|attempt| attempt["phase"] == "base"));
            assert!(failures.iter().all(|failure| *failure == failures[0]), "{style}: {failures:?}");
        }
    }
}

#[test]
fn an_environment_inside_the_project_serves_the_base_too() {
    let project = Project::new(&[("test_a.py", "def test_a(): assert 1 == 2\n")]);
    project.context.write(".git/info/exclude", "__pycache__/\n.venv/\n");
    project.context.write(".venv/pyvenv.cfg", "");
    let start = "import sys, pytest\nsys.path.insert(0, '')\nsys.exit(pytest.main())\n";
    project.context.write(
        ".venv/bin/pytest.py",
        start.replace("import sys, pytest", "import sys\nsys.path.pop(0)\nimport pytest"),
    );
    let script = project.path().join(".venv/bin/pytest.py");
    let mut command = project.command(&["--no-store", "--format", "json", "--verify-base"]);
    let output = project.context.finish(command.args(["--", &python()]).arg(script));
    let report = json(&output);
    assert_eq!(verdicts(&report), ["test_a.py::test_a broken-before -"], "{}", output.stderr);
}

#[cfg(feature = "history")]
#[test]
fn the_history_knows_what_passed_at_the_base() {
    let project = Project::new(&[("test_a.py", WORLDLY)]);
    assert_eq!(project.pytest(&[], &[]).code, Some(0));
    project.commit("notes.txt", "something else");
    project.state.write("down", "");
    let output = project.pytest(&["--format", "json"], &[]);
    let report = json(&output);
    assert_eq!(verdicts(&report), ["test_a.py::test_worldly environment -"]);
    let evidence = report["failures"][0]["evidence"].to_string();
    assert!(evidence.contains(r#""source":"history""#), "{evidence}");
    assert_eq!(output.code, Some(1));
    // What depends on nothing that changed is no proof.
    assert_eq!(project.pytest(&["--tolerate", "flaky"], &[]).code, Some(1));
}

#[cfg(feature = "history")]
#[test]
fn what_ran_at_the_base_is_remembered_of_the_base() {
    let project = Project::new(&[("test_a.py", "def test_a(): assert 1 == 2\n")]);
    project.pytest(&["--verify-base"], &[]);
    let base = project.git(&["rev-parse", "HEAD^"]);
    let query = format!("SELECT phase, outcome FROM attempts WHERE commit = '{base}'");
    insta::assert_snapshot!(project.sql(&query), @r"
    phase,outcome
    base,failed
    base,failed
    ");
}

// Reproduction

/// A line in a shell, in a folder of the project; its exit code.
fn typed(project: &Project, folder: &str, line: &str) -> Option<i32> {
    let mut shell = Command::new("sh");
    let shell = shell.args(["-c", line]).current_dir(project.path().join(folder)).env("PY", python());
    shell.output().expect("a shell starts").status.code()
}

#[test]
fn what_reproduces_a_failure_was_run_and_left_no_trace() {
    let project = Project::new(&[("test_a.py", "def test_a(): assert 1 == 2\ndef test_b(): pass\n")]);
    let arguments = ["-q", "--junitxml=report.xml", "-W", "error"];
    let (_, report) = project.report(&["--reproduce-budget", "1h", "--seed", "7"], &arguments);
    let failure = &report["failures"][0];
    let line = format!("PYTHONHASHSEED=7 {} -m pytest -q -W error test_a.py::test_a", python());
    assert_eq!(failure["reproduce"], line);
    assert_eq!(failure["reproduce_tried"], serde_json::json!({ "failed": 1, "runs": 1 }));
    assert_eq!(typed(&project, ".", &line), Some(1));
    // What pytest wrote is of the whole suite.
    let written = std::fs::read_to_string(project.path().join("report.xml")).expect("a report");
    assert!(written.contains("tests=\"2\""), "{written}");
}

#[test]
fn reproducing_needs_neither_the_folder_nor_the_variables_of_a_wrapper() {
    let test = "import os\ndef test_a(): assert os.environ.get('MODE') != 'one two'\ndef test_b(): pass\n";
    let project =
        Project::new(&[("sub/tests/test_a.py", test), ("other.ini", "[pytest]\n"), ("sub/x/y", "")]);
    let line_of = |output: &Output| {
        let failure = &json(output)["failures"][0];
        assert_eq!(failure["reproduce_tried"]["failed"], 1, "{failure:#}");
        failure["reproduce"].as_str().expect("a line").to_owned()
    };
    let options = ["--no-store", "--format", "json", "--reproduce-budget", "1h", "--seed", "7"];
    let script = "cd sub; MODE='one two' $PY -m pytest -c ../other.ini --rootdir=.. tests";
    let line = line_of(&project.shell(&options, script));
    assert!(line.starts_with("cd sub && PYTHONHASHSEED=7 MODE='one two' "), "{line}");
    assert!(line.ends_with(" -m pytest -c ../other.ini --rootdir=.. tests/test_a.py::test_a"), "{line}");
    assert_eq!(typed(&project, ".", &line), Some(1));

    // From a subfolder, where the variable is part of what is typed.
    let words = ["env", "MODE=one two", &python(), "-m", "pytest", "--rootdir=../..", "../tests"];
    let mut command = project.command(&options);
    let output =
        project.context.finish(command.arg("--").args(words).current_dir(project.path().join("sub/x")));
    let line = line_of(&output);
    assert!(line.ends_with(" -m pytest --rootdir=../.. ../tests/test_a.py::test_a"), "{line}");
    assert!(line.starts_with("PYTHONHASHSEED=7 env 'MODE=one two' "), "{line}");
    assert_eq!(typed(&project, "sub/x", &line), Some(1));
}

// Output

#[test]
fn the_whole_answer_for_people() {
    let test = "import shop\ndef test_price():\n    assert shop.price() == 3\n";
    let project = Project::new(&[("test_a.py", FLAKY), ("shop.py", "def price():\n    return 3\n")]);
    project.commit("test_b.py", test);
    project.commit("shop.py", "def price():\n    return 4\n");
    let options = ["--no-store", "--verify-base", "--seed", "7", "--reproduce-budget", "0"];
    let output = project.pytest(&options, &["-p", "no:terminal"]);
    let mut text = output.snapshot().replace(&python(), "[PYTHON]");
    for (pattern, shown) in [
        (r"`[0-9a-f]{9}`", "`[COMMIT]`"),
        (r"\b[0-9.]+ ?m?s\b", "[TIME]"),
        (r"depends on [0-9,]+ files", "depends on [N] files"),
        // How often it pays to run a test again depends on the machine.
        (r"failed all \d+ times it ran, in \d+ processes", "failed all [N] times it ran, in [N] processes"),
        (r"(failed: first).*", "$1[RERUNS]"),
        (r"\(\d+ % sure\)", "([P] % sure)"),
        (r"seq \d+", "seq [N]"),
        (r"\d+ reruns", "[N] reruns"),
    ] {
        text = regex::Regex::new(pattern).expect("valid").replace_all(&text, shown).into_owned();
    }
    insta::assert_snapshot!(text, @r"
    exit code: 1
    ----- stdout -----

    2 of 2 tests failed, compared with `[COMMIT]` (parent of HEAD): 1 file changed

    REGRESSION  test_b.py::test_price  3f0336af
           AssertionError: assert 4 == 3 (test_b.py:3)
           caused by this change; P(regression) = 99 %
           - failed all [N] times it ran, in [N] processes
           - passed once at the base `[COMMIT]` (run now)
           - depends on 1 of 1 changed file: executes line 2 of `shop.py`
           - failed: first[RERUNS]
           next: fix the change, beginning at `shop.py:2`
           reproduce: PYTHONHASHSEED=7 [PYTHON] -m pytest -p no:terminal test_b.py::test_price

    FLAKY  test_a.py::test_flaky  3f6c36be
           AssertionError: the first time (test_a.py:8)
           proved flaky, transient ([P] % sure): it fails randomly
           - passed when run again at once, in the same process, after 1 failure
           - depends on [N] files, not on the one that changed
           - failed: first[RERUNS]
           next: look for timing, randomness or a service in the test
           reproduce: for i in $(seq [N]); do PYTHONHASHSEED=7 [PYTHON] -m pytest -p no:terminal test_a.py::test_flaky || break; done

    1 flaky, 1 regression, 0 passed in [TIME] ([N] reruns, [TIME] after the suite)
    ----- stderr -----
    hint: to forgive a flaky test until it is fixed: `flakewise quarantine add pytest:test_a.py::test_flaky --fingerprint 0ff76bad08925691`
    ");
}

#[test]
fn json_has_stdout_to_itself() {
    let project = Project::new(&[("test_a.py", "def test_a():\n    print('noise')\n    assert 1 == 2\n")]);
    let output = project.pytest(&["--no-store", "--format", "json"], &["-s"]);
    assert_eq!(json(&output)["format"], 1);
    assert!(output.stderr.contains("noise") && output.stderr.contains("1 failed"), "{}", output.stderr);
}

#[test]
fn other_forms_are_written_beside() {
    let project = Project::new(&[("test_a.py", FLAKY)]);
    let options = ["--write", "gitlab=out/quality.json", "--write", "json=out/run.json", "--write"];
    let options: Vec<_> = options.into_iter().chain(["markdown=out/run.md", "--no-store"]).collect();
    let output = project.pytest(&options, &[]);
    assert_eq!(output.code, Some(1), "{}", output.stderr);
    let read = |name: &str| std::fs::read_to_string(project.path().join(name)).expect("it was written");
    let quality: Value = serde_json::from_str(&read("out/quality.json")).expect("JSON");
    assert_eq!(quality[0]["location"]["path"], "test_a.py");
    let report: Value = serde_json::from_str(&read("out/run.json")).expect("JSON");
    assert_eq!(verdicts(&report), ["test_a.py::test_flaky flaky transient"]);
    assert!(read("out/run.md").contains("test_flaky"));
}

#[test]
fn github_gets_annotations_and_a_summary() {
    let project = Project::new(&[("test_a.py", FLAKY)]);
    let mut command = project.command(&["--no-store"]);
    command
        .args(["--", &python(), "-m", "pytest"])
        .env("GITHUB_ACTIONS", "true")
        .env("GITHUB_STEP_SUMMARY", project.state.path().join("summary.md"));
    let output = project.context.finish(&mut command);
    let annotation =
        "\n::warning file=test_a.py,line=8,title=flaky (transient)%3A test_a.py%3A%3Atest_flaky::";
    assert!(output.stdout.contains(annotation), "{}", output.stdout);
    let summary = std::fs::read_to_string(project.state.path().join("summary.md")).expect("it was written");
    assert!(summary.contains("test_flaky"), "{summary}");
}

/// Names that are written in one way by pytest, and in another by its report.
#[cfg(feature = "history")]
const NAMES: &str = "
import pytest

@pytest.mark.parametrize('text', ['a::b', 'x y', 'ä/ö', '[0]', 'a.b', 'tab\\t', '<&>\"', ''])
def test_text(text):
    assert text != 'x y'

class TestOuter:
    class TestInner:
        def test_method(self):
            assert False

        @pytest.mark.skip(reason='not today')
        def test_skipped(self):
            pass
";

#[cfg(feature = "history")]
#[test]
fn our_report_and_that_of_pytest_name_tests_as_the_history_does() {
    let project = Project::new(&[("tests/deep/test_names.py", NAMES), ("tests/deep/test_more.py", FLAKY)]);
    let output = project.pytest(&["--write", "junit=ours.xml"], &["--junitxml=theirs.xml"]);
    assert_eq!(output.code, Some(1), "{}", output.stderr);
    for report in ["ours.xml", "theirs.xml"] {
        let output = project.context.run(["ingest", report, "--run", report]);
        assert_eq!(output.code, Some(0), "{}", output.stderr);
    }
    let ours = project.sql(
        "SELECT test, attempt, phase, outcome FROM attempts WHERE run = 'ours.xml' ORDER BY test, attempt",
    );
    let stored = project.sql(
        "SELECT test, attempt, phase, outcome FROM attempts WHERE run LIKE 'local/%' ORDER BY test, attempt",
    );
    assert_eq!(ours, stored);
    let names = |run: &str| {
        project.sql(&format!("SELECT DISTINCT test FROM attempts WHERE run LIKE '{run}' ORDER BY test"))
    };
    assert_eq!(names("theirs.xml"), names("local/%"));
}

// The store

#[test]
fn a_store_out_of_reach_changes_no_answer() {
    let project = Project::new(&[("test_a.py", "def test_a(): pass\n")]);
    let output = project.pytest(&["--store", "/sys/flakewise"], &[]);
    assert_eq!(output.code, Some(0));
    assert!(
        output.stderr.contains("warning: this run is kept in the spool `.flakewise/spool`"),
        "{}",
        output.stderr
    );
    let kept = std::fs::read_dir(project.path().join(".flakewise/spool")).expect("a spool").count();
    assert_eq!(kept, 1);
}

#[test]
fn neither_does_a_spool_out_of_reach() {
    let project = Project::new(&[("test_a.py", "def test_a(): pass\n")]);
    let output = project.pytest(&["--store", "/sys/flakewise", "--spool", "/sys/spool"], &[]);
    assert_eq!(output.code, Some(0));
    assert!(
        output.stderr.contains("warning: this run is not recorded in the history: "),
        "{}",
        output.stderr
    );
    assert!(output.stdout.contains("1 passed in "), "{}", output.stdout);
}

#[test]
fn a_file_that_cannot_be_written_is_an_error_after_the_answer() {
    let project = Project::new(&[("test_a.py", "def test_a(): pass\n")]);
    let output = project.pytest(&["--no-store", "--write", "json=/sys/run.json"], &["-p", "no:terminal"]);
    assert_eq!(output.code, Some(23));
    assert!(output.stdout.starts_with("1 passed in "), "{}", output.stdout);
    assert!(output.stderr.starts_with("error: failed to write `/sys/run.json`"), "{}", output.stderr);
}

#[test]
fn a_run_that_keeps_nothing_writes_nothing() {
    let project = Project::new(&[("test_a.py", "def test_a(): pass\n")]);
    project.pytest(&["--no-store"], &[]);
    assert!(!project.path().join(".flakewise").exists());
}

#[cfg(feature = "history")]
#[test]
fn what_was_kept_is_sent_by_the_next_run() {
    let project = Project::new(&[("test_a.py", "def test_a(): pass\n")]);
    project.pytest(&["--store", "/sys/flakewise"], &[]);
    project.pytest(&[], &[]);
    assert_eq!(project.sql("SELECT count(DISTINCT run) AS n FROM attempts"), "n\n2\n");
    let kept = std::fs::read_dir(project.path().join(".flakewise/spool")).expect("a spool").count();
    assert_eq!(kept, 0);
}

// What people have in their projects

#[test]
fn options_of_the_command_of_ini_files_and_of_conftest_hold_on_every_rung() {
    let project = Project::new(&[
        (
            "pytest.ini",
            "[pytest]\naddopts = --strict-markers -k 'not slow'\nmarkers = unit\nconsole_output_style = classic\n",
        ),
        (
            "conftest.py",
            "import pytest\n\
             def pytest_addoption(parser):\n    parser.addoption('--shop')\n    parser.addini('town', 'where')\n\
             @pytest.fixture\ndef shop(request):\n    return request.config.getoption('--shop')\n",
        ),
        (
            "test_a.py",
            "import os, pytest\n\
             @pytest.mark.unit\ndef test_shop(shop, request):\n    \
                 assert (shop, request.config.getini('town'), os.environ.get('PYTEST_ADDOPTS')) == ()\n\
             @pytest.mark.unit\ndef test_slow(): assert False\n\
             @pytest.mark.unit\ndef test_out(): assert False\n\
             def test_other(): assert False\n",
        ),
    ]);
    let mut command = project.command(&["--no-store", "--format", "json"]);
    command.args(["--", &python(), "-m", "pytest", "-m", "unit", "--deselect", "test_a.py::test_out"]);
    command.args(["--shop=blue", "-o", "town=Ulm", "-p", "no:cacheprovider"]);
    command.env("PYTEST_ADDOPTS", "--tb=short");
    let report = json(&project.context.finish(&mut command));
    assert_eq!(report["counts"]["selected"], 1);
    let failure = &report["failures"][0];
    let mut rungs = attempts(failure);
    rungs.dedup();
    assert_eq!(rungs, ["first failed", "rerun failed", "postpone failed", "fork failed", "fresh failed"]);
    for attempt in failure["attempts"].as_array().into_iter().flatten() {
        let message = attempt["failure"]["message"].as_str().unwrap_or_default();
        assert!(message.contains("('blue', 'Ulm', '--tb=short')"), "{message}");
    }
    assert!(!project.path().join(".pytest_cache").exists());
}

#[test]
fn the_cache_of_pytest_knows_what_the_suite_did_and_nothing_else() {
    let project = Project::new(&[("test_a.py", FLAKY), ("test_b.py", "def test_b(): assert 1 == 2\n")]);
    project.report(&[], &[]);
    let cache = project.path().join(".pytest_cache/v/cache/lastfailed");
    let failed: Value = serde_json::from_slice(&std::fs::read(&cache).expect("a cache")).expect("JSON");
    assert_eq!(failed, serde_json::json!({"test_a.py::test_flaky": true, "test_b.py::test_b": true}));
    project.context.write("test_c.py", "def test_c(): pass\n");
    let (code, report) = project.report(&[], &["--lf"]);
    assert_eq!((code, report["counts"]["selected"].as_u64()), (Some(1), Some(2)));
    let failure = &report["failures"][0];
    assert_eq!(failure["name"], "test_b.py::test_b");
    assert_eq!(attempts(failure).last().map(String::as_str), Some("fresh failed"));
    let failed: Value = serde_json::from_slice(&std::fs::read(&cache).expect("a cache")).expect("JSON");
    assert_eq!(failed, serde_json::json!({"test_b.py::test_b": true}));
}

#[test]
fn fixtures_and_reports_of_the_project_see_the_suite_once() {
    let conftest = "
import os, pathlib, pytest

def note(line):
    with open(pathlib.Path(os.environ['STATE'], 'log'), 'a') as log:
        log.write('%d %s\\n' % (os.getpid(), line))

@pytest.fixture(scope='session', autouse=True)
def database():
    note('up')
    yield
    note('down')

def pytest_sessionfinish(session, exitstatus):
    note('finished %d, %d failed' % (exitstatus, session.testsfailed))
";
    let project = Project::new(&[
        ("conftest.py", conftest),
        ("test_a.py", FLAKY),
        ("test_b.py", "def test_b(): pass\n"),
    ]);
    let (code, _) = project.report(&[], &["--junitxml=report.xml"]);
    assert_eq!(code, Some(1));
    let log = std::fs::read_to_string(project.state.path().join("log")).expect("a log");
    // Of the suite's own process: forks have fixtures of their own.
    let finished = log.lines().find(|line| line.contains("finished")).expect("it finished");
    let process = format!("{} ", finished.split(' ').next().unwrap_or_default());
    let own: Vec<&str> = log.lines().filter_map(|line| line.strip_prefix(&process)).collect();
    assert_eq!(own, ["up", "down", "finished 1, 1 failed"]);
    let report = std::fs::read_to_string(project.path().join("report.xml")).expect("a report");
    assert!(report.contains(r#"errors="0" failures="1" skipped="0" tests="2""#), "{report}");
}

#[test]
fn nothing_is_run_again_if_too_much_fails() {
    let many = "
import pytest

@pytest.mark.parametrize('number', range(11))
def test_many(number):
    raise type('Error' + chr(65 + number), (Exception,), {})('broken')
";
    let project = Project::new(&[("test_a.py", many)]);
    let (code, report) = project.report(&["--rerun", "0", "--verify-base"], &[]);
    assert_eq!((code, report["reruns"].as_u64()), (Some(1), Some(0)));
    let undecided =
        verdicts(&report).iter().filter(|one| one.ends_with("undecided too-many-failures")).count();
    assert_eq!(undecided, 11);
    let (_, report) = project.report(&["--rerun", "0", "--postpone", "0", "--max-failures", "11"], &[]);
    assert_eq!(report["reruns"].as_u64(), Some(22));
}

#[test]
fn tests_and_what_they_start_do_not_find_us() {
    let test = "
import os, subprocess, sys

def test_environment():
    assert not [name for name in os.environ if name.startswith('FLAKEWISE')]
    assert 'PYTEST_ADDOPTS' not in os.environ and 'PYTHONPATH' not in os.environ
    assert not [entry for entry in sys.path if os.path.basename(entry) == 'agent']

def test_nested(tmp_path):
    (tmp_path / 'test_inner.py').write_text('def test_inner(): assert False')
    inner = subprocess.run([sys.executable, '-m', 'pytest', str(tmp_path)], stdout=subprocess.PIPE)
    assert inner.returncode == 1 and b'1 failed' in inner.stdout
";
    let project = Project::new(&[("test_a.py", test)]);
    let (code, report) = project.report(&[], &[]);
    assert_eq!(verdicts(&report), Vec::<String>::new());
    assert_eq!((code, report["counts"]["selected"].as_u64()), (Some(0), Some(2)));
}

#[test]
fn every_kind_of_test_and_of_failure_is_judged() {
    let test = "
import unittest, pytest

class Old(unittest.TestCase):
    tries = 0
    def test_old(self):
        Old.tries += 1
        self.assertGreater(Old.tries, 1)

tries = {}

def once(name):
    tries[name] = tries.get(name, 0) + 1
    assert tries[name] > 1, name

@pytest.fixture
def set_up():
    once('set-up')

@pytest.fixture
def torn_down():
    yield
    once('tear-down')

@pytest.fixture(scope='module')
def shared():
    once('shared')
    return 3

def test_set_up(set_up): pass
def test_torn_down(torn_down): pass
def test_shared(shared): assert shared == 3

@pytest.mark.xfail(strict=True)
def test_better_than_expected(): pass

@pytest.mark.xfail
def test_as_bad_as_expected(): assert False

@pytest.mark.skipif(True, reason='not here')
def test_skipped(): assert False
";
    let project = Project::new(&[("test_a.py", test)]);
    let (code, report) = project.report(&[], &[]);
    let mut verdicts = verdicts(&report);
    verdicts.sort();
    assert_eq!(
        verdicts,
        [
            "test_a.py::Old::test_old flaky transient",
            "test_a.py::test_better_than_expected environment -",
            "test_a.py::test_set_up flaky transient",
            "test_a.py::test_shared flaky transient",
            "test_a.py::test_torn_down flaky transient",
        ]
    );
    let counts = &report["counts"];
    assert_eq!(
        (code, counts["selected"].as_u64(), counts["passed"].as_u64(), counts["skipped"].as_u64()),
        (Some(1), Some(7), Some(0), Some(2))
    );
}

#[test]
fn ctrl_c_ends_everything_with_its_own_exit_code() {
    let test = "
import os, signal

def test_interrupt():
    os.kill(os.getppid(), signal.SIGINT)
    signal.pause()
";
    let project = Project::new(&[("test_a.py", test)]);
    let output = project.pytest(&["--no-store"], &[]);
    assert_eq!(output.code, Some(130), "{}", output.stderr);
    assert!(output.stderr.contains("error: interrupted"), "{}", output.stderr);
}

/// The file that a process waits for, open for writing.
#[cfg(feature = "history")]
fn opened_by(child: &mut std::process::Child, pipe: &Path) -> std::fs::File {
    let (sender, opened) = std::sync::mpsc::channel();
    let path = pipe.to_owned();
    // This blocks until somebody opens the other end.
    std::thread::spawn(move || sender.send(std::fs::File::options().write(true).open(path)));
    loop {
        match opened.recv_timeout(std::time::Duration::from_millis(100)) {
            Ok(file) => return file.expect("the pipe can be opened"),
            Err(_) => assert!(child.try_wait().expect("it is ours").is_none(), "it ended without waiting"),
        }
    }
}

#[cfg(feature = "history")]
#[test]
fn ctrl_c_while_the_store_does_not_answer_keeps_the_run_in_the_spool() {
    let project = Project::new(&[("test_a.py", "def test_a(): pass\n")]);
    assert_eq!(project.pytest(&[], &[]).code, Some(0));
    let log = walkdir::WalkDir::new(project.path().join(".flakewise"))
        .into_iter()
        .filter_map(Result::ok)
        .find(|entry| entry.path().ends_with("runs/_delta_log"))
        .expect("the first run made the table");
    // Reading it blocks, as a disk does whose server is gone.
    let pipe = log.path().join("_last_checkpoint");
    assert!(Command::new("mkfifo").arg(&pipe).status().expect("mkfifo starts").success());

    for (signal, code) in [("INT", 130), ("TERM", 143)] {
        let mut command = project.command(&["--format", "json"]);
        command.args(["--", &python(), "-m", "pytest"]);
        command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
        let mut child = command.spawn().expect("flakewise starts");
        let writer = opened_by(&mut child, &pipe);
        let status = Command::new("kill").args([&format!("-{signal}"), &child.id().to_string()]).status();
        assert!(status.expect("kill starts").success());
        let output = child.wait_with_output().expect("it ends");
        drop(writer);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{stderr}");
        assert!(stderr.contains("kept in the spool `.flakewise/spool`: interrupted"), "{stderr}");
        let report: Value = serde_json::from_slice(&output.stdout).expect("the answer is printed");
        assert_eq!(report["counts"]["passed"].as_u64(), Some(1));
    }

    std::fs::remove_file(&pipe).expect("it is there");
    assert_eq!(project.pytest(&[], &[]).code, Some(0));
    assert_eq!(project.sql("SELECT count(*), count(DISTINCT run) FROM attempts").lines().nth(1), Some("4,4"));
}

#[cfg(feature = "history")]
#[test]
fn a_run_in_a_subfolder_is_in_the_history_of_the_repository() {
    let project = Project::new(&[("sub/folder/test_a.py", "def test_a(): pass\n")]);
    let mut command = project.command(&[]);
    command.args(["--", &python(), "-m", "pytest"]).current_dir(project.path().join("sub/folder"));
    let output = project.context.finish(&mut command);
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    assert!(!project.path().join("sub/folder/.flakewise").exists());
    assert_eq!(project.sql("SELECT test FROM attempts"), "test\npytest:sub/folder/test_a.py::test_a\n");
}

#[test]
fn options_that_need_git_are_refused_outside_of_it() {
    let context = context();
    context.write("test_a.py", "def test_a(): pass\n");
    for option in ["--base=HEAD", "--verify-base"] {
        let mut command = context.command();
        command.args(["run", "--no-store", option, "--", &python(), "-m", "pytest"]);
        command.env("GIT_CEILING_DIRECTORIES", context.path());
        let output = context.finish(&mut command);
        assert_eq!(output.code, Some(20), "{}", output.stderr);
        let name = option.split('=').next().expect("a name");
        let error = format!("error: `{name}` requires a git repository with at least one commit\n");
        assert!(output.stderr.starts_with(&error), "{}", output.stderr);
    }
}

/// With its guard killed, nobody but the worker clears up. The kernel may send it more
/// than one signal then, and the second one ends it.
#[cfg(target_os = "linux")]
#[test]
fn two_signals_without_a_guard_leave_nothing_behind() {
    let test = "
import os, pathlib, subprocess, sys, time

def test_fails():
    if 'flakewise_agent' not in sys.modules:
        # The command that reproduces the failure is tried.
        sleeper = subprocess.Popen(['sleep', '600'], start_new_session=True)
        pathlib.Path(os.environ['STATE'], 'pipe').write_text(f'{sleeper.pid}')
        time.sleep(600)
    assert False
";
    let project = Project::new(&[("test_a.py", test)]);
    let (pipe, temporary) = (project.state.path().join("pipe"), project.state.path().join("tmp"));
    std::fs::create_dir(&temporary).expect("made");
    assert!(Command::new("mkfifo").arg(&pipe).status().expect("it starts").success());
    let mut command = project.command(&["--no-store", "--reproduce-budget", "10m"]);
    command.args(["--", &python(), "-m", "pytest", "-q"]).env("TMPDIR", &temporary);
    command.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null());
    let mut guard = command.spawn().expect("it starts");
    let sleeper = std::fs::read_to_string(&pipe).expect("the test has begun");
    let children = format!("/proc/{0}/task/{0}/children", guard.id());
    let worker = std::fs::read_to_string(children).expect("it has a worker").trim().to_owned();
    guard.kill().expect("killed");
    guard.wait().expect("it has ended");
    for _ in 0..2 {
        // It may have ended by now.
        let _ = Command::new("kill").args(["-TERM", &worker]).stderr(std::process::Stdio::null()).status();
    }
    let is_there = |process: &str| {
        std::fs::read_to_string(format!("/proc/{process}/stat")).is_ok_and(|stat| !stat.contains(") Z "))
    };
    let deadline = std::time::Instant::now() + std::time::Duration::from_mins(1);
    while is_there(&worker) && std::time::Instant::now() < deadline {
        std::thread::yield_now();
    }
    assert!(!is_there(&worker), "the worker is still there");
    assert!(!is_there(&sleeper), "a process of the test is still there");
    let left: Vec<_> = std::fs::read_dir(&temporary).expect("it is there").flatten().collect();
    let left: Vec<_> = left.iter().map(std::fs::DirEntry::file_name).collect();
    let ours = left.iter().filter(|name| name.to_string_lossy().starts_with("flakewise-"));
    assert_eq!(ours.count(), 0, "{left:?}");
}
