//! What a process costs.

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
}

/// Runs a command to its end and says what it cost and printed.
pub(crate) fn run(command: &mut Command) -> Outcome<(Cost, String)> {
    let start = Instant::now();
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn()?;
    let mut text = String::new();
    if let Some(mut out) = child.stdout.take() {
        std::io::Read::read_to_string(&mut out, &mut text)?;
    }
    // Its accounts are complete after its end and before it is buried.
    let accounts = loop {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", child.id()))?;
        let fields = stat.rsplit(')').next().unwrap_or_default().trim().to_owned();
        if fields.starts_with('Z') {
            break fields;
        }
        std::thread::sleep(Duration::from_millis(1));
    };
    let wall = start.elapsed();
    let ticks = |place: usize| accounts.split_whitespace().nth(place).unwrap_or("0").parse::<u64>();
    // Fields 14 and 15 of `stat`, user and system, in ticks of 10 ms.
    let cpu = Duration::from_millis(10 * (ticks(11)? + ticks(12)?));
    let io = std::fs::read_to_string(format!("/proc/{}/io", child.id()))?;
    let read = io.lines().find_map(|line| line.strip_prefix("rchar: ")).unwrap_or("0").parse()?;
    let status = child.wait()?;
    if !status.success() {
        return Err(format!("{command:?} ended with {status}").into());
    }
    Ok((Cost { wall, cpu, read }, text))
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
