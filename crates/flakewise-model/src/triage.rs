//! What we say about the failures of one run.

use std::sync::Arc;
use std::time::Duration;

use crate::{Attempt, FindingId, Outcome, Phase, Probability, Quarantined, Reproduction, Run, TestId};

/// Everything there is to say about one run.
#[derive(Clone, Debug, PartialEq)]
pub struct RunReport {
    /// The run itself.
    pub run: Arc<Run>,
    /// The command that was run, as given.
    pub command: Vec<String>,
    /// The seed all randomness of ours came from.
    pub seed: u64,
    /// The hash seed the suite ran with, where the language has one.
    pub hash_seed: Option<u32>,
    /// How the tests ended, by their first attempt.
    pub counts: Counts,
    /// Tests that were selected and never gave a result, by the runner's names.
    pub lost: Vec<String>,
    /// Files that could not be collected, by the runner's names: nobody knows
    /// which tests are in them.
    pub uncollected: Vec<String>,
    /// Tests that failed, worst first: what needs a person comes first.
    pub failures: Vec<TestFailure>,
    /// Failures that share a cause, largest first. Every failure is in one.
    pub incidents: Vec<Incident>,
    /// What the failures were compared with; none without version control.
    pub change: Option<ChangeSummary>,
    /// What reruns of new and changed tests showed; none if they were not requested.
    pub review: Option<Review>,
    /// Things a person should know about how the run was done.
    pub notices: Vec<Notice>,
    /// How the build ends, and why.
    pub exit: BuildExit,
    /// Attempts beyond the first.
    pub reruns: u64,
    /// Time spent in the runner's own run of the suite.
    pub suite_time: Duration,
    /// Time spent on the ladder after it.
    pub triage_time: Duration,
}

impl RunReport {
    /// Whether every test was found and gave a result.
    pub fn is_complete(&self) -> bool {
        self.lost.is_empty() && self.uncollected.is_empty() && self.exit.reason != ExitReason::Lost
    }
}

/// What reruns of new and changed tests showed that had passed in the suite.
#[derive(Clone, Debug, PartialEq)]
pub struct Review {
    /// How many such tests there are.
    pub tests: u64,
    /// How many of them are flaky.
    pub flaky: u64,
    /// Reruns of all of them.
    pub runs: u64,
    /// The fewest and the most reruns of a test that did not fail.
    pub each: (u32, u32),
    /// How often each of them should have been rerun.
    pub goal: u32,
    /// Tests that fail this often were to be found.
    pub rate: f64,
    /// How long it took.
    pub time: Duration,
    /// How long it may have taken.
    pub budget: Duration,
}

impl Review {
    /// The probability that a flaky test with the given rate would have failed in
    /// these reruns: for the test that was rerun least.
    pub fn shows(&self) -> Probability {
        let misses = (1.0 - self.rate).powi(i32::try_from(self.each.0).unwrap_or(i32::MAX));
        Probability::clamped(1.0 - misses)
    }
}

/// How many tests ended how.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Tests selected to run.
    pub selected: u64,
    /// Tests that passed at their first attempt.
    pub passed: u64,
    /// Tests that failed, broke, crashed or timed out at their first attempt.
    pub failed: u64,
    /// Tests that were skipped.
    pub skipped: u64,
}

/// One failing test with what we say about it.
#[derive(Clone, Debug, PartialEq)]
pub struct TestFailure {
    /// A stable short name.
    pub id: FindingId,
    /// The test.
    pub test: TestId,
    /// The test as its runner names it on a command line.
    pub name: String,
    /// Where it failed: a file of the project and a line.
    pub place: Option<(String, u32)>,
    /// What we conclude.
    pub verdict: FailureVerdict,
    /// All its attempts in this run, in order.
    pub attempts: Vec<Attempt>,
    /// What the processes cost that ran nothing but one of them.
    pub costs: Vec<AttemptCost>,
    /// Its place in [`RunReport::incidents`].
    pub incident: usize,
    /// A command that runs it again under the conditions in which it failed.
    pub reproduce: Reproduction,
    /// Why it is not tolerated; none if it is, or if nothing is to be.
    pub refusal: Option<Refusal>,
    /// The quarantine entry for the test, if there is one.
    pub quarantine: Option<Quarantined>,
}

/// What a process cost that ran one attempt and nothing else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AttemptCost {
    /// The attempt's number.
    pub number: u32,
    /// From the start of the process to its end.
    pub wall: Duration,
    /// The processor time it used.
    pub cpu: Duration,
}

