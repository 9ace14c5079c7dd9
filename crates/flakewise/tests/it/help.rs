//! The help is part of the product, and of the book.

use std::fmt::Write as _;
use std::path::Path;

use crate::{context, shown};

#[test]
fn help_reads_like_a_tool_people_want() {
    insta::assert_snapshot!(shown(&context().run(["--help"])));
}

#[test]
fn no_command_shows_the_help_and_is_a_usage_error() {
    let output = context().run([]);
    assert_eq!(output.code, Some(2));
    assert!(output.stderr.contains("Add test reports to the history"), "{}", output.stderr);
}

#[test]
fn a_wrong_flag_is_answered_with_the_right_one() {
    let output = context().run(["report", "--day", "3"]);
    assert_eq!(output.code, Some(2));
    assert!(output.stderr.contains("a similar argument exists: '--days'"), "{}", output.stderr);
}

/// All commands, as `--help` lists them.
const COMMANDS: [&str; 31] = [
    "",
    "run",
    "check",
    "hunt",
    "culprit",
    "reproduce",
    "ingest",
    "predict",
    "explain",
    "train",
    "eval",
    "report",
    "show",
    "sql",
    "maintain",
    "renames",
    "renames list",
    "renames find",
    "renames add",
    "renames undo",
    "quarantine",
    "quarantine add",
    "quarantine list",
    "quarantine check",
    "quarantine release",
    "quarantine suggest",
    "init",
    "config",
    "doctor",
    "completions",
    "man",
];

/// The book's page of commands is what the binary says. `FLAKEWISE_UPDATE=1`
/// writes it again.
#[test]
fn the_book_shows_the_help_as_it_is() {
    let context = context();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/src/reference/commands.md");
    let page = std::fs::read_to_string(&path).expect("the book is in the repository");
    let introduction = page.split("\n## ").next().unwrap_or_default().trim_end();
    let mut fresh = format!("{introduction}\n");
    for command in COMMANDS {
        let mut call = context.command();
        call.args(command.split_whitespace()).arg("--help");
        let help = context.finish(&mut call).stdout;
        let name = format!("flakewise {command}");
        write!(fresh, "\n## `{}`\n\n```text\n{}\n```\n", name.trim(), help.trim_end()).expect("written");
    }
    if std::env::var_os("FLAKEWISE_UPDATE").is_some() {
        std::fs::write(&path, &fresh).expect("written");
    }
    assert!(
        page == fresh,
        "docs/src/reference/commands.md is out of date: run this test with FLAKEWISE_UPDATE=1"
    );
}
