//! The simple models that anything better must beat.
//!
//! FLAST, a class's own share of flaky tests, a forest on words, and three
//! usual ways to learn from words: a support vector machine, neighbours and
//! boosting, each on the test alone, with what stands around it, and on its
//! paths, and a logistic blend of the three.

use flakewise_learn::{
    Booster, BoostingOptions, DenseMatrix, Fold, Forest, ForestOptions, Idf, InvertedIndex, LinearModel,
    LinearOptions, Neighbour, SparseMatrix, TermWeight, best_threshold, logistic,
};
use flakewise_predict::{Flast, FlastOptions, FlastTokens};
use hashbrown::HashMap;

use crate::corpus::{Columns, View};
use crate::model::{Fitted, RawScores};
use crate::{Corpus, CpuClock, FoldScores, Model, Protocol};

/// All of them.
pub fn simple_models() -> Vec<Model> {
    vec![
        flast("FLAST whitespace", FlastTokens::Whitespace),
        flast("FLAST words", FlastTokens::Words),
        Model::new("same-class majority", same_class),
        Model::new("vocabulary forest", vocabulary_forest),
        family(["linear SVM, body", "kNN, body", "boosting, body", "blend of three, body"], View::Body),
        family(["linear SVM, full", "kNN, full", "boosting, full", "blend of three, full"], View::Full),
        family(["linear SVM, paths", "kNN, paths", "boosting, paths", "blend of three, paths"], View::Paths),
    ]
}

/// The thresholds of its paper, for machines and for people.
const FLAST_THRESHOLDS: [f64; 2] = [0.5, 0.95];

fn flast(name: &str, tokens: FlastTokens) -> Model {
    Model {
        names: FLAST_THRESHOLDS.map(|threshold| format!("{name} {threshold}")).to_vec(),
        run: Box::new(move |corpus, fold, _| {
            let source = |&row: &usize| corpus.records[row].source.as_str();
            let sources: Vec<&str> = fold.train.iter().map(source).collect();
            let options = FlastOptions { tokens, seed: corpus.seed(), ..FlastOptions::default() };
            let clock = CpuClock::start();
            let flast = Flast::train(&sources, &corpus.labels_of(&fold.train), options);
            let train_seconds = clock.seconds();
            let clock = CpuClock::start();
            let probabilities: Vec<f64> = fold.test.iter().map(|row| flast.score(source(row))).collect();
            let predict_seconds = clock.seconds();
            FLAST_THRESHOLDS
                .iter()
                .map(|&threshold| FoldScores {
                    probabilities: probabilities.clone(),
                    // A test is flaky above the threshold, not at it.
                    threshold: threshold.next_up(),
                    train_seconds,
                    predict_seconds,
                })
                .collect()
        }),
    }
}

/// How many of the known tests of its class are flaky. It never looks at source.
fn same_class(corpus: &Corpus, fold: &Fold, _: Protocol) -> FoldScores {
    let clock = CpuClock::start();
    let classes = corpus.groups.classes();
    let mut known: HashMap<u32, (f64, f64)> = HashMap::new();
    for &row in &fold.train {
        let (flaky, all) = known.entry(classes[row]).or_default();
        *flaky += f64::from(u8::from(corpus.labels[row]));
        *all += 1.0;
    }
    let train_seconds = clock.seconds();
    let clock = CpuClock::start();
    let share = |&row: &usize| known.get(&classes[row]).map_or(0.0, |(flaky, all)| flaky / all);
    FoldScores {
        probabilities: fold.test.iter().map(share).collect(),
        threshold: 0.5,
        train_seconds,
        predict_seconds: clock.seconds(),
    }
}

/// A forest looks at the most frequent words only, so that its table stays small.
const FOREST_WORDS: usize = 1000;

