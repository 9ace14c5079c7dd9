//! Forests: many trees on random views of one table, whose answers are averaged.
//!
//! With [`Splits::Best`] and `bootstrap` this is Breiman's random forest, with
//! [`Splits::Random`] the extremely randomised trees of Geurts et al.

use rayon::prelude::*;

use crate::DenseMatrix;
use crate::boosting::share;
use crate::classify::{Classify, Columns};
use crate::random::Random;
use crate::shap::{self, Explanation};
use crate::tree::Tree;
use crate::walk::{BLOCK, Block};

/// How a [`Forest`] learns.
#[derive(Clone, Debug, PartialEq)]
pub struct ForestOptions {
    /// How many trees there are.
    pub trees: usize,
    /// Where a column is split.
    pub splits: Splits,
    /// Whether each tree sees as many rows as there are, drawn with replacement.
    pub bootstrap: bool,
    /// How many columns are looked at for each split.
    pub columns: ColumnShare,
    /// The fewest rows of a leaf.
    pub min_leaf_rows: usize,
    /// The most splits on the way to a leaf.
    pub max_depth: Option<usize>,
    /// What the draws depend on.
    pub seed: u64,
}

/// Where a column is split.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Splits {
    /// Where it parts the classes best.
    Best,
    /// Anywhere between its least and its greatest value.
    Random,
}

/// How many columns are looked at for each split.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ColumnShare {
    /// As many as the root of their number.
    Root,
    /// This share of them.
    Fraction(f64),
}

impl ForestOptions {
    /// A random forest of a hundred trees.
    pub fn random_forest() -> Self {
        Self {
            trees: 100,
            splits: Splits::Best,
            bootstrap: true,
            columns: ColumnShare::Root,
            min_leaf_rows: 1,
            max_depth: None,
            seed: 0,
        }
    }

    /// A hundred extremely randomised trees.
    pub fn extra_trees() -> Self {
        Self { splits: Splits::Random, bootstrap: false, ..Self::random_forest() }
    }
}

/// Trees whose answers are averaged.
#[derive(Clone, Debug, PartialEq)]
pub struct Forest {
    columns: usize,
    outputs: usize,
    trees: Vec<Tree>,
}

impl Forest {
    /// Learns to tell `true` from `false`. Weights are 1 where none are given.
    pub fn fit(
        table: &DenseMatrix,
        labels: &[bool],
        weights: Option<&[f32]>,
        options: &ForestOptions,
    ) -> Self {
        let labels: Vec<u32> = labels.iter().map(|&label| u32::from(label)).collect();
        fit(table, &labels, 1, weights, options)
    }

    /// Learns to tell classes apart; labels are below `classes`.
    pub fn fit_classes(
        table: &DenseMatrix,
        labels: &[u32],
        classes: usize,
        weights: Option<&[f32]>,
        options: &ForestOptions,
    ) -> Self {
        assert!(classes > 1, "there is something to tell apart");
        assert!(labels.iter().all(|&label| (label as usize) < classes), "labels are below `classes`");
        fit(table, labels, classes, weights, options)
    }

    /// Puts a forest together from its trees, for rows with this many columns.
    /// `None` if they do not fit together.
    pub fn from_trees(columns: usize, trees: Vec<Tree>) -> Option<Self> {
        let outputs = trees.first()?.outputs();
        let fits = trees.iter().all(|tree| tree.outputs() == outputs && tree.fits(columns));
        fits.then_some(Self { columns, outputs, trees })
    }

    /// How many columns a row has.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// How many numbers a row gets: one, or one for each class.
    pub fn outputs(&self) -> usize {
        self.outputs
    }

    /// The trees.
    pub fn trees(&self) -> &[Tree] {
        &self.trees
    }

    /// The probability of `true`, or of each class.
    pub fn probabilities(&self, row: &[f32]) -> Vec<f32> {
        assert_eq!(row.len(), self.columns, "a row is as wide as those learnt from");
        let mut sums = vec![0.0; self.outputs];
        for tree in &self.trees {
            sums.iter_mut().zip(tree.value(row)).for_each(|(sum, value)| *sum += value);
        }
        sums.iter().map(|sum| sum * self.factor()).collect()
    }

    /// The probabilities of many rows, row after row.
    pub fn probability_all(&self, table: &DenseMatrix) -> Vec<f32> {
        assert_eq!(table.columns(), self.columns, "rows are as wide as those learnt from");
        // Many tests look the same, and deep trees cost more than to find out.
        let (first, alike) = table.distinct_rows();
        if first.len() < table.rows() {
            let answers = self.probability_each(&table.select(&first));
            return alike
                .iter()
                .flat_map(|&row| &answers[row * self.outputs..][..self.outputs])
                .copied()
                .collect();
        }
        self.probability_each(table)
    }

