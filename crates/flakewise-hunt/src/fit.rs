//! Fits a prior to projects whose tests ran many times.

use std::collections::HashMap;

use crate::Prior;
use crate::belief::{Belief, Member};
use crate::prior::{RATES, rate};
use crate::survival::Shown;

/// A test that ran so often that it is known whether it is flaky.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Known {
    /// The chance that it is flaky, from a model that did not know that.
    pub risk: f64,
    /// Its class.
    pub class: u32,
    /// Its module.
    pub module: u32,
    /// How often it passed.
    pub passed: u32,
    /// How often it failed.
    pub failed: u32,
}

/// A step that gains less is not worth another round.
const GAIN: f64 = 0.5;
const ROUNDS: usize = 20;

impl Prior {
    /// The prior under which what the tests of some projects showed is likeliest,
    /// found by changing one number at a time. How common rates are is counted.
    pub fn fit(projects: &[&[Known]]) -> Self {
        let (always_failing, rates) = counted(projects);
        let is_clean = |tests: &&&[Known]| !tests.iter().any(|test| test.passed > 0 && test.failed > 0);
        let clean = projects.iter().filter(is_clean).count() as f64;
        let mut best = Self {
            offset: 0.0,
            slope: 1.0,
            shift_spread: [1.0, 1.0, 2.0],
            rate_spread: [0.5; 3],
            rate_apart: 0.1,
            rates,
            always_failing,
            clean: clean / projects.len().max(1) as f64,
        };
        let mut most = best.log_likelihood(projects);
        for _ in 0..ROUNDS {
            let before = most;
            for number in 0..NUMBERS {
                for up in [true, false] {
                    while let Some(prior) = best.stepped(number, up) {
                        let likelihood = prior.log_likelihood(projects);
                        if likelihood <= most {
                            break;
                        }
                        (best, most) = (prior, likelihood);
                    }
                }
            }
            if most - before < GAIN {
                break;
            }
        }
        best
    }

    /// How likely what the tests of some projects showed is, but for a constant.
    fn log_likelihood(&self, projects: &[&[Known]]) -> f64 {
        let likelihood = |tests: &&[Known]| {
            let members: Vec<Member> = tests.iter().map(Known::member).collect();
            Belief::new(self, &members).log_likelihood()
        };
        projects.iter().map(likelihood).sum()
    }

    /// With one number a step further, unless that leaves what makes sense.
    fn stepped(&self, number: usize, up: bool) -> Option<Self> {
        let mut prior = self.clone();
        let value = match number {
            0 => &mut prior.offset,
            1 => &mut prior.slope,
            2..=4 => &mut prior.shift_spread[number - 2],
            5..=7 => &mut prior.rate_spread[number - 5],
            _ => &mut prior.rate_apart,
        };
        *value = match (number, up) {
            (0, true) => *value + 0.5,
            (0, false) => *value - 0.5,
            (1, true) => *value + 0.1,
            (1, false) => *value - 0.1,
            (_, true) => *value * 1.3,
            (_, false) => *value / 1.3,
        };
        let sensible = match number {
            0 => -20.0..20.0,
            1 => 0.1..5.0,
            8 => 0.001..0.9,
            _ => 0.05..20.0,
        };
        sensible.contains(value).then_some(prior)
    }
}

const NUMBERS: usize = 9;

impl Known {
    fn member(&self) -> Member {
        /// As good as always.
        const FOREVER: u32 = 1 << 30;
        let Self { risk, class, module, passed, failed } = *self;
        let shown = match (passed, failed) {
            (_, 0) => Shown { passed: FOREVER, failed: 0 },
            (0, _) => Shown { passed: 0, failed: FOREVER },
            _ => Shown { passed, failed },
        };
        Member { risk, class, module, shown }
    }
}

/// The share of tests that always fail, and how common each rate is. Tests of one
/// class are alike: many of them count less than as many from different ones.
fn counted(projects: &[&[Known]]) -> (f64, [f64; RATES]) {
    let (mut failing, mut all) = (1.0, 100.0);
    let mut rates = [0.25; RATES];
    for tests in projects {
        let mut classes: HashMap<u32, [f64; RATES]> = HashMap::new();
        for test in *tests {
            all += 1.0;
            if test.passed == 0 {
                failing += 1.0;
            } else if test.failed > 0 {
                let failed = f64::from(test.failed) / (f64::from(test.failed) + f64::from(test.passed));
                let far = |step: usize| (rate(step) / failed).ln().abs();
                let step = (0..RATES).min_by(|&one, &other| far(one).total_cmp(&far(other)));
                classes.entry(test.class).or_default()[step.expect("there are rates")] += 1.0;
            }
        }
        for counts in classes.values() {
            let flaky: f64 = counts.iter().sum();
            for (rate, count) in rates.iter_mut().zip(counts) {
                *rate += count / flaky.sqrt();
            }
        }
    }
    let sum: f64 = rates.iter().sum();
    (failing / all, rates.map(|rate| rate / sum))
}
