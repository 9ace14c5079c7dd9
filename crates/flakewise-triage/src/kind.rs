//! Which kind of flake a test is, by what its reruns showed. Pure.
//!
//! Every kind says under which conditions a test fails more often: in the suite's
//! process, for a while, with this hash seed, in a process forked from this one. For
//! each kind the probability of all that was seen is computed exactly, with the
//! failure rates integrated out; with the prior they give the probability of the
//! kind. It may be looked at after each run, so the runs go where the two likeliest
//! kinds expect the most different outcomes, until one is sure.
//!
//! The failure that started it all says nothing about the kind: without it nobody
//! would have asked.

use flakewise_model::{FlakyKind, Probability};
use libm::lgamma;

/// How likely a kind must be to be named.
pub(crate) const NAMED: f64 = 0.95;
/// How likely a kind must be for further runs to be pointless.
pub(crate) const SURE: f64 = 0.98;

/// A run whose outcome two kinds expect to differ in less than this share of cases
/// tells nothing.
const TELLING: f64 = 0.01;
/// Runs that cost no more than this, in seconds, are equally cheap.
const CHEAP: f64 = 0.05;
/// What a run in a new process costs, in seconds, as long as nobody knows.
const PROCESS: f64 = 0.5;

/// Where and when a test ran again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Condition {
    /// At once, in the suite's process.
    AtOnce,
    /// Later, in the suite's process.
    Later,
    /// Alone, in a process forked before the first test.
    Alone,
    /// Alone, in a new process with the suite's hash seed.
    NewProcess,
    /// Alone, in a new process with another hash seed.
    OtherSeed,
}

impl Condition {
    fn is_new_process(self) -> bool {
        matches!(self, Self::NewProcess | Self::OtherSeed)
    }
}

/// One run after the first failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Trial {
    pub(crate) condition: Condition,
    pub(crate) failed: bool,
}

/// Failure rates before anything is known: Beta distributions with weights.
type Rates = &'static [(f64, f64, f64)];

/// Of a test that fails at random whatever the conditions: seldom, or at any rate.
const RANDOM: Rates = &[(0.4, 1.0, 200.0), (0.25, 0.5, 1.5), (0.35, 1.0, 1.0)];
/// Under the condition that makes it fail: nearly always, or at a considerable rate.
const UNDER: Rates = &[(0.7, 30.0, 1.0), (0.3, 1.5, 1.0)];
/// While a burst lasts: nearly always.
const IN_BURST: Rates = &[(1.0, 30.0, 1.0)];
/// Elsewhere: nearly never.
const ELSEWHERE: Rates = &[(1.0, 1.0, 200.0)];
/// With a hash seed that makes it fail: always.
const BY_SEED: Rates = &[(1.0, 100.0, 1.0)];
/// How many of the other seeds make it fail.
const OTHER_SEEDS: Rates = &[(1.0, 1.0, 1.5)];

/// The kinds with their prior probabilities.
const KINDS: [(FlakyKind, f64); 5] = [
    (FlakyKind::Transient, 0.55),
    (FlakyKind::StateDependent, 0.20),
    (FlakyKind::Bursty, 0.13),
    (FlakyKind::HashSeed, 0.06),
    (FlakyKind::ProcessDependent, 0.06),
];

/// The share of bursts that are over when the suite is.
const OVER_AFTER_THE_SUITE: f64 = 0.6;

/// What was seen of a test after its first failure, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Trials {
    trials: Vec<Trial>,
    /// Whether other tests ran before it in the suite's process.
    pub(crate) has_predecessors: bool,
}

impl Trials {
    pub(crate) fn new(has_predecessors: bool) -> Self {
        Self { trials: Vec::new(), has_predecessors }
    }

    pub(crate) fn add(&mut self, condition: Condition, failed: bool) {
        self.trials.push(Trial { condition, failed });
    }

    pub(crate) fn len(&self) -> usize {
        self.trials.len()
    }

    /// How often it failed, and passed.
    pub(crate) fn tally(&self) -> (u32, u32) {
        count(self.trials.iter())
    }

    /// How likely each kind is, the likeliest first.
    pub(crate) fn kinds(&self) -> Vec<(FlakyKind, Probability)> {
        let weights: Vec<f64> = KINDS.iter().map(|(kind, _)| self.weight(*kind)).collect();
        let most = weights.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let total: f64 = weights.iter().map(|weight| (weight - most).exp()).sum();
        let mut kinds: Vec<(FlakyKind, Probability)> = KINDS
            .iter()
            .zip(&weights)
            .map(|((kind, _), weight)| (*kind, Probability::clamped((weight - most).exp() / total)))
            .collect();
        kinds.sort_by(|one, other| other.1.get().total_cmp(&one.1.get()));
        kinds
    }

