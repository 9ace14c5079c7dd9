//! Tests that are renamed or moved, with the real git and pytest.

use flakewise_testkit::{Output, TestContext};
use serde_json::Value;

use crate::{commit_all, context, git, python, repository};

/// Fails the first time it runs on a commit.
const FLAKY: &str = "
import os, pathlib

def test_upload(tmp_path):
    mark = pathlib.Path(os.environ['STATE'], os.environ['ROUND'])
    first = not mark.exists()
    mark.touch()
    assert 'BROKEN' not in os.environ, 'the server is wrong'
    assert not first, 'the server was not ready'

def test_download(tmp_path):
    assert len(list(tmp_path.iterdir())) == 0
";
const FORMER: &str = "pytest:tests/test_files.py::test_upload";
const CURRENT: &str = "pytest:tests/unit/test_files.py::test_upload";

/// A project in a repository, with a folder of state outside of it.
struct Project {
    context: TestContext,
    state: TestContext,
}

impl Project {
    /// A project whose history has a flaky test on the main branch.
    fn new() -> Self {
        Self::with(FLAKY)
    }

    fn with(source: &str) -> Self {
        let project = Self { context: repository(), state: context() };
        project.context.write("tests/test_files.py", source);
        commit_all(&project.context);
        project.run("1", &[]);
        project
    }

    fn git(&self, arguments: &[&str]) {
        git(self.context.path(), arguments);
    }

    fn move_tests(&self) {
        std::fs::create_dir_all(self.context.path().join("tests/unit")).expect("a folder");
        self.git(&["mv", "tests/test_files.py", "tests/unit/test_files.py"]);
        commit_all(&self.context);
    }

    fn run(&self, round: &str, options: &[&str]) -> Output {
        self.run_with(&[("ROUND", round)], options)
    }

    fn run_with(&self, variables: &[(&str, &str)], options: &[&str]) -> Output {
        let mut command = self.context.command();
        command.env("STATE", self.state.path()).envs(variables.iter().copied());
        // What reproduces a failure is of no interest here, and checking it takes a Python for each.
        command.args(["run", "--reproduce-budget", "0"]).args(options);
        command.args(["--", &python(), "-m", "pytest", "-q", "-p", "no:cacheprovider"]);
        self.context.finish(&mut command)
    }

    /// Quarantines the known failure of the test, and returns its fingerprint.
    fn quarantine(&self) -> String {
        let known = self.json(&["show", FORMER, "--format", "json"]);
        let fingerprint = known["failures"][0]["fingerprint"].as_str().expect("it failed").to_owned();
        let mut arguments = vec!["quarantine", "add", FORMER, "--fingerprint", &fingerprint];
        arguments.extend(["--owner", "@acme", "--reason", "slow server"]);
        let added = self.flakewise(&arguments);
        assert_eq!(added.code, Some(0), "{}", added.stderr);
        commit_all(&self.context);
        fingerprint
    }

    fn flakewise(&self, arguments: &[&str]) -> Output {
        let mut command = self.context.command();
        self.context.finish(command.args(arguments))
    }

    fn json(&self, arguments: &[&str]) -> Value {
        let output = self.flakewise(arguments);
        serde_json::from_str(&output.stdout)
            .unwrap_or_else(|error| panic!("not JSON: {error}\n{}\n{}", output.stdout, output.stderr))
    }

    /// Former and present ids in force, with how they came.
    fn renames(&self) -> Vec<(String, String, String)> {
        let listed = self.json(&["renames", "list", "--format", "json"]);
        let text = |row: &Value, key: &str| row[key].as_str().expect("text").to_owned();
        let rows = listed["renames"].as_array().expect("a list").iter();
        rows.filter(|row| row["in_force"] == true)
            .map(|row| (text(row, "former"), text(row, "test"), text(row, "action")))
            .collect()
    }
}

#[test]
fn the_history_follows_a_moved_test_on_the_main_branch() {
    let project = Project::new();
    project.move_tests();
    let output = project.run("2", &[]);
    let hint = "hint: the history follows 2 renamed tests: `flakewise renames list`";
    assert!(output.stderr.contains(hint), "{}", output.stderr);
    assert!(output.stdout.contains("FLAKY"), "a known flake, not a new one\n{}", output.stdout);
    let renames = project.renames();
    assert!(renames.contains(&(FORMER.to_owned(), CURRENT.to_owned(), "found".to_owned())), "{renames:?}");
    assert_eq!(renames.len(), 2);
    for name in [FORMER, CURRENT] {
        let shown = project.json(&["show", name, "--format", "json"]);
        assert_eq!(shown["test"], CURRENT, "{shown}");
    }
    let again = project.run("3", &[]);
    assert!(!again.stderr.contains("renamed"), "it was decided once\n{}", again.stderr);
}

