//! A system without Unix's processes, signals and sockets: nothing works, and
//! nothing is started.

use std::convert::Infallible;
use std::io::{Error, ErrorKind, Read, Result, Write};
use std::os::windows::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Command, ExitStatus};
use std::time::Duration;

use signal_hook::SigId;

use super::Waited;

/// Whether tests can be run here.
pub(crate) const SUPPORTED: bool = false;

pub(crate) const SIGHUP: i32 = 1;
pub(crate) const SIGINT: i32 = 2;
pub(crate) const SIGABRT: i32 = 6;
pub(crate) const SIGKILL: i32 = 9;
pub(crate) const SIGTERM: i32 = 15;
pub(crate) const SIGSTOP: i32 = 19;

fn unsupported<T>() -> Result<T> {
    Err(Error::from(ErrorKind::Unsupported))
}

/// There is none.
#[derive(Debug)]
pub(crate) struct UnixListener(Infallible);

impl UnixListener {
    pub(crate) fn bind(_: &Path) -> Result<Self> {
        unsupported()
    }

    pub(crate) fn incoming(&self) -> impl Iterator<Item = Result<UnixStream>> + use<> {
        match self.0 {}
        #[expect(unreachable_code, reason = "the type of what never comes")]
        std::iter::empty()
    }
}

/// There is none.
#[derive(Debug)]
pub(crate) struct UnixStream(Infallible);

impl UnixStream {
    pub(crate) fn try_clone(&self) -> Result<Self> {
        match self.0 {}
    }

    pub(crate) fn set_read_timeout(&self, _: Option<Duration>) -> Result<()> {
        match self.0 {}
    }

    pub(crate) fn set_write_timeout(&self, _: Option<Duration>) -> Result<()> {
        match self.0 {}
    }
}

impl Read for UnixStream {
    fn read(&mut self, _: &mut [u8]) -> Result<usize> {
        match self.0 {}
    }
}

impl Read for &UnixStream {
    fn read(&mut self, _: &mut [u8]) -> Result<usize> {
        match self.0 {}
    }
}

impl Write for UnixStream {
    fn write(&mut self, _: &[u8]) -> Result<usize> {
        match self.0 {}
    }

    fn flush(&mut self) -> Result<()> {
        match self.0 {}
    }
}

pub(crate) fn signal_pipe(_: i32) -> Result<(SigId, UnixStream)> {
    unsupported()
}

pub(crate) fn peer_process(stream: &UnixStream) -> Option<u32> {
    match stream.0 {}
}

pub(crate) fn signal_process(_: u32, _: i32) {}

pub(crate) fn signal_group(_: u32, _: i32) {}

pub(crate) fn adopt_orphans() {}

pub(crate) fn signal_when_parent_ends(_: i32) {}

pub(crate) fn ignore_terminal_stops() {}

pub(crate) fn parent_process() -> u32 {
    0
}

pub(crate) fn own_group(command: &mut Command) -> &mut Command {
    command
}

pub(crate) fn named<'a>(command: &'a mut Command, _: &str) -> &'a mut Command {
    command
}

pub(crate) fn for_this_user_alone(_: &mut tempfile::Builder<'_, '_>) {}

pub(crate) fn signal_of(_: ExitStatus) -> Option<i32> {
    None
}

pub(crate) fn status(raw: i32) -> ExitStatus {
    ExitStatus::from_raw(raw.cast_unsigned())
}

pub(crate) fn wait(_: u32) -> Waited {
    Waited::Nobody
}

pub(crate) fn reap_any() -> Waited {
    Waited::Nobody
}

pub(crate) fn reap(_: u32) -> Waited {
    Waited::Nobody
}