/// A conclusion about a failure with its probability and all that carries it.
#[derive(Clone, Debug, PartialEq)]
pub struct FailureVerdict {
    /// What we conclude.
    pub blame: Blame,
    /// Whether the failure came with the change.
    pub novelty: Novelty,
    /// The probability that the test is flaky.
    pub flaky: Probability,
    /// The probability that the change broke it.
    pub regression: Probability,
    /// The probability that it fails always, and not because of the change.
    pub environment: Probability,
    /// How likely the kind of flake is, if one is named.
    pub kind: Option<Probability>,
    /// Why, strongest first.
    pub proofs: Vec<Proof>,
}

impl FailureVerdict {
    /// The name of the verdict as a whole: a flake that came with the change has one
    /// of its own.
    pub fn headline(&self) -> &'static str {
        if self.is_new_flake() { "new-flake" } else { self.blame.name() }
    }

    /// Whether the test is flaky and the change made it so.
    pub fn is_new_flake(&self) -> bool {
        matches!(self.blame, Blame::Flaky(_)) && self.novelty == Novelty::New
    }
}

/// Whether a failure came with the change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Novelty {
    /// The test executes the change, and the failure was never seen without it.
    New,
    /// The same failure was seen on code without the change.
    Known,
    /// The test depends on nothing that changed.
    Unrelated,
    /// We cannot tell.
    Unknown,
}

impl Novelty {
    /// The name used in machine formats.
    pub fn name(self) -> &'static str {
        match self {
            Self::New => "new",
            Self::Known => "known",
            Self::Unrelated => "unrelated",
            Self::Unknown => "unknown",
        }
    }
}

/// Why a failure is not tolerated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Refusal {
    /// It never passed on this code.
    NeverPassed,
    /// It is a flake that came with the change.
    NewFlake,
    /// The same failure was never seen without the change.
    NotKnown,
    /// It may depend on what changed, and the same failure was never seen without
    /// the change.
    MayTouchChange,
    /// It crashed or timed out, and that was never seen without the change.
    UnknownCrash,
    /// It fails whenever the whole suite runs.
    EveryWholeRun,
    /// It fails more often than it did without the change.
    MoreOften,
    /// The first failure was seen without the change, another one here was not.
    AnotherFailure,
    /// Its quarantine has expired.
    QuarantineExpired,
}

impl Refusal {
    /// The name used in machine formats.
    pub fn name(self) -> &'static str {
        match self {
            Self::NeverPassed => "never-passed",
            Self::NewFlake => "new-flake",
            Self::NotKnown => "not-known",
            Self::MayTouchChange => "may-touch-change",
            Self::UnknownCrash => "unknown-crash",
            Self::EveryWholeRun => "every-whole-run",
            Self::MoreOften => "more-often",
            Self::AnotherFailure => "another-failure",
            Self::QuarantineExpired => "quarantine-expired",
        }
    }
}

/// What a failure is due to.
#[derive(Clone, Debug, PartialEq)]
pub enum Blame {
    /// Not to the change: the test is flaky.
    Flaky(FlakyKind),
    /// To the change.
    Regression,
    /// To something older than the change: it fails at the base too.
    BrokenBefore,
    /// To something besides the change: it fails always, and depends on nothing that
    /// changed. A dependency, the date, the platform or a service.
    Environment,
    /// To what the tests run on, not to any one of them.
    Infrastructure,
    /// We cannot tell.
    Undecided(OpenQuestion),
}

impl Blame {
    /// The name used in machine formats and tables.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Flaky(_) => "flaky",
            Self::Regression => "regression",
            Self::BrokenBefore => "broken-before",
            Self::Environment => "environment",
            Self::Infrastructure => "infrastructure",
            Self::Undecided(_) => "undecided",
        }
    }

    /// The finer name: the kind of flake, or the open question.
    pub fn detail(&self) -> Option<&'static str> {
        match self {
            Self::Flaky(kind) => Some(kind.name()),
            Self::Undecided(question) => Some(question.name()),
            _ => None,
        }
    }

    /// Whether a pass on the same code proves that the test is flaky.
    pub fn is_proved_flaky(&self) -> bool {
        matches!(self, Self::Flaky(_))
    }
}

