//! Services of one repository, each with a rootdir of its own, and one history.

use std::path::Path;
use std::process::Command;

use flakewise_testkit::{Output, TestContext};

use crate::{context, git, python};

/// Two services with a test of the same name, of which one always fails.
fn services() -> TestContext {
    let context = context();
    for (service, value) in [("svc-a", "False"), ("svc-b", "True")] {
        context.write(&format!("{service}/pytest.ini"), "[pytest]\n");
        context.write(&format!("{service}/tests/test_v.py"), format!("def test_v():\n    assert {value}\n"));
    }
    context.write("svc-a/tests/test_own.py", "def test_own():\n    pass\n");
    for arguments in [
        &["init", "--quiet", "--initial-branch=main"][..],
        &["remote", "add", "origin", "https://example.org/acme/shop.git"],
        &["add", "--all"],
        &["commit", "--quiet", "--message", "work"],
    ] {
        git(context.path(), arguments);
    }
    context.write(".git/info/exclude", "__pycache__/\n.pytest_cache/\n.flakewise/\n*.xml\n");
    context
}

/// Runs a command of ours in a folder, with the history at the top.
fn ours(context: &TestContext, folder: &str, words: &[&str]) -> Output {
    let store = context.path().join(".flakewise/history");
    let at = words.iter().position(|word| *word == "--").unwrap_or(words.len());
    let mut command = context.command();
    command.current_dir(context.path().join(folder)).args(&words[..at]).arg("--store").arg(store);
    context.finish(command.args(&words[at..]))
}

fn run(context: &TestContext, folder: &str, options: &[&str], arguments: &[&str]) -> Output {
    let python = python();
    let words = [&["run"], options, &["--", &python, "-m", "pytest"], arguments].concat();
    ours(context, folder, &words)
}

/// The ids in the history, and how their first attempts ended.
fn known(context: &TestContext) -> String {
    let query = "SELECT test, outcome, count(*) AS n FROM attempts WHERE phase = 'first'
                 GROUP BY test, outcome ORDER BY test, outcome";
    let output = ours(context, ".", &["sql", query, "--format", "csv"]);
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    output.stdout.replace('\r', "")
}

