//! Which test to run next.
//!
//! A test is flaky with a chance, its risk, and then fails at a rate spread
//! over what is known of flaky tests. After so many runs without a surprise the
//! chance that one more shows one is known; the test with the highest chance
//! per second is next.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use flakewise_model::Hidden;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

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
    tests: Vec<Test>,
    /// May hold entries that are out of date: those of an older edition.
    queue: BinaryHeap<Entry>,
}

#[derive(Clone, Debug)]
struct Test {
    candidate: Candidate,
    log_odds: f64,
    under_way: u32,
    retired: bool,
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

impl Planner {
    /// Begins a hunt.
    pub fn new(candidates: Vec<Candidate>, seed: u64) -> Self {
        let mut random = StdRng::seed_from_u64(seed);
        let tests = candidates
            .into_iter()
            .map(|candidate| {
                let risk = candidate.risk.clamp(1e-6, 1.0 - 1e-6);
                let log_odds = (risk / (1.0 - risk)).ln();
                Test {
                    candidate,
                    log_odds,
                    under_way: 0,
                    retired: false,
                    measured: 0,
                    edition: 0,
                    tie: random.random(),
                }
            })
            .collect();
        let mut planner = Self { tests, queue: BinaryHeap::new() };
        for test in 0..planner.tests.len() {
            if planner.is_found(test) {
                planner.raise_mates(test);
            }
        }
        for test in 0..planner.tests.len() {
            planner.push(test);
        }
        planner
    }

    /// The test to run next, by place; it counts as under way until
    /// [`Planner::record`] tells its outcome. None when every test is found.
    pub fn next_test(&mut self) -> Option<usize> {
        let entry = self.first()?;
        self.tests[entry.test].under_way += 1;
        self.push(entry.test);
        Some(entry.test)
    }

    /// A run ended.
    pub fn record(&mut self, test: usize, failed: bool, seconds: f64) {
        let was_found = self.is_found(test);
        let known = &mut self.tests[test];
        known.under_way = known.under_way.saturating_sub(1);
        if failed {
            known.candidate.failed += 1;
        } else {
            known.candidate.passed += 1;
        }
        known.measured += 1;
        known.candidate.seconds += (seconds - known.candidate.seconds) / f64::from(known.measured);
        self.push(test);
        if self.is_found(test) && !was_found {
            self.raise_mates(test);
        }
    }

    /// A run under way ended without an outcome.
    pub fn abandon(&mut self, test: usize) {
        self.tests[test].under_way = self.tests[test].under_way.saturating_sub(1);
        self.push(test);
    }

    /// A test will not be run any more.
    pub fn retire(&mut self, test: usize) {
        self.tests[test].retired = true;
        self.push(test);
    }

    /// How many flaky tests are probably not yet found.
    pub fn hidden(&self) -> Hidden {
        let chances =
            (0..self.tests.len()).filter(|&test| !self.is_found(test)).map(|test| self.chance(test));
        let (mut expected, mut variance) = (0.0, 0.0);
        for chance in chances {
            expected += chance;
            variance += chance * (1.0 - chance);
        }
        let spread = 1.645 * f64::sqrt(variance);
        Hidden { expected, low: whole((expected - spread).floor()), high: whole((expected + spread).ceil()) }
    }

    /// The chance that a test is flaky, after what it has shown.
    pub fn chance(&self, test: usize) -> f64 {
        if self.is_found(test) { 1.0 } else { self.posterior(test).0 }
    }

    /// The chance that the next run of a test shows the outcome that it has not
    /// shown yet; 0 for one that is found.
    pub fn reveal_chance(&self, test: usize) -> f64 {
        if self.is_found(test) { 0.0 } else { self.posterior(test).1 }
    }

    /// Whether it both passed and failed.
    pub fn is_found(&self, test: usize) -> bool {
        let candidate = &self.tests[test].candidate;
        candidate.passed > 0 && candidate.failed > 0
    }

    /// How sure it is that a test is not flaky; 0 for one that is found.
    pub fn cleared(&self, test: usize) -> f64 {
        1.0 - self.chance(test)
    }

    /// How many tests the best next run is expected to reveal, per second.
    pub fn best_rate(&mut self) -> f64 {
        self.first().map_or(0.0, |entry| entry.rate)
    }

    fn first(&mut self) -> Option<Entry> {
        while let Some(entry) = self.queue.peek() {
            if self.tests[entry.test].edition == entry.edition {
                return Some(*entry);
            }
            self.queue.pop();
        }
        None
    }

    fn push(&mut self, test: usize) {
        self.tests[test].edition += 1;
        if self.is_found(test) || self.tests[test].retired {
            return;
        }
        let known = &self.tests[test];
        let rate = self.reveal_chance(test) / known.candidate.seconds.max(SHORTEST_SECONDS);
        self.queue.push(Entry { rate, tie: known.tie, test, edition: known.edition });
    }

    fn raise_mates(&mut self, found: usize) {
        let Candidate { class, module, .. } = self.tests[found].candidate;
        for mate in 0..self.tests.len() {
            let known = &mut self.tests[mate];
            let raise = match (known.candidate.class == class, known.candidate.module == module) {
                (true, _) => CLASS_RAISE,
                (false, true) => MODULE_RAISE,
                _ => continue,
            };
            known.log_odds += raise;
            if mate != found && !self.is_found(mate) {
                self.push(mate);
            }
        }
    }

    /// The chance that a test is flaky, and that its next run shows it. Runs
    /// under way count as if they had passed.
    fn posterior(&self, test: usize) -> (f64, f64) {
        let known = &self.tests[test];
        let Candidate { passed, failed, .. } = known.candidate;
        let runs = f64::from(passed + failed + known.under_way);
        let odds = known.log_odds.exp();
        let (mut mass, mut reveal) = (0.0, 0.0);
        for step in 0..RATES {
            // Log-uniform between one in ten thousand and nine in ten.
            let rate = 10f64.powf(-4.0 + (f64::from(step) + 0.5) / f64::from(RATES) * 3.95);
            let weight = (runs * (-rate).ln_1p()).exp() / f64::from(RATES);
            mass += weight;
            reveal += weight * rate;
        }
        let all = 1.0 + odds * mass;
        (odds * mass / all, odds * reveal / all)
    }
}

const RATES: u32 = 40;
const CLASS_RAISE: f64 = 1.0;
const MODULE_RAISE: f64 = 0.3;
/// Nothing is quicker to run than this.
const SHORTEST_SECONDS: f64 = 0.001;

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a count that fits")]
fn whole(number: f64) -> u32 {
    number.max(0.0) as u32
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
    use super::*;

    fn candidate(risk: f64, class: u32) -> Candidate {
        Candidate { risk, class, module: 0, seconds: 1.0, passed: 1, failed: 0 }
    }

    #[test]
    fn the_riskier_test_runs_first() {
        let mut planner = Planner::new(vec![candidate(0.1, 0), candidate(0.5, 1), candidate(0.2, 2)], 1);
        assert_eq!(planner.next_test(), Some(1));
    }

    #[test]
    fn a_found_test_never_runs_again() {
        let mut planner = Planner::new(vec![candidate(0.1, 0), candidate(0.5, 1)], 1);
        planner.record(1, true, 1.0);
        assert!(planner.is_found(1));
        for _ in 0..50 {
            assert_eq!(planner.next_test(), Some(0));
        }
    }
}