/// The kind of flake: the condition under which the test fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FlakyKind {
    /// Fails at random, whatever the conditions.
    Transient,
    /// Failed for a while and then no more.
    Bursty,
    /// Fails in the suite's process and not alone: the tests before it left
    /// something behind.
    StateDependent,
    /// Fails with the suite's hash seed and not with others.
    HashSeed,
    /// Fails in the suite's process and its forks and not in a new one.
    ProcessDependent,
    /// It passes and fails, and no kind is likely enough to be named.
    Undecided,
}

impl FlakyKind {
    /// The stable name, which reads well after "allow".
    pub fn name(self) -> &'static str {
        match self {
            Self::Transient => "transient",
            Self::Bursty => "bursty",
            Self::StateDependent => "state-dependent",
            Self::HashSeed => "hash-seed",
            Self::ProcessDependent => "process-dependent",
            Self::Undecided => "undecided-kind",
        }
    }
}

/// Why a failure stays undecided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum OpenQuestion {
    /// So many tests failed that none was run again.
    TooManyFailures,
    /// It depends on nothing that changed but its runner's configuration; whether
    /// it passed before is unknown.
    BaseUnknown,
    /// It depends on nothing that changed, and yet it passes at the base now.
    PassesAtBase,
    /// It fails always; what changed is unknown.
    ChangeUnknown,
    /// It fails always, and not all it depends on could be seen.
    DependenciesUnknown,
    /// It fails always and loads changed files, but runs none of what changed
    /// in them.
    NotExecuted,
    /// It was not run often enough.
    NotEnoughRuns,
}

impl OpenQuestion {
    /// The name used in machine formats.
    pub fn name(self) -> &'static str {
        match self {
            Self::TooManyFailures => "too-many-failures",
            Self::BaseUnknown => "base-unknown",
            Self::PassesAtBase => "passes-at-base",
            Self::ChangeUnknown => "change-unknown",
            Self::DependenciesUnknown => "dependencies-unknown",
            Self::NotExecuted => "not-executed",
            Self::NotEnoughRuns => "not-enough-runs",
        }
    }
}

/// One reason for a verdict about a failure.
#[derive(Clone, Debug, PartialEq)]
pub enum Proof {
    /// It passed on the same code.
    PassedAgain {
        /// On which rung.
        phase: Phase,
        /// How often it had failed before.
        failures_before: u32,
    },
    /// It passed in the suite and failed when it was rerun on the same code.
    FailedAgain {
        /// How many reruns failed.
        failed: u32,
        /// How many reruns there were.
        runs: u32,
    },
    /// It failed every time it ran.
    AlwaysFailed {
        /// How often it ran, the first time included.
        attempts: u32,
        /// In how many processes.
        processes: u32,
    },
    /// It fails with the suite's hash seed and passes with another.
    HashSeed {
        /// The seed it fails with.
        failing: u32,
        /// The seed it passes with.
        passing: u32,
    },
    /// It depends on files that changed, the surest first.
    TouchesChange {
        /// Those files.
        files: Vec<TouchedFile>,
        /// How many files changed in all.
        changed: u32,
    },
    /// It depends on nothing that changed.
    UntouchedByChange {
        /// How many files changed.
        changed: u32,
        /// How many files the test depends on.
        dependencies: u32,
    },
    /// What it depends on could not be seen in full.
    DependenciesUnknown {
        /// What hid it.
        reason: String,
    },
    /// What it does at the base of the change.
    AtBase {
        /// The base revision.
        commit: String,
        /// How often it passed there.
        passed: u32,
        /// How often it failed there.
        failed: u32,
        /// How we know.
        source: BaseSource,
    },
    /// Nothing changed since the base.
    NothingChanged {
        /// The base revision.
        commit: String,
    },
    /// At the base it fails too, but in another way, which says nothing.
    OtherFailureAtBase {
        /// The base revision.
        commit: String,
        /// What it fails with there.
        kind: Option<String>,
    },
    /// The same failure was seen on commits without the change.
    SeenWithoutChange {
        /// How often.
        failures: u64,
        /// On how many commits.
        commits: u64,
    },
    /// It fails whenever the whole suite runs.
    EveryWholeRun {
        /// How many whole runs are known, this one included.
        runs: u64,
    },
    /// It fails more often than it did without the change.
    MoreOften {
        /// Failures and runs here, without the first failure.
        here: (u64, u64),
        /// Failures and runs without the change.
        before: (u64, u64),
    },
    /// What is installed differs from a run in which it passed.
    InstalledDiffers {
        /// What, as `httpx 0.27.0 → 0.28.1`.
        packages: Vec<String>,
    },
    /// The history knows it.
    KnownFlaky {
        /// How often it failed with the same fingerprint before.
        failures: u64,
        /// On how many other revisions.
        revisions: u64,
    },
    /// Other tests failed in the same way at the same time.
    SharedFailure {
        /// How many, this one included.
        tests: u32,
        /// The one that was run again for all, if it is not this one.
        representative: Option<String>,
    },
    /// So many tests failed that running them again would say little.
    TooManyFailures {
        /// How many failed.
        failed: u64,
        /// Of how many.
        ran: u64,
    },
}

