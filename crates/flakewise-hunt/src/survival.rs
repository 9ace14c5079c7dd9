//! How likely it is that a flaky test shows what it has shown.

use crate::prior::{PLACES, RATES, Tables, rate};

/// What a test has shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Shown {
    pub(crate) passed: u32,
    pub(crate) failed: u32,
}

impl Shown {
    /// Whether it showed that it is flaky.
    pub(crate) fn both(self) -> bool {
        self.passed > 0 && self.failed > 0
    }

    /// After so many more runs that show nothing new. A test that never ran
    /// passes.
    pub(crate) fn and_again(self, runs: u32) -> Self {
        match (self.passed, self.failed) {
            (_, 0) => Self { passed: self.passed.saturating_add(runs), ..self },
            (0, _) => Self { failed: self.failed.saturating_add(runs), ..self },
            _ => self,
        }
    }
}

/// Likelihoods by the place of the class. Nearly all tests always pass, most of
/// them equally often: theirs are kept.
#[derive(Clone, Debug)]
pub(crate) struct Survival {
    passed: Vec<[f64; PLACES]>,
    powers: [f64; RATES],
    weights: [[f64; RATES]; PLACES],
}

/// No more than this is kept.
const KEPT: usize = 1 << 15;

impl Survival {
    pub(crate) fn new(tables: &Tables) -> Self {
        Self::at_least(tables, 0.0)
    }

    /// And that it fails at a rate of at least this.
    pub(crate) fn at_least(tables: &Tables, least: f64) -> Self {
        let weights = tables
            .rates
            .map(|weights| std::array::from_fn(|step| if rate(step) >= least { weights[step] } else { 0.0 }));
        Self { passed: Vec::new(), powers: [1.0; RATES], weights }
    }

    /// Makes what comes quick.
    pub(crate) fn keep(&mut self, shown: Shown) {
        let runs = shown.passed as usize;
        if shown.failed == 0 && runs < KEPT {
            while self.passed.len() <= runs {
                self.passed.push(self.mix(&self.powers));
                for (step, power) in self.powers.iter_mut().enumerate() {
                    *power *= 1.0 - rate(step);
                }
            }
        }
    }

    /// For each place. Of a test that showed both outcomes only the ratios mean
    /// something.
    pub(crate) fn places(&self, shown: Shown) -> [f64; PLACES] {
        if let Some(kept) = self.passed.get(shown.passed as usize).filter(|_| shown.failed == 0) {
            return *kept;
        }
        let logarithms: [f64; RATES] = std::array::from_fn(|step| {
            let rate = rate(step);
            f64::from(shown.failed) * rate.ln() + f64::from(shown.passed) * (-rate).ln_1p()
        });
        let most = if shown.both() { greatest(&logarithms) } else { 0.0 };
        self.mix(&logarithms.map(|value| (value - most).exp()))
    }

    fn mix(&self, likely: &[f64; RATES]) -> [f64; PLACES] {
        self.weights.map(|weights| weights.iter().zip(likely).map(|(weight, value)| weight * value).sum())
    }
}

pub(crate) fn greatest(values: &[f64]) -> f64 {
    values.iter().copied().fold(f64::NEG_INFINITY, f64::max)
}
