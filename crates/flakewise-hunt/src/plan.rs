//! Which test to run next.
//!
//! A test is flaky with a chance, its risk, and then fails at a rate spread
//! over what is known of flaky tests. After this many runs without a surprise the
//! chance that one more shows one is known; the test with the highest chance
//! per second is next.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use flakewise_model::Hidden;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha12Rng;

use crate::Prior;
use crate::belief::{Belief, Member};
use crate::survival::Shown;

/// A test that may be flaky.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Candidate {
    /// The chance that it is flaky, before anything ran.
    pub risk: f64,
    /// Its class, or what stands for one; tests of one class share causes.
    pub class: u32,
    /// Its module or file.
    pub module: u32,
    /// How long one run takes.
    pub seconds: f64,
    /// How often it passed on this code.
    pub passed: u32,
    /// How often it failed on this code.
    pub failed: u32,
}

/// Chooses the runs of a hunt.
#[derive(Clone, Debug)]
pub struct Planner {
    belief: Belief,
    tests: Vec<Test>,
    /// At most one entry of each test is of its edition; others are void.
    /// Entries may promise too much: what is first is looked at again.
    queue: BinaryHeap<Entry>,
    /// Choices since all were looked at.
    choices: usize,
    seed: u64,
}

#[derive(Clone, Debug)]
struct Test {
    /// Without what is under way.
    shown: Shown,
    under_way: u32,
    /// Whether it will not be run any more.
    retired: bool,
    /// Whether what it shows has nothing to do with chance.
    is_aside: bool,
    seconds: f64,
    measured: u32,
    edition: u32,
    tie: u64,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    rate: f64,
    tie: u64,
    test: usize,
    edition: u32,
}

/// Nothing is quicker to run than this.
const SHORTEST_SECONDS: f64 = 0.001;

impl Planner {
    /// Begins a hunt.
    #[expect(clippy::needless_pass_by_value, reason = "nobody has a use for them afterwards")]
    pub fn new(candidates: Vec<Candidate>, seed: u64) -> Self {
        Self::with_prior(&candidates, &Prior::default(), seed)
    }

    /// Begins a hunt with another prior than the one that ships.
    pub fn with_prior(candidates: &[Candidate], prior: &Prior, seed: u64) -> Self {
        let mut random = ChaCha12Rng::seed_from_u64(seed);
        let members: Vec<Member> = candidates
            .iter()
            .map(|&Candidate { risk, class, module, passed, failed, .. }| Member {
                risk,
                class,
                module,
                shown: Shown { passed, failed },
            })
            .collect();
        let tests = candidates
            .iter()
            .map(|candidate| Test {
                shown: Shown { passed: candidate.passed, failed: candidate.failed },
                under_way: 0,
                retired: false,
                is_aside: false,
                seconds: candidate.seconds,
                measured: 0,
                edition: 0,
                tie: random.random(),
            })
            .collect();
        let belief = Belief::new(prior, &members);
        let mut planner = Self { belief, tests, queue: BinaryHeap::new(), choices: 0, seed };
        planner.requeue();
        planner
    }

    /// The test to run next, by place; it counts as under way until
    /// [`Planner::record`] tells its outcome. None when every test is found.
    pub fn next_test(&mut self) -> Option<usize> {
        let test = self.first()?.test;
        self.tests[test].under_way += 1;
        self.chosen(test);
        Some(test)
    }

    /// A run ended.
    pub fn record(&mut self, test: usize, failed: bool, seconds: f64) {
        let known = &mut self.tests[test];
        known.measured += 1;
        known.seconds += (seconds - known.seconds) / f64::from(known.measured);
        self.record_many(test, u32::from(!failed), u32::from(failed));
    }

