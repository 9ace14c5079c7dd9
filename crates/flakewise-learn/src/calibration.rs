//! Scores turned into probabilities that hold what they say.

/// Probabilities that rise with the score in steps, straight lines between them.
#[derive(Clone, Debug, PartialEq)]
pub struct Isotonic {
    /// Scores, rising, with the probability at each.
    points: Vec<(f64, f64)>,
}

impl Isotonic {
    /// The rising steps nearest to what happened (pool adjacent violators).
    /// Equal scores get their mean. Weights say how much each row counts.
    pub fn fit(scores: &[f64], labels: &[bool], weights: Option<&[f64]>) -> Self {
        let mut pools: Vec<Pool> = Vec::new();
        for (score, label, weight) in rising(scores, labels, weights) {
            let one = Pool { first: score, last: score, weight, sum: weight * target(label) };
            match pools.last_mut() {
                Some(pool) if pool.last >= score => pool.take(&one),
                _ => pools.push(one),
            }
        }
        let mut steps: Vec<Pool> = Vec::new();
        for mut pool in pools {
            while let Some(before) = steps.pop_if(|before| before.mean() >= pool.mean()) {
                pool = Pool { first: before.first, last: pool.last, ..pool };
                pool.weight += before.weight;
                pool.sum += before.sum;
            }
            steps.push(pool);
        }
        let ends = |pool: &Pool| {
            let mut ends = vec![(pool.first, pool.mean())];
            if pool.last > pool.first {
                ends.push((pool.last, pool.mean()));
            }
            ends
        };
        Self { points: steps.iter().flat_map(ends).collect() }
    }

    /// From points that were taken from [`Isotonic::points`].
    pub fn from_points(points: Vec<(f64, f64)>) -> Self {
        Self { points }
    }

    /// Scores, rising, with the probability at each.
    pub fn points(&self) -> &[(f64, f64)] {
        &self.points
    }

    /// The probability at a score; beyond the ends it stays as it is there.
    /// One half if there was no training data.
    pub fn probability(&self, score: f64) -> f64 {
        let after = self.points.partition_point(|&(point, _)| point < score);
        match (after.checked_sub(1).map(|before| self.points[before]), self.points.get(after)) {
            (Some((low, at_low)), Some(&(high, at_high))) => {
                // Rounding must not step over what comes next.
                (at_low + (at_high - at_low) * (score - low) / (high - low)).min(at_high)
            }
            (None, Some(&(_, probability))) | (Some((_, probability)), None) => probability,
            (None, None) => 0.5,
        }
    }
}

/// Rows with neighbouring scores that share one probability.
struct Pool {
    first: f64,
    last: f64,
    weight: f64,
    sum: f64,
}

impl Pool {
    fn take(&mut self, other: &Self) {
        self.last = other.last;
        self.weight += other.weight;
        self.sum += other.sum;
    }

    fn mean(&self) -> f64 {
        self.sum / self.weight
    }
}

/// A logistic curve over scores.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Platt {
    /// How steep it is.
    pub slope: f64,
    /// Where it lies: the log odds at a score of 0.
    pub intercept: f64,
}

/// More steps than any fit took; a curve that is not there yet is near.
const MAXIMAL_STEPS: usize = 100;
const GRADIENT_TOLERANCE: f64 = 1e-9;

