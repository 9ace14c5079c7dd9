//! Prediction by source alone, as people and CI use it.

use flakewise_testkit::{Output, TestContext};
use serde_json::Value;

use crate::{context, git, shown};

/// Tests that wait for a time, which flaky ones do, and tests that compute.
fn waits(number: usize) -> String {
    format!(
        "def test_wait_{number}(queue):\n    worker = start(queue, {number})\n    time.sleep(0.{number})\n    \
         assert queue.is_empty()\n    assert worker.done\n"
    )
}

fn computes(number: usize) -> String {
    format!("def test_sum_{number}():\n    total = {number} + 1\n    assert total == {}\n", number + 1)
}

/// A project with thirty tests of each sort, in files of ten, and labels.
pub(crate) fn project() -> TestContext {
    let context = context();
    let mut labels = String::new();
    for file in 0..6 {
        let mut source = "import time\n\nfrom shop import start\n".to_owned();
        for number in file * 10..file * 10 + 10 {
            let (test, name) = match number % 2 {
                0 => (waits(number), format!("test_wait_{number}")),
                _ => (computes(number), format!("test_sum_{number}")),
            };
            source.push_str(&format!("\n\n{test}"));
            let flaky = number % 2 == 0;
            labels.push_str(&format!("{{\"test\": \"tests/test_{file}.py::{name}\", \"flaky\": {flaky}}}\n"));
        }
        context.write(&format!("tests/test_{file}.py"), source);
    }
    context.write("labels.jsonl", labels);
    context
}

fn committed() -> TestContext {
    let context = project();
    git(context.path(), &["init", "-q"]);
    git(context.path(), &["add", "-A"]);
    git(context.path(), &["commit", "-qm", "all"]);
    context
}

fn json(output: &Output) -> Value {
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    serde_json::from_str(&output.stdout).expect("it is JSON")
}

fn names(document: &Value, list: &str) -> Vec<String> {
    let risks = document[list].as_array().expect("a list");
    let mut names: Vec<_> =
        risks.iter().map(|risk| risk["test"].as_str().expect("an id").to_owned()).collect();
    names.sort();
    names
}

#[test]
fn the_first_day_says_how_little_to_expect() {
    let output = project().run(["predict"]);
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    assert!(output.stdout.contains("60 tests in 6 files"), "{}", output.stdout);
    assert!(
        output.stdout.contains("the pretrained model was not trained on this project"),
        "{}",
        output.stdout
    );
    assert!(output.stdout.contains("flakewise train"), "{}", output.stdout);
    // Somebody always is the most likely.
    assert!(output.stdout.contains(" next: ") || output.stdout.contains("next:"), "{}", output.stdout);
}

#[test]
fn machines_get_all_tests_with_all_they_need() {
    let context = project();
    let document = json(&context.run(["predict", "--all", "--format", "json"]));
    assert_eq!(document["format"], 1);
    assert_eq!(document["model"]["source"], "pretrained");
    assert_eq!(document["tests"], 60);
    assert_eq!(names(&document, "risks").len(), 60);
    let risks: Vec<f64> = document["risks"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|risk| risk["risk"].as_f64())
        .collect();
    assert!(risks.is_sorted_by(|left, right| left >= right), "{risks:?}");
    assert_eq!(document["risks"][0]["path"].as_str().map(|path| path.starts_with("tests/test_")), Some(true));
}

#[test]
fn the_second_time_answers_the_same_from_what_is_remembered() {
    let context = project();
    let first = context.run(["predict", "--all", "--format", "json"]);
    let cache = context.path().join(".flakewise/cache/predictions");
    let written = std::fs::read(&cache).expect("it was written");
    assert_eq!(first.stdout, context.run(["predict", "--all", "--format", "json"]).stdout);
    assert_eq!(std::fs::read(&cache).expect("it is there"), written, "nothing new is not written");

    let mut damaged = written.clone();
    let middle = damaged.len() / 2;
    damaged[middle] ^= 1;
    std::fs::write(&cache, damaged).expect("written");
    let third = context.run(["predict", "--all", "--format", "json"]);
    assert_eq!((first.stdout, third.stderr), (third.stdout, String::new()));
    assert_eq!(std::fs::read(&cache).expect("it is there"), written);
}

#[test]
fn what_the_cache_says_is_what_is_shown() {
    // So the test above would notice if the cache were never read.
    let context = project();
    context.run(["predict", "tests/test_0.py", "--format", "json"]);
    let cache = context.path().join(".flakewise/cache/predictions");
    let text = std::fs::read_to_string(&cache).expect("it was written");
    let (_, body) = text.split_once('\n').expect("it has a header");
    let body = body.replace("test_wait_0", "test_fake_0");
    let forged = format!("flakewise-predictions 1 {}\n{body}", blake3::hash(body.as_bytes()).to_hex());
    std::fs::write(&cache, forged).expect("written");
    let document = json(&context.run(["predict", "tests/test_0.py", "--all", "--format", "json"]));
    assert!(names(&document, "risks").iter().any(|name| name.ends_with("test_fake_0")));
}

