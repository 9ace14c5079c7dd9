//! Executions and all there is to know about a failing test in one line, for tests.

use flakewise_model::{
    BaseSource, Blame, Failure, FailureVerdict, Outcome, Phase, SeenOn, Timestamp, Touch, TouchedFile,
};
use flakewise_runner::{Execution, TestKey};
use proptest::prelude::*;

use crate::judge::{BaseFacts, ChangeFacts, Facts, judge};
use crate::kind::{Condition, Trials};
use crate::{Meeting, Past};

/// An execution in the process its phase runs in.
pub(crate) fn execution(number: u32, phase: Phase, outcome: Outcome) -> Execution {
    let worker = match phase {
        Phase::First | Phase::Retry | Phase::Rerun | Phase::Postpone => "main",
        Phase::Fork | Phase::Order => "fork-1",
        Phase::Fresh => "fresh-1",
        Phase::Base => "base-1",
    };
    Execution {
        test: TestKey { session: 0, number },
        phase,
        outcome,
        duration: None,
        started: Timestamp::default(),
        failure: outcome.is_failure().then(|| Failure::new(Some("AssertionError"), "assert 4 == 3", "")),
        frames: None,
        place: None,
        worker: worker.to_owned(),
        position: 0,
        cost: None,
    }
}

/// The same in a process of this name.
pub(crate) fn on(worker: &str, execution: Execution) -> Execution {
    Execution { worker: worker.to_owned(), ..execution }
}

/// The same with an error of this kind.
pub(crate) fn of_kind(kind: &str, execution: Execution) -> Execution {
    let failure = execution.outcome.is_failure().then(|| Failure::new(Some(kind), "it broke", ""));
    Execution { failure, ..execution }
}

/// What a commit without the change showed: the same failures, first attempts that
/// passed, and that failed.
pub(crate) fn seen_on(commit: &str, alike: u64, first_passed: u64, first_failed: u64) -> SeenOn {
    SeenOn {
        commit: commit.to_owned(),
        branches: Vec::new(),
        alike,
        first_passed,
        first_failed,
        last_seen: Timestamp::default(),
    }
}

pub(crate) fn touches(touch: Touch) -> Meeting {
    Meeting::Touches(vec![TouchedFile { path: "a.py".to_owned(), touch }])
}

/// It loads a changed file, and its runner is configured by another.
pub(crate) fn loads_and_is_configured() -> Meeting {
    let configured = TouchedFile { path: "pytest.ini".to_owned(), touch: Touch::Configured(Vec::new()) };
    Meeting::Touches(vec![TouchedFile { path: "a.py".to_owned(), touch: Touch::Loaded }, configured])
}

pub(crate) fn unknown() -> Meeting {
    Meeting::Unknown { reason: "it starts `git`".to_owned() }
}

impl BaseFacts {
    /// It was run at the base now.
    #[expect(clippy::unnecessary_wraps, reason = "a base that is known is what cases have")]
    pub(crate) fn ran(passed: u32, failed: u32) -> Option<Self> {
        Some(Self { passed, failed, otherwise: None, source: BaseSource::Run })
    }

    /// The same, from the history.
    pub(crate) fn remembered(self) -> Self {
        Self { source: BaseSource::History, ..self }
    }
}

/// [`Facts`] that own what they are about.
#[derive(Clone, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "independent facts, in any combination")]
pub(crate) struct Case {
    pub(crate) executions: Vec<Execution>,
    pub(crate) has_predecessors: bool,
    pub(crate) meeting: Option<Meeting>,
    pub(crate) lines_seen: bool,
    /// How many files changed.
    pub(crate) changed: Option<u32>,
    pub(crate) base: Option<BaseFacts>,
    pub(crate) alike: u32,
    pub(crate) stands_for: bool,
    pub(crate) gate: bool,
    pub(crate) past: Option<Past>,
}

impl Case {
    /// A test that depends on nothing that changed.
    pub(crate) fn new(executions: &[(Phase, Outcome)]) -> Self {
        Self {
            executions: executions.iter().map(|(phase, outcome)| execution(0, *phase, *outcome)).collect(),
            has_predecessors: true,
            meeting: Some(Meeting::Disjoint { dependencies: 7 }),
            lines_seen: true,
            changed: Some(2),
            base: None,
            alike: 1,
            stands_for: false,
            gate: false,
            past: None,
        }
    }

