//! From reports to answers.

use flakewise_testkit::TestContext;

use crate::{context, pytest_report, shown};

/// Ten runs on five commits: `test_total` passes and fails on some of them,
/// `test_empty` is broken since the fourth, the rest pass.
fn project() -> TestContext {
    let context = context();
    for run in 0..10 {
        let total = if run % 4 == 1 { 'F' } else { '.' };
        let empty = if run >= 6 { 'F' } else { '.' };
        let report = pytest_report(
            run + 1,
            &[
                ("test_total", total),
                ("test_empty", empty),
                ("test_add", '.'),
                ("test_remove", '.'),
                ("test_sort", 's'),
            ],
        );
        context.write("junit.xml", report);
        let commit = format!("{:x}", 0xabc0 + run / 2).repeat(10);
        let run = format!("r{run}");
        let output = context.run([
            "ingest",
            "junit.xml",
            "--project",
            "acme/shop",
            "--branch",
            "main",
            "--commit",
            &commit,
            "--run",
            &run,
        ]);
        assert_eq!(output.code, Some(0), "{}", output.stderr);
    }
    context
}

#[test]
fn reports_and_shows_for_people() {
    let context = project();
    let run = |command: &str, more: &[&str]| {
        shown(&context.finish(context.command().arg(command).args(more).args(["--project", "acme/shop"])))
    };
    insta::assert_snapshot!("report", run("report", &[]));
    insta::assert_snapshot!("report_markdown", run("report", &["--format", "markdown"]));
    insta::assert_snapshot!("report_json", run("report", &["--format", "json"]));
    insta::assert_snapshot!("show", run("show", &["test_total"]));
    insta::assert_snapshot!("show_broken", run("show", &["test_empty"]));
    insta::assert_snapshot!("show_ambiguous", run("show", &["test_"]));
    insta::assert_snapshot!("show_unknown", run("show", &["nonsense"]));
    insta::assert_snapshot!(
        "sql",
        run("sql", &["SELECT outcome, count(*) AS n FROM attempts GROUP BY outcome ORDER BY n DESC"])
    );
    insta::assert_snapshot!("sql_wrong", run("sql", &["SELECT nope FROM attempts"]));
    insta::assert_snapshot!("sql_writes", run("sql", &["DROP TABLE attempts"]));
    // Sizes in bytes vary with the compression library.
    let maintain = |more: &[&str]| {
        let sizes = regex::Regex::new(r"[0-9.]+ k?B").expect("valid");
        sizes.replace_all(&run("maintain", more), "[SIZE]").into_owned()
    };
    insta::assert_snapshot!("maintain_dry_run", maintain(&["--dry-run"]));
}

#[test]
fn a_report_to_look_at_is_one_file() {
    let context = project();
    let output = context.run(["report", "--project", "acme/shop", "--html", "out/flaky.html"]);
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    assert_eq!(output.stdout, "wrote out/flaky.html: 2 failing tests in 10 runs\n");
    let page = std::fs::read_to_string(context.path().join("out/flaky.html")).expect("written");
    assert!(page.starts_with("<!doctype html>") && page.trim_end().ends_with("</html>"), "{page}");
    assert!(page.contains("Flaky tests of acme&#x2f;shop"));
    assert!(page.contains("test_total") && !page.contains("test_add"));
    let output = context.run(["report", "--html", "out/flaky.html", "--format", "json"]);
    assert_eq!(output.code, Some(2), "{}", output.stderr);
}

#[test]
fn reports_of_one_day_are_merged() {
    let context = context();
    for number in 0..3 {
        context.write("junit.xml", pytest_report(1, &[("test_a", '.'), (&format!("test_{number}"), '.')]));
        context.run(["ingest", "junit.xml", "--project", "p"]);
    }
    let output = context.run(["maintain", "--project", "p"]);
    assert!(output.stdout.contains("attempts  merged 3 files of 1 day into 1"), "{}", output.stdout);
    assert!(context.run(["maintain", "--project", "p"]).stdout.contains("nothing to do"));
}

#[test]
fn attempts_that_expire_with_everything_else_are_refused() {
    let context = project();
    let maintain = |days| {
        context.run(["maintain", "--project", "acme/shop", "--expire", "60", "--expire-attempts", days])
    };
    insta::assert_snapshot!(shown(&maintain("60")), @r"
    exit code: 2
    ----- stdout -----
    ----- stderr -----
    error: `--expire-attempts 60` has no effect: `--expire 60` removes these attempts and their roll-ups
    hint: pass fewer days to `--expire-attempts` than to `--expire`
    ");
    assert_eq!(maintain("59").code, Some(0));
}

#[test]
fn an_empty_history_is_explained() {
    insta::assert_snapshot!(shown(&context().run(["report", "--project", "acme/shop"])), @r"
    exit code: 22
    ----- stdout -----
    ----- stderr -----
    error: no history of project `acme/shop` at `.flakewise/history`
    hint: add reports with `flakewise ingest`, or pass the store with `--store` and the project with `--project`
    ");
}

#[test]
fn colours_are_for_terminals_or_on_demand() {
    let context = project();
    let report = |arguments: &[&str], clear: bool| {
        let mut command = context.command();
        command.args(["report", "--project", "acme/shop"]).args(arguments);
        if clear {
            command.env_remove("NO_COLOR");
        }
        context.finish(&mut command).stdout
    };
    assert!(!report(&[], true).contains('\u{1b}'), "a pipe is no terminal");
    assert!(report(&["--color", "always"], true).contains('\u{1b}'));
    assert!(!report(&["--color", "never"], true).contains('\u{1b}'));
}
