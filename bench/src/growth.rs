//! One history that grows: what another million attempts cost, and what each
//! command needs, at a million, ten million and a hundred million. Machines change their
//! speed, so the days that are measured go into a new history too, in turns.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use flakewise_history::{History, StoreUrl};
use flakewise_model::Batch;
use tempfile::TempDir;

use crate::generate::{Generator, Scale};
use crate::measure::{Cost, header, own_cpu, run as measured, size_of};
use crate::{Options, Outcome};

const PROJECT: &str = "bench";
/// Which test is shown: one of those that run often.
const SHOWN: usize = 100;

pub(crate) fn run(options: &Options) -> Outcome<()> {
    print!("{}", header("growth", options));
    // A day has half a million attempts, in CI's version 10,000.
    let (attempts_per_run, sizes): (usize, &[usize]) =
        if options.short { (100, &[2, 10]) } else { (5_000, &[2, 20, 200]) };
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
    println!("days     of {day_rows} attempts in 10 appends, `maintain` after each\n");
    println!(
        "              bytes per attempt     append      maintain              report          show             suggest"
    );
    println!(
        "attempts  files  rows  rolled up   CPU s  times  CPU s  times   MB    CPU s   MB   CPU s   MB   read    CPU s   MB"
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
            "{rows:>9} {:>5}  {:>4.1}       {:>4.1}   {:>5.2}  {:>5.2}  {:>5.2}  {:>5.2}  {:>3}    {:>5.2}  {:>3}   {:>5.2}  {:>3}  {:>4.1} %   {:>5.2}  {:>3}",
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
    Ok(())
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
