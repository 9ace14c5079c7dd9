//! What the quarantine says about a failing test.

use chrono::NaiveDate;

/// The quarantine entry that covers a failing test, and what follows from it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Quarantined {
    /// The entry's test id or pattern.
    pub entry: String,
    /// Who is to fix the test.
    pub owner: String,
    /// Why it is quarantined.
    pub reason: String,
    /// Where that is tracked.
    pub issue: Option<String>,
    /// The last day on which the entry applies.
    pub until: NaiveDate,
    /// Whether the failure is forgiven.
    pub status: QuarantineStatus,
}

impl Quarantined {
    /// Whether the failure does not fail the build.
    pub fn is_forgiven(&self) -> bool {
        self.status == QuarantineStatus::Forgiven
    }
}

/// Whether a failure of a quarantined test is forgiven; if not, why.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum QuarantineStatus {
    /// It does not fail the build.
    Forgiven,
    /// The entry has expired.
    Expired,
    /// The test failed in a way that the entry does not list.
    OtherFailure,
    /// The test crashed or timed out.
    Crashed,
    /// The entry covers any failure, but this one is a regression.
    Regression,
    /// The entry covers any failure, but too many tests failed to judge this one.
    TooManyFailures,
}

impl QuarantineStatus {
    /// The name used in machine formats.
    pub fn name(self) -> &'static str {
        match self {
            Self::Forgiven => "forgiven",
            Self::Expired => "expired",
            Self::OtherFailure => "other-failure",
            Self::Crashed => "crashed",
            Self::Regression => "regression",
            Self::TooManyFailures => "too-many-failures",
        }
    }
}
