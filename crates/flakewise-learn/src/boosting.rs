//! Gradient boosting: trees that each correct what the sum of those before them
//! got wrong. For two classes with the logistic loss, for more with the softmax.

use rayon::prelude::*;

use crate::bins::{Table, bin_columns};
use crate::grow::{Grower, Sample};
use crate::histogram::{Layout, Scale};
use crate::random::Random;
use crate::tree::Tree;
use crate::{DenseMatrix, SparseMatrix};

/// How a [`Booster`] learns.
#[derive(Clone, Debug, PartialEq)]
pub struct BoostingOptions {
    /// How many rounds there are: a tree each, or one for each of several classes.
    pub rounds: usize,
    /// How much of its correction a tree may make.
    pub learning_rate: f64,
    /// The most leaves of a tree.
    pub leaves: usize,
    /// The fewest rows of a leaf.
    pub min_leaf_rows: usize,
    /// How strongly the values of leaves are held near zero.
    pub lambda: f64,
    /// The share of the rows that is drawn for each round.
    pub row_fraction: f64,
    /// The share of the columns that is drawn for each round.
    pub column_fraction: f64,
    /// What the draws depend on.
    pub seed: u64,
}

impl Default for BoostingOptions {
    fn default() -> Self {
        Self {
            rounds: 200,
            learning_rate: 0.05,
            leaves: 31,
            min_leaf_rows: 20,
            lambda: 1.0,
            row_fraction: 0.8,
            column_fraction: 0.8,
            seed: 0,
        }
    }
}

/// Boosted trees.
#[derive(Clone, Debug, PartialEq)]
pub struct Booster {
    columns: usize,
    /// The score before the first tree, for each output.
    base: Vec<f32>,
    /// The trees, round after round; in a round one for each output.
    trees: Vec<Tree>,
}

