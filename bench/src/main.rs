//! Long demonstrations, as commands anyone can run: `bench/rows`,
//! `bench/growth`, `bench/ingest`, `bench/storm`, `bench/size`, `bench/changes`. Each prints what it measured
//! with date and machine; `--short` is the version that CI runs, so that none
//! of them can rot.
#![expect(clippy::print_stdout, reason = "printing is what these commands are for")]

mod changes;
mod generate;
mod growth;
mod ingest;
mod measure;
mod rows;
mod size;
mod storm;

use std::path::PathBuf;

use clap::{Parser, Subcommand};

/// That of `flakewise`, so that the yardsticks have the same.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Long demonstrations of Flakewise
#[derive(Parser)]
struct Arguments {
    /// The binary to measure; the one beside this one by default
    #[arg(long, global = true)]
    flakewise: Option<PathBuf>,
    /// A small version, for CI
    #[arg(long, global = true)]
    short: bool,
    /// Where everything random begins
    #[arg(long, global = true, default_value_t = 20_261_115)]
    seed: u64,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Ten million attempts: the report against bare DataFusion, and what `show` reads
    Rows {
        /// Keep the table in this folder, and use the one that is there
        #[arg(long)]
        folder: Option<PathBuf>,
    },
    /// A history that grows to a hundred million attempts: what another million costs, and the commands
    Growth {
        /// Go on to a billion, which takes hours and 12 GB in the folder for temporary files
        #[arg(long)]
        billion: bool,
    },
    /// From XML to a committed table against parsing the XML alone
    Ingest,
    /// Many processes at once, and processes killed at random moments
    Storm,
    /// Size and start-up of the binary
    Size,
    /// Which commits changed a failure rate, and false alarms
    Changes,
    /// The report's queries on bare files; run by `rows`
    #[command(hide = true)]
    Bare {
        /// The list of files, as `rows` wrote it
        list: PathBuf,
        /// Name failing tests and outages, as a report does
        #[arg(long)]
        named: bool,
    },
    /// Fills a folder with the table of `rows`; run by bench/engines
    #[command(hide = true)]
    Fill {
        /// The folder
        folder: PathBuf,
    },
    /// A statement on bare files; run by bench/engines
    #[command(hide = true)]
    BareSql {
        /// The statement, on `attempts`
        query: String,
        /// The files of `attempts`
        files: Vec<PathBuf>,
    },
    /// A bare pass over XML files; run by `ingest`
    #[command(hide = true)]
    BareXml {
        /// The folder with the reports
        folder: PathBuf,
    },
}

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

fn main() -> Outcome<()> {
    let arguments = Arguments::parse();
    let beside = || -> Outcome<PathBuf> {
        let own = std::env::current_exe()?;
        Ok(own.with_file_name("flakewise"))
    };
    let flakewise = arguments.flakewise.clone().map_or_else(beside, Ok)?;
    let options = Options { flakewise, short: arguments.short, seed: arguments.seed };
    match arguments.command {
        Command::Rows { folder } => rows::run(&options, folder),
        Command::Growth { billion } => growth::run(&options, billion),
        Command::Ingest => ingest::run(&options),
        Command::Storm => storm::run(&options),
        Command::Size => size::run(&options),
        Command::Changes => changes::run(&options),
        Command::Bare { list, named } => rows::bare(&list, named),
        Command::Fill { folder } => rows::fill_folder(&options, &folder),
        Command::BareSql { query, files } => {
            println!("{}", flakewise_history::bare::bare_sql(&files, &query)?);
            Ok(())
        }
        Command::BareXml { folder } => ingest::bare(&folder),
    }
}

/// What every demonstration needs to know.
struct Options {
    flakewise: PathBuf,
    short: bool,
    seed: u64,
}
