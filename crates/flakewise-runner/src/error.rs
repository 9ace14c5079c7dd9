//! What can go wrong around the tests.

use std::path::PathBuf;
use std::process::ExitStatus;

/// Why the tests could not be run as asked.
#[derive(Debug, thiserror::Error)]
pub enum RunnerError {
    /// There is no room for what we hand to the runner.
    #[error("failed to write to `{}`", folder.display())]
    Temporary {
        /// Where.
        folder: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// The socket could not be opened.
    #[error("failed to listen on `{}`", path.display())]
    Listen {
        /// Where.
        path: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// The command could not be started.
    #[error("failed to start `{program}`")]
    Start {
        /// The program.
        program: String,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// There is nothing to run.
    #[error("there is no command that runs tests")]
    NoCommand,
    /// The command asks for a terminal of its own.
    #[error("`{option}` needs the terminal to itself")]
    Interactive {
        /// The option.
        option: String,
    },
    /// The command ended, and no pytest in it had our agent.
    #[error("`{program}` ended ({status}) and no pytest in it spoke to us")]
    NoRunner {
        /// The program.
        program: String,
        /// How it ended.
        status: ExitStatus,
    },
    /// There is nothing to run.
    #[error("no tests were found")]
    NoTests,
    /// The agent that answered is not ours.
    #[error("the agent speaks version {theirs} of the protocol, this program version {ours}")]
    Version {
        /// Its version.
        theirs: u32,
        /// Ours.
        ours: u32,
    },
    /// A person or the system asked us to stop.
    #[error("interrupted")]
    Interrupted {
        /// The signal.
        signal: i32,
    },
}

impl RunnerError {
    /// What to try next, if there is something.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Interactive { .. } => Some("debug with pytest itself, without `flakewise run --`"),
            Self::NoRunner { .. } => Some(
                "the command must start pytest with our environment: with tox, add `pass_env = PYTEST_ADDOPTS, \
                 PYTHONPATH, FLAKEWISE_*`; an interpreter started with `-I` or `-E` ignores it",
            ),
            Self::NoTests => Some("run the command by itself to see what it says"),
            Self::Temporary { .. } => Some("set `TMPDIR` to a folder with room for a few kilobytes"),
            _ => None,
        }
    }
}
