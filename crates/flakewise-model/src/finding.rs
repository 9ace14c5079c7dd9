//! What we conclude about a test, and what we tell people.

use std::fmt;
use std::time::Duration;

use crate::{Fingerprint, Interval, Outcome, Probability, RateChange, RunId, TestId, Timestamp, Variant};

/// A conclusion with its probability and all that carries it.
#[derive(Clone, Debug, PartialEq)]
pub struct Verdict {
    /// What we conclude.
    pub conclusion: Conclusion,
    /// The probability that the test is flaky.
    pub probability: Probability,
    /// Why, strongest first.
    pub evidence: Vec<Evidence>,
}

/// What can be concluded about a test from its history.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Conclusion {
    /// It passed and failed on the same code: proved.
    Flaky,
    /// Its outcomes change in a way that changes of the code explain badly.
    ProbablyFlaky,
    /// It fails, and has done so consistently since some commit.
    Broken,
    /// It failed, and the history does not tell why.
    Undecided,
    /// It was never seen to fail outside an outage.
    NotSeenFailing,
}

impl Conclusion {
    /// Whether it is flaky, proved or probably.
    pub fn is_flaky(self) -> bool {
        matches!(self, Self::Flaky | Self::ProbablyFlaky)
    }

    /// The name used in machine formats.
    pub fn name(self) -> &'static str {
        match self {
            Self::Flaky => "flaky",
            Self::ProbablyFlaky => "probably-flaky",
            Self::Broken => "broken",
            Self::Undecided => "undecided",
            Self::NotSeenFailing => "not-seen-failing",
        }
    }
}

/// One reason for a verdict.
#[derive(Clone, Debug, PartialEq)]
pub enum Evidence {
    /// The test both passed and failed on the same code in the same variant.
    MixedOutcomes {
        /// How many distinct versions of the code showed both.
        revisions: u64,
        /// The latest of them: a commit, or a run where the commit is unknown.
        latest: Revision,
        /// In which variant.
        variant: Variant,
        /// Passes there.
        passed: u64,
        /// Failures there.
        failed: u64,
        /// When it was last seen there.
        at: Timestamp,
    },
    /// How the outcome moved from one version of the code to the next.
    Transitions(Transitions),
    /// Failures that prove nothing, because most of their run failed.
    OutagesIgnored {
        /// How many failures were set aside.
        failures: u64,
    },
}

/// Which code ran.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Revision {
    /// A commit.
    Commit(String),
    /// An unknown or modified version, known only to be one within a run.
    Run(RunId),
}

/// How a test's outcome moved between consecutive versions of the code.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Transitions {
    /// It kept passing.
    pub stayed_passing: u64,
    /// It began to fail.
    pub began_failing: u64,
    /// It kept failing.
    pub stayed_failing: u64,
    /// It passed again.
    pub recovered: u64,
}

/// A stable short name for a finding: eight hexadecimal digits.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FindingId(String);

impl FindingId {
    /// The id of findings about this test. It is the same whichever command
    /// reports the test, and does not change as evidence comes in.
    pub fn of(test: &TestId) -> Self {
        // The name of one kind is hashed for all of them: histories have held
        // these ids from the beginning.
        Self::hashed(FindingKind::FailedInRun, test)
    }

    /// The id of something that is no test, such as a file that gave no result.
    pub fn of_name(name: &str) -> Self {
        Self::of_bytes(b"name", name.as_bytes())
    }

    /// Whether this id is that of the test, also by the rule of earlier
    /// versions, which gave a test another id for each kind of finding.
    pub fn names(&self, test: &TestId) -> bool {
        FindingKind::ALL.into_iter().any(|kind| Self::hashed(kind, test) == *self)
    }

    fn hashed(kind: FindingKind, test: &TestId) -> Self {
        Self::of_bytes(kind.name().as_bytes(), test.as_str().as_bytes())
    }

    fn of_bytes(kind: &[u8], name: &[u8]) -> Self {
        let mut hasher = blake3::Hasher::new();
        hasher.update(kind);
        hasher.update(b"\0");
        hasher.update(name);
        Self(hasher.finalize().to_hex()[..8].to_owned())
    }

    /// Takes back an id that was written down.
    pub fn from_text(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The text form.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for FindingId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// What a finding is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FindingKind {
    /// A test that is flaky by its history.
    FlakyByHistory,
    /// A test that failed in a run under our eyes.
    FailedInRun,
    /// A test that is likely flaky by its source.
    FlakyRisk,
    /// A test that a hunt has seen pass and fail.
    FoundByHunt,
}

impl FindingKind {
    /// All kinds.
    pub const ALL: [Self; 4] = [Self::FlakyByHistory, Self::FailedInRun, Self::FlakyRisk, Self::FoundByHunt];

