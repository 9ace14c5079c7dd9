//! Arguments of `flakewise run`, most of which `flakewise check` has too.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};

use super::formats::RunFormat;
use super::quarantine::QuarantineFileArguments;
use super::shared::RecordArguments;
use super::values::{confidence, duration, duration_or_zero};

#[derive(Debug, Args)]
#[command(
    about = "Run tests and explain every failure",
    long_about = "Run tests and explain every failure.\n\n\
        Runs your own command: pytest, or anything that starts pytest. A failing test is rerun\n\
        in up to four ways until it passes, and the first pass shows the kind of flakiness:\n\n  \
        immediately              transient: timing, randomness\n  \
        after the suite          bursty: the cause was temporary\n  \
        alone, in a fork         state-dependent: earlier tests left state behind\n  \
        alone, in a new process  hash seed, imports\n\n\
        A test that never passes is compared with the change: its observed dependencies are\n\
        intersected with the differences from the base revision, including uncommitted ones.\n\n\
        The exit code is that of your command, unless flaky failures are tolerated or\n\
        quarantined in `.flakewise/quarantine.toml`. Nothing is installed in your environment.\n\
        Every attempt is recorded in the history.",
    after_help = "Examples:\n  \
        flakewise run -- pytest\n  \
        flakewise run --verify-base -- python -m pytest tests -q\n  \
        flakewise run --tolerate flaky --write junit=report.xml -- make test"
)]
pub(crate) struct RunArguments {
    #[command(flatten)]
    pub(crate) suite: SuiteArguments,
}

/// What `run` and `check` have in common.
#[derive(Debug, Args)]
pub(crate) struct SuiteArguments {
    /// Command that runs the tests, preferably after `--`
    #[arg(value_name = "COMMAND", trailing_var_arg = true, required = true)]
    pub(crate) command: Vec<std::ffi::OsString>,

    /// Revision to compare with [default: merge base with the main branch]
    #[arg(long, value_name = "REF", help_heading = "Change")]
    pub(crate) base: Option<String>,

    /// Also run failing tests on the base revision, in a temporary work tree
    #[arg(long, help_heading = "Change")]
    pub(crate) verify_base: bool,

    /// Exit with 0 if all failures are of this kind; pytest waits for the verdicts and adjusts its own exit code
    #[arg(long, value_name = "KIND", default_value = "nothing")]
    pub(crate) tolerate: Tolerated,

    #[command(flatten)]
    pub(crate) quarantine: QuarantineFileArguments,

    /// Forgive no quarantined failure
    #[arg(long, conflicts_with = "quarantine", help_heading = "Quarantine")]
    pub(crate) no_quarantine: bool,

    /// Time limit for each test, e.g. `90s` or `5m`
    #[arg(long, value_name = "TIME", default_value = "10m", value_parser = duration, help_heading = "Reruns")]
    pub(crate) test_timeout: Duration,

    /// Immediate reruns of a failing test, in the same process
    #[arg(long, value_name = "N", default_value_t = 1, help_heading = "Reruns")]
    pub(crate) rerun: u32,

    /// Reruns after the suite, in the same process
    #[arg(long, value_name = "N", default_value_t = 1, help_heading = "Reruns")]
    pub(crate) postpone: u32,

    /// Reruns in separate processes: forks, then one new process
    #[arg(long, value_name = "N", default_value_t = 2, help_heading = "Reruns")]
    pub(crate) separate: u32,

    /// Keep rerunning until the verdict reaches this confidence, e.g. 0.99
    #[arg(long, value_name = "P", value_parser = confidence, help_heading = "Reruns")]
    pub(crate) confidence: Option<f64>,

    /// Skip reruns if more than N distinct failures occur [default: 1 % of the tests, at least 10]
    #[arg(long, value_name = "N", help_heading = "Reruns")]
    pub(crate) max_failures: Option<u64>,

    /// Random seed [default: random]
    #[arg(long, value_name = "N", help_heading = "Reruns")]
    pub(crate) seed: Option<u64>,

    #[command(flatten)]
    pub(crate) record: RecordArguments,

    /// Also write this format to a file, e.g. `junit=report.xml`; may be repeated
    #[arg(long, value_name = "FORMAT=FILE", value_parser = written, help_heading = "Output")]
    pub(crate) write: Vec<(RunFormat, PathBuf)>,

    /// Output format; for formats other than text, the output of your command goes to stderr
    #[arg(long, value_name = "FORMAT", default_value = "text", help_heading = "Output")]
    pub(crate) format: RunFormat,

    /// Time budget for checking `reproduce:` commands before they are printed; 0 skips the check
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = duration_or_zero,
        help_heading = "Output")]
    pub(crate) reproduce_budget: Duration,
}

/// What may fail without turning the build red.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Tolerated {
    /// Every failure fails the build
    Nothing,
    /// Flaky tests whose failure was observed without this change, in the history or on the base revision (recommended)
    Known,
    /// Known flaky tests, and flaky tests that depend on nothing that changed
    Flaky,
}

fn written(text: &str) -> Result<(RunFormat, PathBuf), String> {
    let (format, file) =
        text.split_once('=').ok_or_else(|| "expected FORMAT=FILE, e.g. `junit=report.xml`".to_owned())?;
    Ok((RunFormat::from_str(format, true)?, PathBuf::from(file)))
}
