//! One history that grows: what another million attempts cost, and what each
//! command needs, at a million, ten million, a hundred million and, if wanted, a billion. Machines change their
//! speed, so the days that are measured go into a new history too, in turns.
//!
//! A log forgets ids of reports and names of files after a week, so days have to pass: the clock of all
//! processes is that of libfaketime, which is set forward by a day after each `maintain`.
//!
//! Then another history, in which no time passes: what an append costs if the log knows very many ids.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use flakewise_history::{History, StoreUrl};
use flakewise_model::Batch;
use tempfile::TempDir;

use crate::generate::{Generator, Scale};
use crate::measure::{Cost, header, own_cpu, ratio, run as measured, size_of};
use crate::{Options, Outcome};

const PROJECT: &str = "bench";
/// Which test is shown: one of those that run often.
const SHOWN: usize = 100;
/// How many appends are measured for each number of ids.
const APPENDS: usize = 20;

pub(crate) fn run(options: &Options, billion: bool) -> Outcome<()> {
    let calendar = Calendar::new()?;
    print!("{}", header("growth", options));
    // A day has half a million attempts, in CI's version 10,000.
    let (attempts_per_run, sizes): (usize, &[usize]) = match (options.short, billion) {
        (true, _) => (100, &[2, 10]),
        (false, false) => (5_000, &[2, 20, 200]),
        (false, true) => (5_000, &[2, 20, 200, 2000]),
    };
    let commits_per_day = 10;
    let scale = Scale {
        tests: 20_000,
        commits: sizes.last().unwrap_or(&0) * commits_per_day,
        runs_per_commit: 10,
        attempts_per_run: Some(attempts_per_run),
        commits_per_day,
    };
    let day_rows = commits_per_day * scale.runs_per_commit * attempts_per_run;
    let mut generator = Generator::new(scale, options.seed);
    let store = Store::new(&options.flakewise)?;
    println!(
        "days     of {day_rows} attempts in 10 appends, `maintain` after each; then the clock is set to the next\n"
    );
    println!(
        "               bytes per attempt     append      maintain              report          show             suggest"
    );
    println!(
        "attempts   files  rows  rolled up   CPU s  times  CPU s  times   MB    CPU s   MB   CPU s   MB   read    CPU s   MB"
    );
    let mut day = 0;
    for size in sizes {
        let (mut here, mut beside, mut memory) = (Spent::default(), Spent::default(), 0);
        let new = Store::new(&options.flakewise)?;
        while day < *size {
            let is_measured = *size - day <= 2;
            for commit in day * commits_per_day..(day + 1) * commits_per_day {
                let batches = generator.commit(commit);
                let append = store.append(&batches)?;
                if is_measured {
                    here.append += append;
                    beside.append += new.append(&batches)?;
                }
            }
            let maintain = store.command(&["maintain"])?;
            memory = memory.max(maintain.peak);
            if is_measured {
                here.maintain += maintain.cpu;
                beside.maintain += new.command(&["maintain"])?.cpu;
            }
            day += 1;
            calendar.set(day)?;
        }
        let rows = day * day_rows;
        let per_million = 1e6 / (2 * day_rows) as f64;
        let files = store.history.data_files()?;
        let bytes = size_of(&files.attempts);
        let report = store.command(&["report", "--format", "json"])?;
        let test = generator.test(SHOWN).as_str().to_owned();
        let show = store.command(&["show", &test, "--format", "json"])?;
        let suggest = store.command(&["quarantine", "suggest"])?;
        println!(
            "{rows:>10} {:>5}  {:>4.1}       {:>4.1}   {:>5.2}  {:>5.2}  {:>5.2}  {:>5.2}  {:>3}    {:>5.2}  {:>3}   {:>5.2}  {:>3}  {:>4.1} %   {:>5.2}  {:>3}",
            files.attempts.len() + files.test_days.len(),
            bytes as f64 / rows as f64,
            size_of(&files.test_days) as f64 / rows as f64,
            here.append.as_secs_f64() * per_million,
            here.append.as_secs_f64() / beside.append.as_secs_f64(),
            here.maintain.as_secs_f64() * per_million,
            here.maintain.as_secs_f64() / beside.maintain.as_secs_f64(),
            memory,
            report.cpu.as_secs_f64(),
            report.peak,
            show.cpu.as_secs_f64(),
            show.peak,
            100.0 * show.read as f64 / bytes as f64,
            suggest.cpu.as_secs_f64(),
            suggest.peak,
        );
    }
    println!(
        "\nfiles: of attempts and roll-ups; rows: of attempts; MB: the most memory of the process; read: bytes that\n\
         `show` read, log and footers included, in per cent of the attempts; suggest: `quarantine suggest`. Of\n\
         `append` and `maintain` the last two days count, for a million attempts. times: CPU time beside the same two\n\
         days in a new history, measured in turns."
    );
    ids(options)
}