#[test]
fn a_branch_has_the_past_of_the_tests_it_renames_but_records_nothing() {
    let project = Project::new();
    project.git(&["checkout", "--quiet", "-b", "work"]);
    project.move_tests();
    let output = project.run("2", &["--format", "json"]);
    let report: Value = serde_json::from_str(&output.stdout).expect("JSON");
    let failure = &report["failures"][0];
    assert_eq!(
        (&failure["test"], &failure["verdict"]["novelty"]),
        (&CURRENT.into(), &"known".into()),
        "{failure}"
    );
    let kinds = failure["evidence"].as_array().expect("a list").iter().map(|evidence| &evidence["kind"]);
    assert!(kinds.clone().any(|kind| kind == "seen-without-change"), "{failure}");
    assert_eq!(project.renames(), []);
}

#[test]
fn a_rename_can_be_undone_and_added() {
    let project = Project::new();
    project.move_tests();
    let output = project.flakewise(&["renames", "find", "--from", "HEAD~1", "--dry-run"]);
    assert!(output.stdout.contains("2 tests renamed"), "{}", output.stdout);
    assert!(output.stdout.contains(&format!("{FORMER}\n    -> {CURRENT}\n")), "{}", output.stdout);
    assert_eq!(project.renames(), [], "nothing was stored");
    project.flakewise(&["renames", "find", "--from", "HEAD~1"]);
    assert_eq!(project.renames().len(), 2);
    let output = project.flakewise(&["renames", "undo", "tests/test_files.py::test_upload"]);
    assert_eq!(output.stdout, format!("{FORMER} is a test of its own again\n"));
    assert_eq!(project.renames().len(), 1);
    let again = project.flakewise(&["renames", "find", "--from", "HEAD~1"]);
    assert!(again.stderr.contains("2 of them decided before"), "{}", again.stderr);
    assert_eq!(project.renames().len(), 1, "what was undone is not found again");
    let unknown = project.flakewise(&["renames", "undo", "tests/test_files.py::test_upload"]);
    assert_eq!(unknown.code, Some(12), "{}", unknown.stderr);
    let added = project.flakewise(&["renames", "add", FORMER, CURRENT]);
    assert_eq!(added.code, Some(0), "{}", added.stderr);
    let renames = project.renames();
    assert!(renames.contains(&(FORMER.to_owned(), CURRENT.to_owned(), "added".to_owned())), "{renames:?}");
}

#[test]
fn what_names_no_test_or_commit_is_refused() {
    let project = Project::new();
    for (arguments, code, message) in [
        (vec!["renames", "add", "test_upload", CURRENT], 2, "`test_upload` is not the id of a test"),
        (vec!["renames", "add", CURRENT, CURRENT], 2, "is both the former and the present id"),
        (vec!["renames", "find", "--from", "v9"], 20, "no commit `v9` in this clone"),
    ] {
        let output = project.flakewise(&arguments);
        assert_eq!(output.code, Some(code), "{}", output.stderr);
        assert!(output.stderr.contains(message), "{}", output.stderr);
    }
}

#[test]
fn a_quarantine_follows_a_renamed_test() {
    let project = Project::new();
    project.quarantine();
    project.git(&["checkout", "--quiet", "-b", "work"]);
    project.move_tests();
    let output = project.run("2", &[]);
    assert_eq!(output.code, Some(0), "{}{}", output.stdout, output.stderr);
    let warning = format!("the test was renamed; change the entry to `{CURRENT}`");
    assert!(
        format!("{}{}", output.stdout, output.stderr).contains(&warning),
        "{}{}",
        output.stdout,
        output.stderr
    );
    let check = project.flakewise(&["quarantine", "check"]);
    assert_eq!(check.code, Some(11), "{}", check.stdout);
    assert!(check.stdout.contains(&warning), "{}", check.stdout);
}

