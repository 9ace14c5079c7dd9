//! Arguments of `flakewise quarantine`.

use std::path::PathBuf;

use chrono::NaiveDate;
use clap::{Args, Subcommand, ValueEnum};
use flakewise_quarantine::Limits;

use super::formats::SummaryFormat;
use super::shared::StoreArguments;

#[derive(Debug, Args)]
#[command(
    about = "Forgive known failures of flaky tests until a last day",
    long_about = "Forgive known failures of flaky tests until a last day.\n\n\
        The quarantine is a file in git, `.flakewise/quarantine.toml`. Quarantined tests still\n\
        run and are recorded, but the failures that their entry lists do not fail the build of\n\
        `flakewise run`. Another failure of the test does, and so does every failure once the\n\
        entry has expired: then its owner is named.",
    after_help = "Examples:\n  \
        flakewise quarantine add tests/test_pay.py::test_card --fingerprint 96e8a9db01234567\n  \
        flakewise quarantine list\n  \
        flakewise quarantine check -- pytest\n  \
        flakewise quarantine release tests/test_pay.py::test_card"
)]
pub(crate) struct QuarantineArguments {
    #[command(subcommand)]
    pub(crate) command: QuarantineCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum QuarantineCommand {
    Add(Box<QuarantineAddArguments>),
    List(QuarantineListArguments),
    Check(QuarantineCheckArguments),
    Release(QuarantineReleaseArguments),
    Suggest(QuarantineSuggestArguments),
}

/// Where the quarantine is and what it may not exceed.
#[derive(Debug, Args)]
pub(crate) struct QuarantineFileArguments {
    /// Quarantine file [default: `.flakewise/quarantine.toml` at the root of the repository]
    #[arg(long, value_name = "FILE", env = "FLAKEWISE_QUARANTINE", help_heading = "Quarantine")]
    pub(crate) quarantine: Option<PathBuf>,

    /// Allow at most N quarantine entries
    #[arg(
        long,
        value_name = "N",
        env = "FLAKEWISE_MAX_QUARANTINED",
        default_value_t = Limits::default().max_entries,
        help_heading = "Quarantine"
    )]
    pub(crate) max_quarantined: usize,

    /// End every quarantine N days after its first day at the latest
    #[arg(
        long,
        value_name = "N",
        env = "FLAKEWISE_MAX_QUARANTINE_DAYS",
        default_value_t = Limits::default().max_days,
        help_heading = "Quarantine"
    )]
    pub(crate) max_quarantine_days: u32,

    /// Date to compare last days with [default: today in UTC]
    #[arg(long, value_name = "DATE", env = "FLAKEWISE_TODAY", hide = true)]
    pub(crate) today: Option<NaiveDate>,
}

/// Where owners of tests are listed.
#[derive(Debug, Args)]
pub(crate) struct OwnersArguments {
    /// CODEOWNERS file [default: that of the repository]
    #[arg(long, value_name = "FILE", help_heading = "Quarantine")]
    pub(crate) codeowners: Option<PathBuf>,
}

#[derive(Debug, Args)]
#[command(
    about = "Quarantine a test",
    long_about = "Quarantine a test.\n\n\
        Only the failures that the entry lists are forgiven. They are those of `--fingerprint`,\n\
        as `flakewise run --format json` shows them, or else those in the history. The owner\n\
        comes from CODEOWNERS unless `--owner` names one.",
    after_help = "Examples:\n  \
        flakewise quarantine add tests/test_pay.py::test_card --reason 'the sandbox drops connections'\n  \
        flakewise quarantine add tests/test_pay.py::test_card --fingerprint 96e8a9db01234567 --days 7\n  \
        flakewise quarantine add --pattern 'pytest:tests/browser/**' --any-failure --owner @acme/web"
)]
pub(crate) struct QuarantineAddArguments {
    /// Test id, or the test as pytest names it, such as `tests/test_cart.py::test_total`
    #[arg(value_name = "TEST")]
    pub(crate) test: String,

    /// Read TEST as a pattern of test ids, in which `*` stays within a name and `**` does not
    #[arg(long)]
    pub(crate) pattern: bool,

    /// Why it is quarantined
    #[arg(long, value_name = "TEXT", default_value = "flaky")]
    pub(crate) reason: String,

    /// Who is to fix it [default: from CODEOWNERS]
    #[arg(long, value_name = "NAME")]
    pub(crate) owner: Option<String>,

