//! Ending processes, all of them.
//!
//! A group can be left (`setsid`), a parent can die, so neither is enough. On
//! Linux we are the *subreaper* of everything below us: a process that loses its
//! parent becomes our child. So the processes below us in `/proc` are exactly
//! those we are to blame for, and when there are none left, none got away.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use crate::sys::{self, Waited};

/// How long we try to end processes that keep making new ones.
const PATIENCE: Duration = Duration::from_secs(30);

/// Ends a process and everything below it.
pub(crate) fn kill_tree(pid: u32) {
    let mut below = descendants(pid);
    sys::signal_group(pid, sys::SIGKILL);
    sys::signal_process(pid, sys::SIGKILL);
    // Whoever was made meanwhile is seen the second time.
    below.extend(descendants(pid));
    for process in below {
        sys::signal_process(process, sys::SIGKILL);
    }
}

/// Processes that could not be ended: they run as another user, or hang in the
/// kernel. They are tried once, so that each costs [`PATIENCE`] only once.
static GIVEN_UP: Mutex<BTreeSet<Identity>> = Mutex::new(BTreeSet::new());

/// Ends and collects every process below us but `spared` and what is below
/// them.
pub(crate) fn sweep(spared: &HashSet<u32>) {
    let deadline = Instant::now() + PATIENCE;
    let mut pause = Duration::ZERO;
    loop {
        let mut doomed = strays(spared);
        if !doomed.is_empty()
            && let Ok(given_up) = GIVEN_UP.lock()
            && !given_up.is_empty()
        {
            doomed.retain(|process| !identity(*process).is_some_and(|known| given_up.contains(&known)));
        }
        if doomed.is_empty() {
            return;
        }
        // Stopped first: nobody can make new ones while others are ended.
        for process in &doomed {
            sys::signal_process(*process, sys::SIGSTOP);
        }
        for process in &doomed {
            sys::signal_process(*process, sys::SIGKILL);
        }
        for process in &doomed {
            // Only our own children can be collected; the others become ours
            // as their parents end.
            let _ = sys::reap(*process);
        }
        if Instant::now() > deadline {
            if let Ok(mut given_up) = GIVEN_UP.lock() {
                given_up.extend(doomed.into_iter().filter_map(identity));
            }
            return;
        }
        // Most end at once; waiting for the rest keeps no core busy.
        std::thread::sleep(pause);
        pause = (2 * pause).clamp(Duration::from_micros(100), LONGEST_PAUSE);
    }
}

/// Between two looks at processes that are to end.
const LONGEST_PAUSE: Duration = Duration::from_millis(20);

/// A process, and when it was started: numbers are used again.
type Identity = (u32, u64);

fn identity(process: u32) -> Option<Identity> {
    let status = std::fs::read(format!("/proc/{process}/stat")).ok()?;
    Some((process, start(&status)?))
}

/// Ends and collects every process below us.
pub(crate) fn sweep_all() {
    sweep(&HashSet::new());
    while let Waited::Ended { .. } = sys::reap_any() {}
}

/// Everything below us that does not belong to one of `spared`.
pub(crate) fn strays(spared: &HashSet<u32>) -> Vec<u32> {
    let children = children_of();
    let mut found = Vec::new();
    let mut open: Vec<u32> = children.get(&std::process::id()).cloned().unwrap_or_default();
    while let Some(process) = open.pop() {
        if !spared.contains(&process) {
            found.push(process);
            open.extend(children.get(&process).into_iter().flatten());
        }
    }
    found
}

/// Everything below a process.
fn descendants(pid: u32) -> Vec<u32> {
    let children = children_of();
    let mut found = Vec::new();
    let mut open = vec![pid];
    while let Some(parent) = open.pop() {
        let below = children.get(&parent).into_iter().flatten();
        open.extend(below.clone());
        found.extend(below);
    }
    found
}

/// All processes by their parent. Empty where there is no `/proc`.
fn children_of() -> HashMap<u32, Vec<u32>> {
    let mut children: HashMap<u32, Vec<u32>> = HashMap::new();
    for entry in std::fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
        let Ok(status) = std::fs::read(entry.path().join("stat")) else { continue };
        if let Some(parent) = parent(&status) {
            children.entry(parent).or_default().push(pid);
        }
    }
    children
}

/// The parent in a line such as `7 (a name) S 1 …`.
fn parent(status: &[u8]) -> Option<u32> {
    after_name(status)?.nth(1)?.parse().ok()
}

/// When the process started, in ticks since the system did.
fn start(status: &[u8]) -> Option<u64> {
    after_name(status)?.nth(19)?.parse().ok()
}

/// The fields after the name, which may hold anything.
fn after_name(status: &[u8]) -> Option<impl Iterator<Item = &str>> {
    let end = status.iter().rposition(|byte| *byte == b')')?;
    Some(std::str::from_utf8(&status[end + 1..]).ok()?.split_ascii_whitespace())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_parentheses_does_not_hide_the_parent() {
        assert_eq!(parent(b"41 (x) S 1) R 7 41 41 0"), Some(7));
        assert_eq!(parent(b"nonsense"), None);
    }

    #[test]
    fn a_process_is_known_by_its_number_and_its_start() {
        let own = identity(std::process::id()).expect("we are there");
        assert_eq!(identity(std::process::id()), Some(own));
        assert!(own.1 > 0, "we did not start with the system");
        assert_eq!(identity(u32::MAX), None);
        let line = b"41 (x) R 7 41 41 0 -1 4194304 1 2 3 4 5 6 7 8 20 0 1 0 98765 1 2";
        assert_eq!(start(line), Some(98_765));
    }
}