impl Booster {
    /// Learns to tell `true` from `false`. Weights are 1 where none are given.
    pub fn fit<'a>(
        table: impl Into<Table<'a>>,
        labels: &[bool],
        weights: Option<&[f32]>,
        options: &BoostingOptions,
    ) -> Self {
        let labels: Vec<u32> = labels.iter().map(|&label| u32::from(label)).collect();
        fit(table.into(), &labels, 1, weights, options)
    }

    /// Learns to tell classes apart; labels are below `classes`.
    pub fn fit_classes<'a>(
        table: impl Into<Table<'a>>,
        labels: &[u32],
        classes: usize,
        weights: Option<&[f32]>,
        options: &BoostingOptions,
    ) -> Self {
        assert!(classes > 1, "there is something to tell apart");
        assert!(labels.iter().all(|&label| (label as usize) < classes), "labels are below `classes`");
        fit(table.into(), labels, classes, weights, options)
    }

    /// Puts a booster together from its parts: so many columns, the score
    /// before the first tree for each output, and the trees, round after round.
    /// `None` if they do not fit together.
    pub fn from_parts(columns: usize, base: Vec<f32>, trees: Vec<Tree>) -> Option<Self> {
        let fits = |tree: &Tree| tree.outputs() == 1 && tree.fits(columns);
        let whole = !base.is_empty()
            && base.iter().all(|score| score.is_finite())
            && trees.len().is_multiple_of(base.len());
        (whole && trees.iter().all(fits)).then_some(Self { columns, base, trees })
    }

    /// How many columns a row has.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// The scores before the first tree: one, or one for each class.
    pub fn base(&self) -> &[f32] {
        &self.base
    }

    /// The trees, round after round.
    pub fn trees(&self) -> &[Tree] {
        &self.trees
    }

    /// The raw scores of a row: one, or one for each class.
    pub fn scores(&self, row: &[f32]) -> Vec<f32> {
        assert_eq!(row.len(), self.columns, "a row is as wide as those learnt from");
        let mut scores = self.base.clone();
        for (index, tree) in self.trees.iter().enumerate() {
            scores[index % self.base.len()] += tree.value(row)[0];
        }
        scores
    }

    /// The raw scores of many rows, row after row.
    pub fn score_all<'a>(&self, table: impl Into<Table<'a>>) -> Vec<f32> {
        match table.into() {
            Table::Dense(matrix) => self.score_dense(matrix),
            Table::Sparse(matrix) => self.score_sparse(matrix),
        }
    }

    /// The probability of `true`, or of each class.
    pub fn probabilities(&self, row: &[f32]) -> Vec<f32> {
        let mut scores = self.scores(row);
        to_probabilities(&mut scores);
        scores
    }

    /// The probabilities of many rows, row after row.
    pub fn probability_all<'a>(&self, table: impl Into<Table<'a>>) -> Vec<f32> {
        let mut scores = self.score_all(table);
        scores.chunks_mut(self.base.len()).for_each(to_probabilities);
        scores
    }

    /// What each column adds to each raw score: for each output a number for
    /// each column, then what is said without looking at the row. The numbers
    /// of an output add up to its score.
    pub fn contributions(&self, row: &[f32]) -> Vec<f32> {
        assert_eq!(row.len(), self.columns, "a row is as wide as those learnt from");
        let stride = self.columns + 1;
        let mut sums = vec![0.0; stride * self.base.len()];
        for (output, base) in self.base.iter().enumerate() {
            sums[output * stride + self.columns] = *base;
        }
        for (index, tree) in self.trees.iter().enumerate() {
            let output = index % self.base.len();
            tree.add_contributions(row, &mut sums[output * stride..][..stride]);
        }
        sums
    }

    fn score_dense(&self, matrix: &DenseMatrix) -> Vec<f32> {
        assert_eq!(matrix.columns(), self.columns, "rows are as wide as those learnt from");
        let outputs = self.base.len();
        let mut scores = self.base.repeat(matrix.rows());
        // A block of rows stays in the cache while all trees pass over it.
        scores.par_chunks_mut(BLOCK * outputs).enumerate().for_each(|(block, scores)| {
            let rows = matrix.block(block * BLOCK, scores.len() / outputs);
            for (index, tree) in self.trees.iter().enumerate() {
                tree.add_values(rows, self.columns, &mut scores[index % outputs..], outputs);
            }
        });
        scores
    }

    fn score_sparse(&self, matrix: &SparseMatrix) -> Vec<f32> {
        assert_eq!(matrix.columns(), self.columns, "rows are as wide as those learnt from");
        let outputs = self.base.len();
        let mut scores = self.base.repeat(matrix.rows());
        scores.par_chunks_mut(SPARSE_BLOCK * outputs).enumerate().for_each(|(block, scores)| {
            let count = scores.len() / outputs;
            let mut rows = vec![0.0; count * self.columns];
            for (index, row) in rows.chunks_exact_mut(self.columns).enumerate() {
                matrix
                    .row(block * SPARSE_BLOCK + index)
                    .iter()
                    .for_each(|(column, value)| row[column as usize] = value);
            }
            for (index, tree) in self.trees.iter().enumerate() {
                tree.add_values(&rows, self.columns, &mut scores[index % outputs..], outputs);
            }
        });
        scores
    }
}

/// Rows that all trees pass over before the next ones.
pub(crate) const BLOCK: usize = 256;

/// The same for rows with many columns, most of them zero.
const SPARSE_BLOCK: usize = 64;

fn fit(
    table: Table<'_>,
    labels: &[u32],
    outputs: usize,
    weights: Option<&[f32]>,
    options: &BoostingOptions,
) -> Booster {
    let (rows, columns) = (table.rows(), table.columns());
    assert_eq!(labels.len(), rows, "every row has a label");
    assert!(weights.is_none_or(|weights| weights.len() == rows), "every row has a weight");
    let objective = Objective { labels, weights, outputs };
    let base = objective.base();
    let mut booster = Booster { columns, base, trees: Vec::new() };
    if rows == 0 || labels.iter().all(|&label| label == labels[0]) {
        return booster;
    }
    let binned = bin_columns(table);
    let mut growers: Vec<Grower<'_>> = (0..outputs).map(|_| Grower::new(&binned, options, rows)).collect();
    let everything: Vec<usize> = (0..columns).collect();
    let mut layout = Layout::new(&binned, &everything, rows);
    let mut scores: Vec<f64> =
        booster.base.iter().map(|&score| f64::from(score)).collect::<Vec<_>>().repeat(rows);
    for round in 0..options.rounds {
        let mut random = Random::new(options.seed, round as u64);
        if options.column_fraction < 1.0 {
            layout =
                Layout::new(&binned, &random.choose(share(columns, options.column_fraction), columns), rows);
        }
        let sample = draw(&mut random, rows, options.row_fraction);
        let derivatives = objective.derivatives(&scores);
        let grown: Vec<_> = growers
            .par_iter_mut()
            .zip(&derivatives)
            .map(|(grower, derivatives)| {
                let mut sample = sample.clone();
                let (scale, derivatives) = Scale::quantize(derivatives);
                let grown = grower.grow(&layout, &mut sample, &scale, &derivatives, columns);
                (grown, sample)
            })
            .collect();
        for (output, (grown, sample)) in grown.into_iter().enumerate() {
            grown.add_to(&sample, &mut scores[output..], outputs);
            booster.trees.push(grown.tree);
        }
    }
    booster
}

