//! Arguments of `flakewise reproduce`.

use clap::Args;

use super::search::SearchArguments;

#[derive(Debug, Args)]
#[command(
    about = "Find the shortest command that makes a test fail",
    long_about = "Find the shortest command that makes a test fail.\n\n\
        Takes the id of a finding from `run`, `hunt` or `report`, or a test. Searches for the\n\
        condition of the failure: none, other tests before it, or a hash seed. The result is\n\
        run in new processes to measure its failure rate, and printed as a plain command, or\n\
        as a loop that almost certainly fails at least once.",
    after_help = "Examples:\n  \
        flakewise reproduce 7f3a91c2 -- pytest\n  \
        flakewise reproduce test_total -- python -m pytest tests"
)]
pub(crate) struct ReproduceArguments {
    #[command(flatten)]
    pub(crate) search: SearchArguments,
}
