//! One history that grows: what another million attempts cost, and what each
//! command needs, at a million, ten million and a hundred million. Machines change their
//! speed, so the same days go into a new history at the same time.

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use flakewise_history::{History, StoreUrl};
use flakewise_model::Batch;

use crate::generate::{Generator, Scale};
use crate::measure::{Cost, header, own_cpu, run as measured, size_of};
use crate::{Options, Outcome};

const PROJECT: &str = "bench";
/// Which test is shown: one of those that run often.
const SHOWN: usize = 100;

pub(crate) fn run(options: &Options) -> Outcome<()> {
    print!("{}", header("growth", options));
    let scratch = tempfile::tempdir()?;
    let store = scratch.path().join("history").to_str().ok_or("the folder's name is not UTF-8")?.to_owned();
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
    let history = History::new(StoreUrl::parse(&store)?, PROJECT);
    let mut growth =
        Growth { flakewise: &options.flakewise, store, generator: Generator::new(scale, options.seed) };
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
        let folder = tempfile::tempdir()?;
        let new_store = folder.path().to_str().ok_or("the folder's name is not UTF-8")?.to_owned();
        let new = History::new(StoreUrl::parse(&new_store)?, PROJECT);
        while day < *size {
            let is_measured = *size - day <= 2;
            let (mut append, mut append_to_new) = (Duration::ZERO, Duration::ZERO);
            for commit in day * commits_per_day..(day + 1) * commits_per_day {
                let batches = growth.generator.commit(commit);
                append += cpu_of_append(&history, &batches)?;
                if is_measured {
                    append_to_new += cpu_of_append(&new, &batches)?;
                }
            }
            let maintained = growth.command(&growth.store, &["maintain"])?;
            memory = memory.max(maintained.peak);
            if is_measured {
                here.add(append, maintained.cpu);
                beside.add(append_to_new, growth.command(&new_store, &["maintain"])?.cpu);
            }
            day += 1;
        }
        let rows = day * day_rows;
        let per_million = 1e6 / (2 * day_rows) as f64;
        let files = history.data_files()?;
        let bytes = size_of(&files.attempts);
        let report = growth.command(&growth.store, &["report", "--format", "json"])?;
        let test = growth.generator.test(SHOWN).as_str().to_owned();
        let show = growth.command(&growth.store, &["show", &test, "--format", "json"])?;
        let suggest = growth.command(&growth.store, &["quarantine", "suggest"])?;
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

impl Spent {
    fn add(&mut self, append: Duration, maintain: Duration) {
        self.append += append;
        self.maintain += maintain;
    }
}

/// What an append costs.
fn cpu_of_append(history: &History, batches: &[Batch]) -> Outcome<Duration> {
    let before = own_cpu()?;
    history.append(batches)?;
    Ok(own_cpu()?.saturating_sub(before))
}

struct Growth<'a> {
    flakewise: &'a PathBuf,
    store: String,
    generator: Generator,
}

impl Growth<'_> {
    /// Runs a command on a store.
    fn command(&self, store: &str, arguments: &[&str]) -> Outcome<Cost> {
        let mut command = Command::new(self.flakewise);
        command.args(arguments).args(["--store", store, "--project", PROJECT]);
        Ok(measured(&mut command)?.0)
    }
}
