//! From what was seen of a failing test to a verdict. Pure.
//!
//! # Probability
//!
//! A test that failed is flaky, or the change broke it, or it fails for a reason
//! that lasts and is not the change: a dependency, the date, the platform, a service.
//! A flaky test that has just failed fails with a rate θ ~ Beta(a, b); the other two
//! fail always. With priors π, k more failures in a row here, m passes and n failures
//! of the same kind at the base, and what is known of the test's dependencies D,
//!
//! ```text
//! flaky        π₁ · E[θᵏ⁺ⁿ(1 − θ)ᵐ] · P(D)
//! regression   π₂ · P(n | passes there) · P(D | it depends on the change)
//! environment  π₃ · P(m | fails there too) · P(D)
//! ```
//!
//! divided by their sum. A single pass on the same code is proof, and needs no
//! formula.

use flakewise_model::{
    BaseSource, Blame, FailureVerdict, FlakyKind, Novelty, OpenQuestion, Outcome, Phase, Probability, Proof,
    Touch,
};
use flakewise_runner::Execution;

use crate::Meeting;
use crate::kind::{Trials, odds_of_more};

/// What a failure is due to before anything else is known: flaky, broken by the
/// change, or neither. Companies with large suites report that most new failures are
/// flaky, young projects that few are.
const PRIOR: [f64; 3] = [0.45, 0.40, 0.15];
/// The same for a test the history knows to be flaky.
const PRIOR_KNOWN: [f64; 3] = [0.86, 0.10, 0.04];
/// The failure rate of a flaky test that has just failed once: Beta(0.3, 3), as
/// in `flakewise-history`, given one failure.
const RATE: (f64, f64) = (1.3, 3.0);
/// How likely what was seen of a test's dependencies is, if the change broke it and
/// if it did not: it executes the change, it loads changed files and runs none of
/// what changed in them, it depends on none of them.
const EXECUTES: (f64, f64) = (0.95, 0.35);
const LOADS: (f64, f64) = (0.04, 0.25);
const DISJOINT: (f64, f64) = (0.01, 0.40);
/// How likely a test that the change broke fails at the base in the same way.
const REGRESSION_AT_BASE: f64 = 0.01;
/// How likely a test that always fails passes when it is run at the base now.
const ENVIRONMENT_PASSES: f64 = 0.05;
/// The same if the pass is from the history: the environment may have changed since.
const ENVIRONMENT_PASSED: f64 = 0.7;
/// From these odds on, a test fails more often than before.
const MORE_OFTEN: f64 = 19.0;

/// Everything there is to know about a failing test.
#[derive(Clone, Debug)]
pub(crate) struct Facts<'a> {
    /// Its executions on the code of the run, in order.
    pub(crate) executions: &'a [Execution],
    /// Those after the first failure, by the conditions they ran under.
    pub(crate) trials: &'a Trials,
    /// How it meets the change.
    pub(crate) meeting: Option<&'a Meeting>,
    /// Whether executed lines were seen.
    pub(crate) lines_seen: bool,
    /// The change: none if unknown.
    pub(crate) change: Option<ChangeFacts<'a>>,
    /// What it does at the base.
    pub(crate) base: Option<&'a BaseFacts>,
    /// Hash seeds: of the suite and of a process in which it passed.
    pub(crate) hash_seed: Option<(u32, u32)>,
    /// How many failures look like this one, with the one that stood for all.
    pub(crate) alike: (u32, Option<&'a str>),
    /// Set if so many tests failed that nothing was run again.
    pub(crate) gate: Option<(u64, u64)>,
    /// What the history knows.
    pub(crate) past: Option<&'a crate::Past>,
}