    /// The kind, if it is likely enough to be named, and how likely it is.
    pub(crate) fn decided(&self) -> Option<(FlakyKind, Probability)> {
        self.kinds().into_iter().next().filter(|(_, probability)| probability.get() >= NAMED)
    }

    /// Whether further runs are pointless.
    pub(crate) fn is_sure(&self) -> bool {
        self.kinds()[0].1.get() >= SURE
    }

    /// Which of these conditions, each with what a run costs, tells the two
    /// likeliest kinds apart best for its cost; none if new processes would, and are
    /// not among them yet.
    pub(crate) fn next(&self, costs: &[(Condition, f64)]) -> Option<Condition> {
        let kinds = self.kinds();
        let (one, other) = (kinds[0].0, kinds[1].0);
        let worth = |condition, cost: f64| {
            let difference = (self.expects(one, condition) - self.expects(other, condition)).abs();
            let tells = if difference < TELLING { 0.0 } else { difference };
            (condition, tells * tells / cost.max(CHEAP))
        };
        let has_processes = costs.iter().any(|(condition, _)| condition.is_new_process());
        let later = [Condition::NewProcess, Condition::OtherSeed].map(|condition| (condition, PROCESS));
        let all = costs.iter().copied().chain(later.into_iter().filter(|_| !has_processes));
        let best = all
            .map(|(condition, cost)| worth(condition, cost))
            .max_by(|one, other| one.1.total_cmp(&other.1));
        let is_there = |condition: &Condition| costs.iter().any(|(there, _)| there == condition);
        best.filter(|(_, worth)| *worth > 0.0).map(|(condition, _)| condition).filter(is_there)
    }

    /// How likely the next run fails under a condition, if the test is of a kind.
    fn expects(&self, kind: FlakyKind, condition: Condition) -> f64 {
        let before = self.log_likelihood(kind);
        let mut more = self.clone();
        more.add(condition, true);
        (more.log_likelihood(kind) - before).exp()
    }

    /// The logarithm of prior times likelihood.
    fn weight(&self, kind: FlakyKind) -> f64 {
        let (_, prior) = KINDS.iter().find(|(other, _)| *other == kind).copied().unwrap_or((kind, 0.0));
        if kind == FlakyKind::StateDependent && !self.has_predecessors {
            return f64::NEG_INFINITY;
        }
        prior.ln() + self.log_likelihood(kind)
    }

    fn log_likelihood(&self, kind: FlakyKind) -> f64 {
        let split = |is_under: fn(Condition) -> bool, under: Rates, elsewhere: Rates| {
            let under_trials = self.trials.iter().filter(|trial| is_under(trial.condition));
            let other_trials = self.trials.iter().filter(|trial| !is_under(trial.condition));
            marginal(under, count(under_trials)) + marginal(elsewhere, count(other_trials))
        };
        match kind {
            FlakyKind::StateDependent => {
                split(|condition| matches!(condition, Condition::AtOnce | Condition::Later), UNDER, ELSEWHERE)
            }
            FlakyKind::HashSeed => split(|condition| condition != Condition::OtherSeed, BY_SEED, OTHER_SEEDS),
            FlakyKind::ProcessDependent => split(|condition| !condition.is_new_process(), UNDER, ELSEWHERE),
            FlakyKind::Bursty => self.log_likelihood_of_burst(),
            _ => marginal(RANDOM, count(self.trials.iter())),
        }
    }

    /// It fails until some moment, and not after it. The moment is after at least
    /// one run; most bursts are over when the suite is.
    fn log_likelihood_of_burst(&self) -> f64 {
        let at_once = self.trials.iter().take_while(|trial| trial.condition == Condition::AtOnce).count();
        let length = self.trials.len();
        let mut terms = Vec::with_capacity(length);
        let (mut until, mut after) = ((0, 0), self.tally());
        for (end, trial) in (1..).zip(&self.trials) {
            let (failed, passed) = (u32::from(trial.failed), u32::from(!trial.failed));
            until = (until.0 + failed, until.1 + passed);
            after = (after.0 - failed, after.1 - passed);
            let special = if end == at_once { OVER_AFTER_THE_SUITE } else { 0.0 };
            let share = (1.0 - OVER_AFTER_THE_SUITE) / length as f64;
            terms.push((special + share).ln() + marginal(IN_BURST, until) + marginal(ELSEWHERE, after));
        }
        if terms.is_empty() { 0.0 } else { log_sum(&terms) }
    }
}

fn count<'a>(trials: impl Iterator<Item = &'a Trial>) -> (u32, u32) {
    trials.fold((0, 0), |(failed, passed), trial| {
        (failed + u32::from(trial.failed), passed + u32::from(!trial.failed))
    })
}

