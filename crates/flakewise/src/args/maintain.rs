//! Arguments of `flakewise maintain`.

use clap::Args;

use super::shared::StoreArguments;

#[derive(Debug, Args)]
#[command(
    about = "Keep the history fast: merge small files, roll up days, remove unused files",
    long_about = "Keep the history fast: merge small files, roll up days, remove unused files.\n\n\
        Commits what jobs left in the store with `--land` first, many results in one commit.\n\
        With `--follow` it continues to do so until it is stopped, and does the rest once an hour.\n\n\
        Every ingest adds small files. This command merges the files of each day into one,\n\
        sorted by test; days in a row with few results share a file. It sums up each day in the\n\
        table test_days, which report reads instead of all attempts, and removes unreferenced\n\
        files once they are old enough that no reader needs them. It is safe to run at any time,\n\
        concurrently with ingests and with itself.",
    after_help = "Examples:\n  flakewise maintain --dry-run\n  flakewise maintain\n  flakewise maintain --follow\n  flakewise maintain --expire 400 --expire-attempts 60"
)]
pub(crate) struct MaintainArguments {
    #[command(flatten)]
    pub(crate) store: StoreArguments,

    /// Print what would be done without doing it
    #[arg(long)]
    pub(crate) dry_run: bool,

    /// Commit landed results every few seconds until stopped
    #[arg(long, conflicts_with = "dry_run")]
    pub(crate) follow: bool,

    /// Pause between two looks for landed results, with `--follow`
    #[arg(long, value_name = "SECONDS", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) interval: u64,

    /// Remove results of days that are older than this, in steps of 32 days [default: keep all]
    #[arg(long, value_name = "DAYS", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) expire: Option<u32>,

    /// Remove attempts of days that are older than this, but keep what `report` and `show` say of these days [default: keep all]
    #[arg(long, value_name = "DAYS", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) expire_attempts: Option<u32>,

    /// Keep unreferenced files for this long, for concurrent readers and writers
    #[arg(long, value_name = "HOURS", default_value_t = 168, value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) keep: u64,
}
