//! From what was seen of a failing test to a verdict. Pure.
//!
//! # Probability
//!
//! A test that failed is flaky, or the change broke it, or it fails for a reason
//! that lasts and is not the change: a dependency, the date, the platform, a service.
//! A flaky test that has just failed fails with a rate θ ~ Beta(a, b); what the change
//! broke fails always in a share s of cases and like a flaky test in the others; the
//! third fails always. With priors π, k more failures in a row here, m passes and n failures
//! of the same kind at the base, and what is known of the test's dependencies D,
//!
//! ```text
//! flaky        π₁ · E[θᵏ⁺ⁿ(1 − θ)ᵐ] · P(D)
//! regression   π₂ · (s + (1 − s) · E[θᵏ]) · P(n | passes there) · P(D | it depends on the change)
//! environment  π₃ · P(m | fails there too) · P(D)
//! ```
//!
//! divided by their sum. A test with both outcomes at the base is flaky there,
//! whatever else it is: then only the k failures here speak against a flake, with the
//! rate that the base suggests. A single pass on the same code is proof, and needs
//! no formula.

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
/// The same before it failed.
const NEW_RATE: (f64, f64) = (0.3, 3.0);
/// The share of tests that are flaky, whatever else happens to them.
const OLD_FLAKE: f64 = 0.03;
/// The share of tests that fail because of their environment and did so before.
const BROKEN_FOR_LONG: f64 = 0.3;
/// The share of tests broken by a change that fail always. The others pass now and
/// then: the change made them flaky.
const BROKEN_FOR_GOOD: f64 = 0.7;
/// How likely what was seen of a test's dependencies is, if the change broke it and
/// if it did not: it executes the change, it loads changed files and runs none of
/// what changed in them, it depends on none of them.
const EXECUTES: (f64, f64) = (0.95, 0.35);
const LOADS: (f64, f64) = (0.04, 0.25);
const DISJOINT: (f64, f64) = (0.01, 0.40);
/// Not all of it could be observed.
const UNSEEN: (f64, f64) = (0.02, 0.05);
/// How likely a test that the change broke fails at the base in the same way.
const REGRESSION_AT_BASE: f64 = 0.01;
/// How likely a test that always fails passes when it is run at the base now.
const ENVIRONMENT_PASSES: f64 = 0.05;
/// The same if the pass is from the history: the environment may have changed since.
const ENVIRONMENT_PASSED: f64 = 0.7;
/// From these odds on, a test fails more often than before.
const MORE_OFTEN: f64 = 19.0;
/// The same for a test that executes the change: there is a reason why it might.
const MORE_OFTEN_BY_CHANGE: f64 = 3.0;
/// From this probability on, what a test depends on when it runs alone says nothing
/// about why it failed in the suite.
const BY_OTHER_TESTS: f64 = 0.1;

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
    fn ran(&self) -> impl Iterator<Item = &Execution> + Clone {
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

    /// Whether it has nothing to do with the change, as far as can be seen.
    pub(crate) fn is_unrelated(&self) -> bool {
        self.nothing_changed() || (self.is_disjoint() && !self.may_be_by_other_tests())
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

    /// Whether it loads changed files, or is configured by them, and runs none of
    /// what changed in them.
    fn executes_nothing(&self) -> bool {
        let Some(Meeting::Touches(files)) = self.meeting else { return false };
        let is_weak = |touch: &Touch| *touch == Touch::Loaded || touch.is_configuration();
        self.lines_seen && files.iter().all(|file| is_weak(&file.touch))
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
    /// in the suite's process here nor before. A test that passed before and now
    /// fails in the suite's process and nowhere else counts too: a test that the
    /// change touched may have left something behind. One that fails at random, also
    /// alone, did so a few times in a row there.
    pub(crate) fn fails_in_every_whole_run(&self) -> bool {
        let in_suite = |one: &Execution| matches!(one.phase, Phase::First | Phase::Rerun | Phase::Postpone);
        let (in_suite, alone): (Vec<&Execution>, Vec<_>) =
            self.executions.iter().partition(|one| in_suite(one));
        let passes_here = in_suite.iter().any(|one| one.outcome == Outcome::Passed);
        let fails_alone = alone.iter().any(|one| one.outcome.is_failure());
        let (failed, passed) = self.whole_runs_before();
        let at_random =
            || self.trials.decided().is_some_and(|(kind, _)| kind == FlakyKind::Transient) && fails_alone;
        match (failed, passed) {
            (0, 0) => !passes_here && !at_random(),
            (0, _) => !passes_here && !fails_alone,
            _ => passed == 0,
        }
    }

    /// Failures and passes here beside those before the change, if it fails more
    /// often now.
    pub(crate) fn fails_more_often(&self) -> Option<((u32, u32), (u64, u64))> {
        let odds = if self.executes_change() { MORE_OFTEN_BY_CHANGE } else { MORE_OFTEN };
        let (here, mut before) = (self.trials.tally(), self.whole_runs_before());
        // What the history has of the base is among the whole runs already.
        if let Some(base) = self.base.filter(|base| base.source == BaseSource::Run) {
            before = (before.0 + u64::from(base.failed), before.1 + u64::from(base.passed));
        }
        (before.0 + before.1 > 0 && odds_of_more(here, before) >= odds).then_some((here, before))
    }

    /// Whether it failed here in more than one way. What is known of the first way
    /// says nothing about the others.
    pub(crate) fn fails_in_several_ways(&self) -> bool {
        let mut failures = self.executions.iter().filter(|one| one.outcome.is_failure());
        let Some(first) = failures.next() else { return false };
        failures.any(|other| match (&first.failure, &other.failure) {
            (Some(one), Some(other)) => (&one.kind, &one.fingerprint) != (&other.kind, &other.fingerprint),
            _ => first.outcome != other.outcome,
        })
    }

    /// Whether the tests before it, or what is loaded beside it, may be why it fails.
    /// Neither is there when it is watched alone.
    fn may_be_by_other_tests(&self) -> bool {
        let by_others = |kind| matches!(kind, FlakyKind::StateDependent | FlakyKind::ProcessDependent);
        let kinds = self.trials.kinds().into_iter().filter(|(kind, _)| by_others(*kind));
        kinds.map(|(_, probability)| probability.get()).sum::<f64>() >= BY_OTHER_TESTS
    }

    /// Whether it fails in the same way on all code without the change that the
    /// history has.
    fn always_failed_before(&self) -> bool {
        let (failed, passed) = self.whole_runs_before();
        let alike = self.past.is_some_and(|past| past.seen.iter().any(|seen| seen.alike > 0));
        alike && failed > 0 && passed == 0
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
    #[expect(clippy::option_option, reason = "whether it did, and the kind where it has one")]
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
    let broken_at_base = passed == 0 && (failed > 0 || facts.always_failed_before());
    let passes_now = passed > 0 && facts.base.is_some_and(|base| base.source == BaseSource::Run);
    let cleared = facts.is_disjoint() || facts.nothing_changed();
    // What the world does to many tests at once, it does at the base too.
    let many = facts.alike.0 as usize >= crate::ladder::INCIDENT;
    if many && is_environmental(facts) && (broken_at_base || (cleared && !passes_now)) {
        return Blame::Infrastructure;
    }
    if broken_at_base {
        return Blame::BrokenBefore;
    }
    if many && facts.is_disjoint() && !passes_now {
        return Blame::Infrastructure;
    }
    if facts.change.is_none() {
        return Blame::Undecided(OpenQuestion::ChangeUnknown);
    }
    if facts.ran().count() < 2 && facts.alike.1.is_none() {
        return Blame::Undecided(OpenQuestion::NotEnoughRuns);
    }
    if facts.nothing_changed() && passed == 0 {
        return Blame::BrokenBefore;
    }
    if cleared {
        let [flaky, regression, environment] = hypotheses(facts);
        // What it does there and what it depends on contradict each other.
        return if passes_now && failed == 0 {
            Blame::Undecided(OpenQuestion::PassesAtBase)
        } else if environment >= flaky.max(regression) {
            Blame::Environment
        } else {
            Blame::Undecided(OpenQuestion::NotEnoughRuns)
        };
    }
    if failed > 0 {
        // It is flaky at the base. That does not clear it of failing here for
        // another reason.
        return Blame::Undecided(OpenQuestion::NotEnoughRuns);
    }
    match facts.meeting {
        // Every test of the suite depends on its configuration.
        Some(meeting) if meeting.only_configuration() && passed == 0 => {
            Blame::Undecided(OpenQuestion::BaseUnknown)
        }
        Some(meeting) if meeting.only_configuration() => Blame::Regression,
        Some(Meeting::Touches(_)) if facts.executes_nothing() => Blame::Undecided(OpenQuestion::NotExecuted),
        Some(Meeting::Touches(_)) => Blame::Regression,
        _ => Blame::Undecided(OpenQuestion::DependenciesUnknown),
    }
}

/// Whether the failure came with the change.
fn novelty(facts: &Facts<'_>) -> Novelty {
    if facts.is_known() {
        Novelty::Known
    } else if facts.is_unrelated() {
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
    let before = facts.whole_runs_before();
    let has_history = before.0 + before.1 > 0;
    let (passed, failed) = match facts.base {
        // It is among the whole runs already.
        Some(base) if base.source == BaseSource::History && has_history => (0, 0),
        _ => (passed, failed),
    };
    let (failed, passed) = scaled(failed.into(), passed.into());
    let known = !has_history && (facts.past.is_some_and(|past| past.mixed > 0) || facts.is_known());
    let prior = if known { PRIOR_KNOWN } else { PRIOR };
    let (failed_before, passed_before) = scaled(before.0, before.1);
    let (broken_before, other_before) = before_if_not_flaky(failed_before, passed_before);
    let (if_broken, if_not) = match facts.meeting {
        _ if facts.nothing_changed() => (0.0, 1.0),
        Some(Meeting::Disjoint { .. }) => DISJOINT,
        Some(meeting) if meeting.only_configuration() || facts.executes_nothing() => LOADS,
        Some(Meeting::Touches(_)) => EXECUTES,
        Some(Meeting::Unknown { .. }) => UNSEEN,
        None => (1.0, 1.0),
    };
    let count = |number: u32| i32::try_from(number).unwrap_or(i32::MAX);
    let passes = match facts.base.map(|base| base.source) {
        Some(BaseSource::Run) => ENVIRONMENT_PASSES,
        Some(BaseSource::History) | None => ENVIRONMENT_PASSED,
    };
    // The same environment answers all passes of the history alike.
    // A test that passes and fails there is flaky, whatever else happened to it.
    let mixed = OLD_FLAKE * expected(NEW_RATE, failed, passed);
    let is_mixed = passed > 0 && failed > 0;
    let environment = if is_mixed {
        mixed
    } else if passed > 0 {
        passes
    } else {
        1.0
    };
    let regression = if is_mixed { mixed } else { REGRESSION_AT_BASE.powi(count(failed.min(3))) };
    let fails_on = BROKEN_FOR_GOOD + (1.0 - BROKEN_FOR_GOOD) * expected(RATE, again, 0);
    let flaky = expected(RATE, again.saturating_add(failed) + failed_before, passed + passed_before);
    normalised([
        prior[0] * flaky * if_not,
        prior[1] * fails_on * regression * broken_before * if_broken,
        prior[2] * environment * other_before * if_not,
    ])
}

/// How likely whole runs without the change are to have failed and passed this often,
/// if the change broke the test, and if something besides the change did.
fn before_if_not_flaky(failed: u32, passed: u32) -> (f64, f64) {
    let old_flake = OLD_FLAKE * expected(NEW_RATE, failed, passed);
    match (failed, passed) {
        (0, 0) => (1.0, 1.0),
        (0, _) => (1.0 - OLD_FLAKE + old_flake, 1.0 - BROKEN_FOR_LONG),
        (_, 0) => (old_flake, BROKEN_FOR_LONG),
        _ => (old_flake, old_flake),
    }
}

/// Failures and passes in the same proportion, and no more of them than say
/// something.
fn scaled(failed: u64, passed: u64) -> (u32, u32) {
    const MOST: u64 = 200;
    let total = (failed + passed).max(MOST);
    let share = |count: u64| u32::try_from((count * MOST).div_ceil(total)).unwrap_or(u32::MAX);
    (share(failed), share(passed))
}

fn normalised(weights: [f64; 3]) -> [f64; 3] {
    let total: f64 = weights.iter().sum();
    if total > 0.0 { weights.map(|weight| weight / total) } else { [0.0, 0.0, 1.0] }
}

/// E[θᵏ(1 − θ)ᵐ] for θ ~ Beta(a, b), one factor at a time.
fn expected((mut a, mut b): (f64, f64), failures: u32, passes: u32) -> f64 {
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
    let flaky = PRIOR[0] * expected(RATE, failures.saturating_sub(1), 0);
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
        if facts.executions[place].phase == Phase::First {
            let reruns = facts.ran().filter(|execution| execution.phase != Phase::First);
            let failed = reruns.clone().filter(|execution| execution.outcome.is_failure());
            proofs.push(Proof::FailedAgain { failed: count(failed.count()), runs: count(reruns.count()) });
        } else {
            proofs.push(Proof::PassedAgain {
                phase: facts.executions[place].phase,
                failures_before: count(failures.count()),
            });
        }
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
    use crate::testing::{Case, case, loads_and_is_configured, seen_on, touches, unknown};

    #[test]
    fn five_failures_in_a_row_leave_little_room_for_a_flake() {
        let text = |failures| after_failures(failures).to_string();
        assert_eq!(text(1), "45 %");
        assert_eq!(text(2), "20 %");
        assert_eq!(text(5), "3.2 %");
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
        fn the_formula_is_the_integral(failures in 0_i32..12, passes in 0_i32..12) {
            let (said, area) =
                (expected(RATE, failures.unsigned_abs(), passes.unsigned_abs()), integrated(failures, passes));
            prop_assert!((said - area).abs() < 1e-4, "{said} for {area}");
        }
    }

    fn hypotheses_of(case: &Case) -> [f64; 3] {
        case.with(hypotheses)
    }

    #[test]
    fn the_three_hypotheses_of_a_test_that_failed_five_times() {
        let case = |meeting, base| Case { meeting, base, ..Case::failed_throughout() };
        let in_percent = |case: &Case| hypotheses_of(case).map(|value| format!("{:.0}", value * 100.0));
        let disjoint = || Some(Meeting::Disjoint { dependencies: 7 });
        let executed = || Some(touches(Touch::Executed(vec![3])));
        // flaky, regression, environment
        assert_eq!(in_percent(&case(None, None)), ["4", "63", "33"]);
        assert_eq!(in_percent(&case(executed(), None)), ["2", "82", "16"]);
        assert_eq!(in_percent(&case(executed(), BaseFacts::ran(2, 0))), ["0", "99", "1"]);
        assert_eq!(in_percent(&case(disjoint(), None)), ["10", "4", "86"]);
        assert_eq!(in_percent(&case(Some(touches(Touch::Loaded)), None)), ["9", "21", "70"]);
        let unchanged = Case { changed: Some(0), ..case(None, None) };
        assert_eq!(in_percent(&unchanged), ["11", "0", "89"]);
    }

    proptest! {
        #[test]
        fn the_three_hypotheses_add_up(case in case()) {
            let hypotheses = hypotheses_of(&case);
            prop_assert!((hypotheses.iter().sum::<f64>() - 1.0).abs() < 1e-9, "{hypotheses:?}");
            prop_assert!(hypotheses.iter().all(|value| (0.0..=1.0).contains(value)));
            let verdict = case.judge();
            let told = verdict.flaky.get() + verdict.regression.get() + verdict.environment.get();
            prop_assert!((told - 1.0).abs() < 1e-9, "{told}");
        }

        #[test]
        fn every_further_failure_makes_a_flake_less_likely(case in case(), phase in crate::testing::rung()) {
            let case = case.never_passed();
            let more = case.clone().and(phase, Outcome::Failed);
            prop_assert!(hypotheses_of(&more)[0] <= hypotheses_of(&case)[0]);
        }

        #[test]
        fn a_pass_at_the_base_now_speaks_against_the_environment(case in case()) {
            let case = Case { base: None, changed: Some(2), ..case.never_passed() };
            let passes = Case { base: BaseFacts::ran(1, 0), ..case.clone() };
            prop_assert!(hypotheses_of(&passes)[2] < hypotheses_of(&case)[2]);
            prop_assert!(hypotheses_of(&passes)[1] > hypotheses_of(&case)[1]);
            let history = BaseFacts::ran(1, 0).map(BaseFacts::remembered);
            let passed = Case { base: history, ..case };
            prop_assert!(hypotheses_of(&passed)[2] > hypotheses_of(&passes)[2], "it may have changed since");
        }

        #[test]
        fn the_same_failure_at_the_base_speaks_against_a_regression(case in case(), failed in 1_u32..4) {
            let case = Case { base: None, ..case.never_passed() };
            let fails = Case { base: BaseFacts::ran(0, failed), ..case.clone() };
            prop_assert!(hypotheses_of(&fails)[1] <= hypotheses_of(&case)[1]);
        }

        #[test]
        fn disjoint_code_speaks_against_a_regression(case in case()) {
            let with = |meeting| hypotheses_of(&Case { meeting, changed: Some(2), ..case.clone() })[1];
            let disjoint = with(Some(Meeting::Disjoint { dependencies: 7 }));
            prop_assert!(disjoint < with(None));
            prop_assert!(disjoint < with(Some(touches(Touch::Loaded))));
            prop_assert!(with(None) < with(Some(touches(Touch::Executed(vec![3])))));
        }
    }

    #[test]
    fn what_fails_always_and_depends_on_nothing_that_changed_is_the_environment() {
        // 13 tests of httpx with newer dependencies: 5 of 5 failures in 3 processes.
        let verdict = Case::failed_throughout().judge();
        assert_eq!(verdict.blame, Blame::Environment);
        assert_eq!(verdict.novelty, Novelty::Unrelated);
        assert!(verdict.flaky.get() < 0.15, "P(flaky) = {}", verdict.flaky);
        assert!(verdict.regression.get() < 0.10, "P(regression) = {}", verdict.regression);
        assert_eq!(verdict.proofs[0], Proof::AlwaysFailed { attempts: 5, processes: 3 });
        assert_eq!(verdict.proofs[1], Proof::UntouchedByChange { changed: 2, dependencies: 7 });
        let packages = vec!["httpcore 1.0.2 → 1.0.9".to_owned()];
        let past = crate::Past { installed_since: packages.clone(), ..crate::Past::default() };
        let verdict = Case { past: Some(past), ..Case::failed_throughout() }.judge();
        assert!(verdict.proofs.contains(&Proof::InstalledDiffers { packages }));
    }

    #[test]
    fn a_test_that_passed_in_the_suite_and_failed_when_rerun_is_flaky() {
        use Outcome::{Failed, Passed};
        use Phase::{First, Fork, Order};
        let verdict = Case::new(&[(First, Passed), (Order, Passed), (Order, Failed), (Fork, Failed)]).judge();
        assert!(verdict.blame.is_proved_flaky());
        assert_eq!(verdict.proofs[0], Proof::FailedAgain { failed: 2, runs: 3 });
    }

    #[test]
    fn a_pass_on_the_same_code_is_a_flake_of_the_kind_that_its_runs_show() {
        use Outcome::{Failed, Passed};
        use Phase::{First, Fork, Postpone, Rerun};
        let few = Case::new(&[(First, Failed), (Rerun, Failed), (Postpone, Failed), (Fork, Passed)]);
        let verdict = few.judge();
        assert_eq!(verdict.blame, Blame::Flaky(FlakyKind::Undecided), "chance would do as well");
        assert_eq!((verdict.kind, verdict.flaky), (None, Probability::ONE));
        assert_eq!(verdict.proofs[0], Proof::PassedAgain { phase: Fork, failures_before: 3 });
        let mut more = few;
        for _ in 0..4 {
            more = more.and(Postpone, Failed).and(Fork, Passed);
        }
        let verdict = more.judge();
        assert_eq!(verdict.blame, Blame::Flaky(FlakyKind::StateDependent));
        assert!(verdict.kind.is_some_and(|kind| kind.get() >= 0.95));
        let first_of_all = Case { has_predecessors: false, ..more };
        assert_ne!(first_of_all.blame(), Blame::Flaky(FlakyKind::StateDependent), "nothing ran before it");
        let random = Case::new(&[(First, Failed), (Rerun, Passed), (Postpone, Passed), (Postpone, Passed)])
            .and(Fork, Passed)
            .and(Fork, Passed)
            .and(Postpone, Passed);
        assert_eq!(random.blame(), Blame::Flaky(FlakyKind::Transient));
    }

    #[test]
    fn a_suite_of_one_test_never_has_a_state_dependent_one() {
        for outcomes in 0_u32..256 {
            let mut case = Case { has_predecessors: false, ..Case::new(&[(Phase::First, Outcome::Failed)]) };
            for place in 0..8 {
                let phase = [Phase::Rerun, Phase::Postpone, Phase::Fork, Phase::Fork][place % 4];
                let failed = outcomes >> place & 1 == 1;
                case = case.and(phase, if failed { Outcome::Failed } else { Outcome::Passed });
            }
            assert_ne!(case.blame(), Blame::Flaky(FlakyKind::StateDependent), "{outcomes:b}");
        }
    }

    #[test]
    fn what_never_passes_is_judged_by_the_change() {
        let case = Case::failed_throughout();
        let with = |meeting, base| Case { meeting, base, ..case.clone() }.blame();
        let disjoint = || Some(Meeting::Disjoint { dependencies: 7 });
        let executed = || Some(touches(Touch::Executed(vec![3])));
        let passed = || BaseFacts::ran(2, 0);
        assert_eq!(with(disjoint(), None), Blame::Environment);
        let in_history = passed().map(BaseFacts::remembered);
        assert_eq!(
            with(disjoint(), in_history),
            Blame::Environment,
            "the environment may have changed since"
        );
        assert_eq!(with(disjoint(), passed()), Blame::Undecided(OpenQuestion::PassesAtBase));
        assert_eq!(with(disjoint(), BaseFacts::ran(0, 2)), Blame::BrokenBefore);
        let mixed = || BaseFacts::ran(1, 1);
        assert_eq!(with(disjoint(), mixed()), Blame::Undecided(OpenQuestion::NotEnoughRuns));
        assert_eq!(
            with(executed(), mixed()),
            Blame::Undecided(OpenQuestion::NotEnoughRuns),
            "a flake at the base may be broken here"
        );
        assert_eq!(with(Some(unknown()), passed()), Blame::Undecided(OpenQuestion::DependenciesUnknown));
        assert_eq!(with(None, passed()), Blame::Undecided(OpenQuestion::DependenciesUnknown));
        assert_eq!(with(executed(), None), Blame::Regression);
        assert_eq!(with(Some(touches(Touch::Opened)), passed()), Blame::Regression);
        assert_eq!(with(Some(touches(Touch::Loaded)), None), Blame::Undecided(OpenQuestion::NotExecuted));
        let configured = || Some(touches(Touch::Configured(vec!["project.version".to_owned()])));
        assert_eq!(with(configured(), None), Blame::Undecided(OpenQuestion::BaseUnknown));
        assert_eq!(with(configured(), BaseFacts::ran(0, 2)), Blame::BrokenBefore);
        assert_eq!(with(configured(), passed()), Blame::Regression);
        let both = Some(loads_and_is_configured());
        assert_eq!(with(both, None), Blame::Undecided(OpenQuestion::NotExecuted));
        let unseen = Case { meeting: Some(touches(Touch::Loaded)), lines_seen: false, ..case.clone() };
        assert_eq!(unseen.blame(), Blame::Regression);
        let nothing_changed = Case { changed: Some(0), meeting: None, ..case.clone() };
        assert_eq!(nothing_changed.blame(), Blame::BrokenBefore);
        let passed_before = Case { base: BaseFacts::ran(1, 0), ..nothing_changed };
        let passed_before = Case { base: passed_before.base.map(BaseFacts::remembered), ..passed_before };
        assert_eq!(passed_before.blame(), Blame::Environment, "the same code passed");
        let without_git = Case { changed: None, meeting: None, ..case.clone() };
        assert_eq!(without_git.blame(), Blame::Undecided(OpenQuestion::ChangeUnknown));
        let gated = Case { gate: true, base: passed(), ..case };
        assert_eq!(gated.blame(), Blame::Undecided(OpenQuestion::TooManyFailures));
    }

    #[test]
    fn both_outcomes_at_the_base_speak_for_a_flake_however_many_there_are() {
        for (passed, failed) in [(1, 1), (68, 103), (3_000, 5_000)] {
            let base = BaseFacts::ran(passed, failed).map(BaseFacts::remembered);
            let verdict = Case { base, ..Case::failed_throughout() }.judge();
            assert_eq!(verdict.blame, Blame::Undecided(OpenQuestion::NotEnoughRuns), "{passed}, {failed}");
            assert!(verdict.flaky.get() > 0.3, "P(flaky) = {} of {passed}, {failed}", verdict.flaky);
        }
        let base = BaseFacts::ran(300, 1).map(BaseFacts::remembered);
        let seldom = Case { base, ..Case::failed_throughout() };
        assert_eq!(seldom.blame(), Blame::Environment, "it fails too seldom to fail five times in a row");
    }

    #[test]
    fn another_failure_at_the_base_says_nothing() {
        let otherwise = Some(BaseFacts {
            passed: 0,
            failed: 0,
            otherwise: Some(Some("ImportError".to_owned())),
            source: BaseSource::Run,
        });
        let executed = || Some(touches(Touch::Executed(vec![3])));
        let case = Case { base: otherwise, meeting: executed(), ..Case::failed_throughout() };
        let verdict = case.judge();
        assert_eq!((&verdict.blame, verdict.novelty), (&Blame::Regression, Novelty::New));
        let other =
            Proof::OtherFailureAtBase { commit: "abc".to_owned(), kind: Some("ImportError".to_owned()) };
        assert!(verdict.proofs.contains(&other), "{:?}", verdict.proofs);
        assert!(!verdict.proofs.iter().any(|proof| matches!(proof, Proof::AtBase { .. })));
        let nothing = Case { base: None, ..case };
        assert_eq!(verdict.regression, nothing.judge().regression);
    }

    #[test]
    fn what_failed_alike_on_all_code_without_the_change_was_broken_before() {
        let executed = || Some(touches(Touch::Executed(vec![3])));
        let with = |seen| {
            let past = crate::Past { seen, ..crate::Past::default() };
            Case { past: Some(past), meeting: executed(), ..Case::failed_throughout() }.blame()
        };
        assert_eq!(with(vec![seen_on("c1", 1, 0, 1), seen_on("c2", 2, 0, 1)]), Blame::BrokenBefore);
        assert_eq!(with(vec![seen_on("c1", 1, 0, 1), seen_on("c2", 0, 1, 0)]), Blame::Regression);
        assert_eq!(with(vec![seen_on("c1", 0, 0, 1)]), Blame::Regression, "it failed in another way");
    }

    #[test]
    fn many_that_fail_of_the_world_around_them_are_one_outage_unless_the_change_did_it() {
        let refused = |case: Case| case.of_kind("sqlite3.OperationalError");
        let many = Case { alike: 5, ..Case::failed_throughout() };
        // Five alike that depend on nothing that changed.
        assert_eq!(refused(many.clone()).blame(), Blame::Infrastructure);
        assert_eq!(many.blame(), Blame::Infrastructure);
        assert_eq!(Case { alike: 4, ..many.clone() }.blame(), Blame::Environment);
        // A migration that was forgotten: `no such column` in every test that asks.
        let migration = Case { meeting: Some(touches(Touch::Executed(vec![3]))), ..refused(many.clone()) };
        assert_eq!(migration.blame(), Blame::Regression);
        let unobserved = Case { meeting: Some(unknown()), ..refused(many.clone()) };
        assert_eq!(unobserved.blame(), Blame::Undecided(OpenQuestion::DependenciesUnknown));
        let at_base_too = Case { base: BaseFacts::ran(0, 2), ..migration.clone() };
        assert_eq!(at_base_too.blame(), Blame::Infrastructure);
        let broken = Case { base: BaseFacts::ran(0, 2), ..many.clone() };
        assert_eq!(broken.blame(), Blame::BrokenBefore, "no error of the world");
        let unchanged = Case { changed: Some(0), meeting: None, ..refused(many.clone()) };
        assert_eq!(unchanged.blame(), Blame::Infrastructure);
        let not_there = Case { base: BaseFacts::ran(2, 0), ..refused(many) };
        assert_eq!(not_there.blame(), Blame::Undecided(OpenQuestion::PassesAtBase));
    }

    #[test]
    fn a_skip_is_no_run() {
        let skipped = [
            (Phase::First, Outcome::Failed),
            (Phase::Fork, Outcome::Skipped),
            (Phase::Fresh, Outcome::Skipped),
        ];
        let case = Case { meeting: Some(touches(Touch::Opened)), ..Case::new(&skipped) };
        let verdict = case.judge();
        assert_eq!(verdict.blame, Blame::Undecided(OpenQuestion::NotEnoughRuns));
        assert_eq!(verdict.proofs[0], Proof::AlwaysFailed { attempts: 1, processes: 1 });
        let unchanged = Case { changed: Some(0), ..case };
        assert_eq!(unchanged.blame(), Blame::Undecided(OpenQuestion::NotEnoughRuns), "once is not always");
    }

    #[test]
    fn a_flake_is_new_if_it_executes_the_change_and_was_never_seen_without_it() {
        let flaky = Case::flaky_transient();
        let executed = || Some(touches(Touch::Executed(vec![3])));
        let new = Case { meeting: executed(), ..flaky.clone() };
        assert!(new.judge().is_new_flake());
        assert_eq!(new.judge().headline(), "new-flake");
        let at_base = Case { base: BaseFacts::ran(3, 1), ..new.clone() };
        assert_eq!(at_base.judge().novelty, Novelty::Known);
        let past = |seen| Some(crate::Past { seen, ..crate::Past::default() });
        let before = Case { past: past(vec![seen_on("c1", 1, 9, 1)]), ..new.clone() };
        assert_eq!(before.judge().novelty, Novelty::Known);
        let commits = Proof::SeenWithoutChange { failures: 1, commits: 1 };
        assert!(before.judge().proofs.contains(&commits));
        let in_another_way = Case { past: past(vec![seen_on("c1", 0, 9, 1)]), ..new.clone() };
        assert_eq!(in_another_way.judge().novelty, Novelty::New);
        let loads = |lines_seen| {
            let meeting = Some(touches(Touch::Loaded));
            Case { meeting, lines_seen, ..flaky.clone() }.judge().novelty
        };
        assert_eq!((loads(true), loads(false)), (Novelty::Unknown, Novelty::New));
        assert_eq!(Case { meeting: Some(unknown()), ..flaky.clone() }.judge().novelty, Novelty::Unknown);
        assert_eq!(Case { changed: None, meeting: None, ..flaky.clone() }.judge().novelty, Novelty::Unknown);
        assert_eq!(flaky.judge().novelty, Novelty::Unrelated);
    }

    #[test]
    fn what_fails_among_other_tests_only_is_not_cleared_by_what_it_depends_on_alone() {
        let state_dependent = Case::flaky_state_dependent();
        let verdict = state_dependent.judge();
        assert_eq!(verdict.blame, Blame::Flaky(FlakyKind::StateDependent));
        assert_eq!(verdict.novelty, Novelty::Unknown, "the test that interferes may be part of the change");
        let unchanged = Case { changed: Some(0), ..state_dependent };
        assert_eq!(unchanged.judge().novelty, Novelty::Unrelated);
    }

    /// One rule per line: the first line whose conditions hold is the blame.
    fn blame_by_rules(case: &Case) -> Blame {
        use OpenQuestion::{
            BaseUnknown, ChangeUnknown, DependenciesUnknown, NotEnoughRuns, NotExecuted, PassesAtBase,
            TooManyFailures,
        };
        let passed = case.has_passed();
        let kind = case.trials().decided().map_or(FlakyKind::Undecided, |(kind, _)| kind);
        let ran = case.executions.iter().filter(|one| one.outcome != Outcome::Skipped).count();
        let once = ran < 2 && !case.stands_for;
        let disjoint = matches!(case.meeting, Some(Meeting::Disjoint { .. }));
        let unchanged = case.changed == Some(0);
        let files = match &case.meeting {
            Some(Meeting::Touches(files)) => files.as_slice(),
            _ => &[],
        };
        let is_configured = |file: &TouchedFile| matches!(file.touch, Touch::Configured(_));
        let only_configured = !files.is_empty() && files.iter().all(is_configured);
        let is_weak = |file: &TouchedFile| file.touch == Touch::Loaded || is_configured(file);
        let only_loaded = !files.is_empty() && case.lines_seen && files.iter().all(is_weak);
        let touched = matches!(case.meeting, Some(Meeting::Touches(_)));
        let base_passed = case.base.as_ref().is_some_and(|base| base.passed > 0);
        let base_failed = case.base.as_ref().is_some_and(|base| base.failed > 0);
        let passes_now = base_passed && case.base.as_ref().is_some_and(|base| base.source == BaseSource::Run);
        let (alike, first_passed, first_failed) = case.seen_before();
        let failed_before = alike > 0 && first_failed > 0 && first_passed == 0;
        let broken = !base_passed && (base_failed || failed_before);
        let many = case.alike >= 5;
        let outage = case.has_kind("socket.gaierror");
        let cleared = disjoint || unchanged;
        let [flaky, regression, environment] = hypotheses_of(case);
        let undecided = Blame::Undecided;
        let rules = [
            (passed, Blame::Flaky(kind)),
            (case.gate, undecided(TooManyFailures)),
            (many && outage && broken, Blame::Infrastructure),
            (many && outage && cleared && !passes_now, Blame::Infrastructure),
            (broken, Blame::BrokenBefore),
            (many && disjoint && !passes_now, Blame::Infrastructure),
            (case.changed.is_none(), undecided(ChangeUnknown)),
            (once, undecided(NotEnoughRuns)),
            (unchanged && !base_passed, Blame::BrokenBefore),
            (cleared && passes_now && !base_failed, undecided(PassesAtBase)),
            (cleared && environment >= flaky && environment >= regression, Blame::Environment),
            (cleared, undecided(NotEnoughRuns)),
            (base_failed, undecided(NotEnoughRuns)),
            (only_configured && !base_passed, undecided(BaseUnknown)),
            (only_configured, Blame::Regression),
            (only_loaded, undecided(NotExecuted)),
            (touched, Blame::Regression),
            (true, undecided(DependenciesUnknown)),
        ];
        rules.into_iter().find(|(holds, _)| *holds).map(|(_, blame)| blame).expect("the last rule holds")
    }

    /// The same for whether the failure came with the change.
    fn novelty_by_rules(case: &Case) -> Novelty {
        let (alike, ..) = case.seen_before();
        let at_base = case.base.as_ref().is_some_and(|base| base.failed > 0);
        let disjoint = matches!(case.meeting, Some(Meeting::Disjoint { .. }));
        let kinds = case.trials().kinds();
        let of = |kind| kinds.iter().find(|(other, _)| *other == kind).map_or(0.0, |(_, p)| p.get());
        let by_others = of(FlakyKind::StateDependent) + of(FlakyKind::ProcessDependent) >= 0.1;
        let executed = matches!(&case.meeting, Some(Meeting::Touches(files))
            if files.iter().any(|file| matches!(file.touch, Touch::Executed(_))));
        let loaded = matches!(&case.meeting, Some(Meeting::Touches(files))
            if files.iter().any(|file| !matches!(file.touch, Touch::Configured(_))));
        let rules = [
            (alike > 0, Novelty::Known),
            (at_base, Novelty::Known),
            (case.changed == Some(0), Novelty::Unrelated),
            (disjoint && !by_others, Novelty::Unrelated),
            (executed, Novelty::New),
            (loaded && !case.lines_seen, Novelty::New),
            (true, Novelty::Unknown),
        ];
        rules.into_iter().find(|(holds, _)| *holds).map(|(_, novelty)| novelty).expect("the last rule holds")
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        #[test]
        fn the_judge_follows_the_rules(case in case()) {
            prop_assert_eq!(case.blame(), blame_by_rules(&case));
            prop_assert_eq!(case.judge().novelty, novelty_by_rules(&case));
        }

        #[test]
        fn nothing_is_called_flaky_or_to_blame_without_proof(case in case()) {
            let verdict = case.judge();
            let passed = case.has_passed();
            match &verdict.blame {
                Blame::Flaky(_) => prop_assert!(passed),
                Blame::Regression => {
                    prop_assert!(!passed && matches!(case.meeting, Some(Meeting::Touches(_))));
                }
                Blame::Environment => {
                    let most = verdict.flaky.get().max(verdict.regression.get());
                    prop_assert!(!passed && verdict.environment.get() >= most);
                }
                _ => prop_assert!(!passed),
            }
            if verdict.blame == Blame::Flaky(FlakyKind::StateDependent) {
                prop_assert!(case.has_predecessors);
            }
            if case.gate && !passed {
                prop_assert_eq!(&verdict.blame, &Blame::Undecided(OpenQuestion::TooManyFailures));
            }
            let is_pass =
                |proof: &Proof| matches!(proof, Proof::PassedAgain { .. } | Proof::FailedAgain { .. });
            let says_passed = verdict.proofs.iter().any(is_pass);
            let says_failed =
                verdict.proofs.iter().any(|proof| matches!(proof, Proof::AlwaysFailed { .. }));
            prop_assert_eq!((says_passed, says_failed), (passed, !passed));
            prop_assert_eq!(verdict.flaky == Probability::ONE, verdict.blame.is_proved_flaky());
            let named = !matches!(verdict.blame, Blame::Flaky(FlakyKind::Undecided)) && passed;
            prop_assert_eq!(verdict.kind.is_some(), named);
            prop_assert!(verdict.kind.is_none_or(|kind| kind.get() >= 0.95));
        }
    }
}