/// What is to be learnt: the loss and its derivatives.
struct Objective<'a> {
    labels: &'a [u32],
    weights: Option<&'a [f32]>,
    outputs: usize,
}

impl Objective<'_> {
    fn weight(&self, row: usize) -> f64 {
        self.weights.map_or(1.0, |weights| f64::from(weights[row]))
    }

    /// The scores that say how frequent the classes are.
    #[expect(clippy::cast_possible_truncation, reason = "scores do not need more")]
    fn base(&self) -> Vec<f32> {
        let mut sums = vec![0.0; self.outputs.max(2)];
        for (row, &label) in self.labels.iter().enumerate() {
            sums[label as usize] += self.weight(row);
        }
        let total: f64 = sums.iter().sum();
        let share = |sum: f64| if total > 0.0 { (sum / total).clamp(1e-6, 1.0 - 1e-6) } else { 0.5 };
        if self.outputs == 1 {
            let share = share(sums[1]);
            return vec![(share / (1.0 - share)).ln() as f32];
        }
        sums.iter().map(|&sum| share(sum).ln() as f32).collect()
    }

    /// For each output the first and second derivative of the loss at each row.
    fn derivatives(&self, scores: &[f64]) -> Vec<Vec<(f64, f64)>> {
        if self.outputs == 1 {
            let rows = scores.iter().zip(self.labels).enumerate();
            let derivatives = rows.map(|(row, (&score, &label))| {
                let (weight, probability) = (self.weight(row), logistic(score));
                let hessian = weight * probability * (1.0 - probability);
                (weight * (probability - f64::from(label)), hessian)
            });
            return vec![derivatives.collect()];
        }
        let mut derivatives = vec![Vec::with_capacity(self.labels.len()); self.outputs];
        // Friedman's factor for classes whose scores may all be shifted.
        let factor = self.outputs as f64 / (self.outputs as f64 - 1.0);
        for (row, scores) in scores.chunks(self.outputs).enumerate() {
            let weight = self.weight(row);
            let most = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let sum: f64 = scores.iter().map(|score| (score - most).exp()).sum();
            for (class, score) in scores.iter().enumerate() {
                let probability = (score - most).exp() / sum;
                let target = f64::from(u8::from(self.labels[row] as usize == class));
                let hessian = factor * weight * probability * (1.0 - probability);
                derivatives[class].push((weight * (probability - target), hessian));
            }
        }
        derivatives
    }
}

fn logistic(score: f64) -> f64 {
    1.0 / (1.0 + (-score).exp())
}

fn to_probabilities(scores: &mut [f32]) {
    #[expect(clippy::cast_possible_truncation, reason = "probabilities do not need more")]
    if let [score] = scores {
        *score = logistic(f64::from(*score)) as f32;
        return;
    }
    let most = scores.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let sum: f32 = scores.iter().map(|score| (score - most).exp()).sum();
    for score in scores {
        *score = (*score - most).exp() / sum;
    }
}

/// At least one of so many.
pub(crate) fn share(count: usize, fraction: f64) -> usize {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a share of a count is a count"
    )]
    let share = (count as f64 * fraction.clamp(0.0, 1.0)).round() as usize;
    share.max(1).min(count)
}

#[expect(clippy::cast_possible_truncation, reason = "rows are counted in 32 bits")]
fn draw(random: &mut Random, rows: usize, fraction: f64) -> Sample {
    if fraction >= 1.0 {
        return Sample { drawn: (0..rows as u32).collect(), others: Vec::new() };
    }
    let mut sample = Sample { drawn: Vec::new(), others: Vec::new() };
    let mut wanted = share(rows, fraction);
    for row in 0..rows {
        if random.below(rows - row) < wanted {
            wanted -= 1;
            sample.drawn.push(row as u32);
        } else {
            sample.others.push(row as u32);
        }
    }
    sample
}
