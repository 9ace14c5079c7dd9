//! What `flakewise.toml` says, and what overrides it.

use flakewise_testkit::TestContext;

use crate::{context, git, python, repository, shown};

/// What is in force for a key, as JSON.
fn setting(context: &TestContext, key: &str, variables: &[(&str, &str)]) -> serde_json::Value {
    let mut command = context.command();
    command.args(["config", "--format", "json"]).envs(variables.iter().copied());
    let output = context.finish(&mut command);
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    let document: serde_json::Value = serde_json::from_str(&output.stdout).expect("JSON");
    let settings = document["settings"].as_array().expect("a list");
    settings.iter().find(|setting| setting["key"] == key).expect("known").clone()
}

#[test]
fn config_prints_what_is_in_force_and_from_where() {
    let context = context();
    context.write("flakewise.toml", "command = [\"pytest\", \"-q\"]\n\n[run]\ntolerate = \"known\"\n");
    let mut command = context.command();
    command.arg("config").env("FLAKEWISE_STORE", "s3://key:secret@acme-tests/history");
    insta::assert_snapshot!(shown(&context.finish(&mut command)), @r##"
    exit code: 0
    ----- stdout -----
    Configuration file: flakewise.toml

    command                 ["pytest", "-q"]                       flakewise.toml:1
    store                   "s3://…@acme-tests/history"            environment variable FLAKEWISE_STORE
    project                 from CI or git                         default
    base                    the default branch of the repository   default
    test-timeout            10m in run and check, else 1m          default
    run.tolerate            "known"                                flakewise.toml:4
    run.rerun               1                                      default
    run.postpone            1                                      default
    run.separate            2                                      default
    run.confidence          none                                   default
    run.max-failures        1 % of the tests, at least 10          default
    run.reproduce-budget    "10s"                                  default
    check.share             0.25                                   default
    hunt.budget             "10m"                                  default
    hunt.confidence         none                                   default
    hunt.hidden             none                                   default
    hunt.jobs               the number of cores                    default
    report.days             all days                               default
    report.limit            20                                     default
    owners.file             the CODEOWNERS file of the repository  default
    quarantine.max-entries  20                                     default
    quarantine.max-days     30                                     default
    ----- stderr -----
    "##);
}

#[test]
fn without_a_file_everything_is_default() {
    let output = context().run(["config"]);
    assert_eq!(output.code, Some(0));
    assert!(output.stdout.starts_with("Configuration file: none (`flakewise init` writes one)\n"));
    let keys = output.stdout.lines().skip(2);
    assert!(
        keys.clone().count() > 20 && keys.clone().all(|line| line.ends_with("default")),
        "{}",
        output.stdout
    );
}

#[test]
fn the_environment_overrides_the_file() {
    let context = repository();
    context.write("pyproject.toml", "[tool.flakewise]\nstore = \"from-file\"\nproject = \"acme/shop\"\n");
    let store = setting(&context, "store", &[]);
    assert_eq!((&store["value"], &store["from"]), (&"from-file".into(), &"file".into()));
    assert_eq!((&store["file"], &store["line"]), (&"pyproject.toml".into(), &2.into()));
    let store = setting(&context, "store", &[("FLAKEWISE_STORE", "from-env")]);
    assert_eq!((&store["value"], &store["variable"]), (&"from-env".into(), &"FLAKEWISE_STORE".into()));
    assert_eq!(setting(&context, "report.limit", &[])["value"], 20);
}

/// A flag overrides the environment, and that overrides the file. A path in the file
/// is relative to the file.
#[test]
fn ingest_uses_the_first_store_that_is_named() {
    let context = repository();
    context.write("flakewise.toml", "store = \"data/history\"\nproject = \"acme/shop\"\n");
    context.write("service/report.xml", crate::pytest_report(1, &[("test_a", '.')]));
    let last_line = |arguments: &[&str], store: Option<&str>| {
        let mut command = context.command();
        command.current_dir(context.path().join("service")).args(["ingest", "report.xml"]);
        command.args(arguments).envs(store.map(|store| ("FLAKEWISE_STORE", store)));
        let output = context.finish(&mut command);
        output.stdout.lines().last().unwrap_or_default().to_owned()
    };
    let check = |line: String, store: &str| {
        assert!(line.starts_with(&format!("{store}: ")) && line.ends_with("(project acme/shop)"), "{line}");
    };
    check(last_line(&[], None), "../data/history");
    check(last_line(&[], Some("from-env")), "from-env");
    check(last_line(&["--store", "from-flag"], Some("from-env")), "from-flag");
}

#[test]
fn help_shows_the_values_of_the_file() {
    let context = context();
    context.write("flakewise.toml", "command = [\"pytest\", \"-q\"]\nhunt.budget = \"25m\"\n");
    let output = context.run(["hunt", "--help"]);
    assert!(
        output.stdout.contains("[default: 25m]") && output.stdout.contains("[default: pytest -q]"),
        "{}",
        output.stdout
    );
}

#[test]
fn a_run_without_a_command_takes_that_of_the_file() {
    let context = repository();
    context.write("tests/test_cart.py", "def test_total():\n    assert 1 + 1 == 3\n");
    let python = python();
    context.write(
        "flakewise.toml",
        format!("command = [\"{python}\", \"-m\", \"pytest\", \"-q\", \"-p\", \"no:cacheprovider\"]\n[run]\nseparate = 0\npostpone = 0\nrerun = 0\n"),
    );
    let output = context.run(["run", "--no-store", "--format", "json"]);
    assert_eq!(output.code, Some(1), "{}", output.stderr);
    assert!(output.stdout.contains("tests/test_cart.py::test_total"), "{}", output.stdout);
    // The command line overrides it.
    let mut command = context.command();
    command.args(["run", "--no-store", "--", &python, "-m", "pytest", "-q", "missing.py"]);
    assert_eq!(context.finish(&mut command).code, Some(4));
}

#[test]
fn without_any_command_a_hint_says_where_to_put_it() {
    let output = context().run(["run"]);
    assert_eq!(output.code, Some(2));
    assert!(
        output.stderr.contains("hint: give the command that runs the tests after `--`"),
        "{}",
        output.stderr
    );
    assert!(!context().run(["show"]).stderr.contains("hint: give the command"));
}

#[test]
fn a_wrong_key_ends_every_command_with_a_suggestion() {
    let context = context();
    context.write("flakewise.toml", "[run]\ntolerat = \"known\"\n");
    insta::assert_snapshot!(shown(&context.run(["config"])), @r##"
    exit code: 21
    ----- stdout -----
    ----- stderr -----
    error: flakewise.toml:2:1: unknown key `run.tolerat`
    hint: did you mean `run.tolerate`?
    "##);
    for arguments in [["run", "--"], ["predict", "."]] {
        let output = context.run(arguments);
        assert_eq!(output.code, Some(21), "{arguments:?}: {}", output.stderr);
        assert!(output.stderr.contains("did you mean `run.tolerate`?"), "{}", output.stderr);
    }
    // Help must not need a valid file.
    assert_eq!(context.run(["run", "--help"]).code, Some(0));
    assert_eq!(context.run(["run", "--nonsense"]).code, Some(2));
}

#[test]
fn text_of_the_file_is_printed_without_control_characters() {
    let context = context();
    context.write("flakewise.toml", "project = \"a\\u001b[2Jb\"\n");
    let output = context.run(["config"]);
    assert!(!output.stdout.contains('\u{1b}') && output.stdout.contains("project"), "{:?}", output.stdout);
    context.write("flakewise.toml", "\"\\u001b[2J\" = 1\n");
    let output = context.run(["config"]);
    assert!(!output.stderr.contains('\u{1b}') && output.code == Some(21), "{:?}", output.stderr);
}

#[test]
fn the_base_of_the_file_is_compared_with() {
    let context = repository();
    let commit = |message: &str| {
        git(context.path(), &["add", "--all"]);
        git(context.path(), &["commit", "--quiet", "-m", message]);
    };
    context.write("flakewise.toml", "base = \"develop\"\n");
    commit("first");
    git(context.path(), &["branch", "develop"]);
    context.write("second", "");
    commit("second");
    git(context.path(), &["checkout", "--quiet", "-b", "work"]);
    context.write("third", "");
    commit("third");
    let output = context.run(["doctor"]);
    assert!(output.stdout.contains("(merge base with develop)"), "{}", output.stdout);
    let mut command = context.command();
    let output = context.finish(command.arg("doctor").env("GITHUB_BASE_REF", "main"));
    assert!(output.stdout.contains("(merge base with main)"), "{}", output.stdout);
}

#[test]
fn the_schema_is_printed() {
    let output = context().run(["config", "--schema"]);
    assert_eq!(output.stdout, include_str!("../../../../docs/flakewise.schema.json"));
}
