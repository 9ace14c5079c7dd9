//! Gradient boosting: trees that each correct what the sum of those before them
//! got wrong. For two classes with the logistic loss, for more with the softmax.

use rayon::prelude::*;

use crate::bins::{Table, bin_columns};
use crate::calibration::logistic;
use crate::grow::{Grower, Sample};
use crate::histogram::{Layout, Scale};
use crate::random::Random;
use crate::shap::{self, Explanation};
use crate::tree::Tree;
use crate::walk::{BLOCK, Block};
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
    /// For how many rounds the same columns are used. To lay out columns takes
    /// as long as to grow a tree from few of them.
    pub column_rounds: usize,
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
            column_rounds: 1,
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

    /// Puts a booster together from its parts: this many columns, the score
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

    /// Why a row gets its raw scores: an explanation for each of them.
    pub fn explain(&self, row: &[f32]) -> Vec<Explanation> {
        assert_eq!(row.len(), self.columns, "a row is as wide as those learnt from");
        let mut explanations: Vec<Explanation> =
            self.base.iter().map(|&base| Explanation::new(f64::from(base), self.columns)).collect();
        for (index, tree) in self.trees.iter().enumerate() {
            let output = index % self.base.len();
            shap::add_tree(tree, row, &mut explanations[output..=output]);
        }
        explanations
    }

    fn score_dense(&self, matrix: &DenseMatrix) -> Vec<f32> {
        assert_eq!(matrix.columns(), self.columns, "rows are as wide as those learnt from");
        let outputs = self.base.len();
        let mut scores = self.base.repeat(matrix.rows());
        // A block of rows stays in the cache while all trees pass over it.
        scores.par_chunks_mut(BLOCK * outputs).enumerate().for_each(|(block, scores)| {
            let mut rows = Block::new(matrix.block(block * BLOCK, scores.len() / outputs), self.columns);
            for (index, tree) in self.trees.iter().enumerate() {
                tree.add_values(&mut rows, &mut scores[index % outputs..], outputs);
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
            let mut rows = Block::new(&rows, self.columns);
            for (index, tree) in self.trees.iter().enumerate() {
                tree.add_values(&mut rows, &mut scores[index % outputs..], outputs);
            }
        });
        scores
    }
}

