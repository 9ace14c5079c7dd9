//! Arguments of `flakewise culprit`.

use clap::Args;

use super::search::SearchArguments;

#[derive(Debug, Args)]
#[command(
    about = "Find the tests that another test depends on",
    long_about = "Find the tests that another test depends on.\n\n\
        For a test that fails in the suite and passes alone, or vice versa. Runs the test\n\
        alone, finds an order in which its outcome changes, and reduces the tests before it to\n\
        the necessary ones: polluters that make it fail, or state-setters that it needs to\n\
        pass. The search runs in forks of one process, which take milliseconds each. The\n\
        result is confirmed in new processes and printed with a command that reproduces it.\n\n\
        Orders in which the test failed before are taken from the history. If the search is\n\
        interrupted, the same command resumes it, unless a tracked file or the code changed.",
    after_help = "Examples:\n  \
        flakewise culprit test_total -- pytest\n  \
        flakewise culprit --all tests/test_cart.py::test_total -- python -m pytest tests"
)]
pub(crate) struct CulpritArguments {
    #[command(flatten)]
    pub(crate) search: SearchArguments,

    /// Find all culprits, and the tests that undo their effect
    #[arg(long)]
    pub(crate) all: bool,
}
