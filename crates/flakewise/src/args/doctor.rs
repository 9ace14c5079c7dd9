//! Arguments of `flakewise doctor`.

use clap::Args;

use super::formats::SummaryFormat;
use super::quarantine::QuarantineFileArguments;
use super::shared::{SpoolArguments, StoreArguments};

#[derive(Debug, Args)]
#[command(
    about = "Check this machine and repository, and print what a bug report needs",
    long_about = "Check this machine and repository, and print what a bug report needs.\n\n\
        Checks the configuration, git and its history, Python and pytest, whether the agent\n\
        loads in them, the CI system, the store, the spool and the quarantine. To find Python\n\
        and pytest, it runs one test of its own with the command of the configuration file, or\n\
        the one that `flakewise init` would configure.\n\n\
        Exits with 21 if a check fails. Prints no credentials.",
    after_help = "Examples:\n  \
        flakewise doctor\n  \
        flakewise doctor -- .venv/bin/pytest\n  \
        flakewise doctor --format json"
)]
pub(crate) struct DoctorArguments {
    /// The command that runs the tests, after `--`
    #[arg(value_name = "COMMAND", last = true)]
    pub(crate) command: Vec<std::ffi::OsString>,

    #[command(flatten)]
    pub(crate) store: StoreArguments,

    #[command(flatten)]
    pub(crate) spool: SpoolArguments,

    #[command(flatten)]
    pub(crate) quarantine: QuarantineFileArguments,

    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub(crate) format: SummaryFormat,
}
