//! From what was seen of a failing test to a verdict. Pure.
//!
//! # Probability
//!
//! A test that failed is flaky with probability π, or it fails because of the
//! code and will go on failing. A flaky test that has just failed fails with a
//! rate θ ~ Beta(a, b). After k more failures in a row here and m passes at the
//! base
//!
//! ```text
//! P(flaky) = π·E[θᵏ(1 − θ)ᵐ] / (π·E[θᵏ(1 − θ)ᵐ] + (1 − π)·R)
//! ```
//!
//! where R is how likely the same is of a regression: 1, but small if nothing
//! the test depends on has changed. A single pass on the same code is proof, and
//! needs no formula.

use flakewise_model::{
    BaseSource, Blame, FailureVerdict, FlakyKind, OpenQuestion, Outcome, Phase, Probability, Proof, Touch,
};
use flakewise_runner::Execution;

use crate::Meeting;

/// The chance that a test which has just failed is flaky, before anything else
/// is known: even odds. Companies with large suites report that most new
/// failures are flaky, young projects that few are.
const PRIOR: f64 = 0.5;
/// The same for a test the history knows to be flaky.
const PRIOR_KNOWN: f64 = 0.9;
/// The failure rate of a flaky test that has just failed once: Beta(0.3, 3), as
/// in `flakewise-history`, given one failure.
const RATE: (f64, f64) = (1.3, 3.0);
/// How likely a regression is to leave no trace in what the test depends on.
const UNSEEN_REGRESSION: f64 = 0.02;
/// The same if it loads changed files and runs none of what changed in them.
const UNEXECUTED_REGRESSION: f64 = 0.2;
/// Everything there is to know about a failing test.
#[derive(Clone, Debug)]
pub(crate) struct Facts<'a> {
    /// Its executions on the code of the run, in order.
    pub(crate) executions: &'a [Execution],
    /// How it meets the change.
    pub(crate) meeting: Option<&'a Meeting>,
    /// Whether executed lines were seen.
    pub(crate) lines_seen: bool,
    /// The change: none if unknown.
    pub(crate) change: Option<ChangeFacts<'a>>,
    /// What it does at the base.
    pub(crate) base: Option<BaseFacts>,
    /// Hash seeds: of the suite and of the process in which it passed.
    pub(crate) hash_seed: Option<HashSeedFacts>,
    /// How many failures look like this one, with the one that stood for all.
    pub(crate) alike: (u32, Option<&'a str>),
    /// Set if so many tests failed that nothing was run again.
    pub(crate) gate: Option<(u64, u64)>,
    /// What the history knows.
    pub(crate) past: Option<crate::Past>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct ChangeFacts<'a> {
    pub(crate) base: &'a str,
    pub(crate) files: u32,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct BaseFacts {
    pub(crate) passed: u32,
    pub(crate) failed: u32,
    pub(crate) source: BaseSource,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct HashSeedFacts {
    pub(crate) suite: u32,
    pub(crate) other: u32,
    /// Whether it failed again in a new process with the suite's seed.
    pub(crate) fails_with_suite_seed: bool,
}

/// Says what a failure is due to.
pub(crate) fn judge(facts: &Facts<'_>) -> FailureVerdict {
    let blame = blame(facts);
    let flaky = match &blame {
        blame if blame.is_proved_flaky() => Probability::ONE,
        _ => probability(facts),
    };
    FailureVerdict { proofs: proofs(facts, &blame), blame, flaky }
}

fn blame(facts: &Facts<'_>) -> Blame {
    if let Some(kind) = proved(facts) {
        return Blame::Flaky(kind);
    }
    if facts.gate.is_some() {
        return Blame::Undecided(OpenQuestion::TooManyFailures);
    }
    // What the world does to many tests at once, it does at the base too.
    let many = facts.alike.0 as usize >= crate::ladder::INCIDENT;
    if many && is_environmental(facts) {
        return Blame::Infrastructure;
    }
    if facts.base.is_some_and(|base| base.failed > 0 && base.passed > 0) {
        return Blame::Flaky(FlakyKind::Transient);
    }
    let passed_at_base = facts.base.map(|base| base.passed > 0);
    let nothing_changed = facts.change.is_some_and(|change| change.files == 0);
    if passed_at_base == Some(false) || (nothing_changed && passed_at_base.is_none()) {
        return Blame::BrokenBefore;
    }
    let disjoint = matches!(facts.meeting, Some(Meeting::Disjoint { .. }));
    if many && disjoint {
        return Blame::Infrastructure;
    }
    if facts.change.is_none() {
        return Blame::Undecided(OpenQuestion::ChangeUnknown);
    }
    if facts.executions.len() < 2 && facts.alike.1.is_none() {
        return Blame::Undecided(OpenQuestion::NotEnoughRuns);
    }
    match facts.meeting {
        Some(Meeting::Disjoint { .. }) if passed_at_base == Some(true) => Blame::Flaky(FlakyKind::Untouched),
        Some(Meeting::Disjoint { .. }) => Blame::Undecided(OpenQuestion::BaseUnknown),
        Some(Meeting::Touches(files)) => {
            if !facts.lines_seen || files.iter().any(|file| file.touch != Touch::Loaded) {
                Blame::Regression
            } else {
                Blame::Undecided(OpenQuestion::NotExecuted)
            }
        }
        Some(Meeting::Unknown { .. }) | None => Blame::Undecided(OpenQuestion::DependenciesUnknown),
    }
}

/// The kind of flake that a pass proves, named by its rung.
fn proved(facts: &Facts<'_>) -> Option<FlakyKind> {
    let place = facts.executions.iter().position(|execution| execution.outcome == Outcome::Passed)?;
    let before = &facts.executions[..place];
    // A process that died tells nothing about the state the test ran in; nor
    // does a single failure.
    let shared = before
        .iter()
        .filter(|execution| matches!(execution.phase, Phase::First | Phase::Rerun | Phase::Postpone))
        .count();
    Some(match facts.executions[place].phase {
        Phase::Postpone => FlakyKind::Bursty,
        Phase::Fork if shared >= 2 => FlakyKind::StateDependent,
        Phase::Fresh => {
            let forked = before.iter().any(|execution| execution.phase == Phase::Fork);
            match facts.hash_seed {
                Some(seed) if seed.fails_with_suite_seed => FlakyKind::HashSeed,
                _ if forked => FlakyKind::ProcessDependent,
                _ if shared >= 2 => FlakyKind::StateDependent,
                _ => FlakyKind::Transient,
            }
        }
        _ => FlakyKind::Transient,
    })
}

/// Whether the error is one that the world around the tests makes.
fn is_environmental(facts: &Facts<'_>) -> bool {
    const KINDS: [&str; 14] = [
        "ConnectionRefusedError",
        "ConnectionResetError",
        "ConnectionError",
        "ConnectionAbortedError",
        "BrokenPipeError",
        "TimeoutError",
        "gaierror",
        "OperationalError",
        "PermissionError",
        "ConnectTimeout",
        "ReadTimeout",
        "NewConnectionError",
        "MaxRetryError",
        "InterfaceError",
    ];
    let failure = facts.executions.first().and_then(|execution| execution.failure.as_ref());
    failure.is_some_and(|failure| {
        let kind = failure.kind.as_deref().unwrap_or_default();
        let kind = kind.rsplit('.').next().unwrap_or(kind);
        KINDS.contains(&kind) || failure.message.contains("No space left on device")
    })
}

/// The probability that the test is flaky.
fn probability(facts: &Facts<'_>) -> Probability {
    let failures = facts.executions.iter().filter(|execution| execution.outcome.is_failure()).count();
    let again = u32::try_from(failures.saturating_sub(1)).unwrap_or(u32::MAX);
    let (passed, failed) = facts.base.map_or((0, 0), |base| (base.passed, base.failed));
    let known = facts.past.is_some_and(|past| past.mixed > 0);
    let prior = if known { PRIOR_KNOWN } else { PRIOR };
    let regression = match facts.meeting {
        _ if facts.change.is_some_and(|change| change.files == 0) => 1.0,
        Some(Meeting::Disjoint { .. }) => UNSEEN_REGRESSION,
        Some(Meeting::Touches(files))
            if facts.lines_seen && files.iter().all(|file| file.touch == Touch::Loaded) =>
        {
            UNEXECUTED_REGRESSION
        }
        _ => 1.0,
    };
    posterior(prior, again + failed, passed, regression)
}

/// The formula above.
pub(crate) fn posterior(prior: f64, failures: u32, passes: u32, regression: f64) -> Probability {
    // E[θᵏ(1 − θ)ᵐ] by one factor at a time.
    let (mut a, mut b) = RATE;
    let mut expected = 1.0;
    for _ in 0..failures {
        expected *= a / (a + b);
        a += 1.0;
    }
    for _ in 0..passes {
        expected *= b / (a + b);
        b += 1.0;
    }
    Probability::clamped(prior * expected / (prior * expected + (1.0 - prior) * regression))
}

/// How probable it is that a test is flaky that failed so often in a row.
pub(crate) fn after_failures(failures: u32) -> Probability {
    posterior(PRIOR, failures.saturating_sub(1), 0, 1.0)
}

/// Everything that carries the verdict, strongest first.
fn proofs(facts: &Facts<'_>, blame: &Blame) -> Vec<Proof> {
    let mut proofs = Vec::new();
    if let Some((failed, ran)) = facts.gate.filter(|_| !blame.is_proved_flaky()) {
        proofs.push(Proof::TooManyFailures { failed, ran });
    }
    let place = facts.executions.iter().position(|execution| execution.outcome == Outcome::Passed);
    let count = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
    if let Some(place) = place {
        let failures = facts.executions[..place].iter().filter(|execution| execution.outcome.is_failure());
        proofs.push(Proof::PassedAgain {
            phase: facts.executions[place].phase,
            failures_before: count(failures.count()),
        });
        if let Some(seed) = facts.hash_seed.filter(|_| *blame == Blame::Flaky(FlakyKind::HashSeed)) {
            proofs.push(Proof::HashSeed { failing: seed.suite, passing: seed.other });
        }
    } else {
        let mut workers: Vec<_> = facts.executions.iter().map(|execution| &execution.worker).collect();
        workers.sort();
        workers.dedup();
        proofs.push(Proof::AlwaysFailed {
            attempts: count(facts.executions.len()),
            processes: count(workers.len()),
        });
    }
    if facts.alike.0 > 1 {
        let representative = facts.alike.1.map(str::to_owned);
        proofs.push(Proof::SharedFailure { tests: facts.alike.0, representative });
    }
    if place.is_none() {
        if let (Some(base), Some(change)) = (facts.base, facts.change) {
            let commit = change.base.to_owned();
            proofs.push(Proof::AtBase {
                commit,
                passed: base.passed,
                failed: base.failed,
                source: base.source,
            });
        }
        let changed = facts.change.map_or(0, |change| change.files);
        match facts.meeting {
            _ if facts.change.is_some_and(|change| change.files == 0) => {
                let commit = facts.change.map(|change| change.base.to_owned()).unwrap_or_default();
                proofs.push(Proof::NothingChanged { commit });
            }
            Some(Meeting::Disjoint { dependencies }) => {
                proofs.push(Proof::UntouchedByChange { changed, dependencies: *dependencies });
            }
            Some(Meeting::Touches(files)) => {
                proofs.push(Proof::TouchesChange { files: files.clone(), changed });
            }
            Some(Meeting::Unknown { reason }) => {
                proofs.push(Proof::DependenciesUnknown { reason: reason.clone() });
            }
            None => {}
        }
    }
    if let Some(past) = facts.past.filter(|past| past.mixed > 0) {
        proofs.push(Proof::KnownFlaky { failures: past.failures, revisions: past.revisions });
    }
    proofs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn four_failures_in_a_row_leave_little_room_for_a_flake() {
        let text = |failures| after_failures(failures).to_string();
        assert_eq!(text(1), "50 %");
        assert_eq!(text(2), "23 %");
        assert_eq!(text(5), "3.9 %");
    }

    #[test]
    fn passes_at_the_base_speak_for_a_regression_and_disjoint_code_against_it() {
        let alone = posterior(0.5, 4, 0, 1.0).get();
        assert!(posterior(0.5, 4, 2, 1.0).get() < alone);
        assert!(posterior(0.5, 4, 0, UNSEEN_REGRESSION).get() > 0.5);
    }
}
