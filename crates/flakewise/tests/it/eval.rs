//! Measuring prediction on labelled tests.

use std::fmt::Write as _;

use crate::{context, shown};

/// Labelled methods of four projects; those that sleep are flaky.
fn dataset() -> String {
    let mut lines = String::new();
    for number in 0..160 {
        let flaky = number % 4 == 0;
        let body =
            if flaky { "Thread.sleep(500); assertTrue(queue.isEmpty());" } else { "assertEquals(2, 1 + 1);" };
        writeln!(
            lines,
            "{{\"id\": \"t{number}\", \"project\": \"p{}\", \"class\": \"org.acme.A{}Test\", \"method\": \"t{number}\", \
             \"source\": \"public void t{number}() {{ int a{number} = {number}; {body} }}\", \"label\": {}}}",
            number / 40,
            number / 8,
            u8::from(flaky)
        )
        .expect("written");
    }
    lines
}

#[test]
fn results_are_told_and_written() {
    let context = context();
    context.write("data.jsonl", dataset());
    let output = context.run(["eval", "data.jsonl", "--protocol", "class", "--out", "results"]);
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    assert!(output.stdout.contains("160"), "{}", output.stdout);
    assert!(std::fs::read_dir(context.path().join("results")).expect("made").count() > 0);
}

#[test]
fn too_few_tests_and_no_file_are_told_apart() {
    let context = context();
    context.write("few.jsonl", dataset().lines().take(8).collect::<Vec<_>>().join("\n"));
    insta::assert_snapshot!(shown(&context.run(["eval", "few.jsonl"])), @r"
    exit code: 12
    ----- stdout -----
    ----- stderr -----
    error: `few.jsonl` has 2 flaky and 6 other tests; each protocol needs some of both
    ");
    assert_eq!(context.run(["eval", "nowhere.jsonl"]).code, Some(23));
}
