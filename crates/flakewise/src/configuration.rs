//! The configuration file and the command line: a flag overrides an environment
//! variable, that overrides the file, and that overrides the default.
//!
//! Values of the file become the defaults of options before the command line is
//! parsed, so that no command has to know about the file and `--help` shows what is
//! in force. A section has the name of a command: `[run] rerun` is the default of
//! `flakewise run --rerun`. A key outside of sections is for every command that has
//! an option of its name.

use std::process::ExitCode;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{CommandFactory as _, FromArgMatches as _};
use flakewise_config::{Config, ConfigError, Key, Kind, Value};
use flakewise_runner::repository_root;

use crate::args::Arguments;
use crate::printer::Printer;

/// Reads the configuration of the working directory.
pub(crate) fn load() -> Result<Config, ConfigError> {
    match std::env::current_dir().and_then(|folder| folder.canonicalize()) {
        Ok(folder) => flakewise_config::discover(&folder, repository_root(&folder).as_deref()),
        // Whatever needs the folder says so.
        Err(_) => Ok(Config::default()),
    }
}

/// Parses the command line. What is to be printed instead, such as the help, was
/// printed if an exit code is returned.
pub(crate) fn parse(config: &Result<Config, ConfigError>) -> Result<Arguments, ExitCode> {
    let command = match config {
        Ok(config) => with_defaults(Arguments::command(), config),
        Err(_) => Arguments::command(),
    };
    let matches = command.try_get_matches().and_then(|matches| Arguments::from_arg_matches(&matches));
    matches.map_err(|error| {
        let printer = Printer::new(clap::ColorChoice::Auto, true);
        let lacks_command = error.kind() == ErrorKind::MissingRequiredArgument && names(&error, "<COMMAND>");
        match config {
            // The command may be in the file.
            Err(broken) if lacks_command => {
                printer.failure(&broken.to_string(), broken.hint().as_deref());
                crate::exit_code::ExitCode::Configuration.into()
            }
            _ => {
                // Nobody is left to tell if stderr is gone.
                let _ = error.print();
                if lacks_command {
                    printer.hint(
                        "give the command that runs the tests after `--`, or set `command` in `flakewise.toml`; \
                         `flakewise init` writes one",
                    );
                }
                ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2))
            }
        }
    })
}

/// Whether an error of the command line is about an argument.
fn names(error: &clap::Error, argument: &str) -> bool {
    match error.get(ContextKind::InvalidArg) {
        Some(ContextValue::Strings(names)) => names.iter().any(|name| name.starts_with(argument)),
        Some(ContextValue::String(name)) => name.starts_with(argument),
        _ => false,
    }
}

/// Keys whose options have other names.
const RENAMED: [(&str, &str); 3] = [
    ("codeowners", "owners.file"),
    ("max_quarantined", "quarantine.max-entries"),
    ("max_quarantine_days", "quarantine.max-days"),
];

/// Makes values of the file the defaults of options.
fn with_defaults(command: clap::Command, config: &Config) -> clap::Command {
    command.mut_subcommands(|subcommand| {
        let name = subcommand.get_name().to_owned();
        let subcommand = subcommand.mut_args(|argument| {
            let key = key_of(&name, argument.get_id().as_str());
            match key.and_then(|key| default_words(key, config)) {
                Some(words) => argument.required(false).default_values(words),
                None => argument,
            }
        });
        with_defaults(subcommand, config)
    })
}

/// The key whose value is the default of an option.
fn key_of(subcommand: &str, option: &str) -> Option<&'static Key> {
    if let Some((_, key)) = RENAMED.iter().find(|(renamed, _)| *renamed == option) {
        return Key::find(key);
    }
    let name = option.replace('_', "-");
    // A check is a run first.
    let of_run = || Key::find(&format!("run.{name}")).filter(|_| subcommand == "check");
    Key::find(&format!("{subcommand}.{name}")).or_else(of_run).or_else(|| {
        // CI overrides `base`, which it could not if that were the default of an option.
        Key::find(&name).filter(|key| key.parts().0.is_none() && key.name != "base")
    })
}

/// The words of a value. `clap` needs text that lives as long as the process; the
/// file is read once.
fn default_words(key: &Key, config: &Config) -> Option<Vec<&'static str>> {
    let value = &config.entry(key.name)?.value;
    let words = match (&key.kind, value) {
        (Kind::Store | Kind::Path, Value::Text(text)) => {
            vec![config.resolve(text).to_string_lossy().into_owned()]
        }
        _ => value.words(),
    };
    Some(words.into_iter().map(|word| &*word.leak()).collect())
}