    /// It failed on every rung.
    pub(crate) fn failed_throughout() -> Self {
        let rungs = [Phase::First, Phase::Rerun, Phase::Postpone, Phase::Fork, Phase::Fresh];
        Self::new(&rungs.map(|phase| (phase, Outcome::Failed)))
    }

    /// It failed once and then passed wherever it ran.
    pub(crate) fn flaky_transient() -> Self {
        let passed = [Phase::Rerun, Phase::Postpone, Phase::Postpone, Phase::Fork, Phase::Fork, Phase::Fresh];
        let first = Self::new(&[(Phase::First, Outcome::Failed)]);
        passed.into_iter().fold(first, |case, phase| case.and(phase, Outcome::Passed))
    }

    /// It fails among other tests, nearly always, and never alone.
    pub(crate) fn flaky_state_dependent() -> Self {
        let failed = [Phase::First, Phase::Rerun, Phase::Postpone, Phase::Postpone, Phase::Postpone];
        let case = Self::new(&failed.map(|phase| (phase, Outcome::Failed)));
        let case = (0..8).fold(case, |case, _| case.and(Phase::Fork, Outcome::Passed));
        let case = (0..3).fold(case, |case, _| case.and(Phase::Postpone, Outcome::Failed));
        case.and(Phase::Postpone, Outcome::Passed)
    }

    /// It ran once more.
    pub(crate) fn and(mut self, phase: Phase, outcome: Outcome) -> Self {
        let kind = self.executions[0].failure.as_ref().and_then(|failure| failure.kind.clone());
        let execution = execution(0, phase, outcome);
        self.executions.push(match kind.filter(|kind| kind != "AssertionError") {
            Some(kind) => of_kind(&kind, execution),
            None => execution,
        });
        self
    }

    /// The same with failures of this kind.
    pub(crate) fn of_kind(mut self, kind: &str) -> Self {
        self.executions = self.executions.into_iter().map(|one| of_kind(kind, one)).collect();
        self
    }

    /// The same without the executions that passed.
    pub(crate) fn never_passed(mut self) -> Self {
        self.executions.retain(|one| one.outcome != Outcome::Passed);
        self
    }

    pub(crate) fn has_passed(&self) -> bool {
        self.executions.iter().any(|one| one.outcome == Outcome::Passed)
    }

    /// Whether its first failure is of a kind.
    pub(crate) fn has_kind(&self, kind: &str) -> bool {
        let failure = self.executions[0].failure.as_ref();
        failure.is_some_and(|failure| failure.kind.as_deref() == Some(kind))
    }

    /// What was seen without the change: the same failures, first attempts that
    /// passed, and that failed.
    pub(crate) fn seen_before(&self) -> (u64, u64, u64) {
        let seen = self.past.iter().flat_map(|past| &past.seen);
        seen.fold((0, 0, 0), |(alike, passed, failed), seen| {
            (alike + seen.alike, passed + seen.first_passed, failed + seen.first_failed)
        })
    }

    /// What ran after the first failure. New processes have another hash seed.
    pub(crate) fn trials(&self) -> Trials {
        let mut trials = Trials::new(self.has_predecessors);
        for one in self.executions.iter().skip(1).filter(|one| one.outcome != Outcome::Skipped) {
            let condition = match one.phase {
                Phase::Postpone => Condition::Later,
                Phase::Fork => Condition::Alone,
                Phase::Fresh => Condition::OtherSeed,
                _ => Condition::AtOnce,
            };
            trials.add(condition, one.outcome.is_failure());
        }
        trials
    }

