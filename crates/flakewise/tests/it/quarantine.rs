//! `flakewise quarantine`, and what it does to `flakewise run`, with the real pytest.

use std::process::Command;

use flakewise_testkit::{Output, TestContext};
use serde_json::Value;

use crate::{commit_all, context, git, python, repository};

/// Tests that do what files in a folder of state say: two different failures of one test,
/// a crash, and a test that stays green.
const TESTS: &str = "
import os, pathlib
import shop

STATE = pathlib.Path(os.environ['STATE'])

def test_card():
    assert not (STATE / 'refused').exists(), 'the card was refused'
    assert shop.total(2) == 4

def test_cash():
    if (STATE / 'crash').exists():
        os.abort()
    assert not (STATE / 'no-cash').exists(), 'no cash'

def test_calm():
    pass
";
const SHOP: &str = "def total(count):\n    return count * 2\n";
const CARD: &str = "tests/test_pay.py::test_card";
const TODAY: &str = "2026-11-16";
/// What reproduces a failure is of no interest here, and checking it takes a Python for each.
const RUN: [&str; 4] = ["run", "--no-store", "--reproduce-budget", "0"];

/// A project in a repository, with a folder of state outside of it.
struct Project {
    context: TestContext,
    state: TestContext,
}

impl Project {
    fn new() -> Self {
        let project = Self { context: repository(), state: context() };
        project.context.write("tests/test_pay.py", TESTS);
        project.context.write("shop.py", SHOP);
        project.context.write("README", "");
        commit_all(&project.context);
        project
    }

    fn git(&self, arguments: &[&str]) -> String {
        git(self.context.path(), arguments)
    }

    fn command(&self, today: &str) -> Command {
        let mut command = self.context.command();
        command
            .env("STATE", self.state.path())
            .env("PY", python())
            .env("PYTHONPATH", self.context.path())
            .env("FLAKEWISE_TODAY", today);
        command
    }

    /// `flakewise quarantine` with these arguments.
    fn quarantine(&self, today: &str, arguments: &[&str]) -> Output {
        self.context.finish(self.command(today).arg("quarantine").args(arguments))
    }

    /// `flakewise run` with these options and a line of shell.
    fn run(&self, today: &str, options: &[&str], line: &str) -> Output {
        let mut command = self.command(today);
        command.args(RUN).args(options).args(["--", "sh", "-c", line]);
        self.context.finish(&mut command)
    }

    /// `flakewise run -- python -m pytest`.
    fn pytest(&self, today: &str, options: &[&str]) -> Output {
        let mut command = self.command(today);
        command.args(RUN).args(options).args(["--", &python(), "-m", "pytest", "-q"]);
        self.context.finish(&mut command)
    }

    fn report(&self, today: &str, options: &[&str]) -> (Option<i32>, Value) {
        let options: Vec<&str> = ["--format", "json"].iter().chain(options).copied().collect();
        let output = self.pytest(today, &options);
        let report = serde_json::from_str(&output.stdout);
        (output.code, report.unwrap_or_else(|error| panic!("{error}\n{}\n{}", output.stdout, output.stderr)))
    }

    /// The fingerprints of the failures of a run, by test.
    fn fingerprints(&self) -> Vec<(String, String)> {
        let (_, report) = self.report(TODAY, &["--no-quarantine"]);
        let failures = report["failures"].as_array().expect("failures").iter();
        let text = |value: &Value| value.as_str().expect("a text").to_owned();
        failures
            .map(|one| (text(&one["name"]), text(&one["attempts"][0]["failure"]["fingerprint"])))
            .collect()
    }

    /// Quarantines what fails now.
    fn quarantine_failures(&self) {
        for (name, fingerprint) in self.fingerprints() {
            let added = self.quarantine(
                TODAY,
                &["add", &name, "--fingerprint", &fingerprint, "--owner", "@acme/pay", "--days", "7"],
            );
            assert_eq!(added.code, Some(0), "{}", added.stderr);
        }
    }

    fn set(&self, state: &str) {
        self.state.write(state, "");
    }

