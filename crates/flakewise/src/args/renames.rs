//! Arguments of `flakewise renames`.

use clap::{Args, Subcommand};

use super::formats::SummaryFormat;
use super::shared::StoreArguments;

#[derive(Debug, Args)]
#[command(
    about = "Let the history follow tests that were renamed or moved",
    long_about = "Let the history follow tests that were renamed or moved.\n\n\
        `flakewise run` and `flakewise ingest` compare every commit of the main branch with the\n\
        one recorded before it. A test that is gone and a test that is new are the same test\n\
        if their source is alike and no other test comes close. The decision is stored in the\n\
        history; attempts, verdicts, labels and quarantine then follow the test. No row is\n\
        changed, so that a wrong decision can be undone.",
    after_help = "Examples:\n  \
        flakewise renames list\n  \
        flakewise renames find --from v1.0 --dry-run\n  \
        flakewise renames add tests/test_a.py::test_old tests/test_b.py::test_new\n  \
        flakewise renames undo tests/test_a.py::test_old"
)]
pub(crate) struct RenamesArguments {
    #[command(subcommand)]
    pub(crate) command: RenamesCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum RenamesCommand {
    List(RenamesListArguments),
    Find(RenamesFindArguments),
    Add(RenamesAddArguments),
    Undo(RenamesUndoArguments),
}

#[derive(Debug, Args)]
#[command(
    about = "List renamed tests",
    long_about = "List renamed tests.\n\n\
        Prints every rename in force, the latest first, with the commit it was found in. JSON has all\n\
        decisions, those that were undone included.",
    after_help = "Examples:\n  flakewise renames list\n  flakewise renames list --format json"
)]
pub(crate) struct RenamesListArguments {
    #[command(flatten)]
    pub(crate) store: StoreArguments,

    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub(crate) format: SummaryFormat,
}

#[derive(Debug, Args)]
#[command(
    about = "Find renamed tests between two commits",
    long_about = "Find renamed tests between two commits.\n\n\
        Compares the tests of two commits and stores what it finds in the history. Use it for commits\n\
        that no run was recorded for, or where the clone was too shallow to compare. Python, Java,\n\
        JavaScript and TypeScript are compared.",
    after_help = "Examples:\n  \
        flakewise renames find --from v1.0\n  \
        flakewise renames find --from 3f2a1bc --to 9d8c7ba --dry-run"
)]
pub(crate) struct RenamesFindArguments {
    /// Earlier commit
    #[arg(long, value_name = "COMMIT")]
    pub(crate) from: String,

    /// Later commit
    #[arg(long, value_name = "COMMIT", default_value = "HEAD")]
    pub(crate) to: String,

    /// Only print what is found
    #[arg(long)]
    pub(crate) dry_run: bool,

    #[command(flatten)]
    pub(crate) store: StoreArguments,

    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub(crate) format: SummaryFormat,
}

#[derive(Debug, Args)]
#[command(
    about = "Say that a test was renamed",
    long_about = "Say that a test was renamed.\n\n\
        For a test whose source changed too much to be recognised.",
    after_help = "Examples:\n  flakewise renames add tests/test_a.py::test_old tests/test_b.py::test_new"
)]
pub(crate) struct RenamesAddArguments {
    /// Id of the test before
    #[arg(value_name = "FORMER")]
    pub(crate) former: String,

    /// Id of the test now
    #[arg(value_name = "TEST")]
    pub(crate) test: String,

    #[command(flatten)]
    pub(crate) store: StoreArguments,
}

#[derive(Debug, Args)]
#[command(
    about = "Separate a test from its former id",
    long_about = "Separate a test from its former id.\n\n\
        The attempts under the former id are those of a test of their own again. The same two ids are\n\
        not found again; `flakewise renames add` joins them again.",
    after_help = "Examples:\n  flakewise renames undo tests/test_a.py::test_old"
)]
pub(crate) struct RenamesUndoArguments {
    /// Id of the test before
    #[arg(value_name = "FORMER")]
    pub(crate) former: String,

    #[command(flatten)]
    pub(crate) store: StoreArguments,
}
