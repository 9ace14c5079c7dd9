//! What `--verbose` and `FLAKEWISE_LOG` print.

use flakewise_testkit::{Output, TestContext};

use crate::{context, python};

const SUITE: &str = "
def test_passes():
    pass

def test_fails():
    assert False, '\\x1b[2J'
";

fn run(context: &TestContext, options: &[&str], log: &str) -> Output {
    context.write("tests/test_cart.py", SUITE);
    let mut command = context.command();
    // Without reruns in the suite's process, whose number depends on the time they take.
    command.arg("run").args(options).args(["--seed", "7", "--postpone", "0", "--no-store"]);
    command.args(["--reproduce-budget", "0", "--"]);
    command.arg(python()).args(["-m", "pytest", "-q", "-p", "no:cacheprovider", "tests"]);
    command.env("FLAKEWISE_LOG", log);
    context.finish(&mut command)
}

/// Text without times, which differ from run to run.
fn timeless(text: &str) -> String {
    regex::Regex::new(r"\b\d+(\.\d+)?m?s\b").expect("valid").replace_all(text, "[TIME]").into_owned()
}

#[test]
fn verbose_logs_to_stderr_and_leaves_stdout_alone() {
    let context = context();
    let quiet = run(&context, &[], "");
    assert_eq!(quiet.stderr, "");
    let verbose = run(&context, &["-vv"], "");
    assert_eq!(timeless(&verbose.stdout), timeless(&quiet.stdout));
    assert_eq!(verbose.code, quiet.code);
    let log = &verbose.stderr;
    for part in [
        "INFO  flakewise::commands: begin flakewise version=",
        "INFO  flakewise_runner::suite: command started program=",
        " socket=/",
        "session ready session=0 runner=pytest version=",
        " python=3",
        "command ended status=exit status: 1",
        "INFO  flakewise_triage::triage: end suite took=",
        "DEBUG flakewise_runner::jobs: begin job job=",
        " worker=fork-1 ",
        " worker=fresh-",
        " outcome=failed",
        "DEBUG flakewise_triage::git: begin git arguments=",
        " exit=1 took=",
    ] {
        assert!(log.contains(part), "{part} is not in {log}");
    }
    let count = |word: &str| log.lines().filter(|line| line.contains(word)).count();
    assert_eq!(count(": begin "), count(": end "), "{log}");
    assert!(log.lines().all(|line| line.starts_with('[')), "{log}");
}

#[test]
fn one_verbose_logs_no_single_job() {
    let output = run(&context(), &["--verbose"], "");
    assert!(output.stderr.contains("end suite"), "{}", output.stderr);
    assert!(!output.stderr.contains("DEBUG"), "{}", output.stderr);
}

#[test]
fn credentials_of_a_store_are_not_logged() {
    let store = "--store=s3://key:secret@bucket/history";
    let output = context().run(["report", "-vv", store]);
    assert!(output.stderr.contains("--store=s3://…"), "{}", output.stderr);
    assert!(!output.stderr.contains("secret"), "{}", output.stderr);
}

#[test]
fn a_variable_says_whose_log_is_wanted() {
    let output = run(&context(), &[], "flakewise_runner=debug");
    let lines: Vec<_> = output.stderr.lines().collect();
    assert!(lines.iter().any(|line| line.contains("end job")), "{lines:?}");
    assert!(lines.iter().all(|line| line.contains(" flakewise_runner::")), "{lines:?}");
}

#[test]
fn a_wrong_directive_is_an_error_with_a_hint() {
    let output = run(&context(), &[], "flakewise=loud");
    insta::assert_snapshot!(output.snapshot(), @"
    exit code: 2
    ----- stdout -----
    ----- stderr -----
    error: `flakewise=loud` in `FLAKEWISE_LOG` is not a level or TARGET=LEVEL
    hint: levels are `off`, `error`, `warn`, `info`, `debug` and `trace`; examples: `debug`, `flakewise_runner=debug,datafusion=info`
    ");
}