    fn unset(&self, state: &str) {
        std::fs::remove_file(self.state.path().join(state)).expect("it is set");
    }
}

fn status(report: &Value) -> Vec<String> {
    let failures = report["failures"].as_array().expect("failures").iter();
    failures.map(|one| format!("{} {}", one["name"], one["quarantine"]["status"]).replace('"', "")).collect()
}

#[test]
fn a_known_failure_is_forgiven_until_its_last_day_and_another_never() {
    let project = Project::new();
    project.set("refused");
    let (code, report) = project.report(TODAY, &[]);
    assert_eq!((code, report["counts"]["quarantined"].as_u64()), (Some(1), Some(0)));
    assert!(report["failures"][0]["quarantine"].is_null());
    project.quarantine_failures();

    let (code, report) = project.report(TODAY, &[]);
    assert_eq!((code, report["exit"]["reason"].as_str()), (Some(0), Some("tolerated")), "{report}");
    assert_eq!(status(&report), [format!("{CARD} forgiven")]);
    let said = &report["failures"][0]["quarantine"];
    assert_eq!(said["owner"], "@acme/pay");
    assert_eq!(said["until"], "2026-11-23");
    assert_eq!(said["entry"], format!("pytest:{CARD}"));
    assert_eq!(report["counts"]["quarantined"], 1);
    assert_eq!(project.report("2026-11-23", &[]).0, Some(0), "the last day counts");
    assert_eq!(project.report(TODAY, &["--no-quarantine"]).0, Some(1));
    assert_eq!(project.report(TODAY, &["--max-quarantine-days", "0"]).0, Some(0));
    assert_eq!(project.report("2026-11-17", &["--max-quarantine-days", "0"]).0, Some(1));

    // The day after, the owner is named.
    let late = project.pytest("2026-11-24", &[]);
    assert_eq!(late.code, Some(1), "{}", late.stdout);
    let expired = "not forgiven: the quarantine expired after 2026-11-23; owner `@acme/pay`";
    assert!(late.stdout.contains(expired), "{}", late.stdout);
    let (code, report) = project.report("2026-11-24", &["--tolerate", "flaky"]);
    assert_eq!((code, report["failures"][0]["refusal"].as_str()), (Some(1), Some("quarantine-expired")));

    // Another failure of the same test.
    project.unset("refused");
    project.context.write("shop.py", "def total(count):\n    return count * 3\n");
    let (code, report) = project.report(TODAY, &[]);
    assert_eq!((code, status(&report)), (Some(1), vec![format!("{CARD} other-failure")]));

    // Another test beside the quarantined one.
    project.context.write("shop.py", SHOP);
    project.set("refused");
    project.set("no-cash");
    let (code, report) = project.report(TODAY, &[]);
    assert_eq!((code, report["exit"]["reason"].as_str()), (Some(1), Some("not-tolerated")));
    let mut all = status(&report);
    all.sort();
    assert_eq!(all, [format!("{CARD} forgiven"), "tests/test_pay.py::test_cash null".to_owned()]);
}

#[test]
fn every_form_says_what_is_quarantined() {
    let project = Project::new();
    project.set("refused");
    project.quarantine_failures();
    let file = |name: &str| std::fs::read_to_string(project.context.path().join(name)).expect("written");
    let forms = ["junit=r.xml", "markdown=r.md", "github=r.txt", "gitlab=r.json"];
    let options: Vec<&str> = forms.iter().flat_map(|form| ["--write", form]).collect();
    let output = project.pytest(TODAY, &options);
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    let line = "quarantined: until 2026-11-23, owner `@acme/pay`: flaky";
    assert!(output.stdout.contains(line), "{}", output.stdout);
    assert!(output.stdout.contains("1 of them quarantined, 2 passed"), "{}", output.stdout);
    assert!(output.stdout.ends_with("exit code 0: all failures are quarantined\n"), "{}", output.stdout);
    let junit = file("r.xml");
    assert!(junit.contains("name=\"flakewise.quarantine\" value=\"quarantined: until 2026-11-23"), "{junit}");
    let markdown = file("r.md");
    assert!(markdown.contains("Quarantined: until 2026-11-23, owner <code>"), "{markdown}");
    let github = file("r.txt");
    assert!(github.starts_with("::warning ") && github.contains("quarantined: until 2026-11-23"), "{github}");
    let gitlab = file("r.json");
    assert!(gitlab.contains("\"severity\": \"info\"") && gitlab.contains("quarantined: until"), "{gitlab}");
    // Our own reports are read without complaint.
    let ingested = project.context.run(["ingest", "r.xml"]);
    assert!(!ingested.stderr.contains("flakewise.quarantine"), "{}", ingested.stderr);
}

