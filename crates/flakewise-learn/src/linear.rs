//! Linear models with squared weights as the price: a support vector machine
//! with squared hinge loss, and logistic regression.
//!
//! The first is solved by dual coordinate descent (Hsieh and others, 2008), as
//! in liblinear, the second by Newton's method with conjugate gradients.

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha12Rng;

use crate::calibration::{logistic, softplus};
use crate::matrix::{SparseMatrix, SparseRow};

/// A weight for each column and one for itself.
#[derive(Clone, Debug, PartialEq)]
pub struct LinearModel {
    /// The weights of the columns.
    pub weights: Vec<f32>,
    /// What is added for every row.
    pub bias: f32,
}

/// How errors are weighed against weights.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LinearOptions<'a> {
    /// The price of an error; scikit-learn's `C`.
    pub cost: f64,
    /// What the prices of errors on negatives and on positives are multiplied by.
    pub class_weights: [f64; 2],
    /// What the price of an error on each row is multiplied by.
    pub row_weights: Option<&'a [f64]>,
    /// How far the projected gradients of a support vector machine may spread at
    /// the end; scikit-learn's `tol`.
    pub tolerance: f64,
}

impl Default for LinearOptions<'_> {
    fn default() -> Self {
        Self { cost: 1.0, class_weights: [1.0; 2], row_weights: None, tolerance: 1e-4 }
    }
}

impl LinearOptions<'_> {
    /// Both classes count the same in total, as scikit-learn's `balanced`.
    #[must_use]
    pub fn balanced(self, labels: &[bool]) -> Self {
        let positives = labels.iter().filter(|&&label| label).count();
        let weight = |count: usize| labels.len() as f64 / (2 * count.max(1)) as f64;
        Self { class_weights: [weight(labels.len() - positives), weight(positives)], ..self }
    }

    fn costs(&self, labels: &[bool]) -> Vec<f64> {
        assert!(
            self.row_weights.is_none_or(|weights| weights.len() == labels.len()),
            "a weight for each row"
        );
        labels
            .iter()
            .enumerate()
            .map(|(row, &label)| {
                let own = self.row_weights.map_or(1.0, |weights| weights[row]);
                self.cost * self.class_weights[usize::from(label)] * own
            })
            .collect()
    }
}

impl LinearModel {
    /// On which side of the plane a row lies, and how far.
    pub fn decision(&self, row: SparseRow<'_>) -> f64 {
        // Columns that were not learned say nothing.
        let known =
            row.iter().filter_map(|(column, value)| Some((self.weights.get(column as usize)?, value)));
        known.fold(f64::from(self.bias), |sum, (weight, value)| sum + f64::from(*weight) * f64::from(value))
    }

    /// The decision for every row.
    pub fn decisions(&self, rows: &SparseMatrix) -> Vec<f64> {
        (0..rows.rows()).map(|row| self.decision(rows.row(row))).collect()
    }

    /// A support vector machine with squared hinge loss. The bias is priced
    /// like a weight, as in scikit-learn's `LinearSVC`. The seed decides the
    /// order of rows, and so only digits beyond the tolerance.
    pub fn support_vectors(
        rows: &SparseMatrix,
        labels: &[bool],
        options: LinearOptions<'_>,
        seed: u64,
    ) -> Self {
        assert_eq!(rows.rows(), labels.len(), "a label for each row");
        Descent::new(rows, labels, &options.costs(labels)).run(options.tolerance, seed)
    }

    /// Logistic regression: the decision is a logarithm of odds. The bias is
    /// free, as in scikit-learn's `LogisticRegression`.
    pub fn logistic_regression(rows: &SparseMatrix, labels: &[bool], options: LinearOptions<'_>) -> Self {
        assert_eq!(rows.rows(), labels.len(), "a label for each row");
        Newton { rows, labels, costs: options.costs(labels) }.run()
    }

    fn from_point(point: &[f64]) -> Self {
        let (bias, weights) = point.split_last().expect("the bias is there");
        #[expect(clippy::cast_possible_truncation, reason = "a model has single precision")]
        let single = |value: &f64| *value as f32;
        Self { weights: weights.iter().map(single).collect(), bias: single(bias) }
    }
}

