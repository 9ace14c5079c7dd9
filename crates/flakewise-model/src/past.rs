//! What the history says of tests that failed just now.

use crate::{TestId, Timestamp};

/// What is known of a test from other revisions than the one at hand. Skips and
/// runs that were outages are left out.
///
/// Failures alone prove nothing: a test that a change broke fails on every
/// commit of that change, and with the same fingerprint. A revision with both
/// outcomes is proof.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PastFailures {
    /// The test.
    pub test: TestId,
    /// Attempts that passed or failed.
    pub attempts: u64,
    /// Of those, the ones that failed.
    pub failures: u64,
    /// Of those, the ones with the fingerprint asked for.
    pub alike: u64,
    /// Revisions on which it ran.
    pub revisions: u64,
    /// Revisions on which it failed with the fingerprint asked for.
    pub alike_revisions: u64,
    /// Revisions on which it both passed and failed in one variant: it was
    /// proved flaky there.
    pub mixed_revisions: u64,
    /// The latest attempt.
    pub last_seen: Option<Timestamp>,
    /// The latest failure.
    pub last_failed: Option<Timestamp>,
}

impl PastFailures {
    /// Nothing is known of this test.
    pub fn none(test: TestId) -> Self {
        Self {
            test,
            attempts: 0,
            failures: 0,
            alike: 0,
            revisions: 0,
            alike_revisions: 0,
            mixed_revisions: 0,
            last_seen: None,
            last_failed: None,
        }
    }
}

/// How a test ended on one commit, by an unmodified work tree. Skips and runs
/// that were outages are left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutcomesAt {
    /// The test.
    pub test: TestId,
    /// Attempts that passed.
    pub passed: u64,
    /// Attempts that failed.
    pub failed: u64,
    /// The latest attempt.
    pub last_seen: Option<Timestamp>,
}

impl OutcomesAt {
    /// Nothing is known of this test there.
    pub fn none(test: TestId) -> Self {
        Self { test, passed: 0, failed: 0, last_seen: None }
    }
}
