//! Arguments of `flakewise report`.

use std::path::PathBuf;

use clap::Args;

use super::formats::FindingsFormat;
use super::quarantine::{OwnersArguments, QuarantineFileArguments};
use super::shared::StoreArguments;

#[derive(Debug, Args)]
#[command(
    about = "List flaky tests by cost",
    long_about = "List flaky tests by cost, the costliest first.\n\n\
        A test that passed and failed on the same commit in the same environment is flaky:\n\
        that is proof. Without proof, a test is listed as probably flaky if code changes\n\
        explain its changing outcomes badly; the failure rate alone decides nothing. Runs in\n\
        which most tests failed are outages and prove nothing.",
    after_help = "Examples:\n  flakewise report\n  flakewise report --days 14 --format markdown >> \"$GITHUB_STEP_SUMMARY\"\n  flakewise report --days 90 --html flaky.html"
)]
pub(crate) struct ReportArguments {
    #[command(flatten)]
    pub(crate) store: StoreArguments,

    /// Only consider the last N days before the newest attempt [default: all]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) days: Option<u32>,

    /// Maximum number of tests to list
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub(crate) limit: usize,

    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub(crate) format: FindingsFormat,

    /// Write one self-contained page with charts, a table and a section per test
    #[arg(long, value_name = "FILE", conflicts_with_all = ["format", "limit"])]
    pub(crate) html: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) quarantine: QuarantineFileArguments,

    #[command(flatten)]
    pub(crate) owners: OwnersArguments,
}