    fn probability_each(&self, table: &DenseMatrix) -> Vec<f32> {
        let mut sums = vec![0.0; table.rows() * self.outputs];
        let factor = self.factor();
        sums.par_chunks_mut(BLOCK * self.outputs).enumerate().for_each(|(block, sums)| {
            let mut rows = Block::new(table.block(block * BLOCK, sums.len() / self.outputs), self.columns);
            for tree in &self.trees {
                tree.add_values(&mut rows, sums, self.outputs);
            }
            for sum in sums {
                *sum *= factor;
            }
        });
        sums
    }

    /// Why a row gets its probabilities: an explanation for each of them.
    pub fn explain(&self, row: &[f32]) -> Vec<Explanation> {
        assert_eq!(row.len(), self.columns, "a row is as wide as those learnt from");
        let mut explanations = vec![Explanation::new(0.0, self.columns); self.outputs];
        self.trees.iter().for_each(|tree| shap::add_tree(tree, row, &mut explanations));
        for explanation in &mut explanations {
            explanation.scale(1.0 / self.trees.len() as f64);
        }
        explanations
    }

    fn factor(&self) -> f32 {
        1.0 / self.trees.len() as f32
    }
}

/// Weights that make every class count as much as any other.
pub fn balanced_weights(labels: &[u32]) -> Vec<f32> {
    let mut counts = vec![0_usize; labels.iter().map(|&label| label as usize + 1).max().unwrap_or(0)];
    for &label in labels {
        counts[label as usize] += 1;
    }
    let classes = counts.iter().filter(|&&count| count > 0).count();
    let share = labels.len() as f32 / classes.max(1) as f32;
    labels.iter().map(|&label| share / counts[label as usize] as f32).collect()
}

fn fit(
    table: &DenseMatrix,
    labels: &[u32],
    outputs: usize,
    weights: Option<&[f32]>,
    options: &ForestOptions,
) -> Forest {
    assert_eq!(labels.len(), table.rows(), "every row has a label");
    assert!(weights.is_none_or(|weights| weights.len() == labels.len()), "every row has a weight");
    assert!(options.trees > 0, "a forest has trees");
    let columns = Columns::new(table, options.splits);
    let tried = match options.columns {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the root of a count")]
        ColumnShare::Root => ((table.columns() as f64).sqrt() as usize).max(1),
        ColumnShare::Fraction(fraction) => share(table.columns(), fraction),
    };
    // Every tree has its own random numbers, so it does not matter who grows it.
    let grow = |tree: usize| {
        let mut random = Random::new(options.seed, tree as u64);
        let row_weights = if options.bootstrap {
            draw(&mut random, labels.len(), weights)
        } else {
            weights.map_or_else(|| vec![1.0; labels.len()], <[f32]>::to_vec)
        };
        Classify::new(&columns, labels, &row_weights, outputs, tried, options, random).grow()
    };
    let trees = (0..options.trees).into_par_iter().map(grow).collect();
    Forest { columns: table.columns(), outputs, trees }
}

