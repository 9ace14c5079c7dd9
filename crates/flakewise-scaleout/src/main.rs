//! Queries a history on several machines: `flakewise` on Ballista.
//!
//! The statements are those of `flakewise-history`, and so is everything that judges their
//! answers. This program starts the processes of a cluster, and lends a history an
//! [engine](flakewise_history::engine) that sends statements there.

mod args;
mod cluster;

use std::fmt::Display;
use std::io::Write as _;
use std::net::{SocketAddr, TcpStream};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use ballista_core::error::BallistaError;
use clap::Parser as _;
use flakewise_history::{History, HistoryError, MaintainOptions, ReportOptions, StoreUrl};
use flakewise_report::{report_json, report_text, rows_csv, rows_json, rows_text};

use crate::args::{Arguments, Command, HistoryArguments, ReportFormat, RowsFormat};
use crate::cluster::{Cluster, serve_executor, serve_scheduler};

/// How long the scheduler may take to answer.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let level = if arguments.verbose { "info" } else { "off" };
    env_logger::Builder::new().parse_filters(level).init();
    match run(arguments.command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(anstream::stderr(), "error: {error}");
            ExitCode::from(2)
        }
    }
}

#[derive(Debug, thiserror::Error)]
enum Failure {
    #[error("{0}")]
    History(#[from] HistoryError),
    #[error("the {what} ended: {source}")]
    Ended { what: &'static str, source: BallistaError },
    #[error(
        "no scheduler at {address}: {source}\nhint: start one with `flakewise-scaleout scheduler --listen {address}`"
    )]
    NoScheduler { address: SocketAddr, source: std::io::Error },
    #[error(transparent)]
    Io(#[from] std::io::Error),
}

fn run(command: Command) -> Result<(), Failure> {
    match command {
        Command::Scheduler(arguments) => {
            let serving =
                serve_scheduler(&arguments, |address| say(format_args!("scheduler listening on {address}")));
            runtime()?.block_on(serving).map_err(|source| Failure::Ended { what: "scheduler", source })
        }
        Command::Executor(arguments) => {
            find_scheduler(arguments.scheduler)?;
            let temporary = tempfile::Builder::new().prefix("flakewise-executor-").tempdir()?;
            let scratch = arguments.scratch.clone().unwrap_or_else(|| temporary.path().to_owned());
            std::fs::create_dir_all(&scratch)?;
            let serving = serve_executor(&arguments, &scratch, |address, cores| {
                say(format_args!("executor with {cores} cores at {address}"));
            });
            runtime()?.block_on(serving).map_err(|source| Failure::Ended { what: "executor", source })
        }
        Command::Sql(arguments) => {
            let rows = history(&arguments.history)?.sql(&arguments.query, arguments.limit)?;
            print(&match arguments.format {
                RowsFormat::Text => rows_text(&rows),
                RowsFormat::Csv => rows_csv(&rows),
                RowsFormat::Json => rows_json(&rows),
            })?;
            if rows.truncated {
                let limit = arguments.limit;
                writeln!(
                    anstream::stderr(),
                    "warning: output limited to {limit} rows; pass `--limit` for more"
                )?;
            }
            Ok(())
        }
        Command::Report(arguments) => {
            let report = history(&arguments.history)?.report(&ReportOptions { days: arguments.days })?;
            print(&match arguments.format {
                ReportFormat::Text => report_text(&report, arguments.limit),
                ReportFormat::Json => report_json(&report),
            })?;
            Ok(())
        }
        Command::Maintain(arguments) => {
            let keep = Duration::from_secs(arguments.keep.saturating_mul(3600));
            let options = MaintainOptions { dry_run: false, keep, expire: None, expire_attempts: None };
            let history = history(&arguments.history)?;
            for summary in history.maintain(&options, &|_, _, _| {})? {
                print(&format!(
                    "{:<9} {} days merged, {} days rolled up, {} files removed\n",
                    summary.table, summary.days_compacted, summary.days_rolled_up, summary.files_removed
                ))?;
            }
            Ok(())
        }
    }
}

/// The history, read by a cluster.
fn history(arguments: &HistoryArguments) -> Result<History, Failure> {
    let store = StoreUrl::parse(&arguments.store)?;
    find_scheduler(arguments.scheduler)?;
    let cluster = Cluster { scheduler: arguments.scheduler, partitions: arguments.partitions };
    Ok(History::new(store, &arguments.project).on(Arc::new(cluster)))
}

/// Whether there is a scheduler, before anything else is tried.
fn find_scheduler(address: SocketAddr) -> Result<(), Failure> {
    TcpStream::connect_timeout(&address, CONNECT_TIMEOUT)
        .map(drop)
        .map_err(|source| Failure::NoScheduler { address, source })
}

fn runtime() -> std::io::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        // The engine's planner recurses deeply on wide queries.
        .thread_stack_size(32 << 20)
        .build()
}

fn print(text: &str) -> std::io::Result<()> {
    let mut out = anstream::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()
}

/// Prints a line for the parent process, which may not read it.
fn say(line: impl Display) {
    let _ = print(&format!("{line}\n"));
}
