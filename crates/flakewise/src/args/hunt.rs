//! Arguments of `flakewise hunt`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use super::formats::FindingsFormat;
use super::shared::RecordArguments;
use super::values::{confidence, duration, positive, shard};

#[derive(Debug, Args)]
#[command(
    about = "Find flaky tests within a time budget",
    long_about = "Find flaky tests within a time budget.\n\n\
        Runs the suite once, then reruns single tests, each in its own process. It always\n\
        picks the test with the highest probability of showing both outcomes per second of\n\
        run time. These probabilities come from the source of the tests, the history and the\n\
        results of other tests in the same class.\n\n\
        Stops when the budget is exhausted or a stopping condition is met. Reports the tests\n\
        that passed and failed on the same code, how often the others ran consistently, and\n\
        the expected number of flaky tests that are still hidden.\n\n\
        Every run is recorded in the history, and the next hunt on the same commit continues\n\
        from there. Machines with a common history can split a hunt with `--shard`.",
    after_help = "Examples:\n  \
        flakewise hunt -- pytest\n  \
        flakewise hunt --budget 30m --hidden 0.5 -- python -m pytest tests\n  \
        flakewise hunt --shard 2/4 --store s3://acme-tests/history -- pytest"
)]
pub(crate) struct HuntArguments {
    /// Command that runs the tests, preferably after `--`
    #[arg(value_name = "COMMAND", trailing_var_arg = true, required = true)]
    pub(crate) command: Vec<std::ffi::OsString>,

    /// Time budget, e.g. `90s` or `30m`
    #[arg(long, value_name = "TIME", default_value = "10m", value_parser = duration, help_heading = "Stopping")]
    pub(crate) budget: Duration,

    /// Stop once every test is non-flaky with this confidence, e.g. 0.99
    #[arg(long, value_name = "P", value_parser = confidence, help_heading = "Stopping")]
    pub(crate) confidence: Option<f64>,

    /// Stop once fewer than N flaky tests are expected to be hidden
    #[arg(long, value_name = "N", value_parser = positive, help_heading = "Stopping")]
    pub(crate) hidden: Option<f64>,

    /// First run N shuffled orders; without N, as many as fit in a third of the budget
    #[arg(long, value_name = "N", num_args = 0..=1, require_equals = true, default_missing_value = "0",
        conflicts_with = "shard")]
    pub(crate) orders: Option<u32>,

    /// Number of parallel jobs [default: number of cores]
    #[arg(long, short, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    pub(crate) jobs: Option<u16>,

    /// Hunt only in this shard of the tests, e.g. `2/4`
    #[arg(long, value_name = "I/N", value_parser = shard)]
    pub(crate) shard: Option<flakewise_model::Shard>,

    /// First measure the behaviour of each test, and write it with the outcomes to this file
    #[arg(long, value_name = "FILE")]
    pub(crate) features: Option<PathBuf>,

    /// Number of measured runs of each test for `--features`
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=100))]
    pub(crate) measured_runs: u32,

    /// Time limit for each test
    #[arg(long, value_name = "TIME", default_value = "1m", value_parser = duration)]
    pub(crate) test_timeout: Duration,

    /// Model to use [default: `.flakewise/model` or the pretrained model]
    #[arg(long, value_name = "FILE")]
    pub(crate) model: Option<PathBuf>,

    /// Random seed [default: random]
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,

    #[command(flatten)]
    pub(crate) record: RecordArguments,

    /// Output format; for formats other than text, the output of your command goes to stderr
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub(crate) format: FindingsFormat,
}