/// What an append costs beside one to a new history, if this many reports came within a week.
fn ids(options: &Options) -> Outcome<()> {
    let (counts, results): (&[usize], usize) =
        if options.short { (&[100, 1_000], 100) } else { (&[1_000, 10_000, 100_000], 1_000) };
    println!("\nids in the log  append of {results} results: CPU ms  times");
    let last = counts.last().unwrap_or(&0);
    // All of them of one day. Those that are measured come after those that fill the log.
    let scale = |runs_per_commit, attempts| Scale {
        tests: 1_000,
        commits: 4 * last,
        runs_per_commit,
        attempts_per_run: Some(attempts),
        commits_per_day: 4 * last,
    };
    let mut filling = Generator::new(scale(1, 1), options.seed);
    let mut adding = Generator::new(scale(1, results), options.seed);
    let store = Store::new(&options.flakewise)?;
    let mut known = 0;
    for count in counts {
        // In one commit, so that the log has more ids, but hardly more files.
        let batches: Vec<Batch> = (known..*count).flat_map(|number| filling.commit(number)).collect();
        store.append(&batches)?;
        let new = Store::new(&options.flakewise)?;
        let (mut here, mut beside) = (Duration::ZERO, Duration::ZERO);
        // As many as write a checkpoint twice.
        for number in *count..*count + APPENDS {
            let batches = adding.commit(last + number);
            here += store.append(&batches)?;
            beside += new.append(&batches)?;
        }
        known = *count;
        println!(
            "{count:>14}  {:>35.1}  {:>5.2}",
            here.as_secs_f64() * 1e3 / APPENDS as f64,
            ratio(here, beside)
        );
    }
    Ok(())
}

/// Where libfaketime looks for what is added to the time.
const ADDED: &str = "FAKETIME_TIMESTAMP_FILE";

/// The clock of this process and all that it starts.
struct Calendar {
    added: PathBuf,
}

impl Calendar {
    /// Begins this process again if its clock is the real one.
    fn new() -> Outcome<Self> {
        if let Some(added) = std::env::var_os(ADDED) {
            return Ok(Self { added: added.into() });
        }
        let library = library()?;
        let folder = tempfile::tempdir()?;
        let calendar = Self { added: folder.path().join("added") };
        let command = |program: &Path| {
            let mut command = Command::new(program);
            command.env("LD_PRELOAD", &library).env(ADDED, &calendar.added);
            command.env("FAKETIME_CACHE_DURATION", "1").env("FAKETIME_DONT_FAKE_MONOTONIC", "1");
            command
        };
        calendar.set(1)?;
        let now = command(Path::new("date")).arg("+%s").output()?.stdout;
        let now: u64 = String::from_utf8(now)?.trim().parse()?;
        if now < SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs() + 86_000 {
            return Err("libfaketime does not set the clock".into());
        }
        calendar.set(0)?;
        let status = command(&std::env::current_exe()?).args(std::env::args_os().skip(1)).status()?;
        folder.close()?;
        std::process::exit(status.code().unwrap_or(1));
    }

    /// Sets it to this day. Processes that are running see it within a second.
    fn set(&self, day: usize) -> Outcome<()> {
        Ok(std::fs::write(&self.added, format!("+{day}d"))?)
    }
}

/// The library of Debian's package.
fn library() -> Outcome<PathBuf> {
    let mut folders = std::fs::read_dir("/usr/lib")?.filter_map(|entry| Some(entry.ok()?.path()));
    let library = folders.find_map(|folder| {
        Some(folder.join("faketime/libfaketimeMT.so.1")).filter(|library| library.exists())
    });
    Ok(library.ok_or("libfaketime is missing; install it with `apt-get install libfaketime`")?)
}

/// CPU time of two commands.
#[derive(Default)]
struct Spent {
    append: Duration,
    maintain: Duration,
}

/// A history in a folder of its own.
struct Store<'a> {
    flakewise: &'a Path,
    folder: TempDir,
    history: History,
}

impl<'a> Store<'a> {
    fn new(flakewise: &'a Path) -> Outcome<Self> {
        let folder = tempfile::tempdir()?;
        let url = folder.path().to_str().ok_or("the folder's name is not UTF-8")?;
        let history = History::new(StoreUrl::parse(url)?, PROJECT);
        Ok(Self { flakewise, folder, history })
    }

    /// Appends reports; the CPU time of that.
    fn append(&self, batches: &[Batch]) -> Outcome<Duration> {
        let before = own_cpu()?;
        self.history.append(batches)?;
        Ok(own_cpu()?.saturating_sub(before))
    }

    /// Runs a command on the store.
    fn command(&self, arguments: &[&str]) -> Outcome<Cost> {
        let mut command = Command::new(self.flakewise);
        command.args(arguments).arg("--store").arg(self.folder.path()).args(["--project", PROJECT]);
        Ok(measured(&mut command)?.0)
    }
}
