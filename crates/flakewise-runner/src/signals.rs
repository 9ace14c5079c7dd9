//! Signals that stop us, as bytes in a pipe: handlers may do next to nothing.

use std::io::Read as _;

use signal_hook::SigId;
use signal_hook::low_level::unregister;

use crate::sys::{self, UnixStream};

/// The signals that stop us.
pub(crate) const STOPPING: [i32; 3] = [sys::SIGINT, sys::SIGTERM, sys::SIGHUP];

/// Calls `action` for every byte, in a thread of its own, until it returns
/// false or the pipe is closed.
pub(crate) fn follow(mut pipe: UnixStream, mut action: impl FnMut() -> bool + Send + 'static) {
    std::thread::spawn(move || {
        let mut byte = [0];
        while pipe.read_exact(&mut byte).is_ok() {
            if !action() {
                return;
            }
        }
    });
}

/// Calls a function for every signal that stops us, until it is dropped.
#[derive(Debug)]
pub struct SignalListener(Vec<SigId>);

impl SignalListener {
    /// Calls `action` with each signal, in threads of its own. A signal that
    /// cannot be listened to does what it did before.
    pub fn new(action: impl Fn(i32) + Clone + Send + 'static) -> Self {
        let mut ids = Vec::new();
        for signal in STOPPING {
            if let Ok((id, pipe)) = sys::signal_pipe(signal) {
                let action = action.clone();
                follow(pipe, move || {
                    action(signal);
                    true
                });
                ids.push(id);
            }
        }
        Self(ids)
    }
}

impl Drop for SignalListener {
    fn drop(&mut self) {
        // This closes the pipes, which ends the threads.
        for id in self.0.drain(..) {
            unregister(id);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;
    use std::time::Duration;

    use super::*;

    /// No test of this crate may send any of the others to its own process.
    const HARMLESS: i32 = sys::SIGHUP;

    #[test]
    fn a_listener_hears_every_signal_until_it_is_dropped() {
        let (sender, signals) = channel();
        let listener = SignalListener::new(move |signal| sender.send(signal).expect("the test listens"));
        for _ in 0..2 {
            signal_hook::low_level::raise(HARMLESS).expect("it is raised");
            assert_eq!(signals.recv_timeout(Duration::from_mins(1)), Ok(HARMLESS));
        }
        drop(listener);
        signal_hook::low_level::raise(HARMLESS).expect("it is raised");
        assert!(signals.recv_timeout(Duration::from_mins(1)).is_err(), "the threads have ended");
    }
}