    /// Link to the issue that tracks it
    #[arg(long, value_name = "URL")]
    pub(crate) issue: Option<String>,

    /// End the quarantine N days after today [default: 14]
    #[arg(long, value_name = "N", conflicts_with = "until")]
    pub(crate) days: Option<u32>,

    /// Last day of the quarantine, such as 2026-12-31
    #[arg(long, value_name = "DATE")]
    pub(crate) until: Option<NaiveDate>,

    /// Forgive failures with this fingerprint; may be repeated [default: those in the history]
    #[arg(long = "fingerprint", value_name = "HEX", conflicts_with = "any_failure")]
    pub(crate) fingerprints: Vec<String>,

    /// Forgive any failure except regressions, crashes and time-outs
    #[arg(long)]
    pub(crate) any_failure: bool,

    /// Whether the test runs
    #[arg(long, value_name = "MODE", default_value = "run")]
    pub(crate) mode: QuarantineMode,

    #[command(flatten)]
    pub(crate) file: QuarantineFileArguments,

    #[command(flatten)]
    pub(crate) owners: OwnersArguments,

    #[command(flatten)]
    pub(crate) store: StoreArguments,
}

/// What happens to a quarantined test.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum QuarantineMode {
    /// It runs and is recorded
    Run,
    /// It is skipped until the last day
    Skip,
}

#[derive(Debug, Args)]
#[command(
    about = "List quarantined tests, what expires next first",
    long_about = "List quarantined tests, what expires next first.",
    after_help = "Examples:\n  \
        flakewise quarantine list\n  \
        flakewise quarantine list --format json"
)]
pub(crate) struct QuarantineListArguments {
    #[command(flatten)]
    pub(crate) file: QuarantineFileArguments,

    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub(crate) format: SummaryFormat,
}

#[derive(Debug, Args)]
#[command(
    about = "Check the quarantine file, for CI",
    long_about = "Check the quarantine file, for CI.\n\n\
        Fails if the file is malformed, if an entry has expired, lasts too long, begins in the\n\
        future or is for a test that does not exist, and if there are too many entries. With\n\
        your test command after `--`, tests are collected to see which exist; without it, a\n\
        pytest test exists if its file contains its name.",
    after_help = "Examples:\n  \
        flakewise quarantine check\n  \
        flakewise quarantine check -- pytest"
)]
pub(crate) struct QuarantineCheckArguments {
    /// Command that runs all tests, to collect them, after `--`
    #[arg(value_name = "COMMAND", trailing_var_arg = true)]
    pub(crate) command: Vec<std::ffi::OsString>,

    #[command(flatten)]
    pub(crate) file: QuarantineFileArguments,
}

#[derive(Debug, Args)]
#[command(
    about = "Remove a test from the quarantine",
    long_about = "Remove a test from the quarantine.\n\n\
        From then on each of its failures fails the build. `flakewise quarantine suggest` says\n\
        which tests have passed often enough.",
    after_help = "Examples:\n  \
        flakewise quarantine release tests/test_pay.py::test_card\n  \
        flakewise quarantine release 'pytest:tests/browser/**'"
)]
pub(crate) struct QuarantineReleaseArguments {
    /// Test id or pattern of the entry, or any unambiguous part of it
    #[arg(value_name = "TEST")]
    pub(crate) test: String,

    #[command(flatten)]
    pub(crate) file: QuarantineFileArguments,
}

#[derive(Debug, Args)]
#[command(
    about = "Suggest what to quarantine and what to release, from the history",
    long_about = "Suggest what to quarantine and what to release, from the history.\n\n\
        Tests that passed and failed on the same code are suggested for quarantine, the\n\
        costliest first. A quarantined test is suggested for release once it has passed so often\n\
        since its last failure that its old flake rate is refuted with 95 % confidence: a test\n\
        that rarely fails needs more clean runs than one that often does.",
    after_help = "Examples:\n  \
        flakewise quarantine suggest\n  \
        flakewise quarantine suggest --days 30 --format json"
)]
pub(crate) struct QuarantineSuggestArguments {
    /// Only consider flakes of the last N days
    #[arg(long, value_name = "N", default_value_t = 90)]
    pub(crate) days: u32,

    #[command(flatten)]
    pub(crate) file: QuarantineFileArguments,

    #[command(flatten)]
    pub(crate) owners: OwnersArguments,

    #[command(flatten)]
    pub(crate) store: StoreArguments,

    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub(crate) format: SummaryFormat,
}
