//! A project's history as a whole: what a page to look at shows.

use std::time::Duration;

use chrono::NaiveDate;

use crate::{Cost, FailureGroup, FlakeRate, OutcomeStep, RateChange, Tally, TestId, Timestamp, Verdict};

/// What the history says of a project, for a report with charts and a table.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ProjectOverview {
    /// The project, such as `acme/shop`.
    pub project: String,
    /// The first and last day of the window.
    pub window: Option<(NaiveDate, NaiveDate)>,
    /// Runs in the window.
    pub runs: u64,
    /// Runs set aside because most of their tests failed.
    pub outages: u64,
    /// Runs with a report that was cut off.
    pub incomplete_runs: u64,
    /// Days whose attempts have expired and whose roll-ups are gone, so that nothing is known of them; of the
    /// whole history.
    pub lost_days: u64,
    /// Attempts in the window.
    pub attempts: u64,
    /// How many tests the largest run had.
    pub largest_run: u64,
    /// What happened day by day, oldest first; days without runs are left out.
    pub days: Vec<DayTotals>,
    /// Tests that failed in the window outside of outages, the costliest first.
    pub tests: Vec<TestOverview>,
    /// Tests that failed too, and are not listed because there are too many.
    pub tests_left_off: u64,
}

/// One day of a project, outages left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DayTotals {
    /// The day.
    pub day: NaiveDate,
    /// Runs that began on it.
    pub runs: u64,
    /// Attempts in them.
    pub attempts: u64,
    /// Runs in which a flaky test failed.
    pub runs_disturbed: u64,
    /// Failures of flaky tests.
    pub flaky_failures: u64,
    /// Time spent in failed attempts of flaky tests and in running them again.
    pub time_lost: Duration,
}

/// One test in an overview.
#[derive(Clone, Debug, PartialEq)]
pub struct TestOverview {
    /// The test.
    pub test: TestId,
    /// What we conclude, and why.
    pub verdict: Verdict,
    /// The kind of flake, such as `state-dependent`, if a run named it.
    pub kind: Option<String>,
    /// How often its first attempt in a run fails.
    pub rate: FlakeRate,
    /// How often it failed when it was run again, on a base left out.
    pub reruns: FlakeRate,
    /// What it costs.
    pub cost: Cost,
    /// The first failure in the window.
    pub since: Option<Timestamp>,
    /// The last failure in the window.
    pub last_failed: Option<Timestamp>,
    /// Who looks after it.
    pub owner: Option<String>,
    /// Whether its failures are set aside, and until when.
    pub quarantine: Option<QuarantineNote>,
    /// How often it passed and failed on each day it ran, oldest first.
    pub days: Vec<(NaiveDate, Tally)>,
    /// More about it; the costliest tests have this.
    pub details: Option<TestDetails>,
}

/// A test's entry in the quarantine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuarantineNote {
    /// Who promised to repair it.
    pub owner: Option<String>,
    /// Why it is there.
    pub reason: Option<String>,
    /// The last day on which the entry holds.
    pub expires: Option<NaiveDate>,
}

/// What is shown of one test beyond its row.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TestDetails {
    /// The latest attempts, oldest first.
    pub steps: Vec<OutcomeStep>,
    /// Its failures by fingerprint, most frequent first.
    pub failures: Vec<FailureGroup>,
    /// When it began to fail more or less often, the oldest first.
    pub changes: Vec<RateChange>,
    /// Tests it depends on, where they are known.
    pub culprits: Vec<CulpritNote>,
    /// A command that makes it fail, where one is known.
    pub reproduce: Option<String>,
}

/// Tests that make another one fail.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CulpritNote {
    /// In the order they must run in.
    pub tests: Vec<TestId>,
    /// The state they leave behind, one sentence each.
    pub shared: Vec<String>,
}
