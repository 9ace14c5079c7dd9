//! What other labelled tests, with fewer kinds, say about a test.

use std::collections::{BTreeMap, HashMap};

use flakewise_learn::{Idf, LinearModel, LinearOptions, SparseMatrix, TermWeight, logistic};
use flakewise_source::SourceTest;

use super::model::{FLOOR, weights};
use super::numbers::{numbers, width, words};
use crate::{Category, CategoryExample};

/// A linear model of words and numbers. Its scores are numbers for a
/// [`crate::CategoryModel`], which learns how far to trust them.
#[derive(Clone, Debug)]
pub struct CategoryTransfer {
    vocabulary: HashMap<String, u32>,
    idf: Idf,
    /// The mean of each number and its deviation.
    scales: Vec<(f32, f32)>,
    /// One for each kind that the examples have, against the others.
    kinds: Vec<LinearModel>,
}

/// Words of fewer tests than this are not looked at.
const FEWEST_TESTS: u32 = 3;
/// The price of errors.
const COST: f64 = 3.0;
/// Numbers beyond so many deviations count as that many.
const FARTHEST: f32 = 3.0;
/// Numbers weigh this much beside words, whose rows have length 1.
const NUMBER_WEIGHT: f32 = 0.1;

impl CategoryTransfer {
    /// Learns from examples of two kinds or more.
    pub fn train(examples: &[CategoryExample<'_>]) -> Self {
        let bags: Vec<HashMap<String, f32>> = examples.iter().map(|example| bag(example.test)).collect();
        let mut tests_with: BTreeMap<&str, u32> = BTreeMap::new();
        for word in bags.iter().flat_map(HashMap::keys) {
            *tests_with.entry(word).or_default() += 1;
        }
        let frequent = tests_with.iter().filter(|&(_, &tests)| tests >= FEWEST_TESTS);
        let vocabulary: HashMap<String, u32> =
            frequent.zip(0..).map(|((word, _), column)| ((*word).to_owned(), column)).collect();
        let mut counts = SparseMatrix::new(vocabulary.len());
        for bag in &bags {
            counts.push(columns(bag, &vocabulary));
        }
        let numbers: Vec<Vec<f32>> = examples.iter().map(|example| numbers(example.test)).collect();
        let mut transfer =
            Self { vocabulary, idf: Idf::fit(&counts), scales: scales(&numbers), kinds: Vec::new() };
        let weighted = transfer.idf.apply(&counts, TermWeight::Sublinear);
        let mut rows = SparseMatrix::new(weighted.columns() + width());
        for (row, numbers) in numbers.iter().enumerate() {
            rows.push(weighted.row(row).iter().chain(transfer.scaled(numbers)));
        }
        let weights = weights(examples);
        let options = LinearOptions { cost: COST, row_weights: Some(&weights), ..LinearOptions::default() };
        for kind in Category::ALL {
            let labels: Vec<bool> = examples.iter().map(|example| example.category == kind).collect();
            if labels.contains(&true) {
                transfer.kinds.push(LinearModel::logistic_regression(&rows, &labels, options));
            }
        }
        transfer
    }

    /// The logarithm of the chance of each kind it knows.
    pub(super) fn scores(&self, test: &SourceTest) -> Vec<f32> {
        let mut counts = SparseMatrix::new(self.vocabulary.len());
        counts.push(columns(&bag(test), &self.vocabulary));
        let weighted = self.idf.apply(&counts, TermWeight::Sublinear);
        let mut rows = SparseMatrix::new(weighted.columns() + width());
        rows.push(weighted.row(0).iter().chain(self.scaled(&numbers(test))));
        let chances: Vec<f64> = self.kinds.iter().map(|kind| logistic(kind.decision(rows.row(0)))).collect();
        let sum: f64 = chances.iter().sum();
        #[expect(clippy::cast_possible_truncation, reason = "values have single precision")]
        chances.into_iter().map(|chance| (chance / sum + FLOOR).ln() as f32).collect()
    }

    /// Numbers as columns behind those of the words.
    fn scaled<'a>(&'a self, numbers: &'a [f32]) -> impl Iterator<Item = (u32, f32)> + 'a {
        let columns = u32::try_from(self.vocabulary.len()).expect("words are numbered by 32 bits")..;
        columns.zip(numbers.iter().zip(&self.scales).map(|(number, (mean, deviation))| {
            ((number - mean) / deviation).clamp(-FARTHEST, FARTHEST) * NUMBER_WEIGHT
        }))
    }
}

fn bag(test: &SourceTest) -> HashMap<String, f32> {
    let mut bag = HashMap::new();
    for word in words(test) {
        *bag.entry(word).or_default() += 1.0;
    }
    bag
}

fn columns(bag: &HashMap<String, f32>, vocabulary: &HashMap<String, u32>) -> Vec<(u32, f32)> {
    let mut columns: Vec<(u32, f32)> =
        bag.iter().filter_map(|(word, &count)| Some((*vocabulary.get(word)?, count))).collect();
    columns.sort_unstable_by_key(|&(column, _)| column);
    columns
}

/// The mean and the deviation of each number; 1 for those that never vary.
fn scales(rows: &[Vec<f32>]) -> Vec<(f32, f32)> {
    let count = rows.len().max(1) as f32;
    (0..width())
        .map(|column| {
            let mean = rows.iter().map(|row| row[column]).sum::<f32>() / count;
            let variance = rows.iter().map(|row| (row[column] - mean).powi(2)).sum::<f32>() / count;
            (mean, if variance > 0.0 { variance.sqrt() } else { 1.0 })
        })
        .collect()
}