impl Platt {
    /// The curve likeliest under Platt's smoothed targets: a class seen `n`
    /// times is believed `(n + 1) / (n + 2)`. Weights say how much each row counts.
    pub fn fit(scores: &[f64], labels: &[bool], weights: Option<&[f64]>) -> Self {
        let rows: Vec<(f64, bool, f64)> = rising(scores, labels, weights).collect();
        let class = |class: bool| -> f64 { rows.iter().filter(|row| row.1 == class).map(|row| row.2).sum() };
        let (negatives, positives) = (class(false), class(true));
        // Newton's steps are the same whatever the scale, rounding is not.
        let scale = rows.iter().map(|row| row.0.abs()).fold(0.0, f64::max).max(f64::MIN_POSITIVE);
        let rows: Vec<(f64, f64, f64)> = rows
            .into_iter()
            .map(|(score, label, weight)| {
                let target =
                    if label { (positives + 1.0) / (positives + 2.0) } else { 1.0 / (negatives + 2.0) };
                (score / scale, target, weight)
            })
            .collect();
        let loss = |[slope, intercept]: [f64; 2]| -> f64 {
            rows.iter()
                .map(|&(score, target, weight)| {
                    let odds = slope * score + intercept;
                    weight * (softplus(odds) - target * odds)
                })
                .sum()
        };
        let mut at = [0.0, ((positives + 1.0) / (negatives + 1.0)).ln()];
        for _ in 0..MAXIMAL_STEPS {
            // A little on the diagonal keeps scores that are all equal solvable.
            let (mut gradient, mut hessian) = ([0.0; 2], [1e-12, 0.0, 1e-12]);
            for &(score, target, weight) in &rows {
                let probability = logistic(at[0] * score + at[1]);
                let error = weight * (probability - target);
                let bend = weight * probability * (1.0 - probability);
                gradient[0] += error * score;
                gradient[1] += error;
                hessian[0] += bend * score * score;
                hessian[1] += bend * score;
                hessian[2] += bend;
            }
            if gradient.iter().all(|part| part.abs() < GRADIENT_TOLERANCE) {
                break;
            }
            let determinant = hessian[0] * hessian[2] - hessian[1] * hessian[1];
            let step = [
                (hessian[2] * gradient[0] - hessian[1] * gradient[1]) / determinant,
                (hessian[0] * gradient[1] - hessian[1] * gradient[0]) / determinant,
            ];
            let (before, descent) = (loss(at), gradient[0] * step[0] + gradient[1] * step[1]);
            let shortened = (0..40).map(|halvings| 0.5_f64.powi(halvings)).find_map(|share| {
                let next = [at[0] - share * step[0], at[1] - share * step[1]];
                (loss(next) <= before - 1e-4 * share * descent).then_some(next)
            });
            let Some(next) = shortened else { break };
            at = next;
        }
        Self { slope: at[0] / scale, intercept: at[1] }
    }

    /// The probability at a score.
    pub fn probability(&self, score: f64) -> f64 {
        logistic(self.slope * score + self.intercept)
    }
}

/// `1 / (1 + exp(-odds))`: log odds as a probability.
pub fn logistic(odds: f64) -> f64 {
    1.0 / (1.0 + (-odds).exp())
}

/// `ln(1 + exp(odds))`, without overflow.
pub(crate) fn softplus(odds: f64) -> f64 {
    odds.max(0.0) + (-odds.abs()).exp().ln_1p()
}

fn target(label: bool) -> f64 {
    f64::from(u8::from(label))
}

