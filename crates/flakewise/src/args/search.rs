//! Arguments that `culprit` and `reproduce` share.

use std::time::Duration;

use clap::Args;

use super::formats::SummaryFormat;
use super::shared::StoreArguments;
use super::values::duration;

/// A test to look into, and how.
#[derive(Debug, Args)]
pub(crate) struct SearchArguments {
    /// Test to examine: the id of a finding, its name in your runner, or the end of that name
    #[arg(value_name = "TEST")]
    pub(crate) test: String,

    /// Command that runs the tests, after `--`
    #[arg(value_name = "COMMAND", last = true, required = true)]
    pub(crate) command: Vec<std::ffi::OsString>,

    /// Time budget, counted from the end of test collection
    #[arg(long, value_name = "TIME", default_value = "1m", value_parser = duration)]
    pub(crate) budget: Duration,

    /// Number of parallel jobs [default: number of cores]
    #[arg(long, short, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    pub(crate) jobs: Option<u16>,

    /// Time limit for each test
    #[arg(long, value_name = "TIME", default_value = "1m", value_parser = duration)]
    pub(crate) test_timeout: Duration,

    /// Random seed [default: random]
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,

    #[command(flatten)]
    pub(crate) store: StoreArguments,

    /// Output format; for formats other than text, the output of your command goes to stderr
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub(crate) format: SummaryFormat,
}
