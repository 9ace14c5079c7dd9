//! Signals while the history is read or written.
//!
//! While tests run, the runner handles signals. A store that does not answer
//! must not make us deaf, so signals also stop what the history does: results
//! that cannot be written then stay in the spool.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use flakewise_runner::SignalListener;

use crate::delivery::Sender;
use crate::exit_code::ExitCode;

/// Stops the history at the first signal. After the suite has ended, the second
/// signal ends the process.
pub(crate) struct Interrupts {
    signals: Arc<Signals>,
    #[cfg(feature = "history")]
    history: Option<flakewise_history::Interrupt>,
    _listener: SignalListener,
}

/// The signals received so far. One lock covers noting a signal and stopping the history,
/// so code that sees the history stopped also sees the signal that stopped it.
#[derive(Default)]
struct Signals(Mutex<Noted>);

#[derive(Default)]
struct Noted {
    suite_ended: bool,
    /// The last signal since then.
    last: Option<i32>,
}

impl Signals {
    fn noted(&self) -> MutexGuard<'_, Noted> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes a signal. True if it is not the first since the suite ended.
    fn note(&self, signal: i32, stop_history: impl FnOnce()) -> bool {
        let mut noted = self.noted();
        stop_history();
        noted.suite_ended && noted.last.replace(signal).is_some()
    }

    fn suite_ended(&self, let_history_go_on: impl FnOnce()) {
        let mut noted = self.noted();
        let_history_go_on();
        noted.suite_ended = true;
    }

    fn last(&self) -> Option<i32> {
        self.noted().last
    }
}

impl Interrupts {
    /// Listens from now on. The suite has started: it listens too.
    #[cfg_attr(not(feature = "history"), expect(unused_variables, reason = "only the engine can block"))]
    pub(crate) fn listen(sender: Option<&Sender>) -> Self {
        #[cfg(feature = "history")]
        let history = sender.map(|sender| sender.history.interrupt());
        let signals = Arc::new(Signals::default());
        let listener = SignalListener::new({
            let signals = Arc::clone(&signals);
            #[cfg(feature = "history")]
            let history = history.clone();
            move |signal| {
                let is_repeated = signals.note(signal, || {
                    #[cfg(feature = "history")]
                    if let Some(history) = &history {
                        history.raise();
                    }
                });
                if is_repeated {
                    // The first signal did not end us. If our guard was killed, the kernel may
                    // send us one for each of its threads, and nobody else clears up.
                    flakewise_runner::end_now(ExitCode::of_signal(signal) as u8);
                }
            }
        });
        Self {
            signals,
            #[cfg(feature = "history")]
            history,
            _listener: listener,
        }
    }

    /// The suite has ended, and with it what a signal was meant for so far.
    pub(crate) fn suite_ended(&self) {
        self.signals.suite_ended(|| {
            #[cfg(feature = "history")]
            if let Some(history) = &self.history {
                history.clear();
            }
        });
    }

    /// How the process ends if it was stopped after the suite.
    pub(crate) fn exit_code(&self) -> Option<ExitCode> {
        self.signals.last().map(ExitCode::of_signal)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;

    #[test]
    fn code_that_was_stopped_sees_the_signal() {
        for _ in 0..1_000 {
            let signals = Signals::default();
            signals.suite_ended(|| ());
            let (stop, stopped) = channel();
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    signals.note(2, || {
                        stop.send(()).expect("the main thread waits");
                        // Let the main thread look before the signal is noted, if it can.
                        std::thread::yield_now();
                    })
                });
                stopped.recv().expect("it is stopped");
                assert_eq!(signals.last(), Some(2));
            });
        }
    }

    #[test]
    fn signals_during_the_suite_do_not_count_as_the_first() {
        let signals = Signals::default();
        assert!(!signals.note(2, || ()));
        signals.suite_ended(|| ());
        assert_eq!(signals.last(), None);
        assert!(!signals.note(15, || ()));
        assert_eq!(signals.last(), Some(15));
        assert!(signals.note(2, || ()));
    }
}
