//! Ten million attempts: what a report costs beside the bare engine, and how
//! little of the table one test's history needs.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use flakewise_history::bare::bare_report;
use flakewise_history::{History, MaintainOptions, StoreUrl};

use crate::generate::{Generator, Scale};
use crate::measure::{Cost, header, least, ratio, run as measured, size_of};
use crate::{Options, Outcome};

const PROJECT: &str = "bench";

pub(crate) fn run(options: &Options, folder: Option<PathBuf>) -> Outcome<()> {
    print!("{}", header("rows", options));
    let scratch = tempfile::tempdir()?;
    let folder = folder.unwrap_or_else(|| scratch.path().join("history"));
    let scale = scale(options);
    let (tests, commits) = (scale.tests, scale.commits);
    let total = commits * scale.runs_per_commit * scale.attempts_per_run.unwrap_or(tests);
    let mut generator = Generator::new(scale, options.seed);
    let store = folder.to_str().ok_or("the folder's name is not UTF-8")?.to_owned();
    let history = History::new(StoreUrl::parse(&store)?, PROJECT);
    println!("table    {total} attempts of {tests} tests on {commits} commits");
    if !folder.exists() {
        fill(&history, &mut generator, commits)?;
    }
    let files = history.data_files()?;
    let (attempts, runs) = (&files.attempts, &files.runs);
    let bytes = size_of(attempts);
    println!("files    {}, {:.1} MB", attempts.len(), bytes as f64 / 1e6);
    println!("roll-ups {}, {:.1} MB", files.test_days.len(), size_of(&files.test_days) as f64 / 1e6);

    let list = scratch.path().join("files.txt");
    let lines =
        |paths: &[PathBuf]| paths.iter().map(|path| format!("{}\n", path.display())).collect::<String>();
    std::fs::write(&list, format!("{}\n{}", lines(attempts), lines(runs)))?;
    report(options, &store, &list)?;
    show(
        options,
        &store,
        &generator,
        bytes,
        if options.short { &[10, 100] } else { &[0, 10, 100, 1000, 10_000] },
    )?;
    window(options)
}

fn scale(options: &Options) -> Scale {
    if options.short {
        Scale {
            tests: 2_000,
            commits: 20,
            runs_per_commit: 5,
            attempts_per_run: Some(1_000),
            commits_per_day: 5,
        }
    } else {
        Scale {
            tests: 20_000,
            commits: 200,
            runs_per_commit: 10,
            attempts_per_run: Some(5_000),
            commits_per_day: 10,
        }
    }
}

/// Makes the table, and lists its files of attempts.
pub(crate) fn fill_folder(options: &Options, folder: &Path) -> Outcome<()> {
    let store = StoreUrl::parse(folder.to_str().ok_or("the folder's name is not UTF-8")?)?;
    let history = History::new(store, PROJECT);
    if !folder.exists() {
        let scale = scale(options);
        let commits = scale.commits;
        fill(&history, &mut Generator::new(scale, options.seed), commits)?;
    }
    for file in history.data_files()?.attempts {
        println!("file     {}", file.display());
    }
    Ok(())
}

/// A window as services that look for flaky tests have it: all tests in every run.
fn window(options: &Options) -> Outcome<()> {
    let scratch = tempfile::tempdir()?;
    let store = scratch.path().join("history").to_str().ok_or("the folder's name is not UTF-8")?.to_owned();
    let history = History::new(StoreUrl::parse(&store)?, PROJECT);
    let (tests, commits) = if options.short { (200, 20) } else { (2_000, 500) };
    let scale = Scale { tests, commits, runs_per_commit: 2, attempts_per_run: None, commits_per_day: 10 };
    let runs = commits * scale.runs_per_commit;
    let mut generator = Generator::new(scale, options.seed);
    println!("\nwindow of {tests} tests in each of {runs} runs");
    fill(&history, &mut generator, commits)?;
    let files = history.data_files()?;
    let megabytes = |files: &[PathBuf]| size_of(files) as f64 / 1e6;
    println!("files    {:.1} MB, roll-ups {:.1} MB", megabytes(&files.attempts), megabytes(&files.test_days));
    let reports = reports(options, &store)?;
    println!("report                                  CPU s   wall s     MB");
    for (name, cost) in [("attempts", reports.attempts), ("roll-ups", reports.rolled)] {
        let (cpu, wall) = (cost.cpu.as_secs_f64(), cost.wall.as_secs_f64());
        println!("{name:<36}   {cpu:6.2}   {wall:6.2}   {:4}", cost.peak);
    }
    Ok(())
}

/// What `report` costs with and without roll-ups.
struct Reports {
    attempts: Cost,
    rolled: Cost,
    findings: usize,
}