/// How the outcome at the base is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BaseSource {
    /// It was run there now.
    Run,
    /// It is in the history.
    History,
}

/// A changed file a test depends on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TouchedFile {
    /// The file, relative to the repository, with forward slashes.
    pub path: String,
    /// How the test depends on it.
    pub touch: Touch,
}

/// How a test depends on a changed file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Touch {
    /// It executed these changed lines.
    Executed(Vec<u32>),
    /// It loaded the file, or executed parts of it that did not change.
    Loaded,
    /// It opened the file.
    Opened,
    /// It looked for the file, which was removed or added.
    LookedFor,
    /// Its runner is configured by the file. These keys changed that act on
    /// tests, or may; none if it is not known which.
    Configured(Vec<String>),
}

impl Touch {
    /// Whether it is only that its runner is configured by the file.
    pub fn is_configuration(&self) -> bool {
        matches!(self, Self::Configured(_))
    }
}

/// Failures with one cause, as far as can be seen from outside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Incident {
    /// The exception or error type.
    pub kind: Option<String>,
    /// The message of the first of them.
    pub message: String,
    /// Places in [`RunReport::failures`].
    pub failures: Vec<usize>,
}

/// What a run is compared with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangeSummary {
    /// The base revision.
    pub base: String,
    /// How it was found, for people: `merge base with origin/main`.
    pub found: String,
    /// How many files changed.
    pub files: u32,
    /// Whether uncommitted work is part of it.
    pub uncommitted: bool,
}

/// Something a person should know about how the run was done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    /// What happened, as a sentence without a full stop.
    pub text: String,
    /// Whether it makes the answer weaker, rather than only different.
    pub warning: bool,
}

/// How the build ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BuildExit {
    /// The exit code of the runner; none if a signal ended it.
    pub runner: Option<i32>,
    /// The exit code of the build.
    pub code: u8,
    /// Why.
    pub reason: ExitReason,
}

/// Why the build ends as it does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExitReason {
    /// It is what the runner said.
    Runner,
    /// All failures that would have made it red are tolerated.
    Tolerated,
    /// Some failures are not tolerated.
    NotTolerated,
    /// Tests were lost: a run that lost tests is never green.
    Lost,
    /// A new or changed test passed in the suite and failed when it was rerun.
    FoundFlaky,
}

impl ExitReason {
    /// The name used in machine formats.
    pub fn name(self) -> &'static str {
        match self {
            Self::Runner => "runner",
            Self::Tolerated => "tolerated",
            Self::NotTolerated => "not-tolerated",
            Self::Lost => "lost",
            Self::FoundFlaky => "found-flaky",
        }
    }
}

impl TestFailure {
    /// Whether the quarantine forgives it.
    pub fn is_quarantined(&self) -> bool {
        self.quarantine.as_ref().is_some_and(Quarantined::is_forgiven)
    }

    /// Whether it passed in the suite, and failed only when it was rerun.
    pub fn passed_in_suite(&self) -> bool {
        self.attempts
            .iter()
            .any(|attempt| attempt.phase == Phase::First && attempt.outcome == Outcome::Passed)
    }

    /// The first attempt: the failure this is about.
    pub fn first(&self) -> Option<&Attempt> {
        self.attempts.iter().find(|attempt| attempt.outcome.is_failure())
    }

    /// How often it was run and how often that failed, on the code of the run.
    pub fn tally(&self) -> (u64, u64) {
        let own = self.attempts.iter().filter(|attempt| attempt.phase != Phase::Base);
        let ran = own.filter(|attempt| attempt.outcome != Outcome::Skipped);
        ran.fold((0, 0), |(ran, failed), attempt| (ran + 1, failed + u64::from(attempt.outcome.is_failure())))
    }
}
