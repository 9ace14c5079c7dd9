//! Lines that people could type, tried out.

use std::ffi::OsString;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::signals::STOPPING;
use crate::sys::{self, Waited};
use crate::{guard, processes};

/// How often we look whether somebody wants us to stop.
const LOOK: Duration = Duration::from_millis(50);

/// How a line ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineEnd {
    /// By itself.
    Ended(ExitStatus),
    /// It took too long and was ended.
    TimedOut,
    /// Somebody wants us to stop, and it was ended.
    Interrupted,
    /// There is no shell, or no room for a process.
    NotStarted,
}

/// A private folder for what a line writes, which our guard removes should we be
/// killed.
pub fn scratch_folder() -> std::io::Result<TempDir> {
    tempfile::Builder::new().prefix(&guard::folder_prefix()).tempdir()
}

/// Runs a line in a shell, in the current directory and environment with some
/// more variables: without our agent, in a process group of its own, without
/// input, and with its output discarded.
///
/// Afterwards every process below this one is ended, also those that left the
/// group: nothing else of ours may be running.
pub fn run_line(line: &str, variables: &[(&str, OsString)], limit: Duration) -> LineEnd {
    sys::adopt_orphans();
    let stop = Arc::new(AtomicBool::new(false));
    let signals = STOPPING.map(|signal| signal_hook::flag::register(signal, Arc::clone(&stop)));
    let span = tracing::info_span!("shell", line, end = tracing::field::Empty);
    let end = span.in_scope(|| watched(line, variables, limit, &stop));
    span.record("end", tracing::field::debug(end));
    for signal in signals.into_iter().flatten() {
        signal_hook::low_level::unregister(signal);
    }
    processes::sweep_all();
    end
}

fn watched(line: &str, variables: &[(&str, OsString)], limit: Duration, stop: &AtomicBool) -> LineEnd {
    let mut shell = Command::new("sh");
    shell
        .args(["-c", line])
        .envs(variables.iter().map(|(name, value)| (name, value)))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let Ok(child) = sys::own_group(&mut shell).spawn() else { return LineEnd::NotStarted };
    let pid = child.id();
    let (sender, ended) = channel();
    std::thread::spawn(move || {
        let status = match sys::wait(pid) {
            Waited::Ended { status, .. } => status,
            // Somebody else took note of it.
            Waited::Alive | Waited::Nobody => sys::status(sys::SIGKILL),
        };
        let _ = sender.send(status);
    });
    let deadline = Instant::now() + limit;
    let early = loop {
        let rest = deadline.saturating_duration_since(Instant::now());
        match ended.recv_timeout(rest.min(LOOK)) {
            Ok(status) => return LineEnd::Ended(status),
            Err(RecvTimeoutError::Disconnected) => break LineEnd::NotStarted,
            Err(RecvTimeoutError::Timeout) if stop.load(Ordering::Relaxed) => break LineEnd::Interrupted,
            Err(RecvTimeoutError::Timeout) if rest.is_zero() => break LineEnd::TimedOut,
            Err(RecvTimeoutError::Timeout) => {}
        }
    };
    processes::kill_tree(pid);
    let _ = ended.recv();
    early
}