    /// Runs ended, one of which may have been under way.
    pub fn record_many(&mut self, test: usize, passed: u32, failed: u32) {
        let known = &mut self.tests[test];
        if known.is_aside {
            return;
        }
        let was_found = known.shown.both();
        let was_chosen = known.under_way > 0;
        known.under_way = known.under_way.saturating_sub(1);
        known.shown.passed = known.shown.passed.saturating_add(passed);
        known.shown.failed = known.shown.failed.saturating_add(failed);
        if known.shown.both() && !was_found {
            self.look_at(test);
            // The chances of others have risen.
            self.requeue();
        } else if was_chosen {
            self.look_at(test);
        } else {
            self.chosen(test);
        }
    }

    /// A run under way ended without an outcome.
    pub fn abandon(&mut self, test: usize) {
        if self.tests[test].is_aside {
            return;
        }
        self.tests[test].under_way = self.tests[test].under_way.saturating_sub(1);
        self.look_at(test);
    }

    /// A test will not be run any more.
    pub fn retire(&mut self, test: usize) {
        self.tests[test].retired = true;
        self.abandon(test);
    }

    /// Tests that end differently because of other tests: neither they nor what
    /// they showed says anything about chance. They will not be run any more.
    pub fn set_aside(&mut self, tests: impl IntoIterator<Item = usize>) {
        let mut is_new = false;
        for test in tests {
            let known = &mut self.tests[test];
            if !known.is_aside {
                known.is_aside = true;
                known.retired = true;
                known.shown = Shown::default();
                known.under_way = 0;
                self.belief.set_aside(test);
                is_new = true;
            }
        }
        if is_new {
            // The chances of others may have fallen.
            self.requeue();
        }
    }

    /// A test that was set aside shows that chance plays a part after all: this is
    /// what it showed.
    pub fn reinstate(&mut self, test: usize, passed: u32, failed: u32) {
        let known = &mut self.tests[test];
        if known.is_aside {
            known.is_aside = false;
            known.retired = false;
            known.shown = Shown { passed, failed };
            self.belief.reinstate(test, known.shown);
            self.requeue();
        }
    }

    /// How many flaky tests are probably not yet found, of those that fail often
    /// enough to be counted.
    pub fn hidden(&self) -> Hidden {
        Hidden::of(&mut self.hidden_draws(400, false))
    }

    /// How many are expected, quickly: what was shown lately may not have been
    /// passed on to all.
    pub fn expected_hidden(&self) -> f64 {
        (0..self.tests.len()).map(|test| self.belief.hidden_chance(test)).sum()
    }

    /// Draws from what is believed of how many flaky tests are not yet found; of
    /// all, or of those that fail often enough to be counted.
    pub fn hidden_draws(&self, draws: usize, all: bool) -> Vec<u32> {
        let mut belief = self.belief.clone();
        belief.tell_all();
        belief.draw(draws, all, &mut ChaCha12Rng::seed_from_u64(self.seed))
    }

    /// The chance that a test is flaky, after what it has shown.
    pub fn chance(&self, test: usize) -> f64 {
        self.belief.chances(test).0
    }

    /// The chance that the next run of a test shows the outcome that it has not
    /// shown yet; 0 for one that is found.
    pub fn reveal_chance(&self, test: usize) -> f64 {
        self.belief.chances(test).1
    }

    /// Whether it both passed and failed.
    pub fn is_found(&self, test: usize) -> bool {
        self.tests[test].shown.both()
    }

    /// How sure it is that a test is not flaky; 0 for one that is found.
    pub fn cleared(&self, test: usize) -> f64 {
        1.0 - self.chance(test)
    }

    /// How many tests the best next run is expected to reveal, per second.
    pub fn best_rate(&mut self) -> f64 {
        self.best().map_or(0.0, |(_, rate)| rate)
    }

    /// The test to run next with its rate; it is not under way by that.
    pub fn best(&mut self) -> Option<(usize, f64)> {
        self.first().map(|entry| (entry.test, entry.rate))
    }

