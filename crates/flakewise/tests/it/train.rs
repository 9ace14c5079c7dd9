//! Learning from labels and from the history.

use crate::predict::project;
use crate::shown;

#[test]
fn labels_make_a_model_that_predict_uses() {
    let context = project();
    let output = context.run(["train", "--labels", "labels.jsonl", "--project", "acme/shop"]);
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    assert!(
        output.stdout.starts_with("trained on labels.jsonl: 60 tests, 30 of them flaky\n"),
        "{}",
        output.stdout
    );
    assert!(output.stdout.ends_with("Wrote the model to `.flakewise/model`\n"), "{}", output.stdout);
    let predicted = context.run(["predict", "--project", "acme/shop", "--threshold", "0"]);
    assert!(
        predicted.stdout.contains("this project's own model, `.flakewise/model`"),
        "{}",
        predicted.stdout
    );
    assert!(!predicted.stdout.contains("pretrained"), "{}", predicted.stdout);
    let document = context.run(["predict", "--project", "acme/shop", "--all", "--format", "json"]).stdout;
    let document: serde_json::Value = serde_json::from_str(&document).expect("it is JSON");
    // It was told the answers, so the riskiest are those that were called flaky.
    let riskiest = document["risks"].as_array().expect("a list").iter().take(30);
    let right =
        riskiest.filter(|risk| risk["test"].as_str().is_some_and(|test| test.contains("test_wait_"))).count();
    assert!(right >= 25, "{right} of 30");
}

#[test]
fn the_same_labels_and_seed_make_the_same_bytes() {
    let context = project();
    for out in ["a.model", "b.model"] {
        let output = context.run(["train", "--labels", "labels.jsonl", "--seed", "7", "--out", out]);
        assert_eq!(output.code, Some(0), "{}", output.stderr);
        assert!(output.stderr.contains(&format!("flakewise predict --model {out}")), "{}", output.stderr);
    }
    let read = |name: &str| std::fs::read(context.path().join(name)).expect("written");
    assert_eq!(read("a.model"), read("b.model"));
    assert!(!context.path().join(".flakewise/model").exists());
}

#[test]
fn each_technique_makes_a_model_that_predict_and_explain_use() {
    for (model, reason) in [("flast", "looks-like"), ("paths", "path")] {
        let context = project();
        let output =
            context.run(["train", "--labels", "labels.jsonl", "--model", model, "--project", "acme/shop"]);
        assert_eq!(output.code, Some(0), "{}", output.stderr);
        let document = context.run(["predict", "--project", "acme/shop", "--all", "--format", "json"]).stdout;
        let document: serde_json::Value = serde_json::from_str(&document).expect("it is JSON");
        let risks = document["risks"].as_array().expect("a list");
        let called =
            |risk: &&serde_json::Value| risk["test"].as_str().is_some_and(|test| test.contains("test_wait_"));
        let right = risks.iter().take(30).filter(called).count();
        assert!(right >= 25, "{model}: {right} of 30");
        let reasons = risks[0]["reasons"].as_array().expect("a list");
        assert!(reasons.iter().any(|known| known["kind"] == reason), "{model}: {reasons:?}");
        let riskiest = risks[0]["test"].as_str().expect("a name");
        let explained = context.run(["explain", riskiest, "--project", "acme/shop"]);
        assert_eq!(explained.code, Some(0), "{}", explained.stderr);
    }
}

#[test]
fn the_code_under_test_is_learnt_and_named() {
    const QUIET: &str = "def work():\n    return 1\n";
    const LOUD: &str =
        "import socket\n\ndef work():\n    socket.create_connection((\"localhost\", 80))\n    return 1\n";
    let context = crate::context();
    let mut labels = String::new();
    // All tests read alike. What they call differs.
    for number in 0..120 {
        let flaky = number % 3 == 0;
        let module = format!("shop/part{number}.py");
        context.write(&module, if flaky { LOUD } else { QUIET });
        context.write(
            &format!("tests/test_part{number}.py"),
            format!(
                "from shop.part{number} import work\n\ndef test_part{number}():\n    assert work() == 1\n"
            ),
        );
        let name = format!("tests/test_part{number}.py::test_part{number}");
        labels.push_str(&format!("{{\"test\": \"{name}\", \"flaky\": {flaky}}}\n"));
    }
    context.write("labels.jsonl", labels);
    let output = context.run(["train", "--labels", "labels.jsonl", "--project", "acme/shop"]);
    assert_eq!(output.code, Some(0), "{}", output.stderr);

    // New tests, of which the model knows no label.
    for (name, code) in [("quiet", QUIET), ("loud", LOUD)] {
        context.write(&format!("shop/{name}.py"), code);
        context.write(
            &format!("tests/test_{name}.py"),
            format!("from shop.{name} import work\n\ndef test_new():\n    assert work() == 1\n"),
        );
    }
    let risks = || {
        let document = context.run(["predict", "--project", "acme/shop", "--all", "--format", "json"]).stdout;
        let document: serde_json::Value = serde_json::from_str(&document).expect("it is JSON");
        let of = |name: &str| {
            let risks = document["risks"].as_array().expect("a list");
            let risk = risks.iter().find(|risk| risk["path"] == format!("tests/test_{name}.py").as_str());
            risk.expect("it is judged").clone()
        };
        (of("quiet"), of("loud"))
    };
    let number = |risk: &serde_json::Value| risk["risk"].as_f64().expect("a number");
    let (quiet, loud) = risks();
    assert!(number(&loud) > 5.0 * number(&quiet), "{loud} {quiet}");
    let around = |risk: &serde_json::Value| {
        let reasons = risk["reasons"].as_array().expect("a list");
        reasons.iter().filter(|reason| reason["kind"] == "around").cloned().collect::<Vec<_>>()
    };
    let named = around(&loud);
    assert!(named.iter().any(|reason| reason["family"] == "net" && reason["calls"] == 1), "{named:?}");
    let explained = context.run(["explain", "tests/test_loud.py::test_new", "--project", "acme/shop"]);
    assert!(
        explained.stdout.contains("code under test, 1 call away: uses the network"),
        "{}",
        explained.stdout
    );

    // The test itself does not change, and its risk does.
    context.write("shop/quiet.py", LOUD);
    let (changed, _) = risks();
    assert!((number(&changed) - number(&loud)).abs() < 1e-9, "{changed} {loud}");
}