/// The environment variable that overrides a key of the file.
pub(crate) fn variable_of(key: &Key) -> Option<String> {
    let command = Arguments::command();
    let options = options_of(&command, key);
    options.into_iter().find_map(|option| Some(option.get_env()?.to_string_lossy().into_owned()))
}

/// The options whose default is the value of a key, of all commands below this one.
fn options_of<'a>(command: &'a clap::Command, key: &Key) -> Vec<&'a clap::Arg> {
    let mut options = Vec::new();
    for subcommand in command.get_subcommands() {
        let name = subcommand.get_name();
        let is_of_key = |option: &&clap::Arg| {
            key_of(name, option.get_id().as_str()).is_some_and(|found| found.name == key.name)
        };
        options.extend(subcommand.get_arguments().filter(is_of_key));
        options.extend(options_of(subcommand, key));
    }
    options
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use flakewise_config::{KEYS, KeyDefault};

    use super::*;

    /// CI overrides it, which it could not if it were the default of an option.
    const NO_OPTION: &str = "base";

    fn command(text: &str) -> clap::Command {
        let config = Config::parse(Path::new("../flakewise.toml"), text).expect("valid");
        with_defaults(Arguments::command(), &config)
    }

    fn defaults(command: &clap::Command, subcommand: &str, option: &str) -> Vec<String> {
        let subcommand = command.find_subcommand(subcommand).expect("there");
        let option = subcommand.get_arguments().find(|known| known.get_id() == option).expect("there");
        option.get_default_values().iter().map(|value| value.to_string_lossy().into_owned()).collect()
    }

    /// Every key sets an option, and what the reference calls its default is the
    /// option's.
    #[test]
    fn every_key_is_the_default_of_an_option() {
        let command = Arguments::command();
        for key in &KEYS {
            let options = options_of(&command, key);
            assert_eq!(options.is_empty(), key.name == NO_OPTION, "{}", key.name);
            if let KeyDefault::Value(value) = key.default {
                assert!(options.iter().all(|option| option.get_default_values() == [value]), "{}", key.name);
            }
        }
    }

    /// What a key accepts, its option accepts too.
    #[test]
    fn every_example_is_accepted_by_its_option() {
        for key in KEYS.iter().filter(|key| key.name != NO_OPTION) {
            let (section, name) = key.parts();
            let header = section.map(|section| format!("[{section}]\n")).unwrap_or_default();
            let command = command(&format!("{header}{name} = {}\n", key.example));
            let line: &[&str] = match section {
                _ if key.name == "command" => &["flakewise", "run"],
                Some("report") => &["flakewise", "report"],
                Some("check") => &["flakewise", "check", "pytest"],
                Some("hunt") => &["flakewise", "hunt", "pytest"],
                Some("owners" | "quarantine") => &["flakewise", "quarantine", "add", "test_a.py::test_a"],
                _ => &["flakewise", "run", "pytest"],
            };
            command.clone().try_get_matches_from(line).expect(key.name);
            command.debug_assert();
        }
    }

    #[test]
    fn values_of_the_file_become_defaults() {
        let command =
            command("command = ['pytest', '-q']\nstore = 'x'\ntest-timeout = '3m'\nrun.rerun = 4\n");
        for name in ["run", "check", "hunt", "culprit", "reproduce"] {
            assert_eq!(defaults(&command, name, "command"), ["pytest", "-q"]);
            assert_eq!(defaults(&command, name, "test_timeout"), ["3m"]);
            assert_eq!(defaults(&command, name, "store"), ["../x"]);
        }
        assert_eq!(defaults(&command, "run", "rerun"), ["4"]);
        assert_eq!(defaults(&command, "check", "rerun"), ["4"]);
        assert_eq!(defaults(&command, "report", "store"), ["../x"]);
    }

    #[test]
    fn variables_are_those_of_the_options() {
        let variable = |name| variable_of(Key::find(name).expect("known"));
        assert_eq!(variable("store").as_deref(), Some("FLAKEWISE_STORE"));
        assert_eq!(variable("project").as_deref(), Some("FLAKEWISE_PROJECT"));
        assert_eq!(variable("quarantine.max-days").as_deref(), Some("FLAKEWISE_MAX_QUARANTINE_DAYS"));
        assert_eq!(variable("base"), None);
    }
}
