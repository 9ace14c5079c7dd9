//! Our best predictor from source alone.
//!
//! A support vector machine over weighted words, the nearest known tests, and
//! what is known of the class, package and project go into boosted trees
//! together with counts and common words. What may be known differs: a test of
//! a class with known flaky tests is another question than one of a project
//! never seen. So there is an expert for each [`Familiarity`], trained and
//! calibrated on what was held out in just that way.

use std::collections::HashMap;
use std::ops::Range;

use flakewise_learn::{
    Booster, BoostingOptions, Fold, LinearModel, LinearOptions, Platt, SparseMatrix, stratified_group_folds,
};
use rayon::prelude::*;

use crate::Familiarity;
use crate::features::{Features, NUMBERS};
use crate::neighbours::Neighbours;
use crate::odds::{SUMMARY, WordOdds};
use crate::past::{Keys, Past};
use crate::surroundings::FeatureGroups;
use crate::words::{TextSpace, Vocabulary, body, context, paths, tree, under};

/// A test to learn from.
#[derive(Clone, Copy, Debug)]
pub struct Row<'a> {
    /// The test.
    pub features: &'a Features,
    /// What it belongs to.
    pub keys: Keys,
    /// Whether it is flaky.
    pub flaky: bool,
    /// What people know it by.
    pub name: &'a str,
    /// How many tests it stands for.
    pub weight: f32,
}

/// The predictor.
#[derive(Clone, Debug)]
pub struct Blend {
    pub(crate) base: Base,
    pub(crate) columns: Columns,
    pub(crate) experts: Vec<Expert>,
}

/// What is known from tests with labels, before anything is learned about how
/// much to trust it.
#[derive(Clone, Debug)]
pub(crate) struct Base {
    pub(crate) space: TextSpace,
    pub(crate) past: Past,
    pub(crate) neighbours: Neighbours,
}

/// The words that boosted trees look at: those of many tests and projects.
#[derive(Clone, Debug)]
pub(crate) struct Columns {
    pub(crate) groups: FeatureGroups,
    pub(crate) body: Vocabulary,
    pub(crate) context: Vocabulary,
    /// Words of the test tree; none without that group.
    pub(crate) tree: Vocabulary,
    /// Words of the code under test; none without that group.
    pub(crate) under: Vocabulary,
    /// What lies on paths; nothing without that group.
    pub(crate) paths: Vocabulary,
}

/// A model over the words of tests, trained for one familiarity.
#[derive(Clone, Debug)]
pub(crate) struct TextModel {
    pub(crate) linear: LinearModel,
    pub(crate) odds: WordOdds,
}

/// What judges tests of one familiarity.
#[derive(Clone, Debug)]
pub(crate) struct Expert {
    pub(crate) familiarity: Familiarity,
    pub(crate) text_model: TextModel,
    pub(crate) boosters: Vec<Booster>,
    pub(crate) calibration: Platt,
}

/// What an expert said of a test it did not learn from.
#[derive(Clone, Copy, Debug)]
pub struct HeldOut {
    /// How familiar it was made to be.
    pub familiarity: Familiarity,
    /// Not calibrated; orders tests.
    pub score: f64,
    /// The calibrated chance.
    pub risk: f64,
    /// Whether it is flaky.
    pub flaky: bool,
    /// How many tests it stands for.
    pub weight: f64,
}

/// What is said of one test.
#[derive(Clone, Copy, Debug)]
pub struct Judgement {
    /// How familiar the test is.
    pub familiarity: Familiarity,
    /// Not calibrated; orders tests.
    pub score: f64,
    /// The calibrated chance.
    pub risk: f64,
}

/// How a [`Blend`] is trained.
#[derive(Clone, Copy, Debug)]
pub struct BlendOptions<'a> {
    /// The questions it is to answer.
    pub familiarities: &'a [Familiarity],
    /// The surroundings it looks at.
    pub groups: FeatureGroups,
    /// For everything random.
    pub seed: u64,
}

/// Parts of the training data that are held out in turn.
const FOLDS: usize = 5;
/// So many tests vote.
const NEIGHBOURS: usize = 15;