    fn first(&mut self) -> Option<Entry> {
        while let Some(&entry) = self.queue.peek() {
            if self.tests[entry.test].edition != entry.edition {
                self.queue.pop();
                continue;
            }
            let rate = self.rate(entry.test);
            if rate >= entry.rate {
                return Some(entry);
            }
            self.queue.pop();
            let entry = Entry { rate, ..entry };
            let still = self.queue.peek().is_none_or(|second| *second < entry);
            self.queue.push(entry);
            if still {
                return Some(entry);
            }
        }
        None
    }

    fn rate(&mut self, test: usize) -> f64 {
        self.belief.prepare(test);
        self.reveal_chance(test) / self.tests[test].seconds.max(SHORTEST_SECONDS)
    }

    fn chosen(&mut self, test: usize) {
        self.choices += 1;
        self.look_at(test);
        if self.choices > self.tests.len() {
            self.requeue();
        }
    }

    /// What is under way counts as if it had shown nothing new.
    fn look_at(&mut self, test: usize) {
        let Test { shown, under_way, .. } = self.tests[test];
        self.belief.show(test, shown.and_again(under_way));
        self.push(test);
    }

    fn push(&mut self, test: usize) {
        self.tests[test].edition += 1;
        if !self.is_found(test) && !self.tests[test].retired {
            let rate = self.rate(test);
            let Test { tie, edition, .. } = self.tests[test];
            self.queue.push(Entry { rate, tie, test, edition });
        }
    }

    fn requeue(&mut self) {
        self.choices = 0;
        self.queue.clear();
        self.belief.tell_all();
        for test in 0..self.tests.len() {
            self.push(test);
        }
    }
}

