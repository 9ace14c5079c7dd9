//! Arguments of `flakewise show`.

use clap::Args;

use super::formats::SummaryFormat;
use super::shared::StoreArguments;

#[derive(Debug, Args)]
#[command(
    about = "Show the history of one test and the evidence",
    long_about = "Show the history of one test and the evidence.\n\n\
        Prints a strip of its latest outcomes, its failures in groups of the same cause, and\n\
        the evidence for and against calling it flaky.",
    after_help = "Examples:\n  flakewise show test_total\n  flakewise show 'tests/test_cart.py::test_total[3-4]'\n  flakewise show 7f3a12bc"
)]
pub(crate) struct ShowArguments {
    /// Test to show: its id, any unique part of it, or the id of a finding
    #[arg(value_name = "TEST")]
    pub(crate) test: String,

    #[command(flatten)]
    pub(crate) store: StoreArguments,

    /// Number of attempts to show, the latest ones
    #[arg(long, value_name = "N", default_value_t = 160)]
    pub(crate) steps: usize,

    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub(crate) format: SummaryFormat,
}