fn reports(options: &Options, store: &str) -> Outcome<Reports> {
    let table = Path::new(store).join(PROJECT).join("test_days");
    let aside = Path::new(store).join("aside");
    let (mut attempts, mut rolled) = (Vec::new(), Vec::new());
    let report = || -> Outcome<(Cost, String)> {
        let mut command = Command::new(&options.flakewise);
        command.args(["report", "--format", "json", "--store", store, "--project", PROJECT]);
        measured(&mut command)
    };
    let mut findings = 0;
    for _ in 0..if options.short { 1 } else { 5 } {
        let (cost, text) = report()?;
        rolled.push(cost);
        std::fs::rename(&table, &aside)?;
        let answer = report();
        std::fs::rename(&aside, &table)?;
        let (cost, same) = answer?;
        attempts.push(cost);
        if text != same {
            return Err("roll-ups and attempts say different things".into());
        }
        findings =
            serde_json::from_str::<serde_json::Value>(&text)?["findings"].as_array().map_or(0, Vec::len);
    }
    Ok(Reports { attempts: least(&attempts), rolled: least(&rolled), findings })
}

fn fill(history: &History, generator: &mut Generator, commits: usize) -> Outcome<()> {
    let start = Instant::now();
    let mut writing = Duration::ZERO;
    let mut rows = 0;
    for number in 0..commits {
        let batches = generator.commit(number);
        let start = Instant::now();
        rows += history.append(&batches)?.attempts_added;
        writing += start.elapsed();
    }
    println!(
        "append   {:.1} s for {commits} appends, {:.0} attempts/s (with generating: {:.1} s)",
        writing.as_secs_f64(),
        rows as f64 / writing.as_secs_f64(),
        start.elapsed().as_secs_f64()
    );
    let start = Instant::now();
    let options =
        MaintainOptions { dry_run: false, keep: Duration::ZERO, expire: None, expire_attempts: None };
    for summary in history.maintain(&options, &|_, _, _| {})? {
        println!(
            "maintain {}: {} files to {}, {:.1} MB to {:.1} MB",
            summary.table,
            summary.files_before,
            summary.files_after,
            summary.bytes_before as f64 / 1e6,
            summary.bytes_after.unwrap_or(0) as f64 / 1e6
        );
    }
    println!("         in {:.1} s", start.elapsed().as_secs_f64());
    Ok(())
}

fn report(options: &Options, store: &str, list: &Path) -> Outcome<()> {
    let (mut bare, mut named) = (Vec::new(), Vec::new());
    for _ in 0..if options.short { 1 } else { 5 } {
        let own = std::env::current_exe()?;
        bare.push(measured(Command::new(&own).arg("bare").arg(list))?.0);
        named.push(measured(Command::new(&own).arg("bare").arg(list).arg("--named"))?.0);
    }
    let Reports { attempts: ours, rolled, findings } = reports(options, store)?;
    let (bare, named) = (least(&bare), least(&named));
    println!("\nreport, {findings} flaky tests found; least of the runs, taken in turn");
    println!("                                        CPU s   wall s     MB");
    for (name, cost) in [
        ("bare DataFusion, subqueries", bare),
        ("bare DataFusion, our statements", named),
        ("flakewise report, attempts", ours),
        ("flakewise report, roll-ups", rolled),
    ] {
        let (cpu, wall) = (cost.cpu.as_secs_f64(), cost.wall.as_secs_f64());
        println!("{name:<36}   {cpu:6.2}   {wall:6.2}   {:4}", cost.peak);
    }
    for (name, yardstick) in [("subqueries", bare), ("our statements", named)] {
        let (cpu, wall) = (ratio(ours.cpu, yardstick.cpu), ratio(ours.wall, yardstick.wall));
        println!("{:<36}   {cpu:6.2}   {wall:6.2}   (bound 1.25)", format!("ratio to {name}"));
    }
    Ok(())
}

/// The same aggregates by the bare engine, as a process of its own.
pub(crate) fn bare(list: &Path, named: bool) -> Outcome<()> {
    let text = std::fs::read_to_string(list)?;
    let (attempts, runs) = text.split_once("\n\n").ok_or("the list has two parts")?;
    let paths = |text: &str| text.lines().map(PathBuf::from).collect::<Vec<_>>();
    let rows = bare_report(&paths(attempts), &paths(runs), named)?;
    println!("{rows:?}");
    Ok(())
}

fn show(options: &Options, store: &str, generator: &Generator, bytes: u64, ranks: &[usize]) -> Outcome<()> {
    println!("\nshow TEST, bytes read by the whole process, log and footers included; the table has {bytes}");
    println!("rank of the test   attempts   bytes read   share   CPU s");
    for rank in ranks {
        let test = generator.test(*rank).as_str();
        let mut command = Command::new(&options.flakewise);
        command.args(["show", test, "--format", "json", "--store", store, "--project", PROJECT]);
        let (cost, text) = measured(&mut command)?;
        let attempts = serde_json::from_str::<serde_json::Value>(&text)?["attempts"].as_u64().unwrap_or(0);
        println!(
            "{rank:>16}   {attempts:>8}   {:>10}   {:>4.2} %   {:.2}",
            cost.read,
            100.0 * cost.read as f64 / bytes as f64,
            cost.cpu.as_secs_f64()
        );
    }
    Ok(())
}