#[test]
fn a_quarantine_forgives_the_known_failure_of_a_test_with_other_names_and_no_other() {
    let project = Project::new();
    let known = project.quarantine();
    project.git(&["checkout", "--quiet", "-b", "work"]);
    project.git(&["mv", "tests/test_files.py", "tests/test_storage.py"]);
    project.context.write("tests/test_storage.py", FLAKY.replace("test_upload", "test_upload_file"));
    commit_all(&project.context);
    let check = project.flakewise(&["quarantine", "check"]);
    let current = "pytest:tests/test_storage.py::test_upload_file";
    let warning =
        format!("renamed to `{current}`; the next run in which it fails prints its new fingerprint");
    assert!(check.stdout.contains(&warning), "{}", check.stdout);

    let output = project.run("2", &["--format", "json"]);
    let report: Value = serde_json::from_str(&output.stdout).expect("JSON");
    let failure = &report["failures"][0];
    assert_eq!((&failure["test"], output.code), (&current.into(), Some(0)), "{failure}");
    assert_eq!(failure["quarantine"]["entry"], FORMER, "{failure}");
    let fingerprint = failure["attempts"][0]["failure"]["fingerprint"].as_str().expect("it failed");
    assert_ne!(fingerprint, known);

    // A failure of the same test that was never quarantined, in two ways.
    let broken = project.run_with(&[("ROUND", "3"), ("BROKEN", "1")], &[]);
    assert_eq!(broken.code, Some(1), "{}{}", broken.stdout, broken.stderr);
    let source =
        FLAKY.replace("test_upload", "test_upload_file").replace("not first", "not (first or first)");
    project.context.write("tests/test_storage.py", &source);
    let changed = project.run("4", &[]);
    assert_eq!(changed.code, Some(1), "{}{}", changed.stdout, changed.stderr);

    // What the run says to change is enough.
    project.git(&["checkout", "--quiet", "--", "tests"]);
    let output = project.run("5", &[]);
    let advice = format!("change the entry to `{current}` and add the fingerprint `{fingerprint}`");
    let said = format!("{}{}", output.stdout, output.stderr);
    assert!(output.code == Some(0) && said.contains(&advice), "{said}");
    let file = project.context.path().join(".flakewise/quarantine.toml");
    let text = std::fs::read_to_string(&file).expect("the quarantine file");
    let text = text.replace(FORMER, current).replace(&known, fingerprint);
    std::fs::write(&file, text).expect("the quarantine file");
    let output = project.run("6", &[]);
    let said = format!("{}{}", output.stdout, output.stderr);
    assert!(output.code == Some(0) && !said.contains("renamed"), "{said}");
}

#[test]
fn a_quarantine_does_not_recognise_a_failing_fixture_under_another_name() {
    const FIXTURE: &str = "
import os, pathlib, pytest

@pytest.fixture
def server(tmp_path):
    mark = pathlib.Path(os.environ['STATE'], os.environ['ROUND'])
    first = not mark.exists()
    mark.touch()
    assert not first, 'the server was not ready'
    return tmp_path

def test_upload(server):
    upload = server / 'upload'
    upload.write_text('text')
    assert upload.read_text() == 'text'
";
    let project = Project::with(FIXTURE);
    project.quarantine();
    let output = project.run("2", &[]);
    assert_eq!(output.code, Some(0), "{}{}", output.stdout, output.stderr);
    project.git(&["checkout", "--quiet", "-b", "work"]);
    project.git(&["mv", "tests/test_files.py", "tests/test_storage.py"]);
    commit_all(&project.context);
    let output = project.run("3", &[]);
    let said = format!("{}{}", output.stdout, output.stderr);
    assert!(output.code == Some(1) && said.contains("in a way that the entry does not list"), "{said}");
}

#[test]
fn a_quarantine_follows_a_test_whose_new_name_begins_with_the_former_one() {
    let project = Project::new();
    project.quarantine();
    project.git(&["checkout", "--quiet", "-b", "work"]);
    project.context.write("tests/test_files.py", FLAKY.replace("test_upload", "test_upload_file"));
    commit_all(&project.context);
    let output = project.run("2", &[]);
    let said = format!("{}{}", output.stdout, output.stderr);
    let warning = "the test was renamed; change the entry to `pytest:tests/test_files.py::test_upload_file`";
    assert!(output.code == Some(0) && said.contains(warning), "{said}");
}
