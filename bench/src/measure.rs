//! What a process costs.

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::Outcome;

/// What one process cost.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cost {
    pub(crate) wall: Duration,
    /// Processor time of all its threads, to a hundredth of a second.
    pub(crate) cpu: Duration,
    /// Bytes it asked to read, from files or anything else.
    pub(crate) read: u64,
    /// The most memory it had, in megabytes, as seen every few milliseconds.
    pub(crate) peak: u64,
}

/// Processor time of this process so far, to a hundredth of a second.
pub(crate) fn own_cpu() -> Outcome<Duration> {
    let stat = std::fs::read_to_string("/proc/self/stat")?;
    cpu_of(stat.rsplit(')').next().unwrap_or_default())
}

/// User and system time, fields 14 and 15 of `stat`, in ticks of 10 ms.
fn cpu_of(fields: &str) -> Outcome<Duration> {
    let ticks = |place: usize| fields.split_whitespace().nth(place).unwrap_or("0").parse::<u64>();
    Ok(Duration::from_millis(10 * (ticks(11)? + ticks(12)?)))
}

/// The value of a line such as `VmHWM:   1234 kB`.
fn value(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_whitespace().next()?.parse().ok()
}

/// Runs a command to its end and says what it cost and printed.
pub(crate) fn run(command: &mut Command) -> Outcome<(Cost, String)> {
    let start = Instant::now();
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn()?;
    let output = child.stdout.take();
    let reader = std::thread::spawn(move || {
        let mut text = String::new();
        output.map_or(Ok(0), |mut output| std::io::Read::read_to_string(&mut output, &mut text)).map(|_| text)
    });
    let mut peak = 0;
    // Its accounts are complete after its end and before it is buried.
    let accounts = loop {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", child.id()))?;
        let fields = stat.rsplit(')').next().unwrap_or_default().trim().to_owned();
        if fields.starts_with('Z') {
            break fields;
        }
        let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap_or_default();
        peak = peak.max(value(&status, "VmHWM:").unwrap_or(0) / 1024);
        std::thread::sleep(Duration::from_millis(2));
    };
    let wall = start.elapsed();
    let cpu = cpu_of(&accounts)?;
    let io = std::fs::read_to_string(format!("/proc/{}/io", child.id()))?;
    let read = value(&io, "rchar:").unwrap_or(0);
    let status = child.wait()?;
    if !status.success() {
        return Err(format!("{command:?} ended with {status}").into());
    }
    let text = reader.join().map_err(|_| "the output could not be read")??;
    Ok((Cost { wall, cpu, read, peak }, text))
}

/// The bytes of all these files.
pub(crate) fn size_of(files: &[PathBuf]) -> u64 {
    files.iter().filter_map(|path| path.metadata().ok()).map(|file| file.len()).sum()
}

/// The least of several costs, by processor time.
pub(crate) fn least(costs: &[Cost]) -> Cost {
    *costs.iter().min_by_key(|cost| cost.cpu).expect("something was measured")
}

pub(crate) fn ratio(left: Duration, right: Duration) -> f64 {
    left.as_secs_f64() / right.as_secs_f64().max(1e-9)
}

/// Who measured, when, where.
pub(crate) fn header(name: &str, options: &crate::Options) -> String {
    let field = |file: &str, key: &str| {
        let text = std::fs::read_to_string(file).unwrap_or_default();
        let line = text.lines().find(|line| line.starts_with(key)).unwrap_or_default().to_owned();
        line.split(':').nth(1).unwrap_or("unknown").trim().to_owned()
    };
    let cores = std::thread::available_parallelism().map_or(0, std::num::NonZeroUsize::get);
    let profile = if cfg!(debug_assertions) { "dev" } else { "release" };
    format!(
        "bench/{name}{}\ndate     {}\nmachine  {} cores, {}, {} of memory\nbuild    {profile}, seed {}\n",
        if options.short { " --short" } else { "" },
        chrono::Utc::now().format("%Y-%m-%d %H:%M UTC"),
        cores,
        field("/proc/cpuinfo", "model name"),
        field("/proc/meminfo", "MemTotal"),
        options.seed,
    )
}
