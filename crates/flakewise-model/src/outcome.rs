//! How one attempt ended.

use std::fmt;
use std::str::FromStr;

/// How one attempt ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Outcome {
    /// It ran and was content.
    Passed,
    /// An assertion or the test's own check failed.
    Failed,
    /// Set-up, tear-down or something around the test broke.
    Errored,
    /// It was not run, on purpose. Never the same as a pass.
    Skipped,
    /// It was stopped by a time limit.
    TimedOut,
    /// Its process died.
    Crashed,
}

impl Outcome {
    /// All outcomes.
    pub const ALL: [Self; 6] =
        [Self::Passed, Self::Failed, Self::Errored, Self::Skipped, Self::TimedOut, Self::Crashed];

    /// The name used in tables, machine formats and text.
    pub fn name(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Failed => "failed",
            Self::Errored => "errored",
            Self::Skipped => "skipped",
            Self::TimedOut => "timed-out",
            Self::Crashed => "crashed",
        }
    }

    /// Whether this would turn a build red.
    pub fn is_failure(self) -> bool {
        match self {
            Self::Failed | Self::Errored | Self::TimedOut | Self::Crashed => true,
            Self::Passed | Self::Skipped => false,
        }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

impl FromStr for Outcome {
    type Err = UnknownName;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .into_iter()
            .find(|outcome| outcome.name() == text)
            .ok_or_else(|| UnknownName { what: "outcome", name: text.to_owned() })
    }
}

/// A name that none of a closed set of values has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{name}` is not an {what} this version knows")]
pub struct UnknownName {
    pub(crate) what: &'static str,
    pub(crate) name: String,
}
