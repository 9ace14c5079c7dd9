//! Many processes at once, and processes killed at random moments.
//!
//! What must hold: every report whose ingest ended well is in the history
//! exactly once with all its attempts, whoever else was writing, whoever was
//! killed; the table always opens; and taking everything in again at the end
//! leaves every report there exactly once.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rand::rngs::SmallRng;
use rand::{Rng as _, SeedableRng as _};

use crate::measure::header;
use crate::{Options, Outcome};

/// Attempts per report.
const CASES: usize = 40;
const PROCESSES: usize = 8;

pub(crate) fn run(options: &Options) -> Outcome<()> {
    print!("{}", header("storm", options));
    let (rounds, kills) = if options.short { (3, 12) } else { (100, 200) };
    crowd(options, rounds)?;
    kills_at_random(options, kills)
}

/// A store with reports to take in.
struct Arena<'a> {
    options: &'a Options,
    folder: tempfile::TempDir,
    /// Reports whose ingest ended well.
    acknowledged: Vec<PathBuf>,
    reports: usize,
}

impl<'a> Arena<'a> {
    fn new(options: &'a Options) -> Outcome<Self> {
        let folder = tempfile::tempdir()?;
        std::fs::create_dir(folder.path().join("reports"))?;
        Ok(Self { options, folder, acknowledged: Vec::new(), reports: 0 })
    }

    /// Writes one more report. Its number is in the names of its tests.
    fn report(&mut self) -> Outcome<PathBuf> {
        let number = self.reports;
        self.reports += 1;
        let mut text =
            String::from("<testsuites><testsuite name=\"pytest\" timestamp=\"2026-11-15T10:00:00\">");
        for case in 0..CASES {
            write!(text, "<testcase classname=\"tests.test_{case}\" name=\"test_r{number}\" time=\"0.1\"/>")?;
        }
        text.push_str("</testsuite></testsuites>");
        let path = self.folder.path().join(format!("reports/{number}.xml"));
        std::fs::write(&path, text)?;
        Ok(path)
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.options.flakewise);
        command
            .args(arguments)
            .args(["--project", "storm", "--store"])
            .arg(self.folder.path().join("history"));
        command.env_remove("CI").current_dir(self.folder.path());
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command
    }

    /// An ingest of some reports. Every process has a spool of its own, as on
    /// machines of their own, and `--strict` so that only success is success.
    fn ingest(&self, reports: &[PathBuf], name: usize) -> Command {
        let mut command = self.command(&["ingest", "--strict", "--run", "storm", "--commit", "c"]);
        command.args(reports).arg("--spool").arg(self.folder.path().join(format!("spool-{name}")));
        command
    }

    /// How many attempts each report has in the history.
    fn present(&self) -> Outcome<BTreeMap<usize, usize>> {
        let query = "SELECT split_part(test, '_r', 2) AS report, count(*) AS n FROM attempts GROUP BY 1";
        let output = self
            .command(&["sql", query, "--format", "json", "--limit", "1000000"])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .output()?;
        if !output.status.success() {
            return Err(
                format!("the table does not open: {}", String::from_utf8_lossy(&output.stderr)).into()
            );
        }
        let mut present = BTreeMap::new();
        for line in String::from_utf8(output.stdout)?.lines() {
            let row: serde_json::Value = serde_json::from_str(line)?;
            let number = row["report"].as_str().unwrap_or_default().parse()?;
            present.insert(number, usize::try_from(row["n"].as_u64().unwrap_or(0))?);
        }
        Ok(present)
    }

    /// Fails unless every acknowledged report is there once and no report is
    /// there in part or twice.
    fn check(&self) -> Outcome<usize> {
        let present = self.present()?;
        if let Some((report, count)) = present.iter().find(|(_, count)| **count != CASES) {
            return Err(format!("report {report} has {count} attempts instead of {CASES}").into());
        }
        for path in &self.acknowledged {
            let number: usize =
                path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default().parse()?;
            if !present.contains_key(&number) {
                return Err(format!("report {number} was acknowledged and is not there").into());
            }
        }
        Ok(present.len())
    }
}

