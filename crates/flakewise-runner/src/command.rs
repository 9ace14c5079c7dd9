//! The user's command.

use std::ffi::OsString;

use crate::RunnerError;

/// A command that runs tests, as the user gave it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunnerCommand {
    pub(crate) program: OsString,
    pub(crate) arguments: Vec<OsString>,
}

impl RunnerCommand {
    /// Takes a command line, the program first.
    pub fn new(words: &[OsString]) -> Result<Self, RunnerError> {
        // These hand the terminal to the person, and it cannot have two masters.
        let interactive = ["--pdb", "--trace"];
        if let Some(option) = words.iter().find(|word| interactive.iter().any(|option| *word == *option)) {
            return Err(RunnerError::Interactive { option: option.to_string_lossy().into_owned() });
        }
        let (program, arguments) = words.split_first().ok_or(RunnerError::NoCommand)?;
        Ok(Self { program: program.clone(), arguments: arguments.to_vec() })
    }

    /// The program's name, for people.
    pub fn program(&self) -> String {
        self.program.to_string_lossy().into_owned()
    }

    /// The words as text.
    pub fn words(&self) -> Vec<String> {
        std::iter::once(&self.program)
            .chain(&self.arguments)
            .map(|word| word.to_string_lossy().into_owned())
            .collect()
    }
}