impl Facts<'_> {
    /// Executions that were not skipped.
    fn ran(&self) -> impl Iterator<Item = &Execution> {
        self.executions.iter().filter(|execution| execution.outcome != Outcome::Skipped)
    }

    fn has_passed(&self) -> bool {
        self.executions.iter().any(|execution| execution.outcome == Outcome::Passed)
    }

    fn nothing_changed(&self) -> bool {
        self.change.is_some_and(|change| change.files == 0)
    }

    fn is_disjoint(&self) -> bool {
        matches!(self.meeting, Some(Meeting::Disjoint { .. }))
    }

    /// Whether it executes what changed, or may have: where lines could not be seen,
    /// loading is enough.
    fn executes_change(&self) -> bool {
        let Some(Meeting::Touches(files)) = self.meeting else { return false };
        files.iter().any(|file| match &file.touch {
            Touch::Executed(_) => true,
            touch => !self.lines_seen && !touch.is_configuration(),
        })
    }

    /// Whether the same failure was seen on code without the change.
    pub(crate) fn is_known(&self) -> bool {
        self.past.is_some_and(|past| past.seen.iter().any(|seen| seen.alike > 0))
            || self.base.is_some_and(|base| base.failed > 0)
    }

    /// Failures and passes of first attempts on code without the change.
    pub(crate) fn whole_runs_before(&self) -> (u64, u64) {
        let seen = self.past.map_or(&[][..], |past| &past.seen);
        seen.iter()
            .fold((0, 0), |(failed, passed), seen| (failed + seen.first_failed, passed + seen.first_passed))
    }

    /// Whether nothing shows that it ever passes when the whole suite runs: neither
    /// in the suite's process here nor before.
    pub(crate) fn fails_in_every_whole_run(&self) -> bool {
        let in_suite =
            |execution: &&Execution| matches!(execution.phase, Phase::First | Phase::Rerun | Phase::Postpone);
        let passes_here =
            self.executions.iter().filter(in_suite).any(|execution| execution.outcome == Outcome::Passed);
        let (failed, passed) = self.whole_runs_before();
        if failed > 0 { passed == 0 } else { !passes_here && passed == 0 }
    }

    /// Failures and passes here beside those before the change, if it fails more
    /// often now.
    pub(crate) fn fails_more_often(&self) -> Option<((u32, u32), (u64, u64))> {
        let (here, before) = (self.trials.tally(), self.whole_runs_before());
        (before.0 + before.1 > 0 && odds_of_more(here, before) >= MORE_OFTEN).then_some((here, before))
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct ChangeFacts<'a> {
    pub(crate) base: &'a str,
    pub(crate) files: u32,
}

/// What a test does at the base.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct BaseFacts {
    pub(crate) passed: u32,
    /// How often it failed there in the same way as here.
    pub(crate) failed: u32,
    /// What it failed with there in another way.
    pub(crate) otherwise: Option<Option<String>>,
    pub(crate) source: BaseSource,
}

/// Says what a failure is due to.
pub(crate) fn judge(facts: &Facts<'_>) -> FailureVerdict {
    let decided = facts.has_passed().then(|| facts.trials.decided());
    let blame = match decided {
        Some(kind) => Blame::Flaky(kind.map_or(FlakyKind::Undecided, |(kind, _)| kind)),
        None => blame(facts),
    };
    let [flaky, regression, environment] =
        if decided.is_some() { [1.0, 0.0, 0.0] } else { hypotheses(facts) }.map(Probability::clamped);
    FailureVerdict {
        novelty: novelty(facts),
        proofs: proofs(facts, &blame),
        kind: decided.flatten().map(|(_, probability)| probability),
        blame,
        flaky,
        regression,
        environment,
    }
}