/// Rows with many columns that all trees pass over before the next ones.
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
        if options.column_fraction < 1.0 && round % options.column_rounds.max(1) == 0 {
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

/// What is to be learned: the loss and its derivatives.
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

/// At least one of this many.
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// One round whose trees fit as closely as they can.
    fn greedy(leaves: usize, min_leaf_rows: usize) -> BoostingOptions {
        BoostingOptions {
            rounds: 1,
            learning_rate: 1.0,
            leaves,
            min_leaf_rows,
            row_fraction: 1.0,
            column_fraction: 1.0,
            ..BoostingOptions::default()
        }
    }

    fn table(columns: usize, values: &[f32]) -> DenseMatrix {
        let mut table = DenseMatrix::new(columns);
        values.chunks_exact(columns).for_each(|row| table.push(row));
        table
    }

    /// A table of numbers that have nothing to do with each other, and labels
    /// that have something to do with the first two columns.
    fn example(rows: usize, columns: usize) -> (DenseMatrix, Vec<bool>) {
        let mut random = Random::new(3, 0);
        #[expect(clippy::cast_possible_truncation, reason = "any number will do")]
        let values: Vec<f32> = (0..rows * columns).map(|_| random.unit() as f32).collect();
        let table = table(columns, &values);
        let labels = (0..rows)
            .map(|row| f64::from(table.row(row)[0] + table.row(row)[1]) + 0.2 * random.unit() > 1.1)
            .collect();
        (table, labels)
    }

    /// What a split of rows gains, computed slowly. `base` is the share of `true`.
    fn gain(labels: &[bool], left: &[usize], right: &[usize]) -> f64 {
        let base = labels.iter().filter(|&&label| label).count() as f64 / labels.len() as f64;
        let part = |rows: &[usize]| {
            let gradient: f64 = rows.iter().map(|&row| base - f64::from(u8::from(labels[row]))).sum();
            gradient * gradient / (rows.len() as f64 * base * (1.0 - base) + 1.0)
        };
        part(left) + part(right) - part(&[left, right].concat())
    }

    /// The most that any split of these rows gains.
    fn best_gain(table: &DenseMatrix, labels: &[bool], rows: &[usize], least: usize) -> f64 {
        let mut best = 0.0_f64;
        for column in 0..table.columns() {
            for &threshold in rows {
                for missing_left in [false, true] {
                    let threshold = table.row(threshold)[column];
                    let threshold = if threshold.is_nan() { f32::INFINITY } else { threshold };
                    let (left, right) = part(table, rows, column, threshold, missing_left);
                    if left.len() >= least && right.len() >= least {
                        best = best.max(gain(labels, &left, &right));
                    }
                }
            }
        }
        best
    }

    fn part(
        table: &DenseMatrix,
        rows: &[usize],
        column: usize,
        at: f32,
        missing: bool,
    ) -> (Vec<usize>, Vec<usize>) {
        rows.iter().partition(|&&row| {
            let value = table.row(row)[column];
            value <= at || (value.is_nan() && missing)
        })
    }

    proptest! {
        #[test]
        fn every_split_is_the_best_and_none_is_left_out(
            cells in prop::collection::vec(prop::option::weighted(0.85, 0_u8..5), 24..90),
            flags in prop::collection::vec(any::<bool>(), 30),
            leaves in 2_usize..8,
            least in 1_usize..4,
            sparse: bool,
        ) {
            let values: Vec<f32> = cells.iter().map(|cell| cell.map_or(f32::NAN, f32::from)).collect();
            let table = table(3, &values);
            let labels = &flags[..table.rows()];
            prop_assume!(labels.contains(&true) && labels.contains(&false));
            let mut entries = SparseMatrix::new(3);
            for row in 0..table.rows() {
                entries.push((0..).zip(table.row(row).iter().copied()).filter(|entry| entry.1 != 0.0));
            }
            let options = greedy(leaves, least);
            let booster = if sparse {
                Booster::fit(&entries, labels, None, &options)
            } else {
                Booster::fit(&table, labels, None, &options)
            };
            let tree = &booster.trees()[0];
            let mut arrived = vec![Vec::new(); tree.nodes().len()];
            arrived[0] = (0..table.rows()).collect();
            let last = tree.nodes().iter().max_by_key(|node| node.left).expect("there is a root").left;
            let mut last_gain = f64::INFINITY;
            let mut left_out: Vec<(usize, f64)> = Vec::new();
            for (index, node) in tree.nodes().iter().enumerate() {
                let rows = arrived[index].clone();
                let best = best_gain(&table, labels, &rows, least);
                if node.is_leaf() {
                    left_out.push((index, best));
                    continue;
                }
                let (left, right) = part(&table, &rows, node.feature as usize, node.threshold, node.missing_left);
                let gained = gain(labels, &left, &right);
                prop_assert!((gained - best).abs() < 1e-6, "{gained} is not {best}");
                prop_assert!(left.len() >= least && right.len() >= least);
                if node.left == last {
                    last_gain = gained;
                }
                arrived[node.left as usize] = left;
                arrived[node.left as usize + 1] = right;
            }
            for (index, best) in left_out {
                if tree.nodes().len() < 2 * leaves - 1 {
                    prop_assert!(best < 1e-6, "node {index} could gain {best}");
                } else if index < last as usize {
                    prop_assert!(best <= last_gain + 1e-6, "node {index} gains more than the last split");
                }
            }
            for row in 0..table.rows() {
                let score = booster.scores(table.row(row))[0];
                prop_assert!((booster.score_all(&table)[row] - score).abs() < 1e-6);
                prop_assert!((booster.explain(table.row(row))[0].total() - f64::from(score)).abs() < 1e-4);
            }
        }
    }

    #[test]
    fn a_weight_of_three_is_three_rows() {
        let (table, labels) = example(80, 4);
        let times: Vec<usize> = (0..80).map(|row| 1 + row % 3).collect();
        let repeated: Vec<usize> = (0..80).flat_map(|row| vec![row; times[row]]).collect();
        let weights: Vec<f32> = times.iter().map(|&times| times as f32).collect();
        let options = BoostingOptions { rounds: 10, ..greedy(6, 1) };
        let weighted = Booster::fit(&table, &labels, Some(&weights), &options);
        let repeated_labels: Vec<bool> = repeated.iter().map(|&row| labels[row]).collect();
        let copied = Booster::fit(&table.select(&repeated), &repeated_labels, None, &options);
        for (a, b) in weighted.score_all(&table).iter().zip(copied.score_all(&table)) {
            assert!((a - b).abs() < 1e-3, "{a} is not {b}");
        }
    }

    #[test]
    fn a_seed_gives_one_booster_on_any_number_of_threads() {
        let (table, labels) = example(3000, 70);
        let options = BoostingOptions { rounds: 3, ..BoostingOptions::default() };
        let on = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads start");
            pool.install(|| Booster::fit(&table, &labels, None, &options))
        };
        assert_eq!(on(1), on(3));
        let other = BoostingOptions { seed: 1, ..options.clone() };
        assert_ne!(on(1), Booster::fit(&table, &labels, None, &other));
    }

    #[test]
    fn what_is_learnt_holds_for_other_rows() {
        let (table, labels) = example(2000, 5);
        let (rows, rest): (Vec<usize>, Vec<usize>) = (0..2000).partition(|row| row % 2 == 0);
        let pick = |rows: &[usize]| rows.iter().map(|&row| labels[row]).collect::<Vec<bool>>();
        let booster = Booster::fit(&table.select(&rows), &pick(&rows), None, &BoostingOptions::default());
        let said = booster.probability_all(&table.select(&rest));
        let right = said.iter().zip(pick(&rest)).filter(|(said, label)| (**said > 0.5) == *label).count();
        assert!(right > 800, "{right} of 1000");
    }

    #[test]
    fn classes_are_told_apart_and_their_probabilities_add_up() {
        let (table, _) = example(600, 3);
        let labels: Vec<u32> = (0..600)
            .map(|row| if table.row(row)[0] < 0.3 { 0 } else { 1 + u32::from(table.row(row)[1] > 0.5) })
            .collect();
        let booster = Booster::fit_classes(
            &table,
            &labels,
            3,
            None,
            &BoostingOptions { rounds: 30, ..BoostingOptions::default() },
        );
        let said = booster.probability_all(&table);
        for (row, said) in said.chunks(3).enumerate() {
            assert!((said.iter().sum::<f32>() - 1.0).abs() < 1e-5);
            assert!(said[labels[row] as usize] > 0.5, "row {row}: {said:?}");
        }
    }

    #[test]
    fn nothing_is_learnt_from_one_class_or_from_constants() {
        let (table, _) = example(50, 2);
        let booster = Booster::fit(&table, &[false; 50], None, &BoostingOptions::default());
        assert!(booster.trees().is_empty() && booster.probabilities(&[0.5, 0.5])[0] < 1e-4);
        let constant = DenseMatrix::new(2).select(&[]);
        assert!(Booster::fit(&constant, &[], None, &BoostingOptions::default()).trees().is_empty());
        let mut constant = DenseMatrix::new(2);
        (0..50).for_each(|_| constant.push(&[1.0, f32::NAN]));
        let labels: Vec<bool> = (0..50).map(|row| row % 5 == 0).collect();
        let booster = Booster::fit(&constant, &labels, None, &BoostingOptions::default());
        assert!(booster.trees().iter().all(|tree| tree.nodes().len() == 1));
        assert!((booster.probabilities(&[1.0, f32::NAN])[0] - 0.2).abs() < 1e-3);
    }

    #[test]
    fn parts_that_do_not_fit_together_are_refused() {
        let (table, labels) = example(200, 3);
        let booster = Booster::fit(&table, &labels, None, &BoostingOptions { rounds: 2, ..greedy(8, 1) });
        assert!(booster.trees().iter().any(|tree| !tree.fits(1)));
        let (base, trees) = (booster.base().to_vec(), booster.trees().to_vec());
        assert_eq!(Booster::from_parts(3, base.clone(), trees.clone()), Some(booster));
        assert_eq!(Booster::from_parts(1, base, trees.clone()), None);
        assert_eq!(Booster::from_parts(3, vec![0.0; 3], trees.clone()), None);
        assert_eq!(Booster::from_parts(3, vec![f32::NAN], trees), None);
    }
}
