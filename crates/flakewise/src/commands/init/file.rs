//! The configuration file that `init` writes.

use flakewise_config::{Key, KeyDefault, SECTIONS, Value};

use super::detect::{Found, Runner};

/// Where editors find the schema, and people all keys.
const SCHEMA: &str = "https://raw.githubusercontent.com/flakewise/flakewise/main/docs/flakewise.schema.json";
/// What a new user may want to change, in the order of the file. Everything else is
/// on the reference page.
const SHOWN: [&str; 9] = [
    "store",
    "base",
    "test-timeout",
    "run.tolerate",
    "run.confidence",
    "hunt.budget",
    "report.days",
    "quarantine.max-entries",
    "quarantine.max-days",
];

/// The text of the file. Keys that are not set are there as comments.
pub(super) fn content(command: Option<&[&str]>, runners: &[Found]) -> String {
    let mut text = format!(
        "#:schema {SCHEMA}\n\
         # Configuration of Flakewise. Lines with `#` show defaults and examples: remove the `#` to set them.\n\
         # `flakewise config` prints what is in force. Flags and environment variables override this file.\n\n"
    );
    match command {
        Some(command) => {
            let words = command.iter().map(|word| (*word).to_owned()).collect();
            text.push_str(&format!(
                "# Command that runs the tests: `flakewise run` is `flakewise run -- {}`\ncommand = {}\n",
                command.join(" "),
                Value::Words(words)
            ));
        }
        None => text.push_str(&no_command(runners)),
    }
    if runners.iter().any(|found| found.runner == Runner::Tox) {
        text.push_str(
            "# To run the tests with tox, add this to its environments:\n\
             #   pass_env = PYTEST_ADDOPTS, PYTHONPATH, FLAKEWISE_*\n",
        );
    }
    let mut section = None;
    for key in SHOWN.iter().filter_map(|name| Key::find(name)) {
        let (own_section, _) = key.parts();
        if own_section != section {
            section = own_section;
            let header = SECTIONS.iter().find(|known| Some(known.name) == section);
            text.push_str(&header.map(|known| format!("\n[{}]", known.name)).unwrap_or_default());
            text.push('\n');
        } else if own_section.is_none() {
            text.push('\n');
        }
        text.push_str(&commented(key));
    }
    text
}

/// What is said where no command can be configured.
fn no_command(runners: &[Found]) -> String {
    let reports = runners.iter().find_map(|found| Some((found.runner.name(), found.runner.reports()?)));
    match reports {
        Some((name, (command, pattern))) => format!(
            "# `flakewise run` runs pytest only. With {name}, add its JUnit reports to the history:\n\
             #   {command}\n\
             #   flakewise ingest '{pattern}'\n"
        ),
        None => "# Command that runs the tests, for `flakewise run` without one\n\
                 # command = [\"pytest\"]\n"
            .to_owned(),
    }
}

/// A key as a comment: what it does, and its default or an example.
fn commented(key: &Key) -> String {
    let (_, name) = key.parts();
    let default = match key.default {
        KeyDefault::Value(value) => value.to_owned(),
        KeyDefault::Described(text) => text.replace('`', ""),
    };
    format!("# {} [default: {default}]\n# {name} = {}\n", key.help, key.example)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use flakewise_config::Config;

    use super::*;

    fn parse(text: &str) -> Config {
        Config::parse(Path::new("flakewise.toml"), text).expect("valid")
    }

    #[test]
    fn the_file_is_valid_as_written_and_with_every_example_set() {
        let text = content(Some(&["uv", "run", "pytest"]), &[]);
        let config = parse(&text);
        assert_eq!(config.command().map(<[String]>::len), Some(3));
        assert_eq!(config.entries().count(), 1);
        let set: String = text
            .lines()
            .map(|line| line.strip_prefix("# ").filter(|rest| rest.contains(" = ")).unwrap_or(line))
            .map(|line| format!("{line}\n"))
            .collect();
        assert_eq!(parse(&set).entries().count(), 1 + SHOWN.len(), "{set}");
    }

    #[test]
    fn without_a_command_the_file_says_what_to_do() {
        let maven = Found { runner: Runner::Maven, evidence: "pom.xml".to_owned() };
        let text = content(None, &[maven]);
        assert!(text.contains("#   flakewise ingest '**/target/surefire-reports/*.xml'"), "{text}");
        assert_eq!(parse(&text).entries().count(), 0);
        assert!(content(None, &[]).contains("# command = [\"pytest\"]"));
    }
}