/// The logarithm of the probability of these outcomes, one by one, if the failure
/// rate is drawn from a mixture.
fn marginal(rates: Rates, (failed, passed): (u32, u32)) -> f64 {
    let terms: Vec<f64> = rates
        .iter()
        .map(|&(weight, a, b)| {
            let rising = |from: f64, count: u32| lgamma(from + f64::from(count)) - lgamma(from);
            weight.ln() + rising(a, failed) + rising(b, passed) - rising(a + b, failed + passed)
        })
        .collect();
    log_sum(&terms)
}

fn log_sum(terms: &[f64]) -> f64 {
    let most = terms.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if most == f64::NEG_INFINITY {
        return most;
    }
    most + terms.iter().map(|term| (term - most).exp()).sum::<f64>().ln()
}

/// The odds that a test fails more often in some runs than in others, against one
/// rate for both, where nothing is known of any rate before.
pub(crate) fn odds_of_more(here: (u32, u32), before: (u64, u64)) -> f64 {
    const UNKNOWN: Rates = &[(1.0, 0.5, 0.5)];
    let small = |count: u64| u32::try_from(count).unwrap_or(u32::MAX).min(10_000);
    let before = (small(before.0), small(before.1));
    let share = |(failed, passed): (u32, u32)| f64::from(failed) / f64::from((failed + passed).max(1));
    if share(here) <= share(before) {
        return 0.0;
    }
    let together = (here.0 + before.0, here.1 + before.1);
    (marginal(UNKNOWN, here) + marginal(UNKNOWN, before) - marginal(UNKNOWN, together)).exp()
}

#[cfg(test)]
mod tests {
    use rand::rngs::StdRng;
    use rand::{Rng as _, SeedableRng as _};

    use super::*;

    use Condition::{Alone, AtOnce, Later, NewProcess, OtherSeed};

    fn seen(trials: &[(Condition, &str)]) -> Trials {
        let mut seen = Trials::new(true);
        for (condition, outcomes) in trials {
            for outcome in outcomes.chars() {
                seen.add(*condition, outcome == 'F');
            }
        }
        seen
    }

    fn kind(trials: &[(Condition, &str)]) -> Option<FlakyKind> {
        seen(trials).decided().map(|(kind, _)| kind)
    }

    #[test]
    fn a_clear_contrast_names_the_kind() {
        assert_eq!(kind(&[(AtOnce, "P"), (Later, "PPP"), (Alone, "PPPPPP")]), Some(FlakyKind::Transient));
        assert_eq!(kind(&[(AtOnce, "F"), (Later, "FFF"), (Alone, "PPPP")]), Some(FlakyKind::StateDependent));
        assert_eq!(
            kind(&[(AtOnce, "FF"), (Later, "PPPPPPPP"), (Alone, "PPPPPPPPP")]),
            Some(FlakyKind::Bursty)
        );
        assert_eq!(
            kind(&[
                (AtOnce, "F"),
                (Later, "F"),
                (Alone, "FFF"),
                (OtherSeed, "PP"),
                (NewProcess, "FF"),
                (OtherSeed, "P")
            ]),
            Some(FlakyKind::HashSeed)
        );
        assert_eq!(
            kind(&[
                (AtOnce, "F"),
                (Later, "F"),
                (Alone, "FF"),
                (OtherSeed, "PP"),
                (Alone, "FF"),
                (NewProcess, "PPPP")
            ]),
            Some(FlakyKind::ProcessDependent)
        );
    }

    #[test]
    fn a_condition_that_changed_only_once_may_have_been_a_burst() {
        let once = [(AtOnce, "F"), (Later, "F"), (Alone, "FFFF"), (OtherSeed, "PP"), (NewProcess, "PPPP")];
        assert_eq!(kind(&once), None);
    }

    #[test]
    fn three_failures_and_a_pass_are_no_kind() {
        assert_eq!(kind(&[(AtOnce, "F"), (Later, "F"), (Alone, "P")]), None);
        assert_eq!(kind(&[]), None);
    }

    #[test]
    fn no_test_before_it_means_no_state_of_others() {
        let mut alone = seen(&[(AtOnce, "F"), (Later, "FFFFFF"), (Alone, "PPPPPPPP")]);
        assert_eq!(alone.decided().map(|(kind, _)| kind), Some(FlakyKind::StateDependent));
        alone.has_predecessors = false;
        assert!(alone.kinds().iter().all(|(kind, p)| *kind != FlakyKind::StateDependent || p.get() == 0.0));
    }

    #[test]
    fn probabilities_add_up() {
        let seen = seen(&[(AtOnce, "F"), (Later, "PF"), (Alone, "FP"), (OtherSeed, "P")]);
        let total: f64 = seen.kinds().iter().map(|(_, probability)| probability.get()).sum();
        assert!((total - 1.0).abs() < 1e-9, "{total}");
    }

