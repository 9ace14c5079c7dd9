//! One execution of one test: the atomic fact of the system.

use std::sync::Arc;
use std::time::Duration;

use crate::outcome::UnknownName;
use crate::{Fingerprint, Outcome, Run, TestId, Timestamp, TraceFrames};

/// The longest failure message kept, in bytes.
pub const MESSAGE_LIMIT: usize = 1024;

/// One execution of one test.
#[derive(Clone, Debug, PartialEq)]
pub struct Attempt {
    /// Which test.
    pub test: TestId,
    /// In which run; its commit, branch and variant are the attempt's too.
    pub run: Arc<Run>,
    /// Why it was executed.
    pub phase: Phase,
    /// Which execution of this test in this run, from 1.
    pub number: u32,
    /// How it ended.
    pub outcome: Outcome,
    /// How long it took, where the runner says so.
    pub duration: Option<Duration>,
    /// When it began, where the runner says so.
    pub started: Option<Timestamp>,
    /// Which worker process or host ran it, where known.
    pub worker: Option<Arc<str>>,
    /// Its place in the order of execution, from 0, where known.
    pub position: Option<u32>,
    /// What went wrong, for anything but a pass.
    pub failure: Option<Box<Failure>>,
}

impl Attempt {
    /// When it began; the run's start where nothing better is known.
    pub fn started_or_run(&self) -> Timestamp {
        self.started.unwrap_or(self.run.started)
    }
}

/// Why a test was executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Phase {
    /// As part of the suite.
    First,
    /// Again, by the runner's own retry.
    Retry,
    /// Again at once, in the same process.
    Rerun,
    /// Again after the suite, in the same process.
    Postpone,
    /// Again alone, in a process forked before the first test.
    Fork,
    /// Again alone, in a newly started process.
    Fresh,
    /// With the others, in another order than the suite's, in a process forked
    /// before the first test.
    Order,
    /// In a newly started process, on the base revision of the change. Its run
    /// names that revision.
    Base,
}

impl Phase {
    /// All phases.
    pub const ALL: [Self; 8] = [
        Self::First,
        Self::Retry,
        Self::Rerun,
        Self::Postpone,
        Self::Fork,
        Self::Fresh,
        Self::Order,
        Self::Base,
    ];

    /// The name used in tables and machine formats.
    pub fn name(self) -> &'static str {
        match self {
            Self::First => "first",
            Self::Retry => "retry",
            Self::Rerun => "rerun",
            Self::Postpone => "postpone",
            Self::Fork => "fork",
            Self::Fresh => "fresh",
            Self::Order => "order",
            Self::Base => "base",
        }
    }
}

impl std::str::FromStr for Phase {
    type Err = UnknownName;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .into_iter()
            .find(|phase| phase.name() == text)
            .ok_or_else(|| UnknownName { what: "execution phase", name: text.to_owned() })
    }
}

/// What went wrong in an attempt, or why it was skipped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The exception or error type, such as `java.net.ConnectException`.
    pub kind: Option<String>,
    /// The beginning of the message, at most [`MESSAGE_LIMIT`] bytes.
    pub message: String,
    /// What failures of one cause have in common; none for a skip.
    pub fingerprint: Option<Fingerprint>,
}

impl Failure {
    /// Describes a failure. `trace` is the stack trace or whatever text the
    /// runner gave; only its fingerprint is kept.
    pub fn new(kind: Option<&str>, message: &str, trace: &str) -> Self {
        Self::described(kind, message, trace, Fingerprint::of(kind, message, trace))
    }

    /// The same, and what it takes to recognise the failure after the test was renamed, if the
    /// trace has that.
    pub fn with_frames(kind: Option<&str>, message: &str, trace: &str) -> (Self, Option<TraceFrames>) {
        let (fingerprint, frames) = TraceFrames::read(kind, message, trace);
        (Self::described(kind, message, trace, fingerprint), frames)
    }

    fn described(kind: Option<&str>, message: &str, trace: &str, fingerprint: Fingerprint) -> Self {
        Self {
            kind: kind.map(str::to_owned),
            message: excerpt(if message.is_empty() { trace } else { message }),
            fingerprint: Some(fingerprint),
        }
    }

    /// Describes why a test was skipped.
    pub fn skip(reason: &str) -> Self {
        Self { kind: None, message: excerpt(reason), fingerprint: None }
    }
}

/// The beginning of a message, without colour codes and control characters.
fn excerpt(message: &str) -> String {
    let mut out = String::with_capacity(message.len().min(MESSAGE_LIMIT));
    let mut characters = message.trim().chars().peekable();
    while let Some(character) = characters.next() {
        if character == '\u{1b}' {
            // A terminal's control sequence: `ESC [ … letter`.
            if characters.next_if_eq(&'[').is_some() {
                while characters.next_if(|next| !next.is_ascii_alphabetic()).is_some() {}
                characters.next();
            }
        } else if !character.is_control() || character == '\n' {
            if out.len() + character.len_utf8() > MESSAGE_LIMIT - '…'.len_utf8() {
                out.push('…');
                break;
            }
            out.push(character);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn excerpts_are_bounded_and_clean(message in any::<String>()) {
            let long = message.repeat(40);
            let excerpt = excerpt(&long);
            prop_assert!(excerpt.len() <= MESSAGE_LIMIT);
            prop_assert!(!excerpt.chars().any(|character| character.is_control() && character != '\n'));
        }
    }

    #[test]
    fn colour_codes_are_dropped() {
        assert_eq!(excerpt("\u{1b}[31mred\u{1b}[0m\u{7} line\nnext"), "red line\nnext");
    }
}
