//! Two of us, so that one is left to clear up if the other is killed.
//!
//! The process the user starts only starts itself again, as a worker, passes
//! signals on to it and ends as it ends. Both are subreapers: should the worker
//! be killed, everything it had below it comes to the guard, which ends it and
//! removes the worker's folder. Should the guard be killed, the kernel tells
//! the worker, which stops at once.

use std::process::{Command, ExitCode};
use std::sync::{Arc, LazyLock};

use crate::{processes, signals, sys};

/// What a worker is called in lists of processes, before its guard's number and
/// a mark. Containers may share folders and numbers of processes; marks differ.
const WORKER: &str = "flakewise-worker-of-";

/// Starts a worker that does what this process was started for, and returns how it
/// ended; or nothing, if this process is to do the work itself: because it is
/// the worker, or because there can be none.
pub fn guard() -> Option<ExitCode> {
    if !cfg!(target_os = "linux") {
        return None;
    }
    if guard_process().is_some() {
        // It must not end us before there is somebody to clear up.
        let _ = signal_hook::flag::register(sys::SIGTERM, Arc::default());
        sys::signal_when_parent_ends(sys::SIGTERM);
        return None;
    }
    let program = std::env::current_exe().ok()?;
    sys::adopt_orphans();
    // From here on a signal waits for the worker, instead of ending us.
    let forwarded = signals::STOPPING.map(|signal| (signal, sys::signal_pipe(signal)));
    let tag = new_tag();
    let mut worker = Command::new(program);
    sys::named(&mut worker, &format!("{WORKER}{tag}")).args(std::env::args_os().skip(1));
    // What a terminal sends to all of a group comes to us, and once to it.
    let mut worker = sys::own_group(&mut worker).spawn().ok()?;
    let pid = worker.id();
    for (signal, pipe) in forwarded {
        if let Ok((_, pipe)) = pipe {
            signals::follow(pipe, move || {
                sys::signal_process(pid, signal);
                true
            });
        }
    }
    let status = worker.wait().ok()?;
    // A worker that was killed, panicked or was stopped may leave something behind.
    if !status.success() {
        processes::sweep_all();
        remove_folders(&prefix_of(&tag));
    }
    if let Some(signal) = sys::signal_of(status) {
        return Some(ExitCode::from(u8::try_from(128 + signal).unwrap_or(u8::MAX)));
    }
    Some(ExitCode::from(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(u8::MAX)))
}

/// A name for what belongs to this process: its number and a mark.
fn new_tag() -> String {
    let mark = uuid::Uuid::new_v4().simple().to_string();
    format!("{}-{}", std::process::id(), &mark[..MARK])
}

/// Characters of a mark.
const MARK: usize = 8;

/// The tag of the process that guards this one, if it is a worker.
fn guard_tag() -> Option<String> {
    Some(std::env::args_os().next()?.to_str()?.strip_prefix(WORKER)?.to_owned())
}

/// The process that guards this one, if it is a worker.
fn guard_process() -> Option<u32> {
    guard_tag()?.split('-').next()?.parse().ok()
}

/// Whether this worker's guard has been killed.
pub(crate) fn is_abandoned() -> bool {
    guard_process().is_some_and(|guard| guard != sys::parent_process())
}

/// How the private folders of this process are named, so that its guard knows
/// them.
pub(crate) fn folder_prefix() -> String {
    static TAG: LazyLock<String> = LazyLock::new(|| guard_tag().unwrap_or_else(new_tag));
    prefix_of(&TAG)
}

fn prefix_of(tag: &str) -> String {
    format!("flakewise-{tag}-")
}

/// Ends this process now, with everything below it, and removes its folders: its guard
/// may be gone.
pub fn end_now(code: u8) -> ! {
    processes::sweep_all();
    remove_folders(&folder_prefix());
    #[expect(clippy::exit, reason = "the caller does not want to wait")]
    std::process::exit(code.into())
}

fn remove_folders(prefix: &str) {
    // Where temporary folders have long names, the socket is in /tmp.
    let mut parents = vec![std::env::temp_dir(), std::path::PathBuf::from("/tmp")];
    parents.dedup();
    for parent in parents {
        for entry in std::fs::read_dir(parent).into_iter().flatten().flatten() {
            if entry.file_name().to_string_lossy().starts_with(prefix) {
                let _ = std::fs::remove_dir_all(entry.path());
            }
        }
    }
}