    #[test]
    fn a_rate_that_rose_is_seen() {
        assert!(odds_of_more((20, 0), (1, 40)) > 19.0);
        assert!(odds_of_more((1, 19), (1, 19)) < 1.0);
        assert!(odds_of_more((0, 20), (5, 5)) < 1e-9);
    }

    /// Runs what it asks for until the kind is decided or it has had enough.
    fn explored(mut run: impl FnMut(Condition, usize) -> bool) -> Option<FlakyKind> {
        let mut seen = Trials::new(true);
        for (place, condition) in [AtOnce, Later, Alone].into_iter().enumerate() {
            seen.add(condition, run(condition, place));
        }
        for place in 3..60 {
            if seen.is_sure() {
                break;
            }
            let condition =
                seen.next(&[(Later, 0.05), (Alone, 0.06), (NewProcess, 1.0), (OtherSeed, 1.0)])?;
            seen.add(condition, run(condition, place));
        }
        seen.decided().map(|(kind, _)| kind)
    }

    /// The same as the ladder does it: in the suite's process and in forks while that
    /// waits, then in processes of its own.
    fn explored_in_stages(mut run: impl FnMut(Condition, usize) -> bool) -> Trials {
        let mut seen = Trials::new(true);
        for condition in [AtOnce, Later, Alone] {
            if seen.tally().1 == 0 {
                let failed = run(condition, seen.len());
                seen.add(condition, failed);
            }
        }
        let stages: [&[(Condition, f64)]; 2] =
            [&[(Later, 0.01), (Alone, 0.02)], &[(Alone, 0.02), (NewProcess, 0.5), (OtherSeed, 0.5)]];
        for costs in stages {
            while seen.len() < 80 && !seen.is_sure() {
                let Some(condition) = seen.next(costs) else { break };
                let failed = run(condition, seen.len());
                seen.add(condition, failed);
            }
        }
        seen
    }

    #[test]
    fn runs_that_tell_nothing_apart_are_left_to_new_processes() {
        let mut random = StdRng::seed_from_u64(7);
        let (mut wrong, mut right, mut runs) = (0, 0, 0);
        for round in 0..280 {
            let rate = [0.02, 0.1, 0.3, 0.5, 0.6, 0.8, 0.9][round % 7];
            let seen = explored_in_stages(|_, _| random.random_bool(rate));
            runs += seen.len();
            match seen.decided() {
                Some((FlakyKind::Transient, _)) => right += 1,
                Some(_) => wrong += 1,
                None => {}
            }
        }
        assert!(wrong <= 14, "{wrong} of 280 wrong, {right} right");
        assert!(right >= 238, "{right} of 280 right, {wrong} wrong");
        assert!(runs <= 280 * 30, "{runs} runs");
    }

    #[test]
    fn kinds_that_always_show_are_named_in_stages() {
        let kind =
            |run: fn(Condition, usize) -> bool| explored_in_stages(run).decided().map(|(kind, _)| kind);
        assert_eq!(kind(|condition, _| matches!(condition, AtOnce | Later)), Some(FlakyKind::StateDependent));
        assert_eq!(kind(|_, place| place < 1), Some(FlakyKind::Bursty));
        assert_eq!(kind(|condition, _| condition != OtherSeed), Some(FlakyKind::HashSeed));
        assert_eq!(kind(|condition, _| !condition.is_new_process()), Some(FlakyKind::ProcessDependent));
        assert_eq!(kind(|_, _| false), Some(FlakyKind::Transient));
    }

    #[test]
    fn random_tests_of_any_rate_are_seldom_called_something_else() {
        let mut random = StdRng::seed_from_u64(7);
        let (mut wrong, mut right) = (0, 0);
        for round in 0..600 {
            let rate = [0.02, 0.1, 0.3, 0.5, 0.7, 0.9][round % 6];
            match explored(|_, _| random.random_bool(rate)) {
                Some(FlakyKind::Transient) => right += 1,
                Some(_) => wrong += 1,
                None => {}
            }
        }
        assert!(wrong <= 24, "{wrong} of 600 wrong, {right} right");
        assert!(right >= 480, "{right} of 600 right, {wrong} wrong");
    }

    #[test]
    fn kinds_that_always_show_are_named() {
        assert_eq!(
            explored(|condition, _| matches!(condition, AtOnce | Later)),
            Some(FlakyKind::StateDependent)
        );
        assert_eq!(explored(|_, place| place < 1), Some(FlakyKind::Bursty));
        assert_eq!(explored(|_, place| place < 3), Some(FlakyKind::Bursty));
        assert_eq!(explored(|condition, _| condition != OtherSeed), Some(FlakyKind::HashSeed));
        assert_eq!(
            explored(|condition, _| !matches!(condition, OtherSeed | NewProcess)),
            Some(FlakyKind::ProcessDependent)
        );
        assert_eq!(explored(|_, _| false), Some(FlakyKind::Transient));
    }
}
