//! Why a configuration file cannot be used.

use std::fmt;
use std::path::PathBuf;

use crate::key::{KEYS, Key, SECTIONS};

/// Where in a file something is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Position {
    /// The file, as people are shown it.
    pub path: PathBuf,
    /// The line, from 1.
    pub line: usize,
    /// The character in the line, from 1.
    pub column: usize,
}

impl fmt::Display for Position {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}:{}:{}", self.path.display(), self.line, self.column)
    }
}

/// Why a configuration file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// It cannot be read.
    #[error("failed to read `{}`", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// It is far larger than a configuration file.
    #[error("`{}` is larger than 1 MB", path.display())]
    TooLarge {
        /// The file.
        path: PathBuf,
    },
    /// It is not text.
    #[error("`{}` is not UTF-8", path.display())]
    NotText {
        /// The file.
        path: PathBuf,
    },
    /// Both files of one folder configure us.
    #[error("both `{}` and `[tool.flakewise]` in `{}` configure flakewise", file.display(), pyproject.display())]
    Both {
        /// Our own file.
        file: PathBuf,
        /// The other.
        pyproject: PathBuf,
    },
    /// It is not TOML.
    #[error("{position}: invalid TOML: {message}")]
    Syntax {
        /// Where.
        position: Position,
        /// What the parser says.
        message: String,
    },
    /// A key nobody knows.
    #[error("{position}: unknown key `{key}`")]
    UnknownKey {
        /// Where.
        position: Position,
        /// The key with its section.
        key: String,
        /// What may be meant.
        suggestion: Option<&'static str>,
    },
    /// A value that the key cannot have.
    #[error("{position}: `{key}` {reason}")]
    InvalidValue {
        /// Where.
        position: Position,
        /// The key with its section.
        key: String,
        /// What it must be: `must be a string, found an integer`.
        reason: String,
        /// A value it could have.
        example: Option<&'static str>,
    },
}

impl ConfigError {
    /// What a person can do about it.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Both { file, pyproject } => Some(format!(
                "move the settings to `{}` and remove `[tool.flakewise]` from `{}`, or the other way round",
                file.display(),
                pyproject.display()
            )),
            Self::UnknownKey { suggestion: Some(suggestion), .. } => {
                Some(format!("did you mean `{suggestion}`?"))
            }
            Self::UnknownKey { key, .. } => Some(known_keys(key)),
            Self::InvalidValue { key, example: Some(example), .. } => {
                let name = key.rsplit('.').next().unwrap_or(key);
                Some(format!("write it as `{name} = {example}`"))
            }
            _ => None,
        }
    }
}

/// The keys that could be where an unknown one is.
fn known_keys(unknown: &str) -> String {
    let section = SECTIONS
        .iter()
        .map(|section| section.name)
        .find(|name| unknown.split_once('.').is_some_and(|(section, _)| section == *name));
    let keys = KEYS.iter().map(Key::parts).filter(|(own, _)| *own == section).map(|(_, name)| name);
    let sections = SECTIONS.iter().map(|section| section.name).filter(|_| section.is_none());
    let names: Vec<_> = keys.chain(sections).map(|name| format!("`{name}`")).collect();
    match section {
        Some(section) => format!("keys of `[{section}]` are {}", names.join(", ")),
        None => format!("keys are {}", names.join(", ")),
    }
}
