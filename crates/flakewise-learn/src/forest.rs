//! Forests: many trees on random views of one table, whose answers are averaged.
//!
//! With [`Splits::Best`] and `bootstrap` this is Breiman's random forest, with
//! [`Splits::Random`] the extremely randomised trees of Geurts et al.

use rayon::prelude::*;

use crate::DenseMatrix;
use crate::boosting::{BLOCK, share};
use crate::classify::{Classify, Columns};
use crate::random::Random;
use crate::tree::Tree;

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

    /// Puts a forest together from its trees, for rows with so many columns.
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
        let mut sums = vec![0.0; table.rows() * self.outputs];
        let factor = self.factor();
        sums.par_chunks_mut(BLOCK * self.outputs).enumerate().for_each(|(block, sums)| {
            let rows = table.block(block * BLOCK, sums.len() / self.outputs);
            for tree in &self.trees {
                tree.add_values(rows, self.columns, sums, self.outputs);
            }
            for sum in sums {
                *sum *= factor;
            }
        });
        sums
    }

    /// What each column adds to each probability: for each output a number for
    /// each column, then what is said without looking at the row. The numbers
    /// of an output add up to its probability.
    pub fn contributions(&self, row: &[f32]) -> Vec<f32> {
        assert_eq!(row.len(), self.columns, "a row is as wide as those learnt from");
        let mut sums = vec![0.0; (self.columns + 1) * self.outputs];
        for tree in &self.trees {
            tree.add_contributions(row, &mut sums);
        }
        sums.iter().map(|sum| sum * self.factor()).collect()
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
        let mut row_weights: Vec<f32> = weights.map_or_else(|| vec![1.0; labels.len()], <[f32]>::to_vec);
        if options.bootstrap {
            let mut times = vec![0_u8; labels.len()];
            for _ in 0..labels.len() {
                let drawn = &mut times[random.below(labels.len())];
                *drawn = drawn.saturating_add(1);
            }
            row_weights.iter_mut().zip(times).for_each(|(weight, times)| *weight *= f32::from(times));
        }
        Classify::new(&columns, labels, &row_weights, outputs, tried, options, random).grow()
    };
    let trees = (0..options.trees).into_par_iter().map(grow).collect();
    Forest { columns: table.columns(), outputs, trees }
}