/// What a failure is due to that never passed.
fn blame(facts: &Facts<'_>) -> Blame {
    if facts.gate.is_some() {
        return Blame::Undecided(OpenQuestion::TooManyFailures);
    }
    let (passed, failed) = facts.base.map_or((0, 0), |base| (base.passed, base.failed));
    let broken_at_base = failed > 0 && passed == 0;
    let disjoint = facts.is_disjoint();
    // What the world does to many tests at once, it does at the base too.
    let many = facts.alike.0 as usize >= crate::ladder::INCIDENT;
    if many && (disjoint || broken_at_base) && (is_environmental(facts) || !broken_at_base) {
        return Blame::Infrastructure;
    }
    if broken_at_base || (facts.nothing_changed() && passed == 0) {
        return Blame::BrokenBefore;
    }
    if facts.change.is_none() {
        return Blame::Undecided(OpenQuestion::ChangeUnknown);
    }
    if failed > 0 && !disjoint {
        // It is flaky at the base. That does not clear it of failing here for
        // another reason.
        return Blame::Undecided(OpenQuestion::NotEnoughRuns);
    }
    if facts.ran().count() < 2 && facts.alike.1.is_none() {
        return Blame::Undecided(OpenQuestion::NotEnoughRuns);
    }
    match facts.meeting {
        Some(Meeting::Disjoint { .. }) => Blame::Environment,
        Some(Meeting::Touches(files)) => {
            if facts.lines_seen && files.iter().all(|file| file.touch == Touch::Loaded) {
                Blame::Undecided(OpenQuestion::NotExecuted)
            } else if facts.meeting.is_some_and(Meeting::only_configuration) && passed == 0 {
                // Every test of the suite depends on it.
                Blame::Undecided(OpenQuestion::BaseUnknown)
            } else {
                Blame::Regression
            }
        }
        Some(Meeting::Unknown { .. }) | None => Blame::Undecided(OpenQuestion::DependenciesUnknown),
    }
}