fn vocabulary_forest(corpus: &Corpus, fold: &Fold, _: Protocol) -> FoldScores {
    let clock = CpuClock::start();
    let words = |row: usize| lower_case_words(&corpus.records[row].source);
    let mut tests_with: HashMap<String, usize> = HashMap::new();
    for &row in &fold.train {
        for word in words(row).into_keys() {
            *tests_with.entry(word).or_insert(0) += 1;
        }
    }
    let mut frequent: Vec<(String, usize)> = tests_with.into_iter().collect();
    frequent.sort_by(|left, right| right.1.cmp(&left.1).then_with(|| left.0.cmp(&right.0)));
    frequent.truncate(FOREST_WORDS);
    let table = |rows: &[usize]| {
        let mut table = DenseMatrix::new(frequent.len());
        let mut counts = vec![0.0; frequent.len()];
        for &row in rows {
            let words = words(row);
            for (count, (word, _)) in counts.iter_mut().zip(&frequent) {
                *count = words.get(word).copied().unwrap_or(0.0);
            }
            table.push(&counts);
        }
        table
    };
    let options = ForestOptions { seed: corpus.seed(), ..ForestOptions::random_forest() };
    let forest = Forest::fit(&table(&fold.train), &corpus.labels_of(&fold.train), None, &options);
    let train_seconds = clock.seconds();
    let clock = CpuClock::start();
    let held_out = table(&fold.test);
    let probabilities =
        (0..held_out.rows()).map(|row| f64::from(forest.probabilities(held_out.row(row))[0])).collect();
    FoldScores { probabilities, threshold: 0.5, train_seconds, predict_seconds: clock.seconds() }
}

/// The parts of names, cut at capitals, in lower case.
fn lower_case_words(source: &str) -> HashMap<String, f32> {
    let mut words = HashMap::new();
    let mut word = String::new();
    let mut last_lower = false;
    for letter in source.chars().chain([' ']) {
        if !letter.is_alphabetic() || (letter.is_uppercase() && last_lower) {
            if word.len() > 1 {
                *words.entry_ref(word.as_str()).or_insert(0.0) += 1.0;
            }
            word.clear();
        }
        if letter.is_alphabetic() {
            word.extend(letter.to_lowercase());
        }
        last_lower = letter.is_lowercase();
    }
    words
}

/// Three ways to learn from the same words, and a blend of them.
fn family(names: [&str; 4], view: View) -> Model {
    Model {
        names: names.map(str::to_owned).to_vec(),
        run: Box::new(move |corpus, fold, protocol| {
            let inner_folds = corpus.inner_folds(&fold.train, protocol);
            let labels = corpus.labels_of(&fold.train);
            let parts = [support_vectors, neighbours, boosting].map(|fit| {
                RawScores::new(corpus, fold, &inner_folds, |corpus, rows| fit(corpus, rows, view))
            });
            let mut scores: Vec<FoldScores> = parts.iter().map(|part| part.calibrated(&labels)).collect();
            scores.push(blend(&parts, &labels));
            scores
        }),
    }
}

/// Words that fewer tests have say nothing about others.
const LEAST_TESTS: u32 = 2;

fn support_vectors<'a>(corpus: &'a Corpus, rows: &[usize], view: View) -> Fitted<'a> {
    let words = Weighted::fit(corpus, rows, view);
    let labels = corpus.labels_of(rows);
    let model = LinearModel::support_vectors(
        &words.of(corpus, rows),
        &labels,
        LinearOptions::default(),
        corpus.seed(),
    );
    Box::new(move |rows| model.decisions(&words.of(corpus, rows)))
}

/// As many neighbours as FLAST asks.
const NEIGHBOURS: usize = 7;

fn neighbours<'a>(corpus: &'a Corpus, rows: &[usize], view: View) -> Fitted<'a> {
    let words = Weighted::fit(corpus, rows, view);
    let labels = corpus.labels_of(rows);
    let index = InvertedIndex::new(&words.of(corpus, rows));
    Box::new(move |rows| {
        let near = index.nearest_to_each(&words.of(corpus, rows), NEIGHBOURS);
        near.iter().map(|near| share(near, &labels)).collect()
    })
}

fn share(near: &[Neighbour], labels: &[bool]) -> f64 {
    let (mut flaky, mut all) = (0.0, 0.0);
    for neighbour in near {
        let closeness = 1.0 / (1.0 - f64::from(neighbour.similarity)).max(0.01);
        all += closeness;
        flaky += if labels[neighbour.row as usize] { closeness } else { 0.0 };
    }
    if all > 0.0 { flaky / all } else { 0.0 }
}

/// Words in fewer tests are too rare to split on.
const LEAST_TESTS_TO_SPLIT: u32 = 10;
/// The numbers of a test that come from what stands around it.
const NUMBERS_AROUND: [usize; 8] = [2, 13, 14, 15, 16, 17, 18, 19];

