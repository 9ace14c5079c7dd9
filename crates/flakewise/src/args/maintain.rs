//! Arguments of `flakewise maintain`.

use clap::Args;

use super::shared::StoreArguments;

#[derive(Debug, Args)]
#[command(
    about = "Keep the history fast: merge small files, roll up days, remove unused files",
    long_about = "Keep the history fast: merge small files, roll up days, remove unused files.\n\n\
        Every ingest adds small files. This command merges the files of each day into one,\n\
        sorted by test, sums up each day in the table test_days, which report reads instead\n\
        of all attempts, and removes unreferenced files once they are old enough that no\n\
        reader needs them. It is safe to run at any time, concurrently with ingests and with\n\
        itself.",
    after_help = "Examples:\n  flakewise maintain --dry-run\n  flakewise maintain"
)]
pub(crate) struct MaintainArguments {
    #[command(flatten)]
    pub(crate) store: StoreArguments,

    /// Print what would be done without doing it
    #[arg(long)]
    pub(crate) dry_run: bool,

    /// Keep unreferenced files for this long, for concurrent readers and writers
    #[arg(long, value_name = "HOURS", default_value_t = 168, value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) keep: u64,
}