/// Passes over the rows after which descent is given up; scikit-learn's too.
const MAXIMAL_PASSES: usize = 1000;

/// Dual coordinate descent: one multiplier for each row, none below zero.
struct Descent<'a> {
    rows: &'a SparseMatrix,
    signs: Vec<f64>,
    /// What squared errors add to the diagonal.
    diagonal: Vec<f64>,
    /// The curvature along each multiplier.
    curvature: Vec<f64>,
    multipliers: Vec<f64>,
    /// The weights that the multipliers make, the bias last.
    point: Vec<f64>,
}

impl<'a> Descent<'a> {
    fn new(rows: &'a SparseMatrix, labels: &[bool], costs: &[f64]) -> Self {
        let diagonal: Vec<f64> = costs.iter().map(|cost| 0.5 / cost).collect();
        let length =
            |row: usize| rows.row(row).values.iter().map(|&value| f64::from(value).powi(2)).sum::<f64>();
        Self {
            rows,
            signs: labels.iter().map(|&label| if label { 1.0 } else { -1.0 }).collect(),
            curvature: diagonal.iter().enumerate().map(|(row, own)| own + 1.0 + length(row)).collect(),
            diagonal,
            multipliers: vec![0.0; labels.len()],
            point: vec![0.0; rows.columns() + 1],
        }
    }

    fn run(mut self, tolerance: f64, seed: u64) -> LinearModel {
        let mut random = ChaCha12Rng::seed_from_u64(seed);
        // A row without a price says nothing.
        let all: Vec<usize> = (0..self.rows.rows()).filter(|&row| self.diagonal[row].is_finite()).collect();
        let mut active = all.clone();
        // Rows at zero whose gradient is above the largest of the pass before
        // will most likely stay there, and are left alone until the end.
        let mut leave_above = f64::INFINITY;
        for _ in 0..MAXIMAL_PASSES {
            active.shuffle(&mut random);
            let (mut largest, mut least) = (f64::NEG_INFINITY, f64::INFINITY);
            active.retain(|&row| {
                let gradient = self.gradient(row);
                let at_zero = self.multipliers[row] <= 0.0;
                if at_zero && gradient > leave_above {
                    return false;
                }
                let projected = if at_zero { gradient.min(0.0) } else { gradient };
                largest = largest.max(projected);
                least = least.min(projected);
                if projected.abs() > 1e-12 {
                    self.step(row, gradient);
                }
                true
            });
            if largest - least <= tolerance || active.is_empty() {
                if active.len() == all.len() {
                    break;
                }
                // Everything once more, to see whether they did stay there.
                active.clone_from(&all);
                leave_above = f64::INFINITY;
            } else {
                leave_above = if largest > 0.0 { largest } else { f64::INFINITY };
            }
        }
        LinearModel::from_point(&self.point)
    }

    fn gradient(&self, row: usize) -> f64 {
        self.signs[row] * dot(self.rows.row(row), &self.point) - 1.0
            + self.multipliers[row] * self.diagonal[row]
    }

    fn step(&mut self, row: usize, gradient: f64) {
        let before = self.multipliers[row];
        let after = (before - gradient / self.curvature[row]).max(0.0);
        self.multipliers[row] = after;
        add(self.rows.row(row), (after - before) * self.signs[row], &mut self.point);
    }
}

/// Newton steps after which it is given up, and conjugate gradients in each.
const MAXIMAL_NEWTON_STEPS: usize = 100;
const MAXIMAL_CONJUGATES: usize = 250;
/// The share of the first gradient that may be left at the end.
const GRADIENT_SHARE: f64 = 1e-5;

/// Newton's method, the direction found by conjugate gradients.
struct Newton<'a> {
    rows: &'a SparseMatrix,
    labels: &'a [bool],
    costs: Vec<f64>,
}

