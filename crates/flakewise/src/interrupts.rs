//! Signals while the history is read or written.
//!
//! While tests run, the runner handles signals. A store that does not answer
//! must not make us deaf, so signals also stop what the history does: results
//! that cannot be written then stay in the spool.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};

use flakewise_runner::SignalListener;

use crate::delivery::Sender;
use crate::exit_code::ExitCode;

/// Stops the history at the first signal. After the suite has ended, the second
/// signal ends the process.
pub(crate) struct Interrupts {
    state: Arc<State>,
    #[cfg(feature = "history")]
    history: Option<flakewise_history::Interrupt>,
    _listener: SignalListener,
}

#[derive(Default)]
struct State {
    /// The last signal since the suite ended, or 0.
    signal: AtomicI32,
    suite_ended: AtomicBool,
}

impl Interrupts {
    /// Listens from now on. The suite has started: it listens too.
    #[cfg_attr(not(feature = "history"), expect(unused_variables, reason = "only the engine can block"))]
    pub(crate) fn listen(sender: Option<&Sender>) -> Self {
        #[cfg(feature = "history")]
        let history = sender.map(|sender| sender.history.interrupt());
        let state = Arc::new(State::default());
        let listener = SignalListener::new({
            let state = Arc::clone(&state);
            #[cfg(feature = "history")]
            let history = history.clone();
            move |signal| {
                #[cfg(feature = "history")]
                if let Some(history) = &history {
                    history.raise();
                }
                if state.suite_ended.load(Ordering::SeqCst)
                    && state.signal.swap(signal, Ordering::SeqCst) != 0
                {
                    // The first signal did not end us. If our guard was killed, the kernel may
                    // send us one for each of its threads, and nobody else clears up.
                    flakewise_runner::end_now(ExitCode::of_signal(signal) as u8);
                }
            }
        });
        Self {
            state,
            #[cfg(feature = "history")]
            history,
            _listener: listener,
        }
    }

    /// The suite has ended, and with it what a signal was meant for so far.
    pub(crate) fn suite_ended(&self) {
        #[cfg(feature = "history")]
        if let Some(history) = &self.history {
            history.clear();
        }
        self.state.suite_ended.store(true, Ordering::SeqCst);
    }

    /// How the process ends if it was stopped after the suite.
    pub(crate) fn exit_code(&self) -> Option<ExitCode> {
        match self.state.signal.load(Ordering::SeqCst) {
            0 => None,
            signal => Some(ExitCode::of_signal(signal)),
        }
    }
}
