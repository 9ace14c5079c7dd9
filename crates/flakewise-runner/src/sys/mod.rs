//! What depends on the operating system.
//!
//! Tests are run on Unix only. Elsewhere this module has the same names, so that
//! everything compiles, and [`SUPPORTED`] is false: nothing is ever started.

#[cfg(not(unix))]
mod other;
#[cfg(unix)]
mod unix;

#[cfg(not(unix))]
pub(crate) use other::*;
#[cfg(unix)]
pub(crate) use unix::*;

use std::process::ExitStatus;
use std::time::Duration;

/// What became of a child.
#[cfg_attr(not(unix), expect(dead_code, reason = "there are no children"))]
pub(crate) enum Waited {
    /// It ended.
    Ended { pid: u32, status: ExitStatus, cpu: Duration },
    /// It lives.
    Alive,
    /// There is no such child.
    Nobody,
}
