//! What works on this machine.

use flakewise_testkit::{Output, TestContext};

use crate::{context, git, python};

fn doctor(context: &TestContext, arguments: &[&str]) -> Output {
    context.finish(context.command().arg("doctor").args(arguments))
}

/// The status and the text of a check.
fn check(output: &Output, name: &str) -> (String, String) {
    let document: serde_json::Value = serde_json::from_str(&output.stdout).expect(&output.stderr);
    let checks = document["checks"].as_array().expect("a list");
    let check = checks.iter().find(|check| check["name"] == name).expect("checked");
    let field = |name: &str| check[name].as_str().expect("a text").to_owned();
    (field("status"), field("text"))
}

/// A project whose configuration names a Python that has pytest.
fn project() -> TestContext {
    let context = context();
    context.write("flakewise.toml", format!("command = [\"{}\", \"-m\", \"pytest\", \"-q\"]\n", python()));
    // Neither is loaded.
    context.write("conftest.py", "raise SystemExit('conftest')\n");
    context.write("pytest.ini", "[pytest]\naddopts = --no-such-option\n");
    context
}

#[test]
fn python_and_pytest_are_those_of_the_configured_command() {
    let context = project();
    let output = doctor(&context, &["--format", "json"]);
    assert_eq!(output.code, Some(0), "{}", output.stdout);
    let (status, text) = check(&output, "python");
    assert!(status == "ok" && text.starts_with("CPython 3."), "{text}");
    let (status, text) = check(&output, "pytest");
    assert!(status == "ok" && text.contains("-m pytest`)"), "{text}");
    assert_eq!(check(&output, "agent"), ("ok".to_owned(), "loads and observes tests".to_owned()));
    assert_eq!(check(&output, "configuration"), ("ok".to_owned(), "flakewise.toml".to_owned()));
    assert_eq!(check(&output, "spool"), ("ok".to_owned(), "empty".to_owned()));
    assert_eq!(check(&output, "store").0, "ok");
    // Nothing is left behind.
    assert!(!context.path().join(".flakewise").exists() && !context.path().join(".pytest_cache").exists());
}

#[test]
fn the_text_ends_with_a_summary() {
    let context = context();
    context.write("pom.xml", "");
    let output = doctor(&context, &[]);
    assert_eq!(output.code, Some(0), "{}", output.stdout);
    assert!(output.stdout.contains("\n- pytest         no pytest project found"), "{}", output.stdout);
    assert!(
        output.stdout.contains("\n! repository     the working directory is in no git repository"),
        "{}",
        output.stdout
    );
    assert!(
        output.stdout.trim_end().lines().last().is_some_and(|line| line.contains("warning")),
        "{}",
        output.stdout
    );
}

#[test]
fn a_command_without_pytest_is_a_problem() {
    let context = context();
    let output = doctor(&context, &["--format", "json", "--", "./missing/pytest"]);
    assert_eq!(output.code, Some(21), "{}", output.stdout);
    let (status, text) = check(&output, "pytest");
    assert!(status == "error" && text.contains("`./missing/pytest` could not run a test"), "{text}");
}

#[test]
fn a_python_that_ignores_its_environment_loads_no_agent() {
    let context = context();
    let output = doctor(&context, &["--format", "json", "--", &python(), "-E", "-m", "pytest"]);
    assert_eq!(output.code, Some(21), "{}", output.stdout);
    assert_eq!(check(&output, "agent"), ("error".to_owned(), "pytest ran without the agent".to_owned()));
    assert_eq!(check(&output, "python").0, "ok");
}

#[test]
fn a_broken_file_is_a_problem_and_the_rest_is_checked() {
    let context = context();
    context.write("flakewise.toml", "stor = 1\n");
    let output = doctor(&context, &["--format", "json"]);
    assert_eq!(output.code, Some(21));
    let (status, text) = check(&output, "configuration");
    assert_eq!((status.as_str(), text.as_str()), ("error", "flakewise.toml:1:1: unknown key `stor`"));
    assert_eq!(check(&output, "git").0, "ok");
    assert_eq!(check(&output, "pytest").0, "skipped");
}

#[test]
fn a_store_that_is_a_file_is_a_problem() {
    let context = context();
    context.write("taken", "");
    let output = doctor(&context, &["--format", "json", "--store", "taken/history"]);
    assert_eq!(output.code, Some(21));
    assert_eq!(check(&output, "store").0, "error");
}

#[test]
fn credentials_are_not_printed() {
    let context = context();
    let mut command = context.command();
    command.arg("doctor").env("FLAKEWISE_STORE", "ftp://key:secret@host/history?token=secret");
    let output = context.finish(&mut command);
    assert!(!output.stdout.contains("secret") && !output.stderr.contains("secret"), "{}", output.stdout);
    assert!(output.stdout.contains("ftp://…@host/history?…"), "{}", output.stdout);
}

#[test]
fn a_shallow_clone_is_a_warning_with_a_hint() {
    let context = context();
    let git = |arguments: &[&str]| git(context.path(), arguments);
    git(&["init", "--quiet", "--initial-branch=main", "origin"]);
    for message in ["first", "second"] {
        git(&["-C", "origin", "commit", "--quiet", "--allow-empty", "-m", message]);
    }
    let origin = format!("file://{}", context.path().join("origin").display());
    git(&["clone", "--quiet", "--depth=1", &origin, "clone"]);
    let mut command = context.command();
    command.current_dir(context.path().join("clone")).args(["doctor", "--format", "json"]);
    let output = context.finish(&mut command);
    assert_eq!(check(&output, "repository").1, "shallow clone, 1 commit");
    let (status, text) = check(&output, "base");
    assert!(status == "warning" && text.contains("too shallow"), "{text}");
    assert!(output.stdout.contains("fetch-depth: 0"), "{}", output.stdout);
}

#[test]
fn a_malformed_quarantine_is_a_problem() {
    let context = context();
    context.write(".flakewise/quarantine.toml", "[[quarantine]]\nowner = 1\n");
    let output = context.run(["doctor"]);
    assert_eq!(output.code, Some(21), "{}", output.stdout);
    let line = output.stdout.lines().find(|line| line.contains("quarantine")).expect("checked");
    assert!(line.starts_with('✗') && line.contains(".flakewise/quarantine.toml:2:"), "{line}");
}
