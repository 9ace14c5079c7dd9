//! What can go wrong around the tests.

use std::path::PathBuf;
use std::process::ExitStatus;

use crate::command::Unobserved;

/// Why the tests could not be run as requested.
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
    /// Tests cannot be run on this system.
    #[error("Flakewise cannot run tests on this system")]
    Unsupported,
    /// There is nothing to run.
    #[error("no command given")]
    NoCommand,
    /// The command asks for a terminal of its own.
    #[error("`{option}` needs an interactive terminal")]
    Interactive {
        /// The option.
        option: String,
    },
    /// The command ended, and no pytest in it had our agent.
    #[error("`{program}` exited ({status}) without starting pytest under the Flakewise agent")]
    NoRunner {
        /// The program.
        program: String,
        /// How it ended.
        status: ExitStatus,
        /// Why, if that can be determined from the command.
        why: Unobserved,
    },
    /// There is nothing to run.
    #[error("no tests were found")]
    NoTests,
    /// The agent that answered is not ours.
    #[error("the agent uses protocol version {theirs}, and this program uses version {ours}")]
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
            Self::NoRunner { why, .. } => Some(match why {
                Unobserved::OtherRunner => {
                    "Flakewise observes pytest only, which also runs tests of unittest: try `python -m pytest`; for \
                     other runners, pass their JUnit reports to `flakewise ingest`"
                }
                Unobserved::Isolated => {
                    "Python ignores `PYTHONPATH` when started with `-E` or `-I`, so the agent cannot be loaded; \
                     remove these options"
                }
                Unobserved::Tox => {
                    "tox does not pass the environment on by default: add `pass_env = PYTEST_ADDOPTS, PYTHONPATH, \
                     FLAKEWISE_*` to the environment that runs pytest"
                }
                Unobserved::Unknown => {
                    "the command must start pytest with the environment it is given: with tox, add `pass_env = \
                     PYTEST_ADDOPTS, PYTHONPATH, FLAKEWISE_*`; Python started with `-E` or `-I` ignores `PYTHONPATH`"
                }
            }),
            Self::Unsupported => Some("run them on Linux, or pass their JUnit reports to `flakewise ingest`"),
            Self::NoTests => Some("run the command without flakewise to see its output"),
            Self::Temporary { .. } => Some("set `TMPDIR` to a directory with a few kilobytes of free space"),
            _ => None,
        }
    }
}
