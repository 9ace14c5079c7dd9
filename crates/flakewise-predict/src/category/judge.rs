//! A category model trained on a project's own labels, if it beats the rule.

use flakewise_learn::{Booster, Forest, Tree};
use flakewise_model::Probability;
use flakewise_source::SourceTest;

use super::model::{CategoryExample, CategoryModel};
use super::numbers::width;
use crate::blend::Row;
use crate::codec::{Damage, Reader, Writer};
use crate::families::hits;
use crate::file::{read_tree, write_tree};
use crate::{Category, CategoryGuess, Example};

/// A trained category model with its accuracy.
#[derive(Clone, Debug)]
pub(crate) struct CategoryJudge {
    model: CategoryModel,
    /// Accuracy on held-out classes.
    accuracy: f64,
}

/// Minimum number of flaky tests with a category.
const FEWEST: usize = 20;
/// A category with fewer tests does not count as one to distinguish.
const FEWEST_OF_KIND: usize = 5;
/// Folds for the accuracy, grouped by class.
const FOLDS: u64 = 5;

impl CategoryJudge {
    /// Trains on the flaky tests with a category. `None` if there are too few, or if
    /// the rule is at least as accurate on them.
    pub(crate) fn train(examples: &[Example], rows: &[Row<'_>], seed: u64) -> Option<Self> {
        let known: Vec<(CategoryExample<'_>, u64)> = examples
            .iter()
            .zip(rows)
            .filter(|(example, _)| example.flaky)
            .filter_map(|(example, row)| {
                let category = example.category?;
                let known = CategoryExample { test: &example.test, category, project: &example.project };
                Some((known, row.keys.class % FOLDS))
            })
            .collect();
        let of_kind = |kind: Category| known.iter().filter(|(example, _)| example.category == kind).count();
        let kinds = Category::ALL.into_iter().filter(|&kind| of_kind(kind) >= FEWEST_OF_KIND).count();
        if known.len() < FEWEST || kinds < 2 {
            return None;
        }
        let mut right = 0_usize;
        for fold in 0..FOLDS {
            let train: Vec<CategoryExample<'_>> =
                known.iter().filter(|(_, own)| *own != fold).map(|(example, _)| *example).collect();
            if train.is_empty() {
                continue;
            }
            let model = CategoryModel::train(&train, None, seed);
            let held_out = known.iter().filter(|(_, own)| *own == fold);
            right +=
                held_out.filter(|(example, _)| model.likeliest(example.test) == example.category).count();
        }
        let by_rule = |example: &CategoryExample<'_>| {
            Category::guess(&hits(&example.test.body)) == Some(example.category)
        };
        let right_by_rule = known.iter().filter(|(example, _)| by_rule(example)).count();
        if right <= right_by_rule {
            return None;
        }
        let all: Vec<CategoryExample<'_>> = known.iter().map(|(example, _)| *example).collect();
        let accuracy = right as f64 / known.len() as f64;
        Some(Self { model: CategoryModel::train(&all, None, seed), accuracy })
    }

    /// The most likely category of a test, given that it is flaky.
    pub(crate) fn guess(&self, test: &SourceTest) -> CategoryGuess {
        let category = self.model.likeliest(test);
        CategoryGuess { category, probability: Probability::clamped(self.accuracy) }
    }

    pub(crate) fn write(&self, writer: &mut Writer) {
        writer.double(self.accuracy);
        let (forest, booster) = self.model.parts();
        write_trees(forest.trees(), writer);
        writer.count(booster.base().len());
        booster.base().iter().for_each(|value| writer.single(*value));
        write_trees(booster.trees(), writer);
    }

    pub(crate) fn read(reader: &mut Reader<'_>) -> Result<Self, Damage> {
        const APART: Damage = "trees are inconsistent";
        let kinds = Category::ALL.len();
        let accuracy = reader.double()?;
        if !(0.0..=1.0).contains(&accuracy) {
            return Err("a share is not from 0 to 1");
        }
        let forest = Forest::from_trees(width(), read_trees(reader, kinds)?).ok_or(APART)?;
        let base: Vec<f32> = (0..reader.count(4)?).map(|_| reader.finite()).collect::<Result<_, _>>()?;
        let booster = Booster::from_parts(width(), base, read_trees(reader, 1)?).ok_or(APART)?;
        let model = CategoryModel::from_parts(forest, booster).ok_or(APART)?;
        Ok(Self { model, accuracy })
    }
}

fn write_trees(trees: &[Tree], writer: &mut Writer) {
    writer.count(trees.len());
    for tree in trees {
        write_tree(tree, writer);
    }
}

fn read_trees(reader: &mut Reader<'_>, outputs: usize) -> Result<Vec<Tree>, Damage> {
    (0..reader.count(4)?).map(|_| read_tree(reader, width(), outputs)).collect()
}
