//! Commands that people can paste into a shell.

use crate::{Tally, shell_word};

/// A command that runs chosen tests without Flakewise.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PlainCommand {
    /// The folder to change to first, if it is not the current one.
    pub folder: Option<String>,
    /// Environment variables to set. Values are shell text, quoted where needed:
    /// they may refer to other variables.
    pub variables: Vec<(String, String)>,
    /// The words before the names of tests.
    pub words: Vec<String>,
    /// The words after them.
    pub after: Vec<String>,
}

impl PlainCommand {
    /// A command that consists of these words.
    pub fn new(words: Vec<String>) -> Self {
        Self { words, ..Self::default() }
    }

    /// Sets a variable before all others.
    #[must_use]
    pub fn with_variable(mut self, name: &str, value: &str) -> Self {
        self.variables.retain(|(other, _)| other != name);
        self.variables.insert(0, (name.to_owned(), shell_word(value)));
        self
    }

    /// The line that runs these tests, in this order.
    pub fn line<'a>(&self, names: impl IntoIterator<Item = &'a str>) -> String {
        self.in_folder(self.call(names))
    }

    /// The line that runs these tests up to `times` times, until a run fails.
    pub fn repeated<'a>(&self, names: impl IntoIterator<Item = &'a str>, times: u32) -> String {
        self.in_folder(format!("for i in $(seq {times}); do {} || break; done", self.call(names)))
    }

    fn call<'a>(&self, names: impl IntoIterator<Item = &'a str>) -> String {
        let variables = self.variables.iter().map(|(name, value)| format!("{name}={value}"));
        let before = self.words.iter().map(|word| shell_word(word));
        let after = self.after.iter().map(|word| shell_word(word));
        let words: Vec<String> =
            variables.chain(before).chain(names.into_iter().map(shell_word)).chain(after).collect();
        words.join(" ")
    }

    fn in_folder(&self, call: String) -> String {
        match &self.folder {
            // A folder such as `-x` must not be taken for an option.
            Some(folder) if folder.starts_with('-') => {
                format!("cd {} && {call}", shell_word(&format!("./{folder}")))
            }
            Some(folder) => format!("cd {} && {call}", shell_word(folder)),
            None => call,
        }
    }
}

/// A line that reproduces a failure.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reproduction {
    /// The line, for a POSIX shell in the folder the user is in.
    pub command: String,
    /// How the test ended when this line was run; none if it was not run.
    pub tried: Option<Tally>,
}

impl From<String> for Reproduction {
    fn from(command: String) -> Self {
        Self { command, tried: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folder_and_variables_come_first_and_words_are_quoted() {
        let command = PlainCommand {
            folder: Some("a b".to_owned()),
            variables: vec![("PATH".to_owned(), "bin:\"$PATH\"".to_owned())],
            words: vec!["pytest".to_owned(), "-k".to_owned(), "x or y".to_owned()],
            after: vec!["--strict".to_owned()],
        };
        let command = command.with_variable("PYTHONHASHSEED", "7");
        assert_eq!(
            command.line(["t.py::t[a b]"]),
            "cd 'a b' && PYTHONHASHSEED=7 PATH=bin:\"$PATH\" pytest -k 'x or y' 't.py::t[a b]' --strict"
        );
        assert_eq!(
            command.with_variable("PYTHONHASHSEED", "8").repeated(["t"], 3),
            "cd 'a b' && for i in $(seq 3); do PYTHONHASHSEED=8 PATH=bin:\"$PATH\" pytest -k 'x or y' t --strict \
             || break; done"
        );
    }
}
