//! Names from outside in errors, warnings and summaries.

use crate::{context, pytest_report};

const HOSTILE: &str = "::error::a\u{1b}[2J\n::error::b ##[group]c ##vso[d]\u{202e}\u{200b}\r";

#[test]
fn names_are_printed_as_text() {
    let context = context();
    context.write("report.xml", pytest_report(1, &[("test_a", '.')]));
    let ingest = ["ingest", "--branch", HOSTILE, "--commit", HOSTILE, "--run", HOSTILE, "report.xml"];
    let calls: [&[&str]; 7] = [
        &["explain", HOSTILE],
        &["predict", HOSTILE],
        &["ingest", HOSTILE],
        &["run", "--", HOSTILE],
        &["culprit", HOSTILE, "--", HOSTILE],
        &ingest,
        &[&ingest[..], &["--format", "json"]].concat(),
    ];
    for arguments in calls {
        let output = context.finish(context.command().args(arguments));
        let all = format!("{}{}", output.stdout, output.stderr);
        assert!(all.contains("[group]c"), "{arguments:?}: {all}");
        let acts = |character: char| {
            (character.is_control() && character != '\n') || "\u{202e}\u{200b}".contains(character)
        };
        assert!(!all.contains(acts), "{arguments:?}: {all:?}");
        assert!(!all.contains("##[") && !all.contains("##vso["), "{arguments:?}: {all}");
        assert!(!all.lines().any(|line| line.trim_start().starts_with("::")), "{arguments:?}: {all}");
    }
}