#[test]
fn embeddings_are_for_the_network_alone_and_must_be_whole() {
    let context = project();
    let train = |more: [&str; 2]| {
        let output =
            context.run(["train", "--labels", "labels.jsonl", "--embeddings", "words.txt", more[0], more[1]]);
        (output.code, output.stderr)
    };
    let (code, said) = train(["--model", "blend"]);
    assert_eq!(code, Some(23), "{said}");
    assert!(said.contains("`--embeddings` requires `--model paths`"), "{said}");
    context.write("words.txt", "2 4\nsleep 1 0 0 0\ntime 0 1 0\n");
    let (code, said) = train(["--model", "paths"]);
    assert_eq!(code, Some(23), "{said}");
    assert!(said.contains("line 3 must have a word and 4 finite values"), "{said}");
    context.write("words.txt", "2 4\nsleep 1 0 0 0\ntime 0 1 0 0\n");
    let (code, said) = train(["--model", "paths"]);
    assert_eq!(code, Some(0), "{said}");
}

#[test]
fn too_few_examples_are_an_answer_with_advice() {
    let context = project();
    context.write(
        "few.jsonl",
        "{\"test\": \"test_wait_0\", \"flaky\": true}\nnonsense\n{\"test\": \"test_gone\", \"flaky\": false}\n",
    );
    insta::assert_snapshot!(shown(&context.run(["train", "--labels", "few.jsonl"])), @r"
    exit code: 12
    ----- stdout -----
    ----- stderr -----
    warning: skipped 1 of 3 lines; the first is line 2: expected ident at line 1 column 2
    warning: 1 of 2 labelled tests do not match exactly one of the 60 tests in `[DIR]`, e.g. `test_gone`
    error: too few labelled tests to train a model
      caused by: the examples have 1 flaky and 0 non-flaky tests
    hint: training needs at least 10 flaky and 10 non-flaky tests that exist in the source; until then, `flakewise predict` uses the pretrained model
    ");
    assert!(!context.path().join(".flakewise/model").exists());
}

#[test]
fn a_damaged_model_is_refused_and_not_passed_over() {
    let context = project();
    assert_eq!(context.run(["train", "--labels", "labels.jsonl"]).code, Some(0));
    let path = context.path().join(".flakewise/model");
    let mut bytes = std::fs::read(&path).expect("it is there");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0x10;
    std::fs::write(&path, bytes).expect("written");
    let output = context.run(["predict"]);
    assert_eq!(output.code, Some(23), "{}", output.stdout);
    assert!(output.stderr.contains("flakewise train"), "{}", output.stderr);
}

/// Twenty-four reports on one commit: every second test fails in some of them.
#[cfg(feature = "history")]
#[test]
fn the_history_teaches() {
    let context = project();
    for run in 0..24_usize {
        let cases: String = (0..60)
            .map(|number| {
                let (file, flaky) = (number / 10, number % 2 == 0);
                let name = if flaky { format!("test_wait_{number}") } else { format!("test_sum_{number}") };
                let fails = flaky && (run + number) % 12 == 0;
                let inner = if fails { "<failure message=\"late\">late</failure>" } else { "" };
                format!("<testcase classname=\"tests.test_{file}\" name=\"{name}\" file=\"tests/test_{file}.py\" time=\"0.1\">{inner}</testcase>")
            })
            .collect();
        context.write(
            &format!("reports/{run}.xml"),
            format!(
                "<?xml version=\"1.0\" encoding=\"utf-8\"?><testsuites name=\"pytest tests\"><testsuite name=\"pytest\" \
                 errors=\"0\" tests=\"60\" time=\"1.5\" timestamp=\"2026-11-01T10:{run:02}:00.000000+00:00\" \
                 hostname=\"ci-1\">{cases}</testsuite></testsuites>"
            ),
        );
    }
    let commit = "ab".repeat(20);
    let output = context.run(["ingest", "reports", "--project", "acme/shop", "--commit", &commit]);
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    let output = context.run(["train", "--project", "acme/shop"]);
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    assert!(
        output.stdout.starts_with("trained on the history of acme/shop: 60 tests, 30 of them flaky\n"),
        "{}{}",
        output.stdout,
        output.stderr
    );
}

#[cfg(feature = "history")]
#[test]
fn without_a_history_there_is_nothing_to_learn_from() {
    let output = crate::context().run(["train", "--project", "acme/shop"]);
    assert_eq!(output.code, Some(22), "{}", output.stderr);
    assert!(output.stderr.contains("hint:"), "{}", output.stderr);
}

#[cfg(not(feature = "history"))]
#[test]
fn without_the_engine_only_labels_teach() {
    let output = project().run(["train"]);
    assert_eq!(output.code, Some(22), "{}", output.stderr);
    assert!(output.stderr.contains("this build has no history engine"), "{}", output.stderr);
}
