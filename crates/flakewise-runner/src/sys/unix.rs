//! Unix, and the few system calls the standard library has no safe form of.
#![expect(unsafe_code, reason = "each call below takes plain integers or a pointer to a local value")]

#[cfg(target_os = "linux")]
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::PermissionsExt as _;
pub(crate) use std::os::unix::net::{UnixListener, UnixStream};
pub(crate) use std::os::unix::process::parent_id as parent_process;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::process::{Command, ExitStatus};
use std::time::Duration;

pub(crate) use libc::{SIGABRT, SIGHUP, SIGINT, SIGKILL, SIGSTOP, SIGTERM};
use signal_hook::SigId;
use signal_hook::low_level::pipe;

use super::Waited;

/// Whether tests can be run here.
pub(crate) const SUPPORTED: bool = true;

/// From here on the signal no longer ends this process: it is a byte in the pipe.
pub(crate) fn signal_pipe(signal: i32) -> std::io::Result<(SigId, UnixStream)> {
    let (reader, writer) = UnixStream::pair()?;
    let id = pipe::register(signal, writer)?;
    Ok((id, reader))
}

/// Starts a command in a process group of its own.
pub(crate) fn own_group(command: &mut Command) -> &mut Command {
    command.process_group(0)
}

/// Gives a command another name in lists of processes.
pub(crate) fn named<'a>(command: &'a mut Command, name: &str) -> &'a mut Command {
    command.arg0(name)
}

/// Makes a temporary folder this user's alone from the beginning.
pub(crate) fn for_this_user_alone(builder: &mut tempfile::Builder<'_, '_>) {
    builder.permissions(std::fs::Permissions::from_mode(0o700));
}

/// The signal that ended a process, if one did.
pub(crate) fn signal_of(status: ExitStatus) -> Option<i32> {
    status.signal()
}

/// How a process ended, as the kernel writes it.
pub(crate) fn status(raw: i32) -> ExitStatus {
    ExitStatus::from_raw(raw)
}

/// The process at the other end of a connection, as the kernel numbers it for
/// us; 0 if it has no number here, in another pid namespace. `None` where the
/// kernel does not tell.
#[cfg(target_os = "linux")]
pub(crate) fn peer_process(stream: &UnixStream) -> Option<u32> {
    let mut credentials = libc::ucred { pid: 0, uid: 0, gid: 0 };
    let mut length = libc::socklen_t::try_from(size_of::<libc::ucred>()).ok()?;
    // SAFETY: both pointers are to locals that live through the call, and the
    // length is that of the structure, which `SO_PEERCRED` fills.
    let result = unsafe {
        libc::getsockopt(
            stream.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_PEERCRED,
            (&raw mut credentials).cast(),
            &raw mut length,
        )
    };
    (result == 0).then(|| u32::try_from(credentials.pid).ok()).flatten()
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn peer_process(_: &UnixStream) -> Option<u32> {
    None
}

/// Sends a signal to a process. A process that is gone is no error.
pub(crate) fn signal_process(pid: u32, signal: i32) {
    if let Some(pid) = target(pid) {
        // SAFETY: `kill` takes two integers and touches no memory of ours.
        unsafe { libc::kill(pid, signal) };
    }
}

/// Sends a signal to every process of a group.
pub(crate) fn signal_group(group: u32, signal: i32) {
    if let Some(group) = target(group) {
        // SAFETY: as above.
        unsafe { libc::kill(-group, signal) };
    }
}

/// Never 0 or 1, which `kill` takes for whole groups and for everybody.
fn target(pid: u32) -> Option<libc::pid_t> {
    libc::pid_t::try_from(pid).ok().filter(|pid| *pid > 1)
}

/// Orphans among our descendants become our children from now on, so that none
/// can get away by losing its parent.
#[cfg(target_os = "linux")]
pub(crate) fn adopt_orphans() {
    // SAFETY: this `prctl` takes an integer and touches no memory of ours.
    unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) };
}

/// Elsewhere orphans go to the system; their groups can still be signalled.
#[cfg(not(target_os = "linux"))]
pub(crate) fn adopt_orphans() {}

/// Asks for a signal when our parent ends.
#[cfg(target_os = "linux")]
pub(crate) fn signal_when_parent_ends(signal: i32) {
    // SAFETY: this `prctl` takes an integer and touches no memory of ours.
    unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, signal, 0, 0, 0) };
}

/// Elsewhere nobody can tell.
#[cfg(not(target_os = "linux"))]
pub(crate) fn signal_when_parent_ends(_: i32) {}

/// Tests run in a background group of the terminal. Those that touch its
/// settings must not be stopped for it; what we ignore, they inherit.
pub(crate) fn ignore_terminal_stops() {
    // SAFETY: setting a disposition to "ignore" installs no handler.
    unsafe {
        libc::signal(libc::SIGTTOU, libc::SIG_IGN);
        libc::signal(libc::SIGTTIN, libc::SIG_IGN);
    }
}

/// Waits for a child of ours, and learns the processor time it and the
/// children it waited for have used.
pub(crate) fn wait(pid: u32) -> Waited {
    wait_for(libc::pid_t::try_from(pid).unwrap_or(-1), 0)
}

/// Takes note of one child that has ended, without waiting.
pub(crate) fn reap_any() -> Waited {
    wait_for(-1, libc::WNOHANG)
}

/// The same for one child.
pub(crate) fn reap(pid: u32) -> Waited {
    wait_for(libc::pid_t::try_from(pid).unwrap_or(-1), libc::WNOHANG)
}

fn wait_for(pid: libc::pid_t, options: i32) -> Waited {
    let mut status = 0;
    loop {
        // SAFETY: both pointers are to local values of the type requested, and
        // all-zero bytes are a valid `rusage`.
        let (found, usage) = unsafe {
            let mut usage: libc::rusage = std::mem::zeroed();
            (libc::wait4(pid, &raw mut status, options, &raw mut usage), usage)
        };
        match found {
            0 => return Waited::Alive,
            -1 if std::io::Error::last_os_error().kind() == std::io::ErrorKind::Interrupted => {}
            -1 => return Waited::Nobody,
            found => {
                let cpu = duration(usage.ru_utime) + duration(usage.ru_stime);
                let pid = u32::try_from(found).unwrap_or(0);
                return Waited::Ended { pid, status: ExitStatus::from_raw(status), cpu };
            }
        }
    }
}

fn duration(time: libc::timeval) -> Duration {
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    let micros = u64::try_from(time.tv_usec).unwrap_or(0);
    Duration::from_secs(seconds) + Duration::from_micros(micros)
}