impl Newton<'_> {
    fn run(&self) -> LinearModel {
        let mut point = vec![0.0; self.rows.columns() + 1];
        let mut decisions = vec![0.0; self.rows.rows()];
        let mut first = None;
        for _ in 0..MAXIMAL_NEWTON_STEPS {
            let probabilities: Vec<f64> = decisions.iter().map(|&decision| logistic(decision)).collect();
            let gradient = self.gradient(&point, &probabilities);
            let length = scalar(&gradient, &gradient).sqrt();
            if length <= GRADIENT_SHARE * *first.get_or_insert(length) {
                break;
            }
            let bends: Vec<f64> =
                probabilities.iter().zip(&self.costs).map(|(p, cost)| cost * p * (1.0 - p)).collect();
            let direction = self.direction(&gradient, length, &bends);
            let along: Vec<f64> =
                (0..self.rows.rows()).map(|row| dot(self.rows.row(row), &direction)).collect();
            let slope = scalar(&gradient, &direction);
            let before = self.loss(&point, &decisions);
            let shortened = (0..30).map(|halvings| 0.5_f64.powi(halvings)).find_map(|share| {
                let next = moved(&point, share, &direction);
                let next_decisions = moved(&decisions, share, &along);
                (self.loss(&next, &next_decisions) <= before + 1e-4 * share * slope)
                    .then_some((next, next_decisions))
            });
            let Some(next) = shortened else { break };
            (point, decisions) = next;
        }
        LinearModel::from_point(&point)
    }

    fn loss(&self, point: &[f64], decisions: &[f64]) -> f64 {
        let weights = &point[..point.len() - 1];
        let errors = decisions.iter().zip(self.labels).zip(&self.costs);
        errors
            .map(|((&decision, &label), cost)| cost * softplus(if label { -decision } else { decision }))
            .sum::<f64>()
            + scalar(weights, weights) / 2.0
    }

    fn gradient(&self, point: &[f64], probabilities: &[f64]) -> Vec<f64> {
        let mut gradient = free_bias(point);
        for (row, (probability, &label)) in probabilities.iter().zip(self.labels).enumerate() {
            let error = self.costs[row] * (probability - f64::from(u8::from(label)));
            add(self.rows.row(row), error, &mut gradient);
        }
        gradient
    }

    /// How the gradient changes along a direction.
    fn bend(&self, direction: &[f64], bends: &[f64]) -> Vec<f64> {
        let mut change = free_bias(direction);
        for (row, bend) in bends.iter().enumerate() {
            let values = self.rows.row(row);
            add(values, bend * dot(values, direction), &mut change);
        }
        change
    }

    fn direction(&self, gradient: &[f64], length: f64, bends: &[f64]) -> Vec<f64> {
        let enough = length * length.sqrt().min(0.1);
        let mut direction = vec![0.0; gradient.len()];
        let mut residual: Vec<f64> = gradient.iter().map(|part| -part).collect();
        let mut conjugate = residual.clone();
        let mut left = scalar(&residual, &residual);
        for _ in 0..MAXIMAL_CONJUGATES {
            if left.sqrt() <= enough {
                break;
            }
            let bent = self.bend(&conjugate, bends);
            let curvature = scalar(&conjugate, &bent);
            if curvature <= 0.0 {
                break;
            }
            let share = left / curvature;
            direction = moved(&direction, share, &conjugate);
            residual = moved(&residual, -share, &bent);
            let now_left = scalar(&residual, &residual);
            conjugate = moved(&residual, now_left / left, &conjugate);
            left = now_left;
        }
        direction
    }
}

/// The bias has no price.
fn free_bias(point: &[f64]) -> Vec<f64> {
    let mut priced = point.to_vec();
    *priced.last_mut().expect("the bias is there") = 0.0;
    priced
}

/// A row, with 1 for the bias, times a point.
fn dot(row: SparseRow<'_>, point: &[f64]) -> f64 {
    row.iter()
        .fold(point[point.len() - 1], |sum, (column, value)| sum + f64::from(value) * point[column as usize])
}

/// Adds a multiple of a row, with 1 for the bias, to a point.
fn add(row: SparseRow<'_>, times: f64, point: &mut [f64]) {
    for (column, value) in row.iter() {
        point[column as usize] += times * f64::from(value);
    }
    *point.last_mut().expect("the bias is there") += times;
}