#[test]
fn pytest_corrects_its_own_exit_code_below_a_wrapper() {
    let project = Project::new();
    project.set("refused");
    project.quarantine_failures();
    let line = "$PY -m pytest -q tests && echo NEXT STEP";
    let green = project.run(TODAY, &[], line);
    assert_eq!(green.code, Some(0), "{}", green.stderr);
    assert!(green.stdout.contains("NEXT STEP"), "{}", green.stdout);
    let red = project.run("2026-11-24", &[], line);
    assert_eq!(red.code, Some(1));
    assert!(!red.stdout.contains("NEXT STEP"), "{}", red.stdout);
    let linter = project.run(TODAY, &[], "$PY -m pytest -q tests && exit 3");
    assert_eq!(linter.code, Some(3), "what comes after pytest counts");
}

#[test]
fn quarantined_failures_are_forgiven_however_many_tests_fail() {
    let project = Project::new();
    project.set("refused");
    project.set("no-cash");
    project.quarantine_failures();
    let (code, report) = project.report(TODAY, &["--max-failures", "1"]);
    assert_eq!(code, Some(0), "{report}");
    assert_eq!(report["counts"]["verdicts"]["undecided"], 2, "too many failed to be judged: {report}");
}

#[test]
fn crashes_and_incomplete_runs_are_never_forgiven() {
    let project = Project::new();
    let cash = "tests/test_pay.py::test_cash";
    let added = project.quarantine(TODAY, &["add", cash, "--any-failure", "--owner", "@acme/pay"]);
    assert_eq!(added.code, Some(0), "{}", added.stderr);
    project.set("no-cash");
    assert_eq!(project.report(TODAY, &[]).0, Some(0));
    // A file that cannot be collected may hold any test.
    project.context.write("tests/test_broken.py", "import nothing_of_this_name\n");
    let line = "$PY -m pytest -q --continue-on-collection-errors tests";
    assert_ne!(project.run(TODAY, &[], line).code, Some(0));
    std::fs::remove_file(project.context.path().join("tests/test_broken.py")).expect("removed");
    project.unset("no-cash");
    project.set("crash");
    let (code, report) = project.report(TODAY, &[]);
    assert_ne!(code, Some(0));
    assert_eq!(status(&report), [format!("{cash} crashed")]);
}

#[test]
fn an_entry_for_any_failure_does_not_hide_a_regression() {
    let project = Project::new();
    let added = project.quarantine(TODAY, &["add", CARD, "--any-failure", "--owner", "@acme/pay"]);
    assert_eq!(added.code, Some(0), "{}", added.stderr);
    project.set("refused");
    assert_eq!(project.report(TODAY, &[]).0, Some(0));
    project.unset("refused");
    project.context.write("shop.py", "def total(count):\n    return count * 3\n");
    let (code, report) = project.report(TODAY, &[]);
    assert_eq!((code, status(&report)), (Some(1), vec![format!("{CARD} regression")]), "{report}");
}

