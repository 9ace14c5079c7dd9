//! One entry of the quarantine.

use std::fmt;

use chrono::NaiveDate;
use flakewise_model::{Fingerprint, TestId};

use crate::Pattern;

/// One entry: which failures of which tests are forgiven, until when, and who fixes them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Which tests.
    pub target: Target,
    /// Which of their failures.
    pub accepts: Accepts,
    /// Why.
    pub reason: String,
    /// Who is to fix them.
    pub owner: String,
    /// Where that is tracked.
    pub issue: Option<String>,
    /// The first day.
    pub since: NaiveDate,
    /// The last day.
    pub until: NaiveDate,
    /// Whether the tests run.
    pub mode: Mode,
    /// The line of the file on which the entry begins, from 1.
    pub line: u32,
}

impl Entry {
    /// Whether the entry is about a test.
    pub fn covers(&self, test: &TestId) -> bool {
        match &self.target {
            Target::Test(own) => own == test,
            Target::Pattern(pattern) => pattern.matches(test),
        }
    }
}

/// Which tests an entry is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// One test.
    Test(TestId),
    /// All tests whose id matches.
    Pattern(Pattern),
}

impl Target {
    /// The id or pattern as it is in the file.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Test(test) => test.as_str(),
            Self::Pattern(pattern) => pattern.as_str(),
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

/// Which failures an entry forgives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Accepts {
    /// Those with one of these fingerprints; there is at least one.
    Fingerprints(Vec<Fingerprint>),
    /// All but regressions, crashes and time-outs.
    AnyFailure,
}

/// What happens to a quarantined test.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// It runs and is recorded, and its known failures are forgiven.
    #[default]
    Run,
    /// It does not run.
    Skip,
}

impl Mode {
    /// The name in the file.
    pub fn name(self) -> &'static str {
        match self {
            Self::Run => "run",
            Self::Skip => "skip",
        }
    }
}
