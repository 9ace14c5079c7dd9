//! The real binary, as people and CI use it.

#[cfg(feature = "history")]
mod bucket;
mod check;
mod config;
mod culprit;
mod doctor;
#[cfg(all(feature = "history", target_os = "linux"))]
mod durable;
mod eval;
mod explain;
#[cfg(feature = "history")]
mod generate;
mod green;
mod help;
#[cfg(feature = "history")]
mod history;
mod hostile;
mod hunt;
mod ingest;
mod init;
#[cfg(feature = "history")]
mod landing;
mod logging;
#[cfg(feature = "history")]
mod monorepo;
mod predict;
mod quarantine;
#[cfg(feature = "history")]
mod renames;
mod run;
mod train;
mod zoo;

use flakewise_testkit::{Output, TestContext};

fn context() -> TestContext {
    TestContext::new(env!("CARGO_BIN_EXE_flakewise"))
}

/// A folder that is a git repository, which ignores what Python and pytest leave.
fn repository() -> TestContext {
    let context = context();
    git(context.path(), &["init", "--quiet", "--initial-branch=main"]);
    context.write(".git/info/exclude", "__pycache__/\n.pytest_cache/\n");
    context
}

/// Commits everything in a repository.
fn commit_all(context: &TestContext) {
    git(context.path(), &["add", "--all"]);
    git(context.path(), &["commit", "--quiet", "--message", "work"]);
}

/// Runs git in a folder, with no settings but ours, and returns what it prints.
fn git(folder: &std::path::Path, arguments: &[&str]) -> String {
    let output = std::process::Command::new("git")
        .args(["-c", "user.name=n", "-c", "user.email=n@example.org", "-c", "commit.gpgsign=false"])
        .args(["-c", "init.defaultBranch=main"])
        .args(arguments)
        .current_dir(folder)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_SYSTEM", "/dev/null")
        .output()
        .expect("git starts");
    assert!(output.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// What changes from run to run is replaced: run names made of file contents,
/// and times of files.
fn shown(output: &Output) -> String {
    let text = output.snapshot();
    let text = regex::Regex::new("local/[0-9a-f]{16}")
        .expect("valid")
        .replace_all(&text, "local/[RUN]")
        .into_owned();
    // Root is told another thing than everybody else.
    let text = text.replace("Operation not permitted", "Permission denied");
    regex::Regex::new(r"\(os error \d+\)").expect("valid").replace_all(&text, "(os error)").into_owned()
}

/// A report as pytest writes it: `.` passes, `F` fails, `s` is skipped.
fn pytest_report(day: u32, outcomes: &[(&str, char)]) -> String {
    let cases: String = outcomes
        .iter()
        .map(|(name, outcome)| {
            let inner = match outcome {
                'F' => "<failure message=\"AssertionError: assert 4 == 3\">tests/test_cart.py:7: AssertionError</failure>",
                's' => "<skipped type=\"pytest.skip\" message=\"not today\">tests/test_cart.py:9: not today</skipped>",
                _ => "",
            };
            format!("<testcase classname=\"tests.test_cart.TestCart\" name=\"{name}\" time=\"0.250\">{inner}</testcase>")
        })
        .collect();
    format!(
        "<?xml version=\"1.0\" encoding=\"utf-8\"?><testsuites name=\"pytest tests\"><testsuite name=\"pytest\" \
         errors=\"0\" tests=\"{}\" time=\"1.5\" timestamp=\"2026-11-{day:02}T10:00:00.000000+00:00\" \
         hostname=\"ci-1\">{cases}</testsuite></testsuites>",
        outcomes.len()
    )
}

/// A Python with pytest, prepared by `.ci/run` or found on the way.
fn python() -> String {
    std::env::var("FLAKEWISE_TEST_PYTHON").unwrap_or_else(|_| "python3".to_owned())
}