/// Rows that count, by score.
fn rising(
    scores: &[f64],
    labels: &[bool],
    weights: Option<&[f64]>,
) -> impl Iterator<Item = (f64, bool, f64)> {
    assert_eq!(scores.len(), labels.len(), "a label for each score");
    assert!(weights.is_none_or(|weights| weights.len() == scores.len()), "a weight for each score");
    let mut rows: Vec<(f64, bool, f64)> = (0..scores.len())
        .map(|row| (scores[row], labels[row], weights.map_or(1.0, |weights| weights[row])))
        .filter(|row| row.2 > 0.0)
        .collect();
    rows.sort_by(|left, right| left.0.total_cmp(&right.0));
    rows.into_iter()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const SCORES: [f64; 8] = [0.1, 0.4, 0.4, 0.2, 0.9, 0.7, 0.6, 0.3];
    const LABELS: [bool; 8] = [false, true, false, true, true, true, false, false];
    const WEIGHTS: [f64; 8] = [1.0, 2.0, 1.0, 1.0, 1.0, 3.0, 1.0, 1.0];

    fn close(left: f64, right: f64) {
        assert!((left - right).abs() < 1e-5, "{left} is not {right}");
    }

    #[test]
    fn isotonic_is_that_of_scikit_learn() {
        let isotonic = Isotonic::fit(&SCORES, &LABELS, Some(&WEIGHTS));
        let expected =
            [(0.0, 0.0), (0.15, 0.25), (0.25, 0.5), (0.35, 0.5), (0.5, 0.5), (0.65, 0.75), (0.95, 1.0)];
        for (score, probability) in expected {
            close(isotonic.probability(score), probability);
        }
        assert_eq!(Isotonic::from_points(isotonic.points().to_vec()), isotonic);
    }

    #[test]
    fn platt_is_that_of_scikit_learn() {
        let platt = Platt::fit(&SCORES, &LABELS, None);
        close(platt.slope, 2.247_21);
        close(platt.intercept, -1.005_89);
        let platt = Platt::fit(&SCORES, &LABELS, Some(&WEIGHTS));
        close(platt.slope, 3.1);
        close(platt.intercept, -0.940_327);
    }

    #[test]
    fn scores_that_say_nothing_give_the_share_of_positives() {
        let labels: Vec<bool> = (0..1000).map(|row| row % 4 == 0).collect();
        let platt = Platt::fit(&[0.7; 1000], &labels, None);
        assert!((platt.probability(0.7) - 0.25).abs() < 0.002);
        close(Isotonic::fit(&[0.7; 1000], &labels, None).probability(0.1), 0.25);
        close(Isotonic::fit(&[], &[], None).probability(0.1), 0.5);
    }

    type Rows = (Vec<f64>, Vec<bool>, Vec<f64>);

    fn rows() -> impl Strategy<Value = Rows> {
        let row = ((-8_i32..9).prop_map(|score| f64::from(score) / 4.0), any::<bool>(), 0.1..3.0_f64);
        prop::collection::vec(row, 1..60).prop_map(|rows| {
            let (scores, rest): (Vec<f64>, Vec<(bool, f64)>) =
                rows.into_iter().map(|(score, label, weight)| (score, (label, weight))).unzip();
            let (labels, weights) = rest.into_iter().unzip();
            (scores, labels, weights)
        })
    }

    proptest! {
        #[test]
        fn isotonic_rises_and_keeps_the_mean((scores, labels, weights) in rows()) {
            let isotonic = Isotonic::fit(&scores, &labels, Some(&weights));
            let probabilities: Vec<f64> =
                (-100..=100).map(|score| isotonic.probability(f64::from(score) / 40.0)).collect();
            prop_assert!(probabilities.is_sorted());
            let (mut said, mut seen) = (0.0, 0.0);
            for ((&score, &label), &weight) in scores.iter().zip(&labels).zip(&weights) {
                said += weight * isotonic.probability(score);
                seen += weight * target(label);
            }
            prop_assert!((said - seen).abs() < 1e-9);
        }

        #[test]
        fn no_rising_steps_are_nearer((scores, labels, weights) in rows(), from in -9_i32..9, by in 0.0..0.3_f64) {
            let isotonic = Isotonic::fit(&scores, &labels, Some(&weights));
            let error = |probability: &dyn Fn(f64) -> f64| -> f64 {
                let rows = scores.iter().zip(&labels).zip(&weights);
                rows.map(|((&score, &label), weight)| weight * (probability(score) - target(label)).powi(2)).sum()
            };
            // Raising all from some score on, or lowering all up to it, still rises.
            let from = f64::from(from) / 4.0;
            let best = error(&|score| isotonic.probability(score));
            let raised = |score| isotonic.probability(score) + if score >= from { by } else { 0.0 };
            let lowered = |score| isotonic.probability(score) - if score <= from { by } else { 0.0 };
            prop_assert!(best <= error(&raised) + 1e-9 && best <= error(&lowered) + 1e-9);
        }

        #[test]
        fn platt_keeps_the_mean_of_the_smoothed_targets((scores, labels, weights) in rows()) {
            let platt = Platt::fit(&scores, &labels, Some(&weights));
            let class = |class: bool| -> f64 {
                labels.iter().zip(&weights).filter(|row| *row.0 == class).map(|row| row.1).sum()
            };
            let (negatives, positives) = (class(false), class(true));
            let expected = positives * (positives + 1.0) / (positives + 2.0) + negatives / (negatives + 2.0);
            let said: f64 = scores.iter().zip(&weights).map(|(&score, weight)| weight * platt.probability(score)).sum();
            prop_assert!((said - expected).abs() < 1e-6, "{} is not {}", said, expected);
        }
    }
}