#[test]
fn only_changed_tests_are_told_of() {
    let context = committed();
    let nothing = json(&context.run(["predict", "--changed", "--all", "--format", "json", "--base", "HEAD"]));
    assert_eq!(nothing["tests"], 0);

    let path = context.path().join("tests/test_1.py");
    let source = std::fs::read_to_string(&path).expect("it is there");
    std::fs::write(&path, source.replace("total = 13 + 1", "total = 1 + 13")).expect("written");
    context.write("tests/test_new.py", "def test_new():\n    assert True\n");
    context.write("docs/notes.md", "nothing to do with tests\n");
    let document = json(&context.run(["predict", "--changed", "--all", "--format", "json"]));
    assert_eq!(
        names(&document, "risks"),
        ["pytest:tests/test_1.py::test_sum_13", "pytest:tests/test_new.py::test_new"]
    );
    assert_eq!(document["files"], 2);
    assert!(document["base"].as_str().is_some_and(|base| base.len() == 40));
    let below =
        json(&context.run(["predict", "--changed", "--all", "--format", "json", "tests/test_new.py"]));
    assert_eq!(names(&below, "risks"), ["pytest:tests/test_new.py::test_new"]);
}

#[test]
fn without_git_nothing_is_known_to_have_changed() {
    insta::assert_snapshot!(shown(&project().run(["predict", "--changed"])), @r"
    exit code: 20
    ----- stdout -----
    ----- stderr -----
    error: `--changed` requires a git repository with at least one commit
    hint: remove `--changed` to predict all tests
    ");
}

#[test]
fn ids_are_told_from_the_root_wherever_one_stands() {
    let context = committed();
    let here = context.finish(context.command().current_dir(context.path().join("tests")).args([
        "predict",
        "test_2.py",
        "--all",
        "--format",
        "json",
    ]));
    let document = json(&here);
    assert_eq!(document["tests"], 10);
    assert!(names(&document, "risks").iter().all(|name| name.starts_with("pytest:tests/test_2.py::")));
}

#[test]
fn a_limit_fails_the_build_and_names_who_broke_it() {
    let context = project();
    let lenient = context.run(["predict", "--fail-above", "1", "--format", "github"]);
    assert_eq!(lenient.code, Some(0), "{}", lenient.stderr);
    let strict = context.run(["predict", "--fail-above", "0", "--format", "github"]);
    assert_eq!(strict.code, Some(11), "{}", strict.stderr);
    assert_eq!(strict.stdout.lines().filter(|line| line.starts_with("::warning file=tests/")).count(), 10);
}

#[test]
fn sarif_is_json_with_places() {
    let output = project().run(["predict", "--all", "--format", "sarif"]);
    let log = json(&output);
    assert_eq!(log["runs"][0]["results"].as_array().map(Vec::len), Some(60));
}

#[test]
fn what_is_not_there_is_told() {
    let context = project();
    insta::assert_snapshot!(shown(&context.run(["predict", "nowhere"])), @r"
    exit code: 23
    ----- stdout -----
    ----- stderr -----
    error: `nowhere` is not a file or directory of this repository
    ");
    context.write("empty/readme.md", "");
    insta::assert_snapshot!(shown(&context.run(["predict", "empty"])), @r"
    exit code: 0
    ----- stdout -----
    no test found: 0 tests in 0 files
    ----- stderr -----
    hint: supported languages are Python, Java, Rust, Go, JavaScript and TypeScript; pass the directories of the tests, or run from the repository root
    ");
    insta::assert_snapshot!(shown(&context.run(["predict", "--model", "labels.jsonl"])), @r"
    exit code: 23
    ----- stdout -----
    ----- stderr -----
    error: failed to load the model `labels.jsonl`
      caused by: not a Flakewise model
    hint: train a new model with `flakewise train`
    ");
}

#[test]
fn hostile_source_is_survived() {
    let context = context();
    context.write(
        "test_deep.py",
        format!("def test_a():\n    x = {}1{}\n", "(".repeat(10_000), ")".repeat(10_000)),
    );
    context.write("test_bytes.py", b"def test_b():\n    assert '\xff\xfe'\n");
    context.write("test_long.py", "# x\n".repeat(1 << 20));
    let document = json(&context.run(["predict", "--all", "--format", "json"]));
    assert!(names(&document, "risks").iter().any(|name| name.ends_with("test_b")));
    assert!(document["unclear_files"].as_u64() >= Some(2), "{document}");
}