#[test]
fn a_malformed_file_stops_the_run_and_says_where() {
    let project = Project::new();
    for (text, place) in [
        (&b"[[quarantine]\n"[..], ":1:14: unclosed array table"),
        (b"\n[[quarantine]]\ntets = \"a\"\n", ":3:1: unknown key `tets`; did you mean `test`?"),
        (b"# \xff\n", ":1:3: the file is not UTF-8"),
    ] {
        project.context.write(".flakewise/quarantine.toml", text);
        let output = project.pytest(TODAY, &[]);
        assert_eq!(output.code, Some(21), "{}", output.stdout);
        assert!(output.stderr.contains(&format!(".flakewise/quarantine.toml{place}")), "{}", output.stderr);
        assert!(!output.stdout.contains("passed"), "nothing ran: {}", output.stdout);
        for command in [&["check"][..], &["list"], &["release", "x"], &["add", CARD, "--any-failure"]] {
            assert_eq!(project.quarantine(TODAY, command).code, Some(21), "{command:?}");
        }
    }
    assert_eq!(project.pytest(TODAY, &["--no-quarantine"]).code, Some(0));
    let missing = project.pytest(TODAY, &["--quarantine", "elsewhere.toml"]);
    assert_eq!(missing.code, Some(21), "{}", missing.stderr);
}

#[test]
fn tests_that_do_not_exist_are_a_warning_in_run_and_an_error_in_check() {
    let project = Project::new();
    let gone = "pytest:tests/test_pay.py::test_gone";
    let options = ["--any-failure", "--owner", "@acme/pay"];
    assert_eq!(project.quarantine(TODAY, &[&["add", gone][..], &options].concat()).code, Some(0));
    assert_eq!(project.quarantine(TODAY, &[&["add", CARD][..], &options].concat()).code, Some(0));
    let output = project.pytest(TODAY, &[]);
    assert_eq!(output.code, Some(0));
    let warning = "`pytest:tests/test_pay.py::test_gone` is quarantined, but no such test exists";
    assert!(output.stdout.contains(warning), "{}", output.stdout);
    assert!(!output.stdout.contains("test_card"), "{}", output.stdout);
    let python = python();
    let collecting = ["check", "--", &python, "-m", "pytest"];
    for arguments in [&["check"][..], &collecting] {
        let output = project.quarantine(TODAY, arguments);
        assert_eq!(output.code, Some(11), "{}{}", output.stdout, output.stderr);
        let error = "quarantine.toml:5: `pytest:tests/test_pay.py::test_gone` is quarantined, but no such test exists";
        assert!(output.stdout.contains(error) && output.stdout.ends_with("1 problem\n"), "{}", output.stdout);
    }
    let released = project.quarantine(TODAY, &["release", "test_gone"]);
    assert_eq!(released.stdout, format!("released {gone}, owner @acme/pay\n"));
    for arguments in [&["check"][..], &collecting] {
        let output = project.quarantine(TODAY, arguments);
        assert_eq!(output.code, Some(0), "{}{}", output.stdout, output.stderr);
    }
    let late = project.quarantine("2026-12-24", &["check"]);
    assert_eq!(late.code, Some(11));
    assert!(late.stdout.contains("expired on 2026-11-30; owner @acme/pay"), "{}", late.stdout);
    let capped =
        project.quarantine(TODAY, &["check", "--max-quarantined", "0", "--max-quarantine-days", "3"]);
    assert!(capped.stdout.contains("1 entries, more than the 0 allowed"), "{}", capped.stdout);
    assert!(capped.stdout.contains("longer than the 3 days allowed"), "{}", capped.stdout);
}

