//! Arguments of `flakewise debug`.

use clap::{Args, Subcommand};

/// Internal views, for work on Flakewise itself.
#[derive(Debug, Subcommand)]
pub(crate) enum DebugCommand {
    Meetings(MeetingsArguments),
    Pairs(PairsArguments),
}

#[derive(Debug, Args)]
#[command(
    about = "Run every ordered pair of tests and print which outcomes change, as JSON",
    long_about = "Run every ordered pair of tests and print which outcomes change, as JSON.\n\n\
        Starts one fork per pair.",
    after_help = "Examples:\n  flakewise debug pairs -- pytest tests"
)]
pub(crate) struct PairsArguments {
    /// Command that runs the tests, after `--`
    #[arg(value_name = "COMMAND", last = true, required = true)]
    pub(crate) command: Vec<std::ffi::OsString>,

    /// Number of parallel jobs [default: number of cores]
    #[arg(long, short, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    pub(crate) jobs: Option<u16>,
}

#[derive(Debug, Args)]
#[command(
    about = "Print how each test depends on the change, as JSON",
    long_about = "Print how each test depends on the change, as JSON.",
    after_help = "Examples:\n  flakewise debug meetings --base HEAD^ -- pytest"
)]
pub(crate) struct MeetingsArguments {
    /// Command that runs the tests, after `--`
    #[arg(value_name = "COMMAND", last = true, required = true)]
    pub(crate) command: Vec<std::ffi::OsString>,

    /// Revision to compare with [default: merge base with the main branch]
    #[arg(long, value_name = "REF")]
    pub(crate) base: Option<String>,
}
