//! What ends a command, its exit code and its advice.

use std::error::Error;
use std::path::PathBuf;

use flakewise_hunt::CulpritError;

use crate::exit_code::ExitCode;

impl From<CulpritError> for ExpectedError {
    fn from(error: CulpritError) -> Self {
        match error {
            CulpritError::Runner(error) => Self::Runner(error),
            error => Self::Culprit(error),
        }
    }
}

/// Why a command could not do what was asked. None of these is a bug.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ExpectedError {
    #[error("no JUnit report found in {}", list(searched))]
    NoReports { searched: Vec<String> },
    #[error("`{path}` is neither a file, a folder nor a pattern")]
    NoSuchPath { path: String },
    #[error("`{pattern}` is not a valid pattern")]
    Pattern {
        pattern: String,
        #[source]
        source: glob::PatternError,
    },
    #[error("failed to read `{}`", path.display())]
    Read {
        path: PathBuf,
        #[source]
        source: std::io::Error,
    },
    #[error("{unreadable} of {reports} reports could not be fully understood")]
    Reports { unreadable: usize, reports: usize },
    #[cfg(feature = "history")]
    #[error(transparent)]
    History(#[from] flakewise_history::HistoryError),
    #[error("failed to keep the reports for later")]
    Spool(#[from] flakewise_spool::SpoolError),
    #[cfg(feature = "history")]
    #[error("no test is called `{name}`")]
    NoSuchTest { name: String },
    #[cfg(feature = "history")]
    #[error("`{name}` may be any of\n  {}", candidates.join("\n  "))]
    AmbiguousTest { name: String, candidates: Vec<String> },
    #[cfg(not(feature = "history"))]
    #[error("this build has no history engine")]
    NoEngine,
    #[error(transparent)]
    Runner(#[from] flakewise_runner::RunnerError),
    #[error(transparent)]
    Culprit(flakewise_hunt::CulpritError),
    #[error(transparent)]
    Change(#[from] flakewise_triage::ChangeError),
    #[error("`{path}` is no file or folder of this repository")]
    NoSuchSource { path: String },
    #[error("no test, or more than one, is called `{name}` in the source")]
    NotInSource { name: String },
    #[error("`{}` is neither an `.svg` nor a `.dot` file", path.display())]
    GraphFormat { path: PathBuf },
    #[error("`{option}` needs a git repository with at least one commit")]
    NoRepository { option: &'static str },
    #[error("`{}` cannot be used as a model", path.display())]
    Model {
        path: PathBuf,
        #[source]
        source: flakewise_predict::ModelError,
    },
    #[error("`--embeddings` needs `--model paths`")]
    EmbeddingsUnused,
    #[error("`{}` cannot be used as embeddings", path.display())]
    Embeddings {
        path: PathBuf,
        #[source]
        source: flakewise_predict::EmbeddingsError,
    },
    #[error("there is too little to learn from")]
    Train {
        #[source]
        source: flakewise_predict::ModelError,
        fewest: usize,
    },
    #[error(transparent)]
    Eval(#[from] flakewise_eval::EvalError),
    #[error("failed to write `{}`", path.display())]
    Write {
        path: PathBuf,
        #[source]
        source: std::io::Error,
    },
    #[error("`{directive}` in `{}` is neither a level nor TARGET=LEVEL", crate::logging::VARIABLE)]
    LogDirective { directive: String },
    #[error("failed to write the output")]
    Output(#[source] std::io::Error),
}

impl ExpectedError {
    /// The exit code, by what happened.
    pub(crate) fn exit_code(&self) -> ExitCode {
        match self {
            Self::NoReports { .. }
            | Self::Culprit(CulpritError::Unknown { .. } | CulpritError::Ambiguous { .. })
            | Self::NotInSource { .. }
            | Self::Train { .. }
            | Self::Eval(flakewise_eval::EvalError::TooFewTests { .. }) => ExitCode::NothingFound,
            Self::NoSuchPath { .. } | Self::Pattern { .. } | Self::Read { .. } | Self::Reports { .. } => {
                ExitCode::Report
            }
            #[cfg(feature = "history")]
            Self::History(flakewise_history::HistoryError::Query { .. }) => ExitCode::Query,
            #[cfg(feature = "history")]
            Self::History(_) => ExitCode::Store,
            Self::Spool(_) => ExitCode::Store,
            #[cfg(feature = "history")]
            Self::NoSuchTest { .. } | Self::AmbiguousTest { .. } => ExitCode::NothingFound,
            #[cfg(not(feature = "history"))]
            Self::NoEngine => ExitCode::Store,
            Self::Runner(flakewise_runner::RunnerError::Interrupted { signal }) => {
                ExitCode::of_signal(*signal)
            }
            Self::Runner(_) | Self::Culprit(_) | Self::Change(_) | Self::NoRepository { .. } => {
                ExitCode::Runner
            }
            Self::NoSuchSource { .. }
            | Self::Model { .. }
            | Self::Eval(_)
            | Self::Write { .. }
            | Self::GraphFormat { .. }
            | Self::EmbeddingsUnused
            | Self::Embeddings { .. } => ExitCode::Report,
            Self::LogDirective { .. } => ExitCode::Usage,
            Self::Output(_) => ExitCode::Bug,
        }
    }

    /// What to try next, if there is something.
    pub(crate) fn hint(&self) -> Option<String> {
        match self {
            Self::NoReports { .. } => {
                Some("name the files, folders or patterns, such as `flakewise ingest 'build/**/*.xml'`".to_owned())
            }
            #[cfg(feature = "history")]
            Self::History(flakewise_history::HistoryError::NoHistory { .. }) => Some(
                "take in reports first with `flakewise ingest`, or name the store with `--store` and the project \
                 with `--project`"
                    .to_owned(),
            ),
            #[cfg(feature = "history")]
            Self::History(flakewise_history::HistoryError::NewerFormat { .. }) => {
                Some("update flakewise".to_owned())
            }
            #[cfg(feature = "history")]
            Self::History(flakewise_history::HistoryError::Query { .. }) => {
                Some("tables and views: attempts, reports, verdicts, runs, outcomes, mixed; see `flakewise sql --help`".to_owned())
            }
            Self::Runner(error) => error.hint().map(str::to_owned),
            Self::Culprit(CulpritError::Unknown { .. }) => {
                Some("name it as your runner does, such as `tests/test_cart.py::test_total`".to_owned())
            }
            Self::Culprit(CulpritError::Ambiguous { .. }) => Some("give more of its name".to_owned()),
            Self::NotInSource { .. } => Some(
                "name it as your runner does, such as `tests/test_cart.py::test_total` or \
                 `org.acme.CartTest#adds`; `flakewise predict --all` lists all tests"
                    .to_owned(),
            ),
            Self::LogDirective { .. } => Some(
                "levels are `off`, `error`, `warn`, `info`, `debug` and `trace`, such as `debug` or \
                 `flakewise_runner=debug,datafusion=info`"
                    .to_owned(),
            ),
            Self::EmbeddingsUnused => Some("add `--model paths`, or leave `--embeddings` out".to_owned()),
            Self::GraphFormat { .. } => Some("end the name with `.svg` or `.dot`".to_owned()),
            Self::Change(error) => error.hint(),
            Self::NoRepository { option: "--changed" } => {
                Some("leave `--changed` out to look at all tests".to_owned())
            }
            Self::NoRepository { option } => {
                Some(format!("run it inside the repository, or leave `{option}` out"))
            }
            Self::Model { source: flakewise_predict::ModelError::Newer { .. }, .. } => {
                Some("update flakewise, or train it again with `flakewise train`".to_owned())
            }
            Self::Model { .. } => Some("train it again with `flakewise train`".to_owned()),
            Self::Train { fewest, .. } => Some(format!(
                "at least {fewest} flaky tests and {fewest} others must be known and found in the source; until \
                 then `flakewise predict` uses the pretrained model"
            )),
            #[cfg(feature = "history")]
            Self::NoSuchTest { .. } => {
                Some("any part of the id will do; `flakewise report` lists what is flaky".to_owned())
            }
            #[cfg(feature = "history")]
            Self::AmbiguousTest { .. } => Some("give more of the id".to_owned()),
            #[cfg(not(feature = "history"))]
            Self::NoEngine => Some("use a build with the `history` feature to read a history".to_owned()),
            _ => None,
        }
    }

    /// The reasons below the message, outermost first.
    pub(crate) fn causes(&self) -> Vec<String> {
        let mut causes = Vec::new();
        let mut source = self.source();
        while let Some(error) = source {
            let text = error.to_string();
            // Wrappers often repeat what they wrap.
            if causes.last() != Some(&text) {
                causes.push(text);
            }
            source = error.source();
        }
        causes
    }
}

fn list(names: &[String]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}
