//! What the command line says.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

#[derive(Debug, Parser)]
#[command(
    name = "flakewise-scaleout",
    version,
    about = "Query a Flakewise history on several machines",
    long_about = "Query a Flakewise history on several machines.\n\n\
        A scheduler divides a query into tasks, and executors run them. All of them read the\n\
        tables from the bucket, with credentials from their own environment. The answers are those\n\
        of `flakewise`, which needs none of this: start a cluster when one machine is too slow.\n\n\
        Anyone who reaches the scheduler or an executor can read what they can read: there are no\n\
        passwords. Keep them in a private network.",
    after_help = "Examples:\n  \
        flakewise-scaleout scheduler --listen 10.0.0.1:50050\n  \
        flakewise-scaleout executor --scheduler 10.0.0.1:50050 --listen 10.0.0.2:50051\n  \
        flakewise-scaleout report --scheduler 10.0.0.1:50050 --store s3://acme-ci/flakewise --project acme/shop"
)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,

    /// Print what the cluster does to standard error
    #[arg(long, short, global = true)]
    pub(crate) verbose: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Start a scheduler, which divides queries into tasks
    Scheduler(SchedulerArguments),
    /// Start an executor, which runs tasks
    Executor(ExecutorArguments),
    /// Query the history with SQL, as `flakewise sql`
    Sql(SqlArguments),
    /// List flaky tests by cost, as `flakewise report`
    Report(ReportArguments),
    /// Merge small files, roll up days and remove unused files, as `flakewise maintain`
    #[command(
        long_about = "Merge small files, roll up days and remove unused files, as `flakewise maintain`.\n\n\
            The cluster reads the attempts of several days at the same time. This process merges\n\
            files, packs and writes the roll-ups and commits them."
    )]
    Maintain(MaintainArguments),
}

#[derive(Debug, Args)]
pub(crate) struct SchedulerArguments {
    /// Address to listen on; port 0 takes a free one
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:50050")]
    pub(crate) listen: SocketAddr,

    /// Give the tasks of an executor to others after this long without a sign of life
    #[arg(long, value_name = "SECONDS", default_value_t = 20, value_parser = clap::value_parser!(u64).range(8..))]
    pub(crate) executor_timeout: u64,
}

#[derive(Debug, Args)]
pub(crate) struct ExecutorArguments {
    /// Address of the scheduler
    #[arg(long, value_name = "ADDRESS", env = "FLAKEWISE_SCHEDULER", default_value = "127.0.0.1:50050")]
    pub(crate) scheduler: SocketAddr,

    /// Address at which other executors reach this one; port 0 takes a free one
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:50051")]
    pub(crate) listen: SocketAddr,

    /// Tasks to run at the same time [default: the number of cores]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) cores: Option<u16>,

    /// Memory for sorting and grouping; beyond it, tasks use disk [default: 70 % of the machine's]
    #[arg(long, value_name = "MB", value_parser = clap::value_parser!(u64).range(64..))]
    pub(crate) memory: Option<u64>,

    /// Directory for intermediate results [default: a temporary one]
    #[arg(long, value_name = "DIR")]
    pub(crate) scratch: Option<PathBuf>,
}

/// Which history, and who reads it.
#[derive(Debug, Args)]
pub(crate) struct HistoryArguments {
    /// Address of the scheduler
    #[arg(long, value_name = "ADDRESS", env = "FLAKEWISE_SCHEDULER", default_value = "127.0.0.1:50050")]
    pub(crate) scheduler: SocketAddr,

    /// Bucket of the history, or a directory that all machines share
    #[arg(long, value_name = "URL", env = "FLAKEWISE_STORE")]
    pub(crate) store: String,

    /// Project name, e.g. `acme/shop`
    #[arg(long, value_name = "NAME", env = "FLAKEWISE_PROJECT")]
    pub(crate) project: String,

    /// Tasks to divide a table into; use the number of cores of all executors
    #[arg(long, value_name = "N", default_value_t = 16, value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) partitions: u16,
}

#[derive(Debug, Args)]
pub(crate) struct SqlArguments {
    /// SQL query; the tables are those of `flakewise sql`
    #[arg(value_name = "QUERY")]
    pub(crate) query: String,

    #[command(flatten)]
    pub(crate) history: HistoryArguments,

    /// Maximum number of rows to print
    #[arg(long, value_name = "N", default_value_t = 1000)]
    pub(crate) limit: usize,

    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub(crate) format: RowsFormat,
}

#[derive(Debug, Args)]
pub(crate) struct ReportArguments {
    #[command(flatten)]
    pub(crate) history: HistoryArguments,

    /// Only the last N days [default: everything]
    #[arg(long, value_name = "N")]
    pub(crate) days: Option<u32>,

    /// Maximum number of tests to print; `--format json` has all
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub(crate) limit: usize,

    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub(crate) format: ReportFormat,
}

#[derive(Debug, Args)]
pub(crate) struct MaintainArguments {
    #[command(flatten)]
    pub(crate) history: HistoryArguments,

    /// Keep unreferenced files for this long, for concurrent readers and writers
    #[arg(long, value_name = "HOURS", default_value_t = 168, value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) keep: u64,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum RowsFormat {
    Text,
    Csv,
    Json,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum ReportFormat {
    Text,
    Json,
}
