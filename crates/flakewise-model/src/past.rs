//! What the history says of tests that failed just now.

use std::sync::Arc;

use crate::{RunId, TestId, Timestamp, Variant};

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
    /// Of those, the ones with the fingerprint requested.
    pub alike: u64,
    /// Revisions on which it ran.
    pub revisions: u64,
    /// Revisions on which it failed with the fingerprint requested.
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
    /// Those that failed in the way in question.
    pub alike: u64,
    /// The latest attempt.
    pub last_seen: Option<Timestamp>,
}

impl OutcomesAt {
    /// Nothing is known of this test there.
    pub fn none(test: TestId) -> Self {
        Self { test, passed: 0, failed: 0, alike: 0, last_seen: None }
    }
}

/// What is known of a test on one commit, by unmodified work trees. Skips and
/// runs that were outages are left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeenOn {
    /// The commit.
    pub commit: String,
    /// The branches it was tested on, sorted; none where nobody said so.
    pub branches: Vec<String>,
    /// Failures with the fingerprint requested, in attempts of any phase.
    pub alike: u64,
    /// First attempts that passed: those that the suite itself made.
    pub first_passed: u64,
    /// First attempts that failed, with any fingerprint.
    pub first_failed: u64,
    /// The latest attempt.
    pub last_seen: Timestamp,
}

impl SeenOn {
    /// How many commits are given whatever happened on them: the newest. Older
    /// ones follow only if the test failed alike there, so a rate must be taken
    /// from the first of these.
    pub const RECENT: usize = 200;
    /// How many commits with failures alike are given at most.
    pub const MOST_ALIKE: usize = 50;
}

/// A run of an unmodified work tree in which a test passed, and what was
/// installed then.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PassedRun {
    /// The run.
    pub run: RunId,
    /// The commit.
    pub commit: String,
    /// Where and how it ran.
    pub variant: Variant,
    /// When the test began there.
    pub at: Timestamp,
    /// The packages installed, for [`crate::differences`].
    pub packages: Arc<str>,
}

/// How often a test passed and failed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Passes.
    pub passed: u64,
    /// Failures.
    pub failed: u64,
}

impl Tally {
    /// Takes in one more.
    pub fn add(&mut self, failed: bool) {
        if failed {
            self.failed += 1;
        } else {
            self.passed += 1;
        }
    }

    /// Both together.
    pub fn runs(self) -> u64 {
        self.passed + self.failed
    }

    /// Whether there are some of each.
    pub fn is_mixed(self) -> bool {
        self.passed > 0 && self.failed > 0
    }
}

impl std::ops::AddAssign for Tally {
    fn add_assign(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
    }
}

/// What earlier runs of the same code showed of a test.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PastRuns {
    /// With other tests in the suite's own order, in one process.
    pub together: Tally,
    /// With other tests in another order.
    pub ordered: Tally,
    /// In processes of its own.
    pub alone: Tally,
    /// How long it takes, in seconds; none if nobody says so.
    pub seconds: Option<f64>,
}