fn boosting<'a>(corpus: &'a Corpus, rows: &[usize], view: View) -> Fitted<'a> {
    let counts = corpus.counts(view);
    let columns = Columns::of(counts, rows, LEAST_TESTS_TO_SPLIT);
    let numbers: Vec<usize> = (0..flakewise_predict::NUMBERS)
        .filter(|number| match view {
            View::Full => true,
            View::Body => !NUMBERS_AROUND.contains(number),
            View::Paths => false,
        })
        .collect();
    let table = move |rows: &[usize]| {
        columns.cut(counts, rows, numbers.len(), |row, place| corpus.features[row].numbers[numbers[place]])
    };
    let options = BoostingOptions { seed: corpus.seed(), ..BoostingOptions::default() };
    let booster = Booster::fit(&table(rows), &corpus.labels_of(rows), None, &options);
    Box::new(move |rows| booster.score_all(&table(rows)).into_iter().map(f64::from).collect())
}

/// Words weighed by how few tests have them.
struct Weighted {
    view: View,
    columns: Columns,
    idf: Idf,
}

impl Weighted {
    fn fit(corpus: &Corpus, rows: &[usize], view: View) -> Self {
        let counts = corpus.counts(view);
        let columns = Columns::of(counts, rows, LEAST_TESTS);
        let idf = Idf::fit(&columns.cut(counts, rows, 0, |_, _| 0.0));
        Self { view, columns, idf }
    }

    fn of(&self, corpus: &Corpus, rows: &[usize]) -> SparseMatrix {
        let counts = self.columns.cut(corpus.counts(self.view), rows, 0, |_, _| 0.0);
        self.idf.apply(&counts, TermWeight::Sublinear)
    }
}

/// Logistic regression on the scores of the parts, each at spread 1.
fn blend(parts: &[RawScores], labels: &[bool]) -> FoldScores {
    let clock = CpuClock::start();
    let spreads: Vec<(f64, f64)> = parts.iter().map(|part| mean_and_spread(&part.inner)).collect();
    let table = |of: fn(&RawScores) -> &[f64]| {
        let mut table = SparseMatrix::new(parts.len());
        for row in 0..of(&parts[0]).len() {
            #[expect(clippy::cast_possible_truncation, reason = "values have single precision")]
            let value =
                |(part, (mean, spread)): (&RawScores, &(f64, f64))| ((of(part)[row] - mean) / spread) as f32;
            table.push((0..).zip(parts.iter().zip(&spreads).map(value)));
        }
        table
    };
    let inner = table(|part| &part.inner);
    let model = LinearModel::logistic_regression(&inner, labels, LinearOptions::default());
    let probabilities =
        |rows: &SparseMatrix| -> Vec<f64> { model.decisions(rows).into_iter().map(logistic).collect() };
    let threshold = best_threshold(&probabilities(&inner), labels).map_or(1.0, |(threshold, _)| threshold);
    let train_seconds = clock.seconds() + parts.iter().map(RawScores::train_seconds).sum::<f64>();
    let clock = CpuClock::start();
    let probabilities = probabilities(&table(|part| &part.test));
    let predict_seconds = clock.seconds() + parts.iter().map(RawScores::predict_seconds).sum::<f64>();
    FoldScores { probabilities, threshold, train_seconds, predict_seconds }
}

fn mean_and_spread(values: &[f64]) -> (f64, f64) {
    let count = values.len().max(1) as f64;
    let mean = values.iter().sum::<f64>() / count;
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / count;
    (mean, if variance > 0.0 { variance.sqrt() } else { 1.0 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_cut_at_capitals() {
        let words = lower_case_words("assertEquals(HTTPServer, a1, assertTrue)");
        let mut words: Vec<(&str, f32)> = words.iter().map(|(word, &count)| (word.as_str(), count)).collect();
        words.sort_by(|left, right| left.0.cmp(right.0));
        assert_eq!(words, [("assert", 2.0), ("equals", 1.0), ("httpserver", 1.0), ("true", 1.0)]);
    }

    #[test]
    fn a_copy_outweighs_six_others() {
        let near = |row, similarity| Neighbour { row, similarity };
        let neighbours: Vec<Neighbour> =
            std::iter::once(near(0, 1.0)).chain((1..7).map(|row| near(row, 0.5))).collect();
        let labels = [true, false, false, false, false, false, false];
        assert!(share(&neighbours, &labels) > 0.85);
    }
}