impl PartialEq for Entry {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Entry {}

impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Entry {
    fn cmp(&self, other: &Self) -> Ordering {
        self.rate.total_cmp(&other.rate).then(self.tie.cmp(&other.tie)).then(other.test.cmp(&self.test))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn candidate(risk: f64, class: u32) -> Candidate {
        Candidate { risk, class, module: class / 2, seconds: 1.0, passed: 1, failed: 0 }
    }

    #[test]
    fn the_riskier_test_runs_first() {
        let mut planner = Planner::new(vec![candidate(0.1, 0), candidate(0.5, 2), candidate(0.2, 4)], 1);
        assert_eq!(planner.next_test(), Some(1));
    }

    #[test]
    fn the_quicker_test_runs_first() {
        let quick = Candidate { seconds: 0.1, ..candidate(0.2, 4) };
        let mut planner = Planner::new(vec![candidate(0.2, 0), candidate(0.2, 2), quick], 1);
        assert_eq!(planner.next_test(), Some(2));
    }

    #[test]
    fn nothing_is_left_when_all_are_found() {
        let found = Candidate { failed: 1, ..candidate(0.1, 0) };
        let mut planner = Planner::new(vec![found; 3], 1);
        assert_eq!(planner.next_test(), None);
        assert_eq!(planner.hidden(), Hidden { expected: 0.0, low: 0, high: 0 });
        assert_eq!(Planner::new(Vec::new(), 1).next_test(), None);
    }

    #[test]
    fn a_find_raises_its_mates_the_nearer_the_more() {
        let mut planner = Planner::new((0..8).map(|place| candidate(0.02, place / 2)).collect(), 1);
        let before: Vec<f64> = (0..8).map(|test| planner.chance(test)).collect();
        planner.record(0, true, 1.0);
        let raised = |test: usize| planner.chance(test) / before[test];
        // In its class, in its module, in its project.
        assert!(raised(1) > raised(2) && raised(2) > raised(4) && raised(4) > 1.0);
    }

    #[test]
    fn mates_of_a_find_that_often_fails_are_soon_cleared() {
        let after = |failed: u32, passed: u32| {
            let found = Candidate { passed, failed, ..candidate(0.1, 0) };
            let mate = Candidate { passed: 200, ..candidate(0.1, 0) };
            Planner::new(vec![found, found, found, mate], 1).chance(3)
        };
        assert!(after(1, 2) < after(1, 2000));
    }

    #[test]
    fn clean_runs_of_mates_clear_a_test() {
        let mate = |passed| Candidate { passed, ..candidate(0.1, 0) };
        let of = |passed| Planner::new(vec![candidate(0.1, 0), mate(passed), mate(passed)], 1).chance(0);
        assert!(of(1000) < of(10));
    }

    /// A suite in which nothing is flaky, as risks of real ones are spread.
    fn calm(tests: u32, runs: u32) -> Planner {
        let risk = |test: u32| [0.004, 0.01, 0.02, 0.037, 0.05, 0.12, 0.3][test as usize % 7];
        let one = |test: u32| Candidate {
            risk: risk(test),
            class: test / 12,
            module: test / 36,
            seconds: 0.01,
            passed: runs,
            failed: 0,
        };
        Planner::new((0..tests).map(one).collect(), 1)
    }

    #[test]
    fn twenty_clean_runs_of_each_test_leave_at_most_one_to_be_expected() {
        for tests in [40, 400, 1600] {
            let Hidden { expected, low, high } = calm(tests, 20).hidden();
            assert!(low == 0 && high <= 1 && expected < 1.0, "{tests} tests: {expected}, {low} to {high}");
        }
    }

    #[test]
    fn the_more_clean_runs_the_fewer_are_hidden() {
        let expected: Vec<f64> = [1, 3, 10, 30, 100].map(|runs| calm(400, runs).expected_hidden()).into();
        assert!(expected.is_sorted_by(|more, less| *less < 0.8 * more), "{expected:?}");
    }

    #[test]
    fn one_find_rules_out_that_nothing_is_flaky() {
        let mut planner = calm(400, 20);
        let before = planner.hidden();
        planner.record(7, true, 0.01);
        let after = planner.hidden();
        assert!(after.expected > 10.0 * before.expected, "{before:?} {after:?}");
        // What it turns out to need another test for says nothing about the others.
        planner.set_aside([7]);
        assert!((planner.hidden().expected - before.expected).abs() < 0.1, "{before:?}");
        assert!(!planner.is_found(7) && planner.chance(7) == 0.0);
    }

    #[test]
    fn runs_that_were_given_up_leave_no_trace() {
        let mut planner = Planner::new((0..9).map(|place| candidate(0.1, place)).collect(), 1);
        let before: Vec<f64> = (0..9).map(|test| planner.chance(test)).collect();
        let chosen: Vec<usize> = (0..20).map_while(|_| planner.next_test()).collect();
        assert_eq!(chosen.len(), 20);
        for test in chosen {
            planner.abandon(test);
        }
        planner.requeue();
        for (test, before) in before.iter().enumerate() {
            assert!((planner.chance(test) - before).abs() < 1e-9);
        }
    }

    fn suite() -> impl Strategy<Value = Vec<Candidate>> {
        let one = (0.001..0.9f64, 0..6u32, 0.01..5.0f64, 0..4u32, 0..2u32);
        let one = one.prop_map(|(risk, class, seconds, passed, failed)| Candidate {
            seconds,
            passed,
            failed,
            ..candidate(risk, class)
        });
        proptest::collection::vec(one, 1..20)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]

        #[test]
        fn what_is_found_never_runs_and_the_rest_in_the_same_order_each_time(
            suite in suite(), outcomes in proptest::collection::vec(0..10u32, 60), seed: u64,
        ) {
            let hunt = || {
                let mut planner = Planner::new(suite.clone(), seed);
                let mut chosen = Vec::new();
                for &outcome in &outcomes {
                    let Some(test) = planner.next_test() else { break };
                    assert!(!planner.is_found(test));
                    chosen.push(test);
                    planner.record(test, outcome == 0, 1.0);
                }
                (chosen, planner.hidden())
            };
            prop_assert_eq!(hunt(), hunt());
        }

        #[test]
        fn the_first_in_the_queue_is_the_best_there_is(
            suite in suite(), outcomes in proptest::collection::vec(0..30u32, 100),
        ) {
            let mut planner = Planner::new(suite.clone(), 1);
            for &outcome in &outcomes {
                let rates = |planner: &Planner| (0..suite.len())
                    .map(|test| planner.reveal_chance(test) / planner.tests[test].seconds)
                    .fold(0.0, f64::max);
                let best = rates(&planner);
                let first = planner.best_rate();
                prop_assert!(first >= 0.9 * best, "{first} {best}");
                let Some(test) = planner.next_test() else { break };
                planner.record(test, outcome == 0, planner.tests[test].seconds);
            }
        }

        #[test]
        fn under_way_counts_as_nothing_new(suite in suite(), count in 1..30usize) {
            let mut waiting = Planner::new(suite.clone(), 1);
            let mut told = waiting.clone();
            for _ in 0..count {
                let Some(test) = waiting.next_test() else { break };
                prop_assert_eq!(told.next_test(), Some(test));
                let failed = suite[test].passed == 0 && suite[test].failed > 0;
                told.record(test, failed, suite[test].seconds);
            }
            for test in 0..suite.len() {
                prop_assert!((waiting.chance(test) - told.chance(test)).abs() < 1e-9);
            }
        }

        #[test]
        fn one_more_clean_run_never_makes_a_test_likelier_to_be_flaky(suite in suite()) {
            let planner = Planner::new(suite.clone(), 1);
            for (test, candidate) in suite.iter().enumerate() {
                let mut after = planner.clone();
                after.record(test, candidate.passed == 0 && candidate.failed > 0, 1.0);
                if !planner.is_found(test) && candidate.passed + candidate.failed > 0 {
                    prop_assert!(after.chance(test) <= planner.chance(test) + 1e-12);
                    prop_assert!(after.reveal_chance(test) <= planner.reveal_chance(test) + 1e-12);
                }
            }
        }

        #[test]
        fn what_is_set_aside_leaves_no_trace(suite in suite(), aside in 0..20usize) {
            let aside = aside % suite.len();
            let mut planner = Planner::new(suite.clone(), 1);
            planner.set_aside([aside]);
            let mut rest = suite.clone();
            rest.remove(aside);
            let without = Planner::new(rest, 1);
            for test in (0..suite.len()).filter(|test| *test != aside) {
                let chance = without.chance(test - usize::from(test > aside));
                prop_assert!((planner.chance(test) - chance).abs() < 1e-9);
            }
            // Late news of it change nothing.
            let before = planner.expected_hidden();
            planner.record(aside, true, 1.0);
            planner.abandon(aside);
            prop_assert!((planner.expected_hidden() - before).abs() < 1e-12);
            let mut later = planner.clone();
            prop_assert!((0..50).all(|_| later.next_test() != Some(aside)));
            // Unless it counts after all.
            planner.reinstate(aside, suite[aside].passed, suite[aside].failed);
            let whole = Planner::new(suite.clone(), 1);
            for test in 0..suite.len() {
                prop_assert!((planner.chance(test) - whole.chance(test)).abs() < 1e-9);
            }
        }

        #[test]
        fn draws_agree_with_chances(suite in suite()) {
            let planner = Planner::new(suite.clone(), 1);
            let expected: f64 = (0..suite.len())
                .filter(|&test| !planner.is_found(test))
                .map(|test| planner.chance(test))
                .sum();
            for (hidden, expected) in [
                (Hidden::of(&mut planner.hidden_draws(400, true)), expected),
                (planner.hidden(), planner.expected_hidden()),
            ] {
                prop_assert!(f64::from(hidden.low) <= hidden.expected + 1.0);
                prop_assert!(hidden.low <= hidden.high);
                prop_assert!((hidden.expected - expected).abs() < 0.15 * expected + 0.15);
            }
            prop_assert!(planner.expected_hidden() <= expected + 1e-9);
        }
    }
}