#[test]
fn entries_are_added_with_an_owner_and_within_the_limits() {
    let project = Project::new();
    let nobody = project.quarantine(TODAY, &["add", CARD, "--any-failure"]);
    assert_eq!(nobody.code, Some(2));
    assert!(nobody.stderr.contains("has no owner in CODEOWNERS"), "{}", nobody.stderr);
    project.context.write(".github/CODEOWNERS", "* @acme/all\n/tests/ @acme/qa\n");
    let any = ["add", CARD, "--any-failure"];
    let long = project.quarantine(TODAY, &[&any[..], &["--days", "31"]].concat());
    assert_eq!(long.code, Some(11), "{}", long.stderr);
    let capped = project.quarantine(TODAY, &[&any[..], &["--max-quarantined", "0"]].concat());
    assert_eq!(capped.code, Some(11), "{}", capped.stderr);
    #[cfg(not(feature = "history"))]
    assert_eq!(project.quarantine(TODAY, &["add", CARD]).code, Some(2), "no failure is named");
    assert!(!project.context.path().join(".flakewise/quarantine.toml").exists());
    let added = project.quarantine(TODAY, &any);
    assert_eq!(added.stdout, format!("quarantined pytest:{CARD} until 2026-11-30, owner @acme/qa\n"));
    let twice = project.quarantine(TODAY, &any);
    assert!(twice.stderr.contains("is already quarantined on line 5"), "{}", twice.stderr);
    let wrong = project.quarantine(TODAY, &["add", "tests/test_nothing.py::test_a", "--any-failure"]);
    assert_eq!(wrong.code, Some(12), "{}", wrong.stderr);
    let broad = project.quarantine(TODAY, &["add", "--pattern", "pytest:tests/**", "--any-failure"]);
    assert_eq!(broad.code, Some(11), "{}", broad.stderr);
    let listed = project.quarantine(TODAY, &["list", "--format", "json"]);
    let listed: Value = serde_json::from_str(&listed.stdout).expect("JSON");
    assert_eq!(listed["entries"][0]["test"], format!("pytest:{CARD}"));
    assert_eq!(listed["entries"][0]["days_left"], 14);
    insta::assert_snapshot!(project.quarantine("2026-12-02", &["list"]).stdout);
}

#[test]
fn git_commits_the_quarantine_and_nothing_else_of_ours() {
    let project = Project::new();
    // As an earlier version left it.
    let former = "# Written by flakewise. Only what can be committed is not ignored.\n*\n!model\n";
    project.context.write(".flakewise/.gitignore", former);
    project.context.write(".flakewise/spool/x", "");
    assert_eq!(project.git(&["status", "--porcelain", "--untracked-files=all"]), "");
    let added = project.quarantine(TODAY, &["add", CARD, "--any-failure", "--owner", "@acme/qa"]);
    assert_eq!(added.stderr, "hint: commit `.flakewise/quarantine.toml`\n");
    let status = project.git(&["status", "--porcelain", "--untracked-files=all"]);
    assert_eq!(status, "?? .flakewise/quarantine.toml\n");
    // A folder whose owner ignores everything is left alone, with a warning.
    project.context.write(".flakewise/.gitignore", "*\n");
    let cash = "tests/test_pay.py::test_cash";
    let added = project.quarantine(TODAY, &["add", cash, "--any-failure", "--owner", "@acme/qa"]);
    assert!(added.stderr.contains("git ignores `.flakewise/quarantine.toml`"), "{}", added.stderr);
}

#[test]
fn a_test_in_mode_skip_is_skipped_until_its_entry_expires() {
    let project = Project::new();
    project.state.write("no-cash", "");
    let cash = "tests/test_pay.py::test_cash";
    let options =
        ["--any-failure", "--mode", "skip", "--owner", "@acme/pay", "--reason", "no change", "--days", "2"];
    let added = project.quarantine(TODAY, &[&["add", cash][..], &options].concat());
    assert_eq!(added.code, Some(0), "{}", added.stderr);
    let output = project.pytest(TODAY, &["--write", "json=report.json"]);
    assert_eq!(output.code, Some(0), "{}{}", output.stdout, output.stderr);
    for text in ["2 passed, 1 skipped", "1 test not run: quarantined with mode `skip`"] {
        assert!(output.stdout.contains(text), "`{text}` is not in\n{}{}", output.stdout, output.stderr);
    }
    let mut command = project.command(TODAY);
    command.args(["run", "--no-store", "--", &python(), "-m", "pytest", "-q", "-rs"]);
    let shown = project.context.finish(&mut command).stdout;
    assert!(shown.contains("quarantined until 2026-11-18, owner @acme/pay: no change"), "{shown}");
    let expired = project.pytest("2026-11-19", &[]);
    assert_eq!(expired.code, Some(1), "it runs again, and fails\n{}", expired.stdout);
    assert!(expired.stdout.contains("@acme/pay"), "{}", expired.stdout);
}
