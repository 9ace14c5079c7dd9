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

/// Why a command failed. None of these is a bug.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ExpectedError {
    #[error("no JUnit report found in {}", list(searched))]
    NoReports { searched: Vec<String> },
    #[error("`{path}` is not a file, directory or pattern")]
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
    #[error("{unreadable} of {reports} reports are damaged")]
    Reports { unreadable: usize, reports: usize },
    #[cfg(feature = "history")]
    #[error(transparent)]
    History(#[from] flakewise_history::HistoryError),
    #[error("failed to write the reports to the spool")]
    Spool(#[from] flakewise_spool::SpoolError),
    #[cfg(feature = "history")]
    #[error("no test matches `{name}`")]
    NoSuchTest { name: String },
    #[cfg(feature = "history")]
    #[error("`{name}` matches more than one test:\n  {}", candidates.join("\n  "))]
    AmbiguousTest { name: String, candidates: Vec<String> },
    #[cfg(feature = "history")]
    #[error("no commit `{name}` in this clone")]
    NoSuchCommit { name: String },
    #[cfg(feature = "history")]
    #[error("`{name}` is not the id of a test")]
    NotATest { name: String },
    #[cfg(feature = "history")]
    #[error("`{test}` was not renamed")]
    NoRename { test: String },
    #[cfg(feature = "history")]
    #[error("`{test}` is both the former and the present id")]
    SameId { test: String },
    #[cfg(feature = "history")]
    #[error(
        "`--expire-attempts {attempts}` has no effect: `--expire {all}` removes these attempts and their roll-ups"
    )]
    ExpiryUnused { all: u32, attempts: u32 },
    #[cfg(not(feature = "history"))]
    #[error("this build has no history engine")]
    NoEngine,
    #[error(transparent)]
    Runner(#[from] flakewise_runner::RunnerError),
    #[error(transparent)]
    Culprit(flakewise_hunt::CulpritError),
    #[error(transparent)]
    Change(#[from] flakewise_triage::ChangeError),
    #[error("`{path}` is not a file or directory of this repository")]
    NoSuchSource { path: String },
    #[error("`{name}` does not match exactly one test in the source")]
    NotInSource { name: String },
    #[error("`{}` is neither an `.svg` nor a `.dot` file", path.display())]
    GraphFormat { path: PathBuf },
    #[error("`{option}` requires a git repository with at least one commit")]
    NoRepository { option: &'static str },
    #[error("failed to load the model `{}`", path.display())]
    Model {
        path: PathBuf,
        #[source]
        source: flakewise_predict::ModelError,
    },
    #[error("`--embeddings` requires `--model paths`")]
    EmbeddingsUnused,
    #[error("failed to load the embeddings `{}`", path.display())]
    Embeddings {
        path: PathBuf,
        #[source]
        source: flakewise_predict::EmbeddingsError,
    },
    #[error("too few labelled tests to train a model")]
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
    #[error(transparent)]
    Config(#[from] flakewise_config::ConfigError),
    #[error("the quarantine file is malformed, so nothing was run or changed\n{}", located(path, error))]
    Quarantine { path: PathBuf, error: flakewise_quarantine::Malformed },
    #[error("the entry cannot be added: {}", messages(error))]
    QuarantineEntry { error: flakewise_quarantine::Malformed },
    #[error("failed to read the quarantine file `{}`", path.display())]
    QuarantineRead {
        path: PathBuf,
        #[source]
        source: std::io::Error,
    },
    #[error("the entry would break a rule: {violation}")]
    QuarantineLimit { violation: String },
    #[error("`{test}` has no owner in CODEOWNERS")]
    NoOwner { test: String },
    #[error("which failures of `{test}` to forgive is not known")]
    NoFingerprint { test: String },
    #[error("`{name}` is not quarantined")]
    NotQuarantined { name: String },
    #[error("`{name}` may be any of\n  {}", candidates.join("\n  "))]
    SeveralQuarantined { name: String, candidates: Vec<String> },
    #[error("no file of this repository is called `{path}`")]
    NoTestFile { path: String },
    #[error("`{directive}` in `{}` is not a level or TARGET=LEVEL", crate::logging::VARIABLE)]
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
            | Self::NotQuarantined { .. }
            | Self::SeveralQuarantined { .. }
            | Self::NoTestFile { .. }
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
            Self::NoSuchTest { .. } | Self::AmbiguousTest { .. } | Self::NoRename { .. } => {
                ExitCode::NothingFound
            }
            #[cfg(feature = "history")]
            Self::NoSuchCommit { .. } => ExitCode::Runner,
            #[cfg(feature = "history")]
            Self::NotATest { .. } | Self::SameId { .. } | Self::ExpiryUnused { .. } => ExitCode::Usage,
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
            Self::Config(_) => ExitCode::Configuration,
            Self::LogDirective { .. }
            | Self::QuarantineEntry { .. }
            | Self::NoOwner { .. }
            | Self::NoFingerprint { .. } => ExitCode::Usage,
            Self::Quarantine { .. } | Self::QuarantineRead { .. } => ExitCode::Configuration,
            Self::QuarantineLimit { .. } => ExitCode::Rejected,
            Self::Output(_) => ExitCode::Bug,
        }
    }

    /// What to try next, if there is something.
    pub(crate) fn hint(&self) -> Option<String> {
        match self {
            Self::NoReports { .. } => {
                Some("pass files, directories or patterns, e.g. `flakewise ingest 'build/**/*.xml'`".to_owned())
            }
            #[cfg(feature = "history")]
            Self::History(flakewise_history::HistoryError::NoHistory { .. }) => Some(
                "add reports with `flakewise ingest`, or pass the store with `--store` and the project with \
                 `--project`"
                    .to_owned(),
            ),
            #[cfg(feature = "history")]
            Self::History(flakewise_history::HistoryError::NewerFormat { .. }) => {
                Some("update flakewise".to_owned())
            }
            #[cfg(feature = "history")]
            Self::History(flakewise_history::HistoryError::Query { .. }) => {
                Some("tables and views: attempts, reports, verdicts, renames, test_days, runs, outcomes, mixed; see `flakewise sql --help`".to_owned())
            }
            Self::Runner(error) => error.hint().map(str::to_owned),
            Self::Culprit(CulpritError::Unknown { .. }) => {
                Some("use its name in your runner, e.g. `tests/test_cart.py::test_total`".to_owned())
            }
            Self::Culprit(CulpritError::Ambiguous { .. }) => Some("pass a longer part of its name".to_owned()),
            Self::NotInSource { .. } => Some(
                "use its name in your runner, e.g. `tests/test_cart.py::test_total` or \
                 `org.acme.CartTest#adds`; `flakewise predict --all` lists all tests"
                    .to_owned(),
            ),
            Self::LogDirective { .. } => Some(
                "levels are `off`, `error`, `warn`, `info`, `debug` and `trace`; examples: `debug`, \
                 `flakewise_runner=debug,datafusion=info`"
                    .to_owned(),
            ),
            Self::Quarantine { .. } => Some(
                "correct the file, or ignore it once with `flakewise run --no-quarantine`".to_owned(),
            ),
            Self::QuarantineLimit { .. } => {
                Some("choose an earlier last day, or release a test with `flakewise quarantine release`".to_owned())
            }
            Self::NoOwner { .. } => Some("name an owner with `--owner`, such as `--owner @acme/payments`".to_owned()),
            Self::NoFingerprint { .. } => Some(
                "pass `--fingerprint` with what `flakewise run --format json` shows in \
                 `failures[].attempts[].failure.fingerprint`, or `--any-failure`"
                    .to_owned(),
            ),
            Self::NotQuarantined { .. } => Some("`flakewise quarantine list` shows what is".to_owned()),
            Self::SeveralQuarantined { .. } => Some("give more of the name".to_owned()),
            Self::NoTestFile { .. } => Some(
                "name the test as pytest does, such as `tests/test_cart.py::test_total`, or by its full id, such as \
                 `pytest:tests/test_cart.py::test_total`"
                    .to_owned(),
            ),
            Self::EmbeddingsUnused => Some("pass `--model paths`, or remove `--embeddings`".to_owned()),
            Self::GraphFormat { .. } => Some("use a file name that ends with `.svg` or `.dot`".to_owned()),
            Self::Change(error) => error.hint(),
            Self::Config(error) => error.hint(),
            Self::NoRepository { option: "--changed" } => {
                Some("remove `--changed` to predict all tests".to_owned())
            }
            Self::NoRepository { option: "check" } => {
                Some("use `flakewise run` where there is no repository to compare with".to_owned())
            }
            Self::NoRepository { option: "renames find" } => {
                Some("run the command inside the repository".to_owned())
            }
            Self::NoRepository { option } => {
                Some(format!("run the command inside the repository, or remove `{option}`"))
            }
            Self::Model { source: flakewise_predict::ModelError::Newer { .. }, .. } => {
                Some("update flakewise, or train a new model with `flakewise train`".to_owned())
            }
            Self::Model { .. } => Some("train a new model with `flakewise train`".to_owned()),
            Self::Train { fewest, .. } => Some(format!(
                "training needs at least {fewest} flaky and {fewest} non-flaky tests that exist in the source; \
                 until then, `flakewise predict` uses the pretrained model"
            )),
            #[cfg(feature = "history")]
            Self::ExpiryUnused { .. } => {
                Some("pass fewer days to `--expire-attempts` than to `--expire`".to_owned())
            }
            #[cfg(feature = "history")]
            Self::NoSuchTest { .. } => {
                Some("pass any unique part of the id; `flakewise report` lists flaky tests".to_owned())
            }
            #[cfg(feature = "history")]
            Self::NoSuchCommit { .. } => {
                Some("fetch more of the history, e.g. `git fetch --unshallow`".to_owned())
            }
            #[cfg(feature = "history")]
            Self::NotATest { .. } => {
                Some("name it as pytest does, e.g. `tests/test_a.py::test_total`".to_owned())
            }
            #[cfg(feature = "history")]
            Self::NoRename { .. } => Some("`flakewise renames list` lists renamed tests".to_owned()),
            #[cfg(feature = "history")]
            Self::AmbiguousTest { .. } => Some("pass a longer part of the id".to_owned()),
            #[cfg(not(feature = "history"))]
            Self::NoEngine => Some("use a build with the `history` feature".to_owned()),
            _ => None,
        }
    }

    /// The error and its causes, in one line.
    pub(crate) fn with_causes(&self) -> String {
        std::iter::once(self.to_string()).chain(self.causes()).collect::<Vec<_>>().join(": ")
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

/// `path:line:column: message`, a line for each problem.
fn located(path: &std::path::Path, error: &flakewise_quarantine::Malformed) -> String {
    let lines = error.problems.iter().map(|problem| format!("{}:{problem}", path.display()));
    lines.collect::<Vec<_>>().join("\n")
}

/// What is wrong, without where: the file was not written.
fn messages(error: &flakewise_quarantine::Malformed) -> String {
    error.problems.iter().map(|problem| problem.message.as_str()).collect::<Vec<_>>().join("; ")
}

fn list(names: &[String]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}