/// How often each row is drawn when as many are drawn as there are. A row with
/// twice the weight is drawn twice as often, as in scikit-learn 1.9, and
/// weighs no more than that afterwards.
fn draw(random: &mut Random, rows: usize, weights: Option<&[f32]>) -> Vec<f32> {
    let mut times = vec![0.0; rows];
    let Some(weights) = weights else {
        for _ in 0..rows {
            times[random.below(rows)] += 1.0;
        }
        return times;
    };
    let mut sum = 0.0;
    let sums: Vec<f64> = weights
        .iter()
        .map(|&weight| {
            sum += f64::from(weight);
            sum
        })
        .collect();
    for _ in 0..rows {
        let drawn = random.unit() * sum;
        let row = sums.partition_point(|&sum| sum <= drawn);
        if let Some(times) = times.get_mut(row) {
            *times += 1.0;
        }
    }
    times
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// One tree on all rows that may look at every column.
    fn single(splits: Splits) -> ForestOptions {
        ForestOptions {
            trees: 1,
            splits,
            bootstrap: false,
            columns: ColumnShare::Fraction(1.0),
            ..ForestOptions::random_forest()
        }
    }

    fn table(columns: usize, values: &[f32]) -> DenseMatrix {
        let mut table = DenseMatrix::new(columns);
        values.chunks_exact(columns).for_each(|row| table.push(row));
        table
    }

    fn example(rows: usize) -> (DenseMatrix, Vec<bool>) {
        let mut random = Random::new(5, 0);
        #[expect(clippy::cast_possible_truncation, reason = "any number will do")]
        let values: Vec<f32> = (0..rows * 4).map(|_| random.unit() as f32).collect();
        let table = table(4, &values);
        let labels = (0..rows).map(|row| table.row(row)[0] + table.row(row)[1] > 1.2).collect();
        (table, labels)
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

    /// Gini's impurity of some rows, times their number.
    fn impurity(labels: &[u32], rows: &[usize]) -> f64 {
        let count = |class| rows.iter().filter(|&&row| labels[row] == class).count() as f64;
        let all = rows.len() as f64;
        all - (0..3).map(|class| count(class) * count(class) / all).sum::<f64>()
    }

    /// The least impurity that any split of these rows leaves.
    fn least_impurity(table: &DenseMatrix, labels: &[u32], rows: &[usize], least: usize) -> Option<f64> {
        let mut best: Option<f64> = None;
        for column in 0..table.columns() {
            for &row in rows {
                for missing in [false, true] {
                    let at = table.row(row)[column];
                    let at = if at.is_nan() { f32::INFINITY } else { at };
                    let (left, right) = part(table, rows, column, at, missing);
                    if left.len() >= least && right.len() >= least {
                        let left_over = impurity(labels, &left) + impurity(labels, &right);
                        best = Some(best.map_or(left_over, |best| best.min(left_over)));
                    }
                }
            }
        }
        best
    }

    proptest! {
        #[test]
        fn splits_are_the_best_there_are(
            cells in prop::collection::vec(prop::option::weighted(0.85, 0_u8..5), 24..90),
            classes in prop::collection::vec(0_u32..3, 30),
            least in 1_usize..4,
            depth in prop::option::of(0_usize..4),
            random: bool,
            two: bool,
        ) {
            let values: Vec<f32> = cells.iter().map(|cell| cell.map_or(f32::NAN, f32::from)).collect();
            let table = table(3, &values);
            let labels: Vec<u32> = classes[..table.rows()].iter().map(|&class| if two { class.min(1) } else { class }).collect();
            let splits = if random { Splits::Random } else { Splits::Best };
            let options = ForestOptions { min_leaf_rows: least, max_depth: depth, ..single(splits) };
            let forest = if two {
                let labels: Vec<bool> = labels.iter().map(|&label| label == 1).collect();
                Forest::fit(&table, &labels, None, &options)
            } else {
                Forest::fit_classes(&table, &labels, 3, None, &options)
            };
            let tree = &forest.trees()[0];
            let mut arrived = vec![(Vec::new(), 0); tree.nodes().len()];
            arrived[0].0 = (0..table.rows()).collect();
            for (index, node) in tree.nodes().iter().enumerate() {
                let (rows, deep) = arrived[index].clone();
                let best = least_impurity(&table, &labels, &rows, least);
                if node.is_leaf() {
                    let may_be = impurity(&labels, &rows) < 1e-9 || depth == Some(deep) || best.is_none() || random;
                    prop_assert!(may_be, "node {index} could be split");
                    continue;
                }
                let (left, right) = part(&table, &rows, node.feature as usize, node.threshold, node.missing_left);
                prop_assert!(left.len() >= least && right.len() >= least);
                prop_assert!(depth.is_none_or(|depth| deep < depth));
                let left_over = impurity(&labels, &left) + impurity(&labels, &right);
                let best = best.expect("there is a split");
                prop_assert!(random || (left_over - best).abs() < 1e-6, "{left_over} is not {best}");
                arrived[node.left as usize] = (left, deep + 1);
                arrived[node.left as usize + 1] = (right, deep + 1);
            }
            let all = forest.probability_all(&table);
            for (row, said) in all.chunks(forest.outputs()).enumerate() {
                prop_assert_eq!(said, forest.probabilities(table.row(row)));
                prop_assert!(two || (said.iter().sum::<f32>() - 1.0).abs() < 1e-5);
            }
        }
    }

    #[test]
    fn a_weight_of_three_is_three_rows() {
        let (table, labels) = example(60);
        let times: Vec<usize> = (0..60).map(|row| 1 + row % 3).collect();
        let repeated: Vec<usize> = (0..60).flat_map(|row| vec![row; times[row]]).collect();
        let repeated_labels: Vec<bool> = repeated.iter().map(|&row| labels[row]).collect();
        let weights: Vec<f32> = times.iter().map(|&times| times as f32).collect();
        let options = ForestOptions { max_depth: Some(3), ..single(Splits::Best) };
        let weighted = Forest::fit(&table, &labels, Some(&weights), &options);
        let copied = Forest::fit(&table.select(&repeated), &repeated_labels, None, &options);
        assert_eq!(weighted.probability_all(&table), copied.probability_all(&table));
        assert!(weighted.trees()[0].nodes().len() > 7);
    }

    #[test]
    fn a_seed_gives_one_forest_on_any_number_of_threads() {
        let (table, labels) = example(300);
        for options in [ForestOptions::random_forest(), ForestOptions::extra_trees()] {
            let options = ForestOptions { trees: 20, ..options };
            let on = |threads| {
                let pool =
                    rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads start");
                pool.install(|| Forest::fit(&table, &labels, None, &options))
            };
            assert_eq!(on(1), on(3));
            let other = ForestOptions { seed: 1, ..options.clone() };
            assert_ne!(on(1), Forest::fit(&table, &labels, None, &other));
        }
    }

    #[test]
    fn what_is_learnt_holds_for_other_rows() {
        let (table, labels) = example(2000);
        let (rows, rest): (Vec<usize>, Vec<usize>) = (0..2000).partition(|row| row % 2 == 0);
        let pick = |rows: &[usize]| rows.iter().map(|&row| labels[row]).collect::<Vec<bool>>();
        for options in [ForestOptions::random_forest(), ForestOptions::extra_trees()] {
            let forest = Forest::fit(&table.select(&rows), &pick(&rows), None, &options);
            let said = forest.probability_all(&table.select(&rest));
            let right = said.iter().zip(pick(&rest)).filter(|(said, label)| (**said > 0.5) == *label).count();
            assert!(right > 930, "{right} of 1000");
        }
    }

    #[test]
    fn one_class_and_constants_need_no_split() {
        let (table, labels) = example(50);
        let forest = Forest::fit(&table, &[true; 50], None, &ForestOptions::random_forest());
        assert!(forest.probability_all(&table).iter().all(|&said| said > 0.9999));
        let mut constant = DenseMatrix::new(2);
        (0..50).for_each(|_| constant.push(&[1.0, f32::NAN]));
        for splits in [Splits::Best, Splits::Random] {
            let forest = Forest::fit(&constant, &labels, None, &single(splits));
            assert_eq!(forest.trees()[0].nodes().len(), 1);
        }
    }

    #[test]
    fn rows_are_drawn_as_often_as_they_weigh() {
        let times =
            draw(&mut Random::new(1, 1), 4000, Some(&[[1.0, 3.0].repeat(1000), vec![0.0; 2000]].concat()));
        let count = |start: usize, end| times[start..end].iter().step_by(2).sum::<f32>();
        assert!((900.0..1100.0).contains(&count(0, 2000)), "{}", count(0, 2000));
        assert!((count(0, 2000) + count(1, 2000) - 4000.0).abs() < 0.5);
        let times = draw(&mut Random::new(1, 1), 4000, None);
        assert!(
            (times.iter().sum::<f32>() - 4000.0).abs() < 0.5
                && times.iter().filter(|&&times| times > 0.0).count() > 2400
        );
    }

    #[test]
    fn rows_that_weigh_the_same_can_be_counted() {
        let (table, labels) = example(300);
        let options = ForestOptions { trees: 5, ..ForestOptions::extra_trees() };
        let counted = Forest::fit(&table, &labels, None, &options);
        // Twice the weight is exact, so nothing but the covers may differ.
        let weighed = Forest::fit(&table, &labels, Some(&[2.0; 300]), &options);
        for (counted, weighed) in counted.trees().iter().zip(weighed.trees()) {
            assert_eq!((counted.nodes(), counted.values()), (weighed.nodes(), weighed.values()));
        }
    }

    #[test]
    fn balanced_classes_weigh_the_same() {
        assert_eq!(balanced_weights(&[0, 0, 0, 2]), [4.0 / 6.0, 4.0 / 6.0, 4.0 / 6.0, 2.0]);
    }

    #[test]
    fn trees_that_do_not_fit_together_are_refused() {
        let (table, labels) = example(100);
        let forest =
            Forest::fit(&table, &labels, None, &ForestOptions { trees: 3, ..ForestOptions::random_forest() });
        let trees = forest.trees().to_vec();
        assert_eq!(Forest::from_trees(4, trees.clone()), Some(forest));
        assert_eq!(Forest::from_trees(1, trees.clone()), None);
        assert_eq!(Forest::from_trees(4, Vec::new()), None);
        let leaf =
            Tree::from_nodes(4, vec![crate::Node::LEAF], vec![1.0], vec![0.5, 0.5]).expect("this is a tree");
        assert_eq!(Forest::from_trees(4, [trees, vec![leaf]].concat()), None);
    }
}