#[test]
fn services_never_share_a_test() {
    let context = services();
    assert_eq!(run(&context, "svc-a", &[], &[]).code, Some(1));
    assert_eq!(run(&context, "svc-b", &[], &[]).code, Some(0));
    // From the top, pytest finds the same rootdir by what it is given.
    assert_eq!(run(&context, ".", &[], &["svc-a"]).code, Some(1));
    insta::assert_snapshot!(known(&context), @r"
    test,outcome,n
    pytest:svc-a/tests/test_own.py::test_own,passed,2
    pytest:svc-a/tests/test_v.py::test_v,failed,2
    pytest:svc-b/tests/test_v.py::test_v,passed,1
    ");
    let report = ours(&context, ".", &["report"]).stdout;
    assert!(report.starts_with("no flaky test found"), "{report}");
    let roots =
        ours(&context, ".", &["sql", "SELECT DISTINCT roots FROM runs ORDER BY 1", "--format", "csv"]);
    assert_eq!(roots.stdout.replace('\r', ""), "roots\nsvc-a\nsvc-b\n");
}

#[test]
fn people_and_pytest_are_told_names_from_the_rootdir_and_one_finding_has_one_id() {
    let context = services();
    let output = run(&context, "svc-a", &[], &["-q"]);
    let line = output.stdout.lines().find(|line| line.contains("::test_v  ")).expect("it failed");
    let (name, id) = line.rsplit_once("  ").expect("name and id");
    assert!(name.ends_with(" tests/test_v.py::test_v"), "{line}");
    let shown = ours(&context, ".", &["show", id]).stdout;
    assert!(shown.contains("svc-a/tests/test_v.py::test_v"), "{shown}");
    assert!(shown.lines().next().is_some_and(|line| line.ends_with(id)), "{shown}");
}

#[test]
fn a_hunt_and_a_search_have_the_ids_of_a_run() {
    let context = services();
    let python = python();
    let hunt = ["hunt", "--confidence", "0.5", "--", &python, "-m", "pytest", "-q"];
    let output = ours(&context, "svc-a", &hunt);
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    let query = "SELECT DISTINCT test FROM attempts ORDER BY test";
    let tests = ours(&context, ".", &["sql", query, "--format", "csv"]).stdout.replace('\r', "");
    assert_eq!(
        tests,
        "test\npytest:svc-a/tests/test_own.py::test_own\npytest:svc-a/tests/test_v.py::test_v\n"
    );
    // The name that `report` prints, and the one that pytest prints.
    for name in ["svc-a/tests/test_own.py::test_own", "tests/test_own.py::test_own"] {
        let culprit = ["culprit", name, "--", &python, "-m", "pytest", "-q"];
        let output = ours(&context, "svc-a", &culprit);
        assert!(
            output.stdout.contains("  tests/test_own.py::test_own"),
            "{}{}",
            output.stdout,
            output.stderr
        );
    }
}

#[test]
fn a_report_gives_the_ids_that_a_run_gives() {
    let context = services();
    for service in ["svc-a", "svc-b"] {
        let folder = context.path().join(service);
        let words = ["-m", "pytest", "-q", "-p", "no:cacheprovider", "--junitxml=report.xml"];
        let status = Command::new(python()).args(words).current_dir(folder).output().expect("pytest starts");
        assert!(matches!(status.status.code(), Some(0 | 1)), "{status:?}");
    }
    run(&context, "svc-a", &[], &[]);
    run(&context, "svc-b", &[], &[]);
    let expected = known(&context);
    let forget = || std::fs::remove_dir_all(context.path().join(".flakewise")).expect("there");
    let ingested = |calls: &[(&str, &[&str])]| {
        forget();
        for (folder, paths) in calls {
            let output = ours(&context, folder, &[&["ingest"], *paths].concat());
            assert_eq!(output.code, Some(0), "{}", output.stderr);
        }
        known(&context)
    };
    // In each service, at the top, and for a report that was moved away.
    assert_eq!(ingested(&[("svc-a", &["report.xml"]), ("svc-b", &["report.xml"])]), expected);
    assert_eq!(ingested(&[(".", &["svc-a/report.xml", "svc-b/report.xml"])]), expected);
    let elsewhere = crate::context();
    for service in ["svc-a", "svc-b"] {
        let report = std::fs::read(context.path().join(service).join("report.xml")).expect("there");
        elsewhere.write(&format!("{service}.xml"), report);
    }
    let path = |name: &str| elsewhere.path().join(name).to_str().expect("UTF-8").to_owned();
    let (first, second) = (path("svc-a.xml"), path("svc-b.xml"));
    assert_eq!(ingested(&[("svc-a", &[&first]), ("svc-b", &[&second])]), expected);
}

#[test]
fn our_own_report_keeps_its_ids() {
    let context = services();
    run(&context, "svc-a", &["--write", "junit=ours.xml"], &[]);
    let expected = known(&context);
    std::fs::remove_dir_all(context.path().join(".flakewise")).expect("there");
    assert_eq!(ours(&context, "svc-a", &["ingest", "ours.xml"]).code, Some(0));
    assert_eq!(known(&context), expected);
}

#[test]
fn a_history_of_an_earlier_version_is_continued_where_it_is_clear_whose_it_is() {
    let context = services();
    // Outside of a repository, ids begin at the rootdir, as they did everywhere.
    let report = |name: &str, outcome: &str| {
        let cases = [("test_own", "test_own"), ("test_v", "test_v")].map(|(module, test)| {
            format!(r#"<testcase classname="tests.{module}" name="{test}" time="0.1">{outcome}</testcase>"#)
        });
        let suite = format!(
            r#"<testsuites name="pytest tests"><testsuite name="pytest" tests="2" timestamp="2026-11-01T10:00:00+00:00">{}</testsuite></testsuites>"#,
            cases.concat()
        );
        let outside = crate::context();
        outside.write(&format!("{name}.xml"), suite);
        let store = context.path().join(".flakewise/history");
        let mut command = outside.command();
        command.args(["ingest", "--project", "acme/shop", "--commit", "0123", "--run", name, "--store"]);
        let output = outside.finish(command.arg(store));
        assert_eq!(output.code, Some(0), "{}", output.stderr);
    };
    report("old1", "");
    report("old2", "<failure message=\"AssertionError\">tests/x.py:1: AssertionError</failure>");
    let flaky = |name: &str| {
        let output = ours(&context, ".", &["show", name, "--format", "json"]);
        let shown: serde_json::Value = serde_json::from_str(&output.stdout).expect("JSON");
        (shown["attempts"].as_u64(), shown["verdict"]["conclusion"].as_str().map(str::to_owned))
    };
    let flaky_by = |attempts| (Some(attempts), Some("flaky".to_owned()));
    assert_eq!(flaky("pytest:tests/test_own.py::test_own"), flaky_by(2));
    run(&context, "svc-a", &[], &[]);
    run(&context, "svc-b", &[], &[]);
    assert_eq!(flaky("pytest:svc-a/tests/test_own.py::test_own"), flaky_by(3));
    assert_eq!(flaky("pytest:tests/test_own.py::test_own"), flaky_by(3));
    assert_eq!(flaky("pytest:tests/test_v.py::test_v"), flaky_by(2));
    assert_eq!(flaky("pytest:svc-b/tests/test_v.py::test_v"), (Some(1), Some("not-seen-failing".to_owned())));
    assert!(Path::new(&context.path().join(".flakewise/history/acme~shop")).is_dir());
}