/// Whether the failure came with the change.
fn novelty(facts: &Facts<'_>) -> Novelty {
    if facts.is_known() {
        Novelty::Known
    } else if facts.nothing_changed() || facts.is_disjoint() {
        Novelty::Unrelated
    } else if facts.executes_change() {
        Novelty::New
    } else {
        Novelty::Unknown
    }
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

/// How probable it is that a failure which never passed is a flake, that the change
/// broke it, and that it is neither.
fn hypotheses(facts: &Facts<'_>) -> [f64; 3] {
    let failures = facts.executions.iter().filter(|execution| execution.outcome.is_failure()).count();
    let again = u32::try_from(failures.saturating_sub(1)).unwrap_or(u32::MAX);
    let (passed, failed) = facts.base.map_or((0, 0), |base| (base.passed, base.failed));
    let known = facts.past.is_some_and(|past| past.mixed > 0) || facts.is_known();
    let prior = if known { PRIOR_KNOWN } else { PRIOR };
    let (if_broken, if_not) = match facts.meeting {
        _ if facts.nothing_changed() => (0.0, 1.0),
        Some(Meeting::Disjoint { .. }) => DISJOINT,
        Some(Meeting::Touches(files))
            if facts.lines_seen && files.iter().all(|file| file.touch == Touch::Loaded) =>
        {
            LOADS
        }
        Some(meeting) if meeting.only_configuration() => LOADS,
        Some(Meeting::Touches(_)) => EXECUTES,
        Some(Meeting::Unknown { .. }) | None => (1.0, 1.0),
    };
    let count = |number: u32| i32::try_from(number).unwrap_or(i32::MAX);
    let passes = match facts.base.map(|base| base.source) {
        Some(BaseSource::Run) => ENVIRONMENT_PASSES,
        Some(BaseSource::History) | None => ENVIRONMENT_PASSED,
    };
    // The same environment answers all passes of the history alike.
    let environment = if passed == 0 { 1.0 } else { passes };
    normalised([
        prior[0] * expected(again.saturating_add(failed), passed) * if_not,
        prior[1] * REGRESSION_AT_BASE.powi(count(failed.min(3))) * if_broken,
        prior[2] * environment * if_not,
    ])
}

fn normalised(weights: [f64; 3]) -> [f64; 3] {
    let total: f64 = weights.iter().sum();
    if total > 0.0 { weights.map(|weight| weight / total) } else { [0.0, 0.0, 1.0] }
}

/// E[θᵏ(1 − θ)ᵐ], one factor at a time.
fn expected(failures: u32, passes: u32) -> f64 {
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
    expected
}

/// How probable it is that a test is flaky that failed this often in a row.
pub(crate) fn after_failures(failures: u32) -> Probability {
    let flaky = PRIOR[0] * expected(failures.saturating_sub(1), 0);
    Probability::clamped(flaky / (flaky + PRIOR[1] + PRIOR[2]))
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
        if let Some((failing, passing)) =
            facts.hash_seed.filter(|_| *blame == Blame::Flaky(FlakyKind::HashSeed))
        {
            proofs.push(Proof::HashSeed { failing, passing });
        }
    } else {
        let mut workers: Vec<_> = facts.ran().map(|execution| &execution.worker).collect();
        workers.sort();
        workers.dedup();
        proofs.push(Proof::AlwaysFailed {
            attempts: count(facts.ran().count()),
            processes: count(workers.len()),
        });
    }
    if facts.alike.0 > 1 {
        let representative = facts.alike.1.map(str::to_owned);
        proofs.push(Proof::SharedFailure { tests: facts.alike.0, representative });
    }
    if let (Some(base), Some(change)) = (facts.base, facts.change) {
        let commit = change.base.to_owned();
        if base.passed + base.failed > 0 {
            proofs.push(Proof::AtBase {
                commit: commit.clone(),
                passed: base.passed,
                failed: base.failed,
                source: base.source,
            });
        }
        if let Some(kind) = &base.otherwise {
            proofs.push(Proof::OtherFailureAtBase { commit, kind: kind.clone() });
        }
    }
    let changed = facts.change.map_or(0, |change| change.files);
    match facts.meeting {
        _ if facts.nothing_changed() => {
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
    let seen = facts.past.map_or(&[][..], |past| &past.seen);
    let alike: Vec<_> = seen.iter().filter(|seen| seen.alike > 0).collect();
    if !alike.is_empty() {
        let failures = alike.iter().map(|seen| seen.alike).sum();
        proofs.push(Proof::SeenWithoutChange { failures, commits: alike.len() as u64 });
    }
    if place.is_some() && facts.fails_in_every_whole_run() {
        proofs.push(Proof::EveryWholeRun { runs: facts.whole_runs_before().0 + 1 });
    }
    if let Some((here, before)) = facts.fails_more_often().filter(|_| place.is_some()) {
        let runs = |(failed, passed): (u64, u64)| (failed, failed + passed);
        proofs.push(Proof::MoreOften { here: runs((here.0.into(), here.1.into())), before: runs(before) });
    }
    if let Some(past) = facts.past.filter(|past| !past.installed_since.is_empty() && place.is_none()) {
        proofs.push(Proof::InstalledDiffers { packages: past.installed_since.clone() });
    }
    if let Some(past) = facts.past.filter(|past| past.mixed > 0 && alike.is_empty()) {
        proofs.push(Proof::KnownFlaky { failures: past.failures, revisions: past.revisions });
    }
    proofs
}

#[cfg(test)]
mod tests {
    use flakewise_model::TouchedFile;
    use proptest::prelude::*;

    use super::*;
    use crate::testing::{execution, of_kind};

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

    /// E[θᵏ(1 − θ)ᵐ] by adding up the area below the density.
    fn integrated(failures: i32, passes: i32) -> f64 {
        const STEPS: u32 = 20_000;
        let (a, b) = RATE;
        let (mut above, mut below) = (0.0, 0.0);
        for step in 0..STEPS {
            let rate = (f64::from(step) + 0.5) / f64::from(STEPS);
            let density = rate.powf(a - 1.0) * (1.0 - rate).powf(b - 1.0);
            below += density;
            above += density * rate.powi(failures) * (1.0 - rate).powi(passes);
        }
        above / below
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn the_formula_is_the_integral(
            prior in 0.01_f64..0.99,
            failures in 0_i32..12,
            passes in 0_i32..12,
            regression in 0.01_f64..=1.0,
        ) {
            let flaky = prior * integrated(failures, passes);
            let expected = flaky / (flaky + (1.0 - prior) * regression);
            let said = posterior(prior, failures.unsigned_abs(), passes.unsigned_abs(), regression).get();
            prop_assert!((said - expected).abs() < 1e-4, "{said} for {expected}");
        }

        #[test]
        fn every_failure_and_every_pass_at_the_base_makes_a_flake_less_likely(
            prior in 0.01_f64..0.99,
            failures in 0_u32..2000,
            passes in 0_u32..2000,
            regression in 0.01_f64..=1.0,
        ) {
            let here = posterior(prior, failures, passes, regression);
            prop_assert!(posterior(prior, failures + 1, passes, regression) <= here);
            prop_assert!(posterior(prior, failures, passes + 1, regression) <= here);
            prop_assert!(posterior(prior, failures, passes, regression / 2.0) >= here);
            prop_assert!((0.0..=1.0).contains(&here.get()));
        }
    }

    /// [`Facts`] that own what they are about.
    #[derive(Clone, Debug)]
    struct Case {
        executions: Vec<Execution>,
        meeting: Option<Meeting>,
        lines_seen: bool,
        /// How many files changed.
        changed: Option<u32>,
        base: Option<(u32, u32)>,
        fails_with_suite_seed: Option<bool>,
        alike: u32,
        stands_for: bool,
        gate: bool,
        mixed: Option<u64>,
    }

    impl Case {
        /// A test that failed on every rung, in code that did not change.
        fn new(executions: &[(Phase, Outcome)]) -> Self {
            Self {
                executions: executions
                    .iter()
                    .map(|(phase, outcome)| execution(0, *phase, *outcome))
                    .collect(),
                meeting: Some(Meeting::Disjoint { dependencies: 7 }),
                lines_seen: true,
                changed: Some(2),
                base: None,
                fails_with_suite_seed: None,
                alike: 1,
                stands_for: false,
                gate: false,
                mixed: None,
            }
        }

        fn judge(&self) -> FailureVerdict {
            judge(&Facts {
                executions: &self.executions,
                meeting: self.meeting.as_ref(),
                lines_seen: self.lines_seen,
                change: self.changed.map(|files| ChangeFacts { base: "abc", files }),
                base: self.base.map(|(passed, failed)| BaseFacts { passed, failed, source: BaseSource::Run }),
                hash_seed: self.fails_with_suite_seed.map(|fails_with_suite_seed| HashSeedFacts {
                    suite: 1,
                    other: 2,
                    fails_with_suite_seed,
                }),
                alike: (self.alike, self.stands_for.then_some("test_a.py::test_a")),
                gate: self.gate.then_some((40, 50)),
                past: self.mixed.map(|mixed| crate::Past { failures: 3, revisions: 2, mixed }),
            })
        }

        fn blame(&self) -> Blame {
            self.judge().blame
        }
    }

    const FAILED_THROUGHOUT: [(Phase, Outcome); 5] = [
        (Phase::First, Outcome::Failed),
        (Phase::Rerun, Outcome::Failed),
        (Phase::Postpone, Outcome::Failed),
        (Phase::Fork, Outcome::Failed),
        (Phase::Fresh, Outcome::Failed),
    ];

    fn touches(touch: Touch) -> Meeting {
        Meeting::Touches(vec![TouchedFile { path: "a.py".to_owned(), touch }])
    }

    fn unknown() -> Meeting {
        Meeting::Unknown { reason: "it starts `git`".to_owned() }
    }

    #[test]
    fn the_rung_that_clears_a_failure_names_its_kind() {
        use Phase::{First, Fork, Fresh, Postpone, Rerun};
        let kind = |failures: &[Phase], passes, seed| {
            let failures = failures.iter().map(|phase| (*phase, Outcome::Failed));
            let executions: Vec<_> = failures.chain([(passes, Outcome::Passed)]).collect();
            Case { fails_with_suite_seed: seed, ..Case::new(&executions) }.blame().detail()
        };
        assert_eq!(kind(&[First], Rerun, None), Some("transient"));
        assert_eq!(kind(&[First, Rerun], Rerun, None), Some("transient"));
        assert_eq!(kind(&[First, Rerun], Postpone, None), Some("bursty"));
        assert_eq!(kind(&[First, Rerun, Postpone], Fork, None), Some("state-dependent"));
        assert_eq!(kind(&[First], Fork, None), Some("transient"), "one failure says little of state");
        assert_eq!(kind(&[First, Rerun], Fresh, None), Some("state-dependent"), "no fork was possible");
        assert_eq!(kind(&[First, Rerun, Postpone, Fork], Fresh, None), Some("process-dependent"));
        assert_eq!(kind(&[First, Rerun, Postpone, Fork], Fresh, Some(false)), Some("process-dependent"));
        assert_eq!(kind(&[First, Rerun, Postpone, Fork], Fresh, Some(true)), Some("hash-seed"));
        assert_eq!(kind(&[First], Fresh, None), Some("transient"));
    }

    #[test]
    fn what_never_passes_is_judged_by_the_change() {
        let case = Case::new(&FAILED_THROUGHOUT);
        let with = |meeting, base| Case { meeting, base, ..case.clone() }.blame();
        let disjoint = || Some(Meeting::Disjoint { dependencies: 7 });
        let passed = Some((1, 0));
        assert_eq!(with(disjoint(), passed), Blame::Flaky(FlakyKind::Untouched));
        assert_eq!(with(disjoint(), None), Blame::Undecided(OpenQuestion::BaseUnknown));
        assert_eq!(with(disjoint(), Some((0, 2))), Blame::BrokenBefore);
        assert_eq!(with(disjoint(), Some((1, 1))), Blame::Flaky(FlakyKind::Untouched));
        let executed = || Some(touches(Touch::Executed(vec![3])));
        let mixed = Blame::Undecided(OpenQuestion::NotEnoughRuns);
        assert_eq!(with(executed(), Some((1, 1))), mixed, "a flake at the base may be broken here");
        assert_eq!(with(Some(unknown()), passed), Blame::Undecided(OpenQuestion::DependenciesUnknown));
        assert_eq!(with(None, passed), Blame::Undecided(OpenQuestion::DependenciesUnknown));
        assert_eq!(with(Some(touches(Touch::Executed(vec![3]))), None), Blame::Regression);
        assert_eq!(with(Some(touches(Touch::Opened)), passed), Blame::Regression);
        assert_eq!(with(Some(touches(Touch::Loaded)), None), Blame::Undecided(OpenQuestion::NotExecuted));
        let unseen = Case { meeting: Some(touches(Touch::Loaded)), lines_seen: false, ..case.clone() };
        assert_eq!(unseen.blame(), Blame::Regression);
        let nothing_changed = Case { changed: Some(0), ..case.clone() };
        assert_eq!(nothing_changed.blame(), Blame::BrokenBefore);
        let without_git = Case { changed: None, meeting: None, ..case.clone() };
        assert_eq!(without_git.blame(), Blame::Undecided(OpenQuestion::ChangeUnknown));
        let gated = Case { gate: true, base: passed, ..case };
        assert_eq!(gated.blame(), Blame::Undecided(OpenQuestion::TooManyFailures));
    }

    #[test]
    fn many_that_fail_of_the_world_around_them_are_one_outage() {
        let case = Case::new(&FAILED_THROUGHOUT);
        let refused =
            case.executions.iter().cloned().map(|one| of_kind("ConnectionRefusedError", one)).collect();
        let outage =
            Case { executions: refused, alike: 5, meeting: Some(touches(Touch::Opened)), ..case.clone() };
        assert_eq!(outage.blame(), Blame::Infrastructure);
        assert_eq!(Case { alike: 4, ..outage }.blame(), Blame::Regression);
        // Many that fail alike and depend on nothing that changed.
        assert_eq!(Case { alike: 5, ..case }.blame(), Blame::Infrastructure);
    }

    #[test]
    fn a_skip_is_no_run() {
        let skipped = [
            (Phase::First, Outcome::Failed),
            (Phase::Fork, Outcome::Skipped),
            (Phase::Fresh, Outcome::Skipped),
        ];
        let verdict = Case { meeting: Some(touches(Touch::Opened)), ..Case::new(&skipped) }.judge();
        assert_eq!(verdict.blame, Blame::Undecided(OpenQuestion::NotEnoughRuns));
        assert_eq!(verdict.proofs[0], Proof::AlwaysFailed { attempts: 1, processes: 1 });
    }

    fn case() -> impl Strategy<Value = Case> {
        let outcome = || {
            proptest::sample::select(vec![
                Outcome::Failed,
                Outcome::Failed,
                Outcome::Failed,
                Outcome::Errored,
                Outcome::Crashed,
                Outcome::TimedOut,
                Outcome::Skipped,
                Outcome::Passed,
            ])
        };
        let rungs = || {
            proptest::sample::subsequence(
                vec![Phase::Rerun, Phase::Postpone, Phase::Fork, Phase::Fresh, Phase::Fresh],
                0..=5,
            )
        };
        let kind = proptest::sample::select(vec!["AssertionError", "socket.gaierror"]);
        let executions =
            (rungs(), proptest::collection::vec(outcome(), 5), kind).prop_map(|(phases, outcomes, kind)| {
                let rest = phases.into_iter().zip(outcomes);
                std::iter::once((Phase::First, Outcome::Failed))
                    .chain(rest)
                    .map(|(phase, outcome)| of_kind(kind, execution(0, phase, outcome)))
                    .collect::<Vec<_>>()
            });
        let meeting = proptest::sample::select(vec![
            None,
            Some(unknown()),
            Some(Meeting::Disjoint { dependencies: 7 }),
            Some(touches(Touch::Loaded)),
            Some(touches(Touch::Opened)),
            Some(touches(Touch::Executed(vec![3]))),
        ]);
        let change = proptest::option::of(0_u32..3);
        let base = proptest::option::of(proptest::sample::select(vec![(1, 0), (0, 2), (3, 1)]));
        let others = (1_u32..8, any::<bool>(), proptest::bool::weighted(0.1), proptest::option::of(0_u64..2));
        (executions, meeting, any::<bool>(), change, base, any::<Option<bool>>(), others).prop_map(
            |(executions, meeting, lines_seen, changed, base, fails_with_suite_seed, others)| {
                let (alike, stands_for, gate, mixed) = others;
                Case {
                    executions,
                    // Both need a change to be compared with.
                    meeting: meeting.filter(|_| changed.is_some()),
                    base: base.filter(|_| changed.is_some()),
                    lines_seen,
                    changed,
                    fails_with_suite_seed,
                    alike,
                    stands_for: stands_for && alike >= 5,
                    gate,
                    mixed,
                }
            },
        )
    }

    /// One rule per line: the first line
    /// whose conditions hold is the verdict.
    fn oracle(case: &Case) -> Blame {
        let failed =
            |phase: Phase| case.executions.iter().any(|one| one.phase == phase && one.outcome.is_failure());
        let first_pass =
            case.executions.iter().find(|one| one.outcome == Outcome::Passed).map(|one| one.phase);
        let ran = case.executions.iter().filter(|one| one.outcome != Outcome::Skipped).count();
        let together = failed(Phase::Rerun) || failed(Phase::Postpone);
        let disjoint = matches!(case.meeting, Some(Meeting::Disjoint { .. }));
        let only_loaded = case.meeting == Some(touches(Touch::Loaded)) && case.lines_seen;
        let touched = matches!(case.meeting, Some(Meeting::Touches(_)));
        let base_passed = case.base.is_some_and(|(passed, _)| passed > 0);
        let base_failed = case.base.is_some_and(|(_, failed)| failed > 0);
        let outage = case.executions[0]
            .failure
            .as_ref()
            .is_some_and(|failure| failure.kind.as_deref() == Some("socket.gaierror"));
        let fresh = first_pass == Some(Phase::Fresh);
        let rules = [
            (first_pass == Some(Phase::Rerun), Blame::Flaky(FlakyKind::Transient)),
            (first_pass == Some(Phase::Postpone), Blame::Flaky(FlakyKind::Bursty)),
            (first_pass == Some(Phase::Fork) && together, Blame::Flaky(FlakyKind::StateDependent)),
            (fresh && case.fails_with_suite_seed == Some(true), Blame::Flaky(FlakyKind::HashSeed)),
            (fresh && failed(Phase::Fork), Blame::Flaky(FlakyKind::ProcessDependent)),
            (fresh && together, Blame::Flaky(FlakyKind::StateDependent)),
            (first_pass.is_some(), Blame::Flaky(FlakyKind::Transient)),
            (case.gate, Blame::Undecided(OpenQuestion::TooManyFailures)),
            (case.alike >= 5 && outage, Blame::Infrastructure),
            (base_failed && !base_passed, Blame::BrokenBefore),
            (!base_passed && case.changed == Some(0), Blame::BrokenBefore),
            (case.alike >= 5 && disjoint, Blame::Infrastructure),
            (case.changed.is_none(), Blame::Undecided(OpenQuestion::ChangeUnknown)),
            (base_passed && base_failed && !disjoint, Blame::Undecided(OpenQuestion::NotEnoughRuns)),
            (ran < 2 && !case.stands_for, Blame::Undecided(OpenQuestion::NotEnoughRuns)),
            (disjoint && base_passed, Blame::Flaky(FlakyKind::Untouched)),
            (disjoint, Blame::Undecided(OpenQuestion::BaseUnknown)),
            (only_loaded, Blame::Undecided(OpenQuestion::NotExecuted)),
            (touched, Blame::Regression),
            (true, Blame::Undecided(OpenQuestion::DependenciesUnknown)),
        ];
        rules.into_iter().find(|(holds, _)| *holds).map(|(_, blame)| blame).expect("the last rule holds")
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        #[test]
        fn the_judge_is_the_oracle(case in case()) {
            prop_assert_eq!(case.blame(), oracle(&case));
        }

        #[test]
        fn nothing_is_called_flaky_or_to_blame_without_proof(case in case()) {
            let verdict = case.judge();
            let passed = case.executions.iter().any(|one| one.outcome == Outcome::Passed);
            let disjoint = matches!(case.meeting, Some(Meeting::Disjoint { .. }));
            let passed_at_base = case.base.is_some_and(|(passed, _)| passed > 0);
            match &verdict.blame {
                Blame::Flaky(FlakyKind::Untouched) => prop_assert!(!passed && disjoint && passed_at_base),
                Blame::Flaky(_) => prop_assert!(passed),
                Blame::Regression => {
                    prop_assert!(!passed && matches!(case.meeting, Some(Meeting::Touches(_))));
                }
                _ => prop_assert!(!passed),
            }
            if case.gate && !passed {
                prop_assert_eq!(&verdict.blame, &Blame::Undecided(OpenQuestion::TooManyFailures));
            }
            let says_passed =
                verdict.proofs.iter().any(|proof| matches!(proof, Proof::PassedAgain { .. }));
            let says_failed =
                verdict.proofs.iter().any(|proof| matches!(proof, Proof::AlwaysFailed { .. }));
            prop_assert_eq!((says_passed, says_failed), (passed, !passed));
            prop_assert_eq!(verdict.flaky == Probability::ONE, verdict.blame.is_proved_flaky());
        }
    }
}
