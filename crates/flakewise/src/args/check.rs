//! Arguments of `flakewise check`.

use std::path::PathBuf;

use clap::Args;

use super::run::SuiteArguments;
use super::values::{positive_or_zero, rate};

#[derive(Debug, Args)]
#[command(
    about = "Check a pull request: run the tests, and rerun new and changed ones",
    long_about = "Check a pull request: run the tests, and rerun new and changed ones.\n\n\
        Does what `flakewise run` does and looks for flaky tests that the change would add.\n\
        New and changed tests that pass are rerun until a test that fails in 10 % of runs would\n\
        have failed with a probability of 99.9 %, or until the time for reruns is over: by\n\
        default 25 % of the time of the suite, at least 2 seconds. Those with the highest\n\
        predicted risk for their duration come first.\n\n\
        The exit code is that of your command, or 1 if a new or changed test turns out to be\n\
        flaky and is neither tolerated nor quarantined. As Markdown, the result is one comment\n\
        of a pull request; its first line is a marker by which it can be found and updated.",
    after_help = "Examples:\n  \
        flakewise check -- pytest\n  \
        flakewise check --share 0.5 --detect 0.05 -- pytest -q tests\n  \
        flakewise check --write markdown=comment.md -- pytest"
)]
pub(crate) struct CheckArguments {
    #[command(flatten)]
    pub(crate) suite: SuiteArguments,

    /// Time for reruns of new and changed tests, as a share of the suite's; 0 reruns none
    #[arg(long, value_name = "FRACTION", default_value = "0.25", value_parser = positive_or_zero,
        help_heading = "New and changed tests")]
    pub(crate) share: f64,

    /// Failure rate of the flaky tests to find, e.g. 0.05
    #[arg(long, value_name = "RATE", default_value = "0.1", value_parser = rate,
        help_heading = "New and changed tests")]
    pub(crate) detect: f64,

    /// Model that predicts their risk [default: `.flakewise/model` or the pretrained model]
    #[arg(long, value_name = "FILE", help_heading = "New and changed tests")]
    pub(crate) model: Option<PathBuf>,
}
