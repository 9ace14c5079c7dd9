//! What is read from a file, and what is wrong with it.

use std::path::Path;

use flakewise_config::{Config, ConfigError, KEYS, Key, Value, reference, schema};
use proptest::prelude::*;

fn parse(text: &str) -> Result<Config, ConfigError> {
    Config::parse(Path::new("flakewise.toml"), text)
}

/// The error and its hint.
fn wrong(text: &str) -> String {
    let error = parse(text).expect_err("wrong");
    format!("{error} | {}", error.hint().unwrap_or_default())
}

#[test]
fn every_example_is_valid_and_found_where_it_is() {
    for key in &KEYS {
        let (section, name) = key.parts();
        let header = section.map(|section| format!("[{section}]\n")).unwrap_or_default();
        let config = parse(&format!("{header}{name} = {}\n", key.example)).expect(key.name);
        let entry = config.entry(key.name).expect(key.name);
        assert_eq!(entry.position.line, 1 + header.lines().count(), "{}", key.name);
        assert_eq!(config.entries().count(), 1);
        // What is shown can be read again.
        let again = parse(&format!("{header}{name} = {}\n", entry.value)).expect(key.name);
        assert_eq!(again.entry(key.name).map(|entry| &entry.value), Some(&entry.value));
    }
}

#[test]
fn names_are_unique_and_explained() {
    for (index, key) in KEYS.iter().enumerate() {
        assert!(KEYS[..index].iter().all(|other| other.name != key.name), "{}", key.name);
        assert!(key.help.starts_with(char::is_uppercase) && !key.help.ends_with('.'), "{}", key.name);
        assert!(std::ptr::eq(Key::find(key.name).expect("known"), key));
    }
}

#[test]
fn unknown_keys_are_errors_with_a_suggestion() {
    assert_eq!(
        wrong("store = \"x\"\n[run]\n  tolerat = \"known\"\n"),
        "flakewise.toml:3:3: unknown key `run.tolerat` | did you mean `run.tolerate`?"
    );
    assert_eq!(
        wrong("tolerate = \"known\"\n"),
        "flakewise.toml:1:1: unknown key `tolerate` | did you mean `run.tolerate`?"
    );
    assert_eq!(
        wrong("[qarantine]\nmax-days = 3\n"),
        "flakewise.toml:1:2: unknown key `qarantine` | did you mean `quarantine`?"
    );
    assert_eq!(
        wrong("[run.x]\n"),
        "flakewise.toml:1:6: unknown key `run.x` | keys of `[run]` are `tolerate`, `rerun`, `postpone`, `separate`, `confidence`, `max-failures`, `reproduce-budget`"
    );
    assert_eq!(
        wrong("\"run.tolerate\" = \"known\"\n"),
        "flakewise.toml:1:1: unknown key `run.tolerate` | did you mean `run.tolerate`?"
    );
}

#[test]
fn wrong_values_are_errors_with_an_example() {
    assert_eq!(
        wrong("[hunt]\nbudget = \"soon\"\n"),
        "flakewise.toml:2:10: `hunt.budget` must look like `90s`, `5m` or `250ms` | write it as `budget = \"30m\"`"
    );
    assert_eq!(
        wrong("é = 1\ncommand = 3"),
        "flakewise.toml:1:1: invalid TOML: invalid unquoted key, expected letters, numbers, `-`, `_` | "
    );
    for (text, reason) in [
        ("command = \"pytest\"", "`command` must be an array of strings, not a string"),
        ("command = []", "`command` must name a program"),
        ("command = [\"pytest\", 3]", "`command` must be an array of strings, not a whole number"),
        ("store = \"\"", "`store` must not be empty"),
        (
            "store = \"s3://key:secret@bucket\"",
            "`store` must not hold credentials; set them in the environment",
        ),
        ("project = true", "`project` must be a string, not a boolean"),
        ("project = \"a\\u0000b\"", "`project` must not hold a NUL character"),
        ("base = 2026-11-17", "`base` must be a string, not a date"),
        ("run = 3", "`run` must be a table, not a whole number"),
        ("[[run]]", "`run` must be a table, not an array"),
        ("run.tolerate = \"all\"", "`run.tolerate` must be one of `nothing`, `known`, `flaky`"),
        ("run.rerun = -1", "`run.rerun` must be from 0 to 4294967295"),
        ("run.rerun = 99999999999999999999999999", "`run.rerun` must be from 0 to 4294967295"),
        ("run.rerun = 1.5", "`run.rerun` must be a whole number, not a number"),
        ("run.confidence = 1", "`run.confidence` must be at least 0.5 and less than 1"),
        ("hunt.hidden = nan", "`hunt.hidden` must be a number greater than 0"),
        ("hunt.jobs = 0x200", "`hunt.jobs` must be from 1 to 256"),
        ("quarantine.max-days = 0", "`quarantine.max-days` must be from 1 to 3650"),
    ] {
        let error = parse(text).expect_err(text).to_string();
        assert!(error.ends_with(reason), "{text}: {error}");
        assert!(!error.contains("secret"), "{error}");
    }
}