    /// Asks something of the facts.
    pub(crate) fn with<T>(&self, ask: impl FnOnce(&Facts<'_>) -> T) -> T {
        ask(&Facts {
            executions: &self.executions,
            trials: &self.trials(),
            meeting: self.meeting.as_ref(),
            lines_seen: self.lines_seen,
            change: self.changed.map(|files| ChangeFacts { base: "abc", files }),
            base: self.base.as_ref(),
            hash_seed: None,
            alike: (self.alike, self.stands_for.then_some("test_a.py::test_a")),
            gate: self.gate.then_some((40, 50)),
            past: self.past.as_ref(),
        })
    }

    pub(crate) fn judge(&self) -> FailureVerdict {
        self.with(judge)
    }

    pub(crate) fn blame(&self) -> Blame {
        self.judge().blame
    }
}

/// A rung above the first.
pub(crate) fn rung() -> impl Strategy<Value = Phase> {
    proptest::sample::select(vec![Phase::Rerun, Phase::Postpone, Phase::Fork, Phase::Fresh])
}

fn outcome() -> impl Strategy<Value = Outcome> {
    proptest::sample::select(vec![
        Outcome::Failed,
        Outcome::Failed,
        Outcome::Failed,
        Outcome::Errored,
        Outcome::Crashed,
        Outcome::TimedOut,
        Outcome::Skipped,
        Outcome::Passed,
        Outcome::Passed,
    ])
}

fn executions() -> impl Strategy<Value = Vec<Execution>> {
    let first = proptest::sample::select(vec![
        Outcome::Failed,
        Outcome::Failed,
        Outcome::Failed,
        Outcome::Crashed,
        Outcome::TimedOut,
    ]);
    let kind = || {
        proptest::sample::select(vec![
            "AssertionError",
            "AssertionError",
            "AssertionError",
            "socket.gaierror",
        ])
    };
    // Most tests fail in one way.
    let kinds = (kind(), proptest::option::weighted(0.2, kind()));
    let rest = prop_oneof![
        proptest::collection::vec((rung(), outcome()), 0..7),
        proptest::collection::vec((rung(), proptest::sample::select(vec![Outcome::Failed])), 0..7),
        proptest::collection::vec((rung(), proptest::sample::select(vec![Outcome::Passed])), 1..12),
    ];
    (first, kinds, rest).prop_map(|(first, (kind, other), rest)| {
        let mut executions = vec![of_kind(kind, execution(0, Phase::First, first))];
        let other = other.unwrap_or(kind);
        executions
            .extend(rest.into_iter().map(|(phase, outcome)| of_kind(other, execution(0, phase, outcome))));
        executions
    })
}

fn past() -> impl Strategy<Value = Past> {
    let commit = (0_u64..3, 0_u64..3, 0_u64..30, 0_u64..3);
    (proptest::collection::vec(commit, 0..3), 0_u64..2).prop_map(|(commits, mixed)| {
        let seen = commits.into_iter().enumerate().map(|(place, (alike, failed, passed, other))| {
            // The same failures are among those of first attempts, or of others.
            seen_on(&format!("c{place}"), alike, passed, failed + alike.min(other))
        });
        Past { mixed, failures: 3, revisions: 2, seen: seen.collect(), ..Past::default() }
    })
}

/// Everything that may be known of a failing test.
pub(crate) fn case() -> impl Strategy<Value = Case> {
    let meeting = proptest::sample::select(vec![
        None,
        Some(unknown()),
        Some(Meeting::Disjoint { dependencies: 7 }),
        Some(Meeting::Disjoint { dependencies: 7 }),
        Some(touches(Touch::Loaded)),
        Some(touches(Touch::Opened)),
        Some(touches(Touch::Executed(vec![3]))),
        Some(touches(Touch::Configured(Vec::new()))),
        Some(loads_and_is_configured()),
    ]);
    let change = (proptest::option::weighted(0.9, 0_u32..4), meeting, any::<bool>());
    let outcomes = proptest::sample::select(vec![(1, 0), (0, 2), (3, 1), (0, 0), (1, 5)]);
    let otherwise = proptest::option::weighted(0.2, proptest::option::of("[A-Z]Error"));
    let base = (outcomes, otherwise, any::<bool>()).prop_map(|((passed, failed), otherwise, run)| {
        let source = if run { BaseSource::Run } else { BaseSource::History };
        BaseFacts { passed, failed, otherwise, source }
    });
    let known = (proptest::option::of(base), proptest::option::of(past()));
    let others = (any::<bool>(), 1_u32..8, any::<bool>(), proptest::bool::weighted(0.1));
    (executions(), change, known, others).prop_map(
        |(executions, (changed, meeting, lines_seen), (base, past), others)| {
            let (has_predecessors, alike, stands_for, gate) = others;
            Case {
                executions,
                has_predecessors,
                // Both need a change to be compared with.
                meeting: meeting.filter(|_| changed.is_some()),
                base: base.filter(|_| changed.is_some()),
                lines_seen,
                changed,
                alike,
                stands_for: stands_for && alike >= 5,
                gate,
                past,
            }
        },
    )
}
