//! Numbers from 0 to 1, and intervals of them.

use std::fmt;

/// A probability: always in `0.0..=1.0`, never NaN.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Probability(f64);

impl Probability {
    /// Certain not to be.
    pub const ZERO: Self = Self(0.0);
    /// Certain.
    pub const ONE: Self = Self(1.0);

    /// The nearest probability to `value`; NaN becomes zero.
    pub fn clamped(value: f64) -> Self {
        Self(if value.is_nan() { 0.0 } else { value.clamp(0.0, 1.0) })
    }

    /// As a plain number.
    pub fn get(self) -> f64 {
        self.0
    }
}

impl fmt::Display for Probability {
    /// As a percentage that never rounds a chance into a certainty.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let percent = self.0 * 100.0;
        match self.0 {
            value if value <= 0.0 => formatter.write_str("0 %"),
            value if value >= 1.0 => formatter.write_str("100 %"),
            _ if percent < 0.1 => formatter.write_str("< 0.1 %"),
            _ if percent > 99.9 => formatter.write_str("> 99.9 %"),
            _ if !(9.95..=99.0).contains(&percent) => write!(formatter, "{percent:.1} %"),
            _ => write!(formatter, "{percent:.0} %"),
        }
    }
}

/// How often to try something that happens with this rate, until it has happened but for
/// this probability of missing it.
pub fn tries(rate: f64, missed: f64) -> u32 {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a cast stops at the limits")]
    let tries = (missed.ln() / (-rate).ln_1p()).ceil() as u32;
    tries
}

/// A range that holds a true rate with a stated confidence.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// Lower end.
    pub low: Probability,
    /// Upper end.
    pub high: Probability,
}

impl Interval {
    /// Wilson's score interval for `successes` out of `trials` at 95 %.
    ///
    /// It stays inside 0..1 and is sensible for few trials and rates near
    /// zero, which is where flaky tests live.
    pub fn wilson(successes: u64, trials: u64) -> Self {
        if trials == 0 {
            return Self { low: Probability::ZERO, high: Probability::ONE };
        }
        // The two-sided 95 % point of the normal distribution.
        let z = 1.959_963_985_f64;
        let trials = trials as f64;
        let rate = successes as f64 / trials;
        let denominator = 1.0 + z * z / trials;
        let centre = (rate + z * z / (2.0 * trials)) / denominator;
        let spread =
            z / denominator * (rate * (1.0 - rate) / trials + z * z / (4.0 * trials * trials)).sqrt();
        Self { low: Probability::clamped(centre - spread), high: Probability::clamped(centre + spread) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn wilson_holds_the_observed_rate(trials in 1u64..10_000, share in 0.0f64..=1.0) {
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "in range by construction")]
            let successes = (trials as f64 * share) as u64;
            let interval = Interval::wilson(successes, trials);
            let rate = successes as f64 / trials as f64;
            prop_assert!(interval.low.get() <= rate + 1e-9);
            prop_assert!(interval.high.get() >= rate - 1e-9);
        }
    }

    #[test]
    fn wilson_agrees_with_the_formula_worked_by_hand() {
        // Centre (0.1 + 0.0384) / 1.0768 = 0.1285, spread 0.0851.
        let interval = Interval::wilson(5, 50);
        assert!((interval.low.get() - 0.0435).abs() < 5e-4);
        assert!((interval.high.get() - 0.2136).abs() < 5e-4);
    }

    #[test]
    fn percentages_never_claim_certainty() {
        let text = |value: f64| Probability::clamped(value).to_string();
        assert_eq!(text(0.99999), "> 99.9 %");
        assert_eq!(text(0.00001), "< 0.1 %");
        assert_eq!(text(0.994), "99.4 %");
        assert_eq!(text(0.42), "42 %");
        assert_eq!(text(0.031), "3.1 %");
        assert_eq!(text(1.0), "100 %");
    }
}