fn scalar(left: &[f64], right: &[f64]) -> f64 {
    left.iter().zip(right).map(|(left, right)| left * right).sum()
}

fn moved(from: &[f64], share: f64, direction: &[f64]) -> Vec<f64> {
    from.iter().zip(direction).map(|(from, along)| from + share * along).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Forty rows, fifteen positive: what scikit-learn 1.9 was given.
    fn example() -> (SparseMatrix, Vec<bool>, Vec<f64>) {
        let mut state = 777_u64;
        let mut draw = |below: u64| {
            state = (state * 1_103_515_245 + 12345) % (1 << 31);
            u16::try_from((state >> 16) % below).unwrap()
        };
        let mut rows = SparseMatrix::new(6);
        let mut labels = Vec::new();
        for _ in 0..40 {
            let values: Vec<f32> = (0..6).map(|_| f32::from(draw(4) % 3)).collect();
            labels.push(values[0] + values[1] - values[2] + f32::from(draw(3)) > 2.0);
            rows.push((0..6).zip(values).filter(|&(_, value)| value > 0.0));
        }
        (rows, labels, (0..40).map(|row| 1.0 + f64::from(row % 3)).collect())
    }

    fn check(model: &LinearModel, weights: [f32; 6], bias: f32) {
        for (weight, expected) in model.weights.iter().zip(weights) {
            assert!((weight - expected).abs() < 2e-4, "{weight} is not {expected}");
        }
        assert!((model.bias - bias).abs() < 2e-4, "{} is not {bias}", model.bias);
    }

    #[test]
    fn models_are_those_of_scikit_learn() {
        let (rows, labels, weights) = example();
        let options = LinearOptions {
            cost: 0.5,
            class_weights: [1.0, 2.0],
            row_weights: Some(&weights),
            ..LinearOptions::default()
        };
        let model = LinearModel::support_vectors(&rows, &labels, options, 1);
        check(&model, [0.632_219, 0.772_034, -0.455_938, -0.084_322, -0.081_163, 0.053_599], -0.951_965);
        let model = LinearModel::logistic_regression(&rows, &labels, options);
        check(&model, [1.487_337, 1.643_438, -0.841_006, -0.054_109, -0.080_247, 0.025_398], -2.203_902);
    }

    #[test]
    fn a_weight_of_two_is_the_row_twice() {
        let (rows, labels, _) = example();
        let twice: Vec<usize> = (0..40).flat_map(|row| vec![row; 1 + row % 2]).collect();
        let weights: Vec<f64> = (0..40).map(|row| 1.0 + f64::from(row % 2)).collect();
        let weighted = LinearOptions { row_weights: Some(&weights), ..LinearOptions::default() };
        let (more, more_labels) =
            (rows.select(&twice), twice.iter().map(|&row| labels[row]).collect::<Vec<_>>());
        let plain = LinearOptions::default();
        for (left, right) in [
            (
                LinearModel::support_vectors(&rows, &labels, weighted, 1),
                LinearModel::support_vectors(&more, &more_labels, plain, 2),
            ),
            (
                LinearModel::logistic_regression(&rows, &labels, weighted),
                LinearModel::logistic_regression(&more, &more_labels, plain),
            ),
        ] {
            check(&left, right.weights.try_into().unwrap(), right.bias);
        }
    }

    #[test]
    fn one_class_and_no_rows_are_learnt_from() {
        let (rows, ..) = example();
        let all = [true; 40];
        let options = LinearOptions::default().balanced(&all);
        for model in [
            LinearModel::support_vectors(&rows, &all, options, 1),
            LinearModel::logistic_regression(&rows, &all, options),
        ] {
            assert!(model.decisions(&rows).iter().all(|&decision| decision > 0.0));
        }
        let nothing = LinearModel::support_vectors(&SparseMatrix::new(6), &[], LinearOptions::default(), 1);
        assert_eq!(nothing, LinearModel { weights: vec![0.0; 6], bias: 0.0 });
    }
}
