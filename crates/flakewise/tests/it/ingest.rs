use crate::{context, pytest_report, shown};

#[test]
fn nothing_to_read_says_what_to_do() {
    insta::assert_snapshot!(shown(&context().run(["ingest"])), @r"
    exit code: 12
    ----- stdout -----
    ----- stderr -----
    error: no JUnit report found in `.`
    hint: pass files, directories or patterns, e.g. `flakewise ingest 'build/**/*.xml'`
    ");
}

#[test]
fn a_path_that_is_not_there_is_named() {
    insta::assert_snapshot!(shown(&context().run(["ingest", "missing.xml"])), @r"
    exit code: 23
    ----- stdout -----
    ----- stderr -----
    error: `missing.xml` is not a file, directory or pattern
    ");
}

#[cfg(feature = "history")]
#[test]
fn reports_are_found_and_taken_in_once() {
    let context = context();
    context.write("build/a.xml", pytest_report(1, &[("test_a", '.'), ("test_b", 'F'), ("test_c", 's')]));
    context.write("build/deep/b.XML", pytest_report(1, &[("test_d", '.')]));
    context.write("build/pom.xml", "<project/>");
    context.write("node_modules/x/junit.xml", pytest_report(1, &[("test_e", '.')]));
    let arguments = ["ingest", "--project", "acme/shop", "--commit", "0123456789abcdef", "--branch", "main"];
    insta::assert_snapshot!(shown(&context.run(arguments)), @r"
    exit code: 0
    ----- stdout -----
    Ingested 2 reports: 4 attempts, 2 passed, 1 failed, 1 skipped
    run local/[RUN], commit 012345678, branch main
    .flakewise/history: 2 added (project acme/shop)
    ----- stderr -----
    ");
    insta::assert_snapshot!(shown(&context.run(arguments)), @r"
    exit code: 0
    ----- stdout -----
    Ingested 2 reports: 4 attempts, 2 passed, 1 failed, 1 skipped
    run local/[RUN], commit 012345678, branch main
    .flakewise/history: 0 added, 2 already known (project acme/shop)
    ----- stderr -----
    ");
    let pattern = context.run(["ingest", "build/**/*.xml", "--project", "acme/shop"]);
    assert!(pattern.stdout.contains("Ingested 1 report: 3 attempts"), "{}", pattern.stdout);
}

#[cfg(feature = "history")]
#[test]
fn ci_is_recognised() {
    let context = context();
    context.write("junit.xml", pytest_report(1, &[("test_a", '.')]));
    let mut command = context.command();
    command.args(["ingest", "junit.xml"]).envs([
        ("CI", "true"),
        ("GITHUB_ACTIONS", "true"),
        ("GITHUB_REPOSITORY", "acme/shop"),
        ("GITHUB_RUN_ID", "77"),
        ("GITHUB_RUN_ATTEMPT", "2"),
        ("GITHUB_JOB", "unit"),
        ("GITHUB_SHA", "0123456789abcdef"),
        ("GITHUB_REF_NAME", "main"),
    ]);
    insta::assert_snapshot!(shown(&context.finish(&mut command)), @r"
    exit code: 0
    ----- stdout -----
    Ingested 1 report: 1 attempt, 1 passed
    run github/77.2/unit, commit 012345678, branch main
    .flakewise/history: 1 added (project acme/shop)
    ----- stderr -----
    ");
}

#[cfg(feature = "history")]
#[test]
fn git_is_asked_where_there_is_no_ci() {
    let context = context();
    let git = |arguments: &[&str]| {
        let status = std::process::Command::new("git")
            .args(["-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "init.defaultBranch=trunk"])
            .args(arguments)
            .current_dir(context.path())
            .stdout(std::process::Stdio::null())
            .status();
        assert!(status.expect("git is installed").success(), "{arguments:?}");
    };
    git(&["init", "--quiet"]);
    context.write("code.py", "x = 1\n");
    git(&["add", "code.py"]);
    git(&["commit", "--quiet", "-m", "first"]);
    git(&["remote", "add", "origin", "git@example.org:acme/shop.git"]);
    context.write("junit.xml", pytest_report(1, &[("test_a", '.')]));
    let output = context.run(["ingest", "junit.xml"]);
    assert!(output.stdout.contains("branch trunk\n"), "{}", output.stdout);
    assert!(output.stdout.contains("(project acme/shop)"), "{}", output.stdout);
    context.write("code.py", "x = 2\n");
    context.write("junit.xml", pytest_report(2, &[("test_a", 'F')]));
    context.run(["ingest", "junit.xml"]);
    let dirty =
        context.run(["sql", "SELECT outcome, dirty FROM attempts ORDER BY outcome", "--format", "csv"]);
    assert_eq!(dirty.stdout, "outcome,dirty\r\nfailed,true\r\npassed,false\r\n");
}

#[cfg(feature = "history")]
#[test]
fn a_store_out_of_reach_never_fails_a_ci_job_and_loses_nothing() {
    let context = context();
    context.write("junit.xml", pytest_report(1, &[("test_a", '.'), ("test_b", 'F')]));
    // A file where the store's folder should be: nobody can write there, not
    // even root.
    context.write("store", "");
    let ingest = |ci: bool, strict: bool| {
        let mut command = context.command();
        command.args(["ingest", "junit.xml", "--project", "p", "--store", "store"]);
        if ci {
            command.env("CI", "true");
        }
        if strict {
            command.arg("--strict");
        }
        context.finish(&mut command)
    };
    insta::assert_snapshot!(shown(&ingest(true, false)), @r"
    exit code: 0
    ----- stdout -----
    Ingested 1 report: 2 attempts, 1 passed, 1 failed
    run local/[RUN]
    store: 1 kept in the spool (project p)
    ----- stderr -----
    warning: 1 report kept in the spool `.flakewise/spool`: failed to open the history at `store`: Not a directory (os error)
    hint: the next ingest sends them; keep this directory between jobs
    ");
    assert_eq!(ingest(true, true).code, Some(22));
    assert_eq!(ingest(false, false).code, Some(22));
    // The store comes back: the next ingest of anything sends what waited.
    std::fs::remove_file(context.path().join("store")).expect("removed");
    context.write("junit.xml", pytest_report(2, &[("test_a", '.')]));
    insta::assert_snapshot!(shown(&ingest(true, false)), @r"
    exit code: 0
    ----- stdout -----
    Ingested 1 report: 1 attempt, 1 passed
    run local/[RUN]
    store: 1 added, 1 sent from the spool (project p)
    ----- stderr -----
    ");
    let count = context.run([
        "sql",
        "SELECT count(*) AS n FROM attempts",
        "--store",
        "store",
        "--project",
        "p",
        "--format",
        "csv",
    ]);
    assert_eq!(count.stdout, "n\r\n3\r\n");
    let waiting = std::fs::read_dir(context.path().join(".flakewise/spool")).expect("there").count();
    assert_eq!(waiting, 0);
}

/// `/sys` takes no folders of ours from anybody, not even root.
#[cfg(all(feature = "history", target_os = "linux"))]
#[test]
fn a_read_only_store_is_spooled_for_too() {
    let context = context();
    context.write("junit.xml", pytest_report(1, &[("test_a", '.')]));
    let mut command = context.command();
    command.args(["ingest", "junit.xml", "--project", "p", "--store", "/sys/flakewise"]).env("CI", "true");
    insta::assert_snapshot!(shown(&context.finish(&mut command)), @r"
    exit code: 0
    ----- stdout -----
    Ingested 1 report: 1 attempt, 1 passed
    run local/[RUN]
    /sys/flakewise: 1 kept in the spool (project p)
    ----- stderr -----
    warning: 1 report kept in the spool `.flakewise/spool`: failed to write to the history at `/sys/flakewise`: Permission denied (os error)
    hint: the next ingest sends them; keep this directory between jobs
    ");
}

#[test]
fn damaged_reports_are_read_as_far_as_they_go() {
    let context = context();
    let whole = pytest_report(1, &[("test_a", '.'), ("test_b", '.')]);
    context.write("cut.xml", &whole[..whole.len() - 60]);
    let output = context.run(["ingest", "cut.xml", "--project", "p"]);
    assert!(output.stdout.contains("Ingested 1 report: "), "{}", output.stdout);
    assert!(output.stderr.contains("warning: cut.xml:1:"), "{}", output.stderr);
    let strict = context.run(["ingest", "cut.xml", "--project", "p", "--strict"]);
    assert_eq!(strict.code, Some(23));
    context.write("noise.xml", "<testsuites \u{0} & <<<");
    let output = context.run(["ingest", "noise.xml", "--project", "p"]);
    assert_eq!(output.code, Some(23), "{}", output.stderr);
}

#[cfg(not(feature = "history"))]
#[test]
fn a_build_without_the_engine_spools() {
    let context = context();
    context.write("junit.xml", pytest_report(1, &[("test_a", '.')]));
    insta::assert_snapshot!(shown(&context.run(["ingest", "junit.xml", "--project", "p"])), @r"
    exit code: 0
    ----- stdout -----
    Ingested 1 report: 1 attempt, 1 passed
    run local/[RUN]
    .flakewise/history: 1 kept in the spool (project p)
    ----- stderr -----
    warning: 1 report kept in the spool `.flakewise/spool`: this build has no history engine
    hint: the next ingest sends them; keep this directory between jobs
    ");
    let report = context.run(["report"]);
    assert_eq!(report.code, Some(22));
    assert!(report.stderr.contains("no history engine"), "{}", report.stderr);
}

#[cfg(feature = "history")]
#[test]
fn what_waits_and_cannot_be_read_holds_up_nothing() {
    let context = context();
    context.write("junit.xml", pytest_report(1, &[("test_a", '.')]));
    // A folder cannot be read as a file, not even by root.
    context.write("spool/0000000000000000.batch.jsonl/file", "");
    context.write("spool/1111111111111111.batch.jsonl", "{\"format\": 99}");
    context.write("spool/2222222222222222.batch.jsonl", "nonsense");
    let output = context.run(["ingest", "junit.xml", "--project", "acme/shop", "--spool", "spool"]);
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    assert!(output.stdout.contains(".flakewise/history: 1 added"), "{}", output.stdout);
    for text in [
        "failed to use the spool at `spool/0000000000000000.batch.jsonl`: Is a directory (os error 21); the results stay in the spool",
        "`spool/1111111111111111.batch.jsonl` has format 99, and this version reads up to format 1; the results stay in the spool",
        "`spool/2222222222222222.batch.jsonl.bad` is damaged and was moved aside: line 1: ",
    ] {
        assert!(output.stderr.contains(text), "{text}: {}", output.stderr);
    }
    assert!(
        context.path().join("spool/1111111111111111.batch.jsonl").exists(),
        "a later version can send it"
    );
}

#[test]
fn a_spool_is_bounded_and_says_so_before_it_drops_anything() {
    let context = context();
    context.write("junit.xml", pytest_report(1, &[("test_a", '.')]));
    let warnings = |age: u64| {
        context.write("spool/1111111111111111.batch.jsonl", "{\"format\": 99}");
        let file = std::fs::File::options()
            .write(true)
            .open(context.path().join("spool/1111111111111111.batch.jsonl"));
        let written = std::time::SystemTime::now() - std::time::Duration::from_hours(24 * age + 1);
        file.expect("opened").set_modified(written).expect("a time can be set");
        context.run(["ingest", "junit.xml", "--project", "acme/shop", "--spool", "spool"]).stderr
    };
    assert!(!warnings(3).contains("dropped"));
    let warned = warnings(20);
    assert!(
        warned.contains("`spool` holds 1 MB of unsent results, the oldest 20 days old; beyond 1,000 MB or 30 days the oldest are dropped"),
        "{warned}"
    );
    assert!(context.path().join("spool/1111111111111111.batch.jsonl").exists());
    let dropped = warnings(40);
    assert!(
        dropped
            .contains("dropped 1 file from `spool`: the spool is limited to 1,000 MB or 30 days of results"),
        "{dropped}"
    );
    assert!(!context.path().join("spool/1111111111111111.batch.jsonl").exists());
}

#[test]
fn what_is_written_stays_out_of_git() {
    let context = context();
    let git = |arguments: &[&str]| {
        let output = std::process::Command::new("git").args(arguments).current_dir(context.path()).output();
        String::from_utf8(output.expect("git starts").stdout).expect("it is text")
    };
    git(&["init", "--quiet"]);
    context.write("junit.xml", pytest_report(1, &[("test_a", '.')]));
    context.run(["ingest", "junit.xml", "--project", "acme/shop"]);
    assert!(context.path().join(".flakewise").is_dir());
    assert_eq!(git(&["status", "--porcelain", "--untracked-files=all"]), "?? junit.xml\n");
    context.write(".flakewise/model", "mine");
    assert_eq!(
        git(&["status", "--porcelain", "--untracked-files=all"]),
        "?? .flakewise/model\n?? junit.xml\n"
    );
    // A file that is there stays as it is.
    context.write(".flakewise/.gitignore", "history/\n");
    context.run(["ingest", "junit.xml", "--project", "acme/shop"]);
    let kept = std::fs::read_to_string(context.path().join(".flakewise/.gitignore")).expect("there");
    assert_eq!(kept, "history/\n");
}