    /// The stable name, which reads well after "allow".
    pub fn name(self) -> &'static str {
        match self {
            Self::FlakyByHistory => "flaky-by-history",
            Self::FailedInRun => "failed-in-run",
            Self::FlakyRisk => "flaky-risk",
            Self::FoundByHunt => "found-by-hunt",
        }
    }
}

/// A test that is flaky, proved or probably, by its history.
#[derive(Clone, Debug, PartialEq)]
pub struct FlakyTest {
    /// Its stable short name.
    pub id: FindingId,
    /// What it is about.
    pub kind: FindingKind,
    /// The test.
    pub test: TestId,
    /// What we conclude, and why.
    pub verdict: Verdict,
    /// How often its first attempt in a run fails.
    pub rate: FlakeRate,
    /// How often it failed when it was run again, on a base left out.
    pub reruns: FlakeRate,
    /// What it costs.
    pub cost: Cost,
    /// The first failure that speaks for the finding.
    pub since: Timestamp,
    /// The last failure that speaks for it.
    pub last_seen: Timestamp,
    /// When it began to fail more or less often, the oldest first.
    pub changes: Vec<RateChange>,
    /// Its failures by fingerprint, most frequent first.
    pub failures: Vec<FailureGroup>,
}

/// How often a test fails, outages left out.
///
/// Reruns are counted apart from first attempts: a failing test is run again
/// and a passing one is not, so counted together they say more about the
/// reruns than about the test.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FlakeRate {
    /// Attempts that failed.
    pub failures: u64,
    /// Attempts that passed or failed.
    pub attempts: u64,
}

impl FlakeRate {
    /// The observed rate.
    pub fn rate(self) -> Probability {
        Probability::clamped(self.failures as f64 / self.attempts.max(1) as f64)
    }

    /// Where the true rate lies, at 95 %.
    pub fn interval(self) -> Interval {
        Interval::wilson(self.failures, self.attempts)
    }
}

/// What a flaky test costs the people around it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cost {
    /// Runs in which it failed at least once, attempts on a base left out.
    pub runs_disturbed: u64,
    /// Time spent in its failed attempts and in running it again.
    pub time_lost: Duration,
}

/// Failures of one test that look alike.
#[derive(Clone, Debug, PartialEq)]
pub struct FailureGroup {
    /// What they have in common; none where the runner said nothing.
    pub fingerprint: Option<Fingerprint>,
    /// The exception or error type.
    pub kind: Option<String>,
    /// The message of the latest of them.
    pub message: String,
    /// How many there are.
    pub count: u64,
    /// The first.
    pub first_seen: Timestamp,
    /// The latest.
    pub last_seen: Timestamp,
}

/// A failure that several tests have in common: rarely is one of them its cause.
#[derive(Clone, Debug, PartialEq)]
pub struct SharedFailure {
    /// The tests, sorted.
    pub tests: Vec<TestId>,
    /// What they have in common, with the counts and times of all of them.
    pub failure: FailureGroup,
}

/// What the history says of a project.
#[derive(Clone, Debug, PartialEq)]
pub struct HistoryReport {
    /// Flaky tests, the costliest first.
    pub findings: Vec<FlakyTest>,
    /// Failures that look the same in several tests, those of most tests first.
    pub shared_failures: Vec<SharedFailure>,
    /// Tests that failed in the window and are not called flaky.
    pub others_failing: u64,
    /// Of those, the ones that fail now, consistently.
    pub broken: u64,
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
    /// The first and last day of the window.
    pub window: Option<(chrono::NaiveDate, chrono::NaiveDate)>,
}

/// One test's past, for a person who wants to see it.
#[derive(Clone, Debug, PartialEq)]
pub struct TestHistory {
    /// The test.
    pub test: TestId,
    /// What we conclude from it.
    pub verdict: Verdict,
    /// How often its first attempt in a run fails.
    pub rate: FlakeRate,
    /// How often it failed when it was run again, on a base left out.
    pub reruns: FlakeRate,
    /// What that costs.
    pub cost: Cost,
    /// How many attempts are known, skips included.
    pub attempts: u64,
    /// When it was first seen at all.
    pub first_seen: Timestamp,
    /// The latest attempts, oldest first.
    pub steps: Vec<OutcomeStep>,
    /// Its failures by fingerprint, most frequent first.
    pub failures: Vec<FailureGroup>,
    /// When it began to fail more or less often, the oldest first.
    pub changes: Vec<RateChange>,
}

/// One attempt in a test's history.
#[derive(Clone, Debug, PartialEq)]
pub struct OutcomeStep {
    /// When it began.
    pub at: Timestamp,
    /// How it ended.
    pub outcome: Outcome,
    /// Whether its run was an outage, so that a failure proves nothing.
    pub outage: bool,
    /// The commit, where known.
    pub commit: Option<String>,
    /// The variant, as text.
    pub variant: String,
    /// The run.
    pub run: RunId,
}