#[test]
fn the_first_problem_is_reported() {
    assert!(wrong("zebra = 1\napple = 1\n").starts_with("flakewise.toml:1:1: unknown key `zebra`"));
}

#[test]
fn the_table_of_pyproject_is_read() {
    let text = "[tool.flakewise]\ncommand = [\"pytest\"]\n[tool.flakewise.hunt]\njobs = 0x10\n";
    let path = Path::new("pyproject.toml");
    let config = Config::parse_pyproject(path, text).expect("read").expect("there");
    assert_eq!(config.command(), Some(&["pytest".to_owned()][..]));
    assert_eq!(config.entry("hunt.jobs").map(|entry| &entry.value), Some(&Value::Integer(16)));
    let error = Config::parse_pyproject(path, "[tool]\nflakewise = 1").expect_err("no table");
    assert_eq!(error.to_string(), "pyproject.toml:2:1: `tool.flakewise` must be a table, not a whole number");
}

#[test]
fn a_mark_at_the_begin_is_no_character() {
    assert!(wrong("\u{feff}x = 1").starts_with("flakewise.toml:1:1:"));
}

/// `FLAKEWISE_UPDATE=1` writes them.
#[test]
fn the_schema_and_the_reference_are_current() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let update = std::env::var_os("FLAKEWISE_UPDATE").is_some();
    let schema_path = docs.join("flakewise.schema.json");
    if update {
        std::fs::write(&schema_path, schema()).expect("written");
    }
    let is_current = std::fs::read_to_string(&schema_path).is_ok_and(|text| text == schema());
    assert!(is_current, "docs/flakewise.schema.json is out of date: run this test with FLAKEWISE_UPDATE=1");
    let page_path = docs.join("src/reference/configuration.md");
    let page = std::fs::read_to_string(&page_path).expect("the book is in the repository");
    let introduction = page.split("\n## ").next().unwrap_or_default().trim_end();
    let fresh = format!("{introduction}\n\n{}", reference());
    if update {
        std::fs::write(&page_path, &fresh).expect("written");
    }
    assert!(
        page == fresh || update,
        "docs/src/reference/configuration.md is out of date: run this test with FLAKEWISE_UPDATE=1"
    );
}

#[test]
fn the_schema_knows_every_key() {
    let schema: serde_json::Value = serde_json::from_str(&schema()).expect("JSON");
    for key in &KEYS {
        let pointer = match key.parts() {
            (Some(section), name) => format!("/properties/{section}/properties/{name}"),
            (None, name) => format!("/properties/{name}"),
        };
        let property = schema.pointer(&pointer).expect(key.name);
        assert!(property["type"].is_string() && property["description"].is_string(), "{}", key.name);
    }
}

/// Words of which files are made, right and wrong.
fn pieces() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        prop::sample::select(vec![
            "[run]",
            "[",
            "]",
            "=",
            "\n",
            ".",
            "\"",
            "'",
            "{",
            "}",
            ",",
            "#",
            "\u{feff}",
            "é",
            "\0",
            "\r\n",
            "[[hunt]]",
            "tool.flakewise",
            "[tool.flakewise]",
            "command",
            "store",
            "run",
            "tolerate",
            "quarantine",
            "max-days",
            "\"known\"",
            "1",
            "-1",
            "1e999",
            "nan",
            "0x",
            "true",
            "2026-11-17",
            "\"s3://a:b@c\"",
        ])
        .prop_map(str::to_owned),
        any::<char>().prop_map(String::from),
    ];
    prop::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

/// Whatever is wrong is somewhere in the text.
fn check_error(text: &str, error: &ConfigError) {
    let position = match error {
        ConfigError::Syntax { position, .. }
        | ConfigError::UnknownKey { position, .. }
        | ConfigError::InvalidValue { position, .. } => position,
        other => panic!("{other}"),
    };
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let lines: Vec<_> = text.split('\n').collect();
    let line = lines.get(position.line - 1).expect("the line is in the text");
    assert!(position.column <= line.chars().count() + 1, "{position}: {text:?}");
    let _ = (error.to_string(), error.hint());
}

proptest! {
    #[test]
    fn any_text_is_read_or_refused(text in prop_oneof![pieces(), any::<String>()]) {
        if let Err(error) = parse(&text) {
            check_error(&text, &error);
        }
        if let Err(error) = Config::parse_pyproject(Path::new("pyproject.toml"), &text) {
            check_error(&text, &error);
        }
    }

    #[test]
    fn any_integer_is_within_bounds_or_refused(number in any::<i128>()) {
        for key in ["run.rerun", "hunt.jobs", "quarantine.max-days", "report.days"] {
            if let Ok(config) = parse(&format!("{key} = {number}")) {
                prop_assert!(config.entry(key).is_some());
            }
        }
    }
}