/// Eight processes at once, each with a report of its own and one they share.
fn crowd(options: &Options, rounds: usize) -> Outcome<()> {
    let mut arena = Arena::new(options)?;
    let start = Instant::now();
    let mut refused = 0;
    for _ in 0..rounds {
        let shared = arena.report()?;
        let mut children: Vec<(Vec<PathBuf>, Child)> = Vec::new();
        for process in 0..PROCESSES {
            let reports = vec![arena.report()?, shared.clone()];
            let child = arena.ingest(&reports, process).spawn()?;
            children.push((reports, child));
        }
        for (reports, mut child) in children {
            if child.wait()?.success() {
                arena.acknowledged.extend(reports);
            } else {
                refused += 1;
            }
        }
    }
    let seconds = start.elapsed().as_secs_f64();
    let present = arena.check()?;
    println!(
        "crowd    {rounds} rounds of {PROCESSES} processes: {} ingests acknowledged, {refused} refused, {:.1} s",
        arena.acknowledged.len() / 2,
        seconds
    );
    println!("         {present} reports present, each exactly once, shared ones too");
    if refused > 0 || present != arena.reports {
        return Err("not every ingest came through".into());
    }
    Ok(())
}

/// Ingests and maintenance killed at random moments.
fn kills_at_random(options: &Options, kills: usize) -> Outcome<()> {
    let mut arena = Arena::new(options)?;
    let mut random = SmallRng::seed_from_u64(options.seed);
    let first = arena.report()?;
    let mut longest = Duration::ZERO;
    for _ in 0..3 {
        let start = Instant::now();
        if !arena.ingest(std::slice::from_ref(&first), 0).status()?.success() {
            return Err("an ingest without trouble failed".into());
        }
        longest = longest.max(start.elapsed());
    }
    arena.acknowledged.push(first);
    let (mut killed, mut finished, mut during_maintenance) = (0, 0, 0);
    while killed < kills {
        let maintenance = random.random::<f64>() < 0.3;
        let reports: Vec<_> = (0..2).map(|_| arena.report()).collect::<Outcome<_>>()?;
        let mut child = if maintenance {
            arena.command(&["maintain"]).spawn()?
        } else {
            arena.ingest(&reports, 0).spawn()?
        };
        std::thread::sleep(longest.mul_f64(random.random_range(0.0..1.2)));
        child.kill()?;
        let status = child.wait()?;
        if status.success() {
            finished += 1;
            if !maintenance {
                arena.acknowledged.extend(reports);
            }
        } else if status.code().is_none() {
            killed += 1;
            during_maintenance += usize::from(maintenance);
        } else {
            return Err(format!("a process that was not killed failed: {status}").into());
        }
        arena.check().map_err(|error| format!("after {killed} kills: {error}"))?;
    }
    let leftovers = leftovers(arena.folder.path())?;
    println!(
        "kills    {killed} processes killed with SIGKILL ({during_maintenance} in `maintain`), {finished} ended before; \
         the table opened after each, nothing acknowledged was lost"
    );
    // What a user would do: take in everything again, and tidy up.
    let all: Vec<_> =
        (0..arena.reports).map(|number| arena.folder.path().join(format!("reports/{number}.xml"))).collect();
    if !arena.ingest(&all, 0).status()?.success() || !arena.command(&["maintain"]).status()?.success() {
        return Err("the repair failed".into());
    }
    arena.acknowledged = all;
    let present = arena.check()?;
    println!(
        "         {leftovers} files of killed processes lie about, which nothing refers to and `maintain` removes in a week"
    );
    println!("         then everything taken in again: {present} reports present, each exactly once");
    Ok(())
}

/// Data files no log entry adds, and temporary files.
fn leftovers(folder: &Path) -> Outcome<usize> {
    let mut count = 0;
    for table in ["attempts", "runs"] {
        let table = folder.join("history/storm").join(table);
        let mut log = String::new();
        for entry in std::fs::read_dir(table.join("_delta_log"))? {
            let path = entry?.path();
            if path.extension().is_some_and(|end| end == "json") {
                log.push_str(&std::fs::read_to_string(path)?);
            }
        }
        for entry in std::fs::read_dir(&table)? {
            let name = entry?.file_name().to_string_lossy().into_owned();
            count += usize::from(name != "_delta_log" && !log.contains(&name));
        }
        for entry in std::fs::read_dir(table.join("_delta_log"))? {
            count += usize::from(entry?.file_name().to_string_lossy().contains('#'));
        }
    }
    Ok(count)
}
