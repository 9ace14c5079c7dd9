//! A model that tells kinds of flakiness apart, learned from labelled tests.

use std::collections::HashMap;

use flakewise_learn::{Booster, BoostingOptions, ColumnShare, DenseMatrix, Forest, ForestOptions};
use flakewise_source::SourceTest;

use super::numbers::numbers;
use crate::{Category, CategoryTransfer};

/// A flaky test whose kind is known.
#[derive(Clone, Copy, Debug)]
pub struct CategoryExample<'a> {
    /// Its source.
    pub test: &'a SourceTest,
    /// Its kind.
    pub category: Category,
    /// The project it belongs to. Many tests of one project say less than as
    /// many of several.
    pub project: &'a str,
}

/// Tells the kind of a flaky test. Extremely randomised trees and boosted ones
/// look at the same numbers and err in different places.
#[derive(Clone, Debug)]
pub struct CategoryModel {
    transfer: Option<CategoryTransfer>,
    forest: Forest,
    booster: Booster,
}

impl CategoryModel {
    /// Learns from examples, and from what another model says about them.
    pub fn train(examples: &[CategoryExample<'_>], transfer: Option<CategoryTransfer>, seed: u64) -> Self {
        let rows: Vec<Vec<f32>> =
            examples.iter().map(|example| row(example.test, transfer.as_ref())).collect();
        let mut table = DenseMatrix::new(rows.first().map_or(0, Vec::len));
        for row in &rows {
            table.push(row);
        }
        let labels: Vec<u32> = examples.iter().map(|example| example.category as u32).collect();
        #[expect(clippy::cast_possible_truncation, reason = "weights are near one")]
        let weights: Vec<f32> = weights(examples).into_iter().map(|weight| weight as f32).collect();
        // Few rows and many numbers: everything is held back.
        let forest = ForestOptions {
            trees: 300,
            min_leaf_rows: 2,
            columns: ColumnShare::Fraction(0.2),
            seed,
            ..ForestOptions::extra_trees()
        };
        let boosting = BoostingOptions {
            rounds: 80,
            learning_rate: 0.05,
            leaves: 8,
            min_leaf_rows: 5,
            lambda: 5.0,
            row_fraction: 0.8,
            column_fraction: 0.4,
            column_rounds: 1,
            seed,
        };
        let classes = Category::ALL.len();
        Self {
            transfer,
            forest: Forest::fit_classes(&table, &labels, classes, Some(&weights), &forest),
            booster: Booster::fit_classes(&table, &labels, classes, Some(&weights), &boosting),
        }
    }

    /// The parts of a model without transfer.
    pub(super) fn parts(&self) -> (&Forest, &Booster) {
        debug_assert!(self.transfer.is_none(), "what another model says is not part of it");
        (&self.forest, &self.booster)
    }

    /// Builds a model from its parts; `None` if they have another number of classes.
    pub(super) fn from_parts(forest: Forest, booster: Booster) -> Option<Self> {
        let kinds = Category::ALL.len();
        let fits = forest.outputs() == kinds && booster.base().len() == kinds;
        fits.then_some(Self { transfer: None, forest, booster })
    }

    /// The most likely category; the first in case of a tie.
    pub(super) fn likeliest(&self, test: &SourceTest) -> Category {
        let probabilities = self.probabilities(test);
        let likelier = |best: Category, next: Category| {
            if probabilities[next as usize] > probabilities[best as usize] { next } else { best }
        };
        Category::ALL.into_iter().reduce(likelier).expect("there are kinds")
    }

    /// How likely each kind is, given that the test is flaky.
    pub fn probabilities(&self, test: &SourceTest) -> [f64; 5] {
        let row = row(test, self.transfer.as_ref());
        let forest = self.forest.probabilities(&row);
        let booster = self.booster.probabilities(&row);
        let mut likely = [0.0; 5];
        for (likely, (forest, booster)) in likely.iter_mut().zip(forest.into_iter().zip(booster)) {
            // The geometric mean: a kind that either rules out is unlikely.
            *likely = ((f64::from(forest) + FLOOR) * (f64::from(booster) + FLOOR)).sqrt();
        }
        let sum: f64 = likely.iter().sum();
        likely.map(|likely| likely / sum)
    }
}

/// What is added to a probability before its logarithm is taken.
pub(super) const FLOOR: f64 = 1e-3;

fn row(test: &SourceTest, transfer: Option<&CategoryTransfer>) -> Vec<f32> {
    let mut row = numbers(test);
    row.extend(transfer.into_iter().flat_map(|transfer| transfer.scores(test)));
    row
}

/// Every kind weighs the same, and within a kind a project with four times the
/// tests weighs twice as much. The mean is 1.
pub(super) fn weights(examples: &[CategoryExample<'_>]) -> Vec<f64> {
    let mut counts: HashMap<(Category, &str), f64> = HashMap::new();
    for example in examples {
        *counts.entry((example.category, example.project)).or_default() += 1.0;
    }
    let own = |example: &CategoryExample<'_>| counts[&(example.category, example.project)].sqrt().recip();
    let mut sums = [0.0; 5];
    for example in examples {
        sums[example.category as usize] += own(example);
    }
    let kinds = sums.iter().filter(|&&sum| sum > 0.0).count();
    let share = examples.len() as f64 / kinds as f64;
    examples.iter().map(|example| own(example) * share / sums[example.category as usize]).collect()
}

#[cfg(test)]
mod tests {
    use flakewise_source::{Language, read_fragment};

    use super::*;

    const SOURCES: [(Category, &str); 5] = [
        (Category::AsyncWait, "void waits() { start(); Thread.sleep(100); assertTrue(server.isRunning()); }"),
        (Category::Concurrency, "void locks() { lock.lock(); Thread thread = new Thread(); thread.join(); }"),
        (Category::Time, "void dates() { assertEquals(new Date(), LocalDate.now().plusDays(1)); }"),
        (Category::UnorderedCollection, "void maps() { assertEquals(\"{a}\", new HashMap().toString()); }"),
        (Category::OrderDependent, "void counts() { Registry.clear(); assertNull(Registry.getInstance()); }"),
    ];

    fn tests() -> Vec<(Category, SourceTest)> {
        let read = |source: &str| read_fragment(Language::Java, source, None, "C", "m");
        let of = |copy: usize| {
            SOURCES.iter().map(move |(category, source)| {
                (*category, read(&source.replace(" { ", &format!(" {{ int n{copy} = {copy}; "))))
            })
        };
        (0..8).flat_map(of).collect()
    }

    fn train(tests: &[(Category, SourceTest)], seed: u64) -> CategoryModel {
        let examples: Vec<_> = tests
            .iter()
            .map(|(category, test)| CategoryExample { test, category: *category, project: "p" })
            .collect();
        CategoryModel::train(&examples, Some(CategoryTransfer::train(&examples)), seed)
    }

    #[test]
    fn kinds_seen_before_are_told_apart_and_the_seed_decides_all_else() {
        let tests = tests();
        let (model, again, other) = (train(&tests, 1), train(&tests, 1), train(&tests, 2));
        let mut differ = false;
        for (category, test) in &tests {
            let probabilities = model.probabilities(test);
            assert!((probabilities.iter().sum::<f64>() - 1.0).abs() < 1e-9);
            assert!(
                Category::ALL
                    .iter()
                    .all(|one| probabilities[*one as usize] <= probabilities[*category as usize])
            );
            let bits = probabilities.map(f64::to_bits);
            assert_eq!(bits, again.probabilities(test).map(f64::to_bits));
            differ |= bits != other.probabilities(test).map(f64::to_bits);
        }
        assert!(differ);
    }

    #[test]
    fn kinds_weigh_the_same_and_large_projects_less_than_their_size() {
        let tests = tests();
        let example = |test: usize, project: &'static str| CategoryExample {
            test: &tests[test].1,
            category: tests[test].0,
            project,
        };
        // Four async ones of `a`, one of `b`, and one that depends on time.
        let examples = [
            example(0, "a"),
            example(0, "a"),
            example(0, "a"),
            example(0, "a"),
            example(0, "b"),
            example(2, "a"),
        ];
        let weights = weights(&examples);
        assert!((weights[..4].iter().sum::<f64>() - 2.0 * weights[4]).abs() < 1e-9);
        assert!((weights[..5].iter().sum::<f64>() - weights[5]).abs() < 1e-9);
        assert!((weights.iter().sum::<f64>() - 6.0).abs() < 1e-9);
    }
}
