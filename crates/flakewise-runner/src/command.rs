//! The user's command.

use std::ffi::OsString;
use std::io::Read as _;
use std::path::{Path, PathBuf};

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

/// Why a command may not start pytest under our agent, as far as the command tells.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Unobserved {
    /// Nothing speaks against it.
    #[default]
    Unknown,
    /// It starts another test runner.
    OtherRunner,
    /// It starts pytest in a Python that ignores `PYTHONPATH`.
    Isolated,
    /// It starts tox, which passes few variables on.
    Tox,
}

impl RunnerCommand {
    /// What the command tells about itself.
    pub(crate) fn unobserved(&self) -> Unobserved {
        let words = self.words();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let words = after_env(&words);
        let Some((program, rest)) = words.split_first() else { return Unobserved::Unknown };
        let name = file_name(program);
        if is_python(name) {
            let python = PythonWords::read(rest);
            return match python.module {
                Some("unittest" | "nose2" | "twisted.trial") => Unobserved::OtherRunner,
                Some("pytest" | "py.test" | "coverage") if python.ignores_environment => Unobserved::Isolated,
                Some("tox") => Unobserved::Tox,
                _ => Unobserved::Unknown,
            };
        }
        match name {
            "tox" => Unobserved::Tox,
            "nose2" | "trial" => Unobserved::OtherRunner,
            "pytest" | "py.test" | "coverage" if is_isolated_script(program) => Unobserved::Isolated,
            _ => Unobserved::Unknown,
        }
    }
}

/// What follows `env` and its settings.
fn after_env<'a, 'b>(words: &'a [&'b str]) -> &'a [&'b str] {
    if words.first().is_none_or(|word| file_name(word) != "env") {
        return words;
    }
    let mut rest = &words[1..];
    while let Some(word) = rest.first() {
        let taken = match *word {
            "-u" | "--unset" | "-C" | "--chdir" => 2,
            word if word.starts_with('-') || word.contains('=') => 1,
            _ => break,
        };
        rest = rest.get(taken..).unwrap_or_default();
    }
    rest
}

fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

fn is_python(name: &str) -> bool {
    let rest = name.strip_prefix("python").or_else(|| name.strip_prefix("pypy"));
    rest.is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.'))
}

/// What the words after `python` say.
#[derive(Debug, Default)]
struct PythonWords<'a> {
    ignores_environment: bool,
    module: Option<&'a str>,
}

impl<'a> PythonWords<'a> {
    fn read(words: &[&'a str]) -> Self {
        let mut found = Self::default();
        let mut words = words.iter().copied();
        while let Some(word) = words.next() {
            let Some(letters) = word.strip_prefix('-').filter(|letters| !letters.is_empty()) else { break };
            if letters.starts_with('-') {
                continue;
            }
            for (place, letter) in letters.char_indices() {
                let rest = &letters[place + letter.len_utf8()..];
                match letter {
                    'E' | 'I' => found.ignores_environment = true,
                    'm' => {
                        found.module = if rest.is_empty() { words.next() } else { Some(rest) };
                        return found;
                    }
                    'c' => return found,
                    // These take an argument.
                    'W' | 'X' => {
                        if rest.is_empty() {
                            words.next();
                        }
                        break;
                    }
                    _ => {}
                }
            }
        }
        found
    }
}

/// Whether a program is a script of a Python that ignores the environment, as by
/// `#!/usr/bin/python3 -E`.
fn is_isolated_script(program: &str) -> bool {
    let Some(path) = find(program) else { return false };
    let mut beginning = Vec::new();
    let read = std::fs::File::open(path).and_then(|file| file.take(512).read_to_end(&mut beginning));
    let text = String::from_utf8_lossy(&beginning);
    let Some(line) = text.lines().next().and_then(|line| line.strip_prefix("#!")).filter(|_| read.is_ok())
    else {
        return false;
    };
    let words: Vec<&str> = line.split_whitespace().collect();
    match after_env(&words).split_first() {
        Some((program, rest)) => is_python(file_name(program)) && PythonWords::read(rest).ignores_environment,
        None => false,
    }
}

/// Where a program is, as the shell looks for it.
fn find(program: &str) -> Option<PathBuf> {
    if program.contains('/') {
        return Some(PathBuf::from(program));
    }
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(Path::new(program))).find(|path| path.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unobserved(line: &str) -> Unobserved {
        let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        RunnerCommand::new(&words).expect("a command").unobserved()
    }

    #[test]
    fn a_command_tells_why_it_is_not_observed() {
        use Unobserved::{Isolated, OtherRunner, Tox, Unknown};
        for (line, expected) in [
            ("python -m pytest", Unknown),
            ("python3.12 -bb -m pytest -E", Unknown),
            ("python -W error -m pytest -I", Unknown),
            ("python -X dev tests.py -E", Unknown),
            ("python -c pass -E", Unknown),
            ("no-such-program -E", Unknown),
            // What these start has an environment.
            ("python -I run_tests.py", Unknown),
            ("python -E -m nox", Unknown),
            ("python -E -m pytest", Isolated),
            ("/usr/bin/python3 -Im pytest", Isolated),
            ("python -W ignore -sE -mpytest", Isolated),
            ("env -u A B=C python3 -I -m pytest", Isolated),
            ("python -m unittest -v", OtherRunner),
            ("python -E -m unittest", OtherRunner),
            ("nose2", OtherRunner),
            ("tox -e py", Tox),
            ("python -m tox", Tox),
        ] {
            assert_eq!(unobserved(line), expected, "{line}");
        }
    }

    #[test]
    fn a_script_tells_how_its_python_is_started() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("pytest");
        for (first, expected) in [
            ("#!/usr/bin/python3 -E", Unobserved::Isolated),
            ("#!/usr/bin/env -S python3 -I", Unobserved::Isolated),
            ("#!/usr/bin/python3", Unobserved::Unknown),
            ("#!/bin/sh -E", Unobserved::Unknown),
            ("import pytest", Unobserved::Unknown),
        ] {
            std::fs::write(&path, format!("{first}\nimport pytest\n")).expect("written");
            assert_eq!(unobserved(&path.to_string_lossy()), expected, "{first}");
        }
    }
}