impl Blend {
    /// Learns, and says what its experts thought of what they did not see.
    /// Experts that the data cannot teach are left out.
    pub fn train(rows: &[Row<'_>], options: &BlendOptions<'_>) -> (Self, Vec<HeldOut>) {
        let tests: Vec<(&Features, u64)> = rows.iter().map(|row| (row.features, row.keys.project)).collect();
        let (base, text) = Base::fit(rows, options);
        let mut blend = Self { base, columns: Columns::fit(&tests, options.groups), experts: Vec::new() };
        let mut held_out = Vec::new();
        for &familiarity in options.familiarities {
            if let Some((expert, judged)) = blend.teach(rows, &text, familiarity, options) {
                blend.experts.push(expert);
                held_out.extend(judged);
            }
        }
        (blend, held_out)
    }

    fn teach(
        &self,
        rows: &[Row<'_>],
        text: &SparseMatrix,
        familiarity: Familiarity,
        options: &BlendOptions<'_>,
    ) -> Option<(Expert, Vec<HeldOut>)> {
        let seed = options.seed;
        let labels: Vec<bool> = rows.iter().map(|row| row.flaky).collect();
        let groups: Vec<u64> = rows.iter().map(|row| row.keys.group(familiarity)).collect();
        let folds = usable_folds(&labels, &groups, seed)?;
        let weights = Weights::of(rows);
        let text_model = TextModel::learn(text, &labels, &weights, familiarity);
        // Trees learn from what the rest of the data says about each part. To
        // leave out only the test itself would give labels away: among tests
        // that share a class, the flaky one is the one whose others are less so.
        let parts: Vec<(SparseMatrix, Vec<[f64; 2]>)> = folds
            .par_iter()
            .map(|fold| {
                let train: Vec<Row<'_>> = fold.train.iter().map(|&row| rows[row]).collect();
                let (base, text) = Base::fit(&train, options);
                let labels: Vec<bool> = train.iter().map(|row| row.flaky).collect();
                let text_model = TextModel::learn(&text, &labels, &weights.pick(&fold.train), familiarity);
                let tests: Vec<_> =
                    fold.test.iter().map(|&row| (rows[row].features, rows[row].keys)).collect();
                base.table(&self.columns, &text_model, &tests, familiarity)
            })
            .collect();
        let order: Vec<usize> = folds.iter().flat_map(|fold| fold.test.iter().copied()).collect();
        let mut place_of = vec![0; rows.len()];
        order.iter().enumerate().for_each(|(place, &row)| place_of[row] = place);
        let stacked = self.columns.stacked(familiarity);
        let mut table = SparseMatrix::new(self.columns.table_width(familiarity));
        let mut words = Vec::with_capacity(rows.len());
        for (part, said) in parts {
            table.append(&part);
            words.extend(said);
        }
        let ordered_labels: Vec<bool> = order.iter().map(|&row| labels[row]).collect();
        let ordered_weights = weights.pick(&order);
        let boosters = learn_table(&table, &stacked, &ordered_labels, &ordered_weights, seed);
        let parts: Vec<Vec<f64>> = folds
            .par_iter()
            .map(|fold| {
                let train: Vec<usize> = fold.train.iter().map(|&row| place_of[row]).collect();
                let test: Vec<usize> = fold.test.iter().map(|&row| place_of[row]).collect();
                let labels: Vec<bool> = train.iter().map(|&place| ordered_labels[place]).collect();
                let weights = ordered_weights.pick(&train);
                let boosters = learn_table(&table.select(&train), &stacked, &labels, &weights, seed);
                let boosted = boosted(&boosters, &table.select(&test));
                let words: Vec<[f64; 2]> = test.iter().map(|&place| words[place]).collect();
                combine(&boosted, &words, fold.test.iter().map(|&row| rows[row].keys.class), familiarity)
            })
            .collect();
        let mut scores = vec![0.0; rows.len()];
        for (&row, score) in order.iter().zip(parts.into_iter().flatten()) {
            scores[row] = score;
        }
        let counts = weights.counts();
        let calibration = Platt::fit(&scores, &labels, Some(&counts));
        let held_out = scores.iter().zip(&labels).zip(&counts).map(|((&score, &flaky), &weight)| HeldOut {
            familiarity,
            score,
            risk: calibration.probability(score),
            flaky,
            weight,
        });
        Some((Expert { familiarity, text_model, boosters, calibration }, held_out.collect()))
    }

    /// Judges tests; those of one class should come together.
    pub fn judge(&self, tests: &[(&Features, Keys)]) -> Vec<Judgement> {
        let mut judgements = vec![None; tests.len()];
        let experts: Vec<Option<usize>> = tests.iter().map(|(_, keys)| self.expert_for(keys)).collect();
        for (number, expert) in self.experts.iter().enumerate() {
            let chosen: Vec<usize> = (0..tests.len()).filter(|&test| experts[test] == Some(number)).collect();
            let chosen_tests: Vec<(&Features, Keys)> = chosen.iter().map(|&test| tests[test]).collect();
            let (table, words) =
                self.base.table(&self.columns, &expert.text_model, &chosen_tests, expert.familiarity);
            let boosted = boosted(&expert.boosters, &table);
            let scores = combine(
                &boosted,
                &words,
                chosen_tests.iter().map(|(_, keys)| keys.class),
                expert.familiarity,
            );
            for (&test, score) in chosen.iter().zip(scores) {
                let risk = expert.calibration.probability(score);
                judgements[test] = Some(Judgement { familiarity: expert.familiarity, score, risk });
            }
        }
        let base = self.base.past.total();
        let risk = f64::from(base.flaky) / f64::from(base.known.max(1));
        let unknown = Judgement { familiarity: Familiarity::NewProject, score: f64::MIN, risk };
        judgements.into_iter().map(|judgement| judgement.unwrap_or(unknown)).collect()
    }

    /// The expert for a test, or the one for tests a little less familiar, or
    /// whichever there is.
    pub(crate) fn expert_for(&self, keys: &Keys) -> Option<usize> {
        self.base.past.familiarity(keys).nearest(self.experts.iter().map(|expert| expert.familiarity))
    }
}

impl Base {
    /// Takes in tests, and gives them back as weighted words.
    fn fit(rows: &[Row<'_>], options: &BlendOptions<'_>) -> (Self, SparseMatrix) {
        let tests: Vec<(&Features, u64)> = rows.iter().map(|row| (row.features, row.keys.project)).collect();
        let only_new = options.familiarities == [Familiarity::NewProject];
        // Words of one project alone say nothing about a project never seen.
        let space = TextSpace::fit(&tests, if only_new { 2 } else { 1 }, options.groups);
        let text = space.rows(rows.iter().map(|row| row.features));
        let past = Past::count(rows.iter().map(|row| (row.keys, row.flaky)));
        let neighbours = Neighbours::new(&text, rows, !only_new);
        (Self { space, past, neighbours }, text)
    }

    /// What boosted trees see, and what the words say of each test and of its
    /// class.
    #[expect(clippy::cast_possible_truncation, reason = "columns have single precision")]
    fn table(
        &self,
        columns: &Columns,
        text_model: &TextModel,
        tests: &[(&Features, Keys)],
        familiarity: Familiarity,
    ) -> (SparseMatrix, Vec<[f64; 2]>) {
        let text = self.space.rows(tests.iter().map(|(features, _)| *features));
        let own = text_model.linear.decisions(&text);
        let means = class_means(tests.iter().map(|(_, keys)| keys.class), &own);
        let words: Vec<[f64; 2]> = own.into_iter().zip(means).map(|(own, mean)| [own, mean]).collect();
        let classes = ClassNumbers::of(tests, columns.groups);
        let rows: Vec<Vec<(u32, f32)>> = (0..tests.len())
            .into_par_iter()
            .map(|test| {
                let (features, keys) = &tests[test];
                let text = text.row(test);
                let mut numbers = features.numbers.clone();
                numbers.extend(features.surroundings.numbers(columns.groups));
                numbers.resize(own_numbers(columns.groups), 0.0);
                classes.push(keys.class, &mut numbers);
                numbers.extend(self.past.odds(keys, familiarity));
                numbers.extend(self.neighbours.vote(text, keys, familiarity, NEIGHBOURS));
                numbers.extend(words[test].map(|said| said as f32));
                numbers.extend(text_model.odds.summary(text, self.space.ends()));
                debug_assert_eq!(numbers.len(), columns.width(familiarity));
                let mut offset = numbers.len() as u32;
                let mut row: Vec<(u32, f32)> =
                    (0..).zip(numbers).filter(|&(_, number)| number != 0.0).collect();
                for (vocabulary, words) in [
                    (&columns.body, body(features)),
                    (&columns.context, context(features)),
                    (&columns.tree, tree(features)),
                    (&columns.under, under(features)),
                    (&columns.paths, paths(features)),
                ] {
                    row.extend(vocabulary.row(words).map(|(column, count)| (column + offset, count)));
                    offset += vocabulary.len() as u32;
                }
                row
            })
            .collect();
        let mut table = SparseMatrix::new(columns.table_width(familiarity));
        for row in rows {
            table.push(row);
        }
        (table, words)
    }
}

impl TextModel {
    fn learn(text: &SparseMatrix, labels: &[bool], weights: &Weights, familiarity: Familiarity) -> Self {
        // Chosen on public data: the less familiar, the less may single words say.
        let cost = if familiarity == Familiarity::NewProject { 0.03 } else { 0.3 };
        let counts = weights.counts();
        let options = LinearOptions {
            cost,
            class_weights: [1.0, 3.0],
            row_weights: Some(&counts),
            // Ranks need no more digits, and scikit-learn's default takes much longer.
            tolerance: 1e-2,
        };
        Self {
            linear: LinearModel::support_vectors(text, labels, options, 1),
            odds: WordOdds::fit(text, labels, &weights.within_class),
        }
    }
}

/// How much each row counts.
struct Weights {
    /// For as many tests as it stands for.
    counts: Vec<f32>,
    /// The same, but a class counts as the root of its tests.
    within_class: Vec<f32>,
}

impl Weights {
    fn of(rows: &[Row<'_>]) -> Self {
        let mut sizes: HashMap<u64, f32> = HashMap::new();
        for row in rows {
            *sizes.entry(row.keys.class).or_default() += row.weight;
        }
        Self {
            counts: rows.iter().map(|row| row.weight).collect(),
            within_class: rows.iter().map(|row| row.weight / sizes[&row.keys.class].sqrt()).collect(),
        }
    }

    fn counts(&self) -> Vec<f64> {
        self.counts.iter().copied().map(f64::from).collect()
    }

    fn pick(&self, places: &[usize]) -> Self {
        let pick = |values: &[f32]| places.iter().map(|&place| values[place]).collect();
        Self { counts: pick(&self.counts), within_class: pick(&self.within_class) }
    }
}

/// How many numbers a test has of its own.
fn own_numbers(groups: FeatureGroups) -> usize {
    NUMBERS + groups.numbers()
}

impl Columns {
    /// How many columns stand in front of the words.
    fn width(&self, familiarity: Familiarity) -> usize {
        let odds = match familiarity {
            Familiarity::KnownClass => 6,
            Familiarity::KnownProject => 4,
            Familiarity::NewProject => 0,
        };
        let FeatureGroups { test_tree, words_under_test, paths, .. } = self.groups;
        let parts = 2 + [test_tree, words_under_test, paths].map(usize::from).iter().sum::<usize>();
        2 * own_numbers(self.groups) + 1 + odds + 3 + 2 + parts * SUMMARY
    }

    /// The columns computed from labels of other tests. Only with
    /// surroundings a test itself says enough to do without them.
    fn stacked(&self, familiarity: Familiarity) -> Range<u32> {
        if !(self.groups.test_tree || self.groups.code_under_test) {
            return 0..0;
        }
        let own = u32::try_from(2 * own_numbers(self.groups) + 1).expect("columns are counted in 32 bits");
        own..u32::try_from(self.width(familiarity)).expect("columns are counted in 32 bits")
    }

    /// How many columns boosted trees see.
    pub(crate) fn table_width(&self, familiarity: Familiarity) -> usize {
        let words = [&self.body, &self.context, &self.tree, &self.under, &self.paths];
        self.width(familiarity) + words.iter().map(|words| words.len()).sum::<usize>()
    }

    fn fit(tests: &[(&Features, u64)], groups: FeatureGroups) -> Self {
        let mut projects: Vec<u64> = tests.iter().map(|(_, project)| *project).collect();
        projects.sort_unstable();
        projects.dedup();
        let projects = projects.len().min(4);
        // Of 21,802 tests, 60 and 150; of a small project a handful.
        let least = |one_in: usize| u32::try_from(tests.len() / one_in).unwrap_or(u32::MAX).max(5);
        let chosen = |group: bool, words| {
            if group {
                Vocabulary::fit(tests, words, least(360), projects, 0.9)
            } else {
                Vocabulary::default()
            }
        };
        Self {
            groups,
            body: Vocabulary::fit(tests, body, least(360), projects, 0.9),
            context: Vocabulary::fit(tests, context, least(145), projects, 0.9),
            tree: chosen(groups.test_tree, tree),
            under: chosen(groups.words_under_test, under),
            paths: chosen(groups.paths, paths),
        }
    }
}

/// The numbers of the tests of each class, summed.
struct ClassNumbers {
    sums: HashMap<u64, (f32, Vec<f32>)>,
}

impl ClassNumbers {
    fn of(tests: &[(&Features, Keys)], groups: FeatureGroups) -> Self {
        let mut sums: HashMap<u64, (f32, Vec<f32>)> = HashMap::new();
        for (features, keys) in tests {
            let (count, sum) =
                sums.entry(keys.class).or_insert_with(|| (0.0, vec![0.0; own_numbers(groups)]));
            *count += 1.0;
            let numbers = features.numbers.iter().copied().chain(features.surroundings.numbers(groups));
            sum.iter_mut().zip(numbers).for_each(|(sum, number)| *sum += number);
        }
        Self { sums }
    }

    /// The mean of each, and how many tests there are.
    fn push(&self, class: u64, numbers: &mut Vec<f32>) {
        let (count, sum) = &self.sums[&class];
        numbers.extend(sum.iter().map(|sum| sum / count));
        numbers.push(*count);
    }
}

/// Folds that keep groups together, if there are enough of both kinds.
pub(crate) fn usable_folds(labels: &[bool], groups: &[u64], seed: u64) -> Option<Vec<Fold>> {
    let groups_of = |wanted: bool| {
        let mut of: Vec<u64> = groups
            .iter()
            .zip(labels)
            .filter(|&(_, &label)| label == wanted)
            .map(|(group, _)| *group)
            .collect();
        of.sort_unstable();
        of.dedup();
        of.len()
    };
    // Every fold must hold both out, or nothing is learned about what was held out.
    (groups_of(true) >= FOLDS && groups_of(false) >= FOLDS)
        .then(|| stratified_group_folds(labels, groups, FOLDS, seed))
}

fn learn_table(
    table: &SparseMatrix,
    stacked: &Range<u32>,
    labels: &[bool],
    weights: &Weights,
    seed: u64,
) -> Vec<Booster> {
    let options = BoostingOptions {
        rounds: 120,
        learning_rate: 0.08,
        leaves: 15,
        min_leaf_rows: 20.min(labels.len() / 20 + 1),
        lambda: 10.0,
        row_fraction: 0.7,
        column_fraction: 0.2,
        column_rounds: 5,
        seed,
    };
    // One in which every test counts the same, and one in which large classes
    // count less and which looks at tests directly, not at what is known of
    // the labels around them.
    let first = Booster::fit(table, labels, Some(&weights.counts), &options);
    let second = Booster::fit(
        &table.without(stacked.clone()),
        labels,
        Some(&weights.within_class),
        &BoostingOptions { seed: seed + 1, ..options },
    );
    vec![first, second]
}

fn boosted(boosters: &[Booster], table: &SparseMatrix) -> Vec<f64> {
    let mut sums = vec![0.0; table.rows()];
    for booster in boosters {
        for (sum, score) in sums.iter_mut().zip(booster.score_all(table)) {
            *sum += f64::from(score) / boosters.len() as f64;
        }
    }
    sums
}

/// One score of a test from trees and words. Where no label of its class is
/// known, the other tests of the class speak for it too.
fn combine(
    boosted: &[f64],
    words: &[[f64; 2]],
    classes: impl Iterator<Item = u64>,
    familiarity: Familiarity,
) -> Vec<f64> {
    let means = class_means(classes, boosted);
    let mates = if familiarity == Familiarity::KnownClass { 0.0 } else { 1.0 };
    let all = boosted.iter().zip(means).zip(words);
    all.map(|((own, mean), words)| own + 3.0 * words[0] + mates * (mean + 3.0 * words[1])).collect()
}

/// For each, the mean of its class.
fn class_means(classes: impl Iterator<Item = u64>, values: &[f64]) -> Vec<f64> {
    let classes: Vec<u64> = classes.collect();
    let mut sums: HashMap<u64, (f64, f64)> = HashMap::new();
    for (class, value) in classes.iter().zip(values) {
        let (count, sum) = sums.entry(*class).or_default();
        *count += 1.0;
        *sum += value;
    }
    classes.iter().map(|class| sums[class].1 / sums[class].0).collect()
}
