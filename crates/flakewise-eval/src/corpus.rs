//! A data set as models see it: read, counted, and with columns for words.

use std::sync::OnceLock;

use flakewise_learn::{Fold, SparseMatrix};
use flakewise_paths::{PathWords, graph_of_fragment, path_features, path_words};
use flakewise_predict::{Example, Features, Keys};
use flakewise_source::{Language, read_fragment};
use hashbrown::HashMap;
use rayon::prelude::*;

use crate::protocol::Groups;
use crate::{Dataset, Protocol, Record};

/// A data set that has been read and counted.
pub struct Corpus {
    /// The tests as the data set gives them.
    pub records: Vec<Record>,
    /// The same tests, understood.
    pub examples: Vec<Example>,
    /// And counted.
    pub features: Vec<Features>,
    /// Whether each is flaky.
    pub labels: Vec<bool>,
    pub(crate) groups: Groups,
    seed: u64,
    body: OnceLock<SparseMatrix>,
    full: OnceLock<SparseMatrix>,
    paths: OnceLock<Paths>,
    path_counts: OnceLock<SparseMatrix>,
}

/// The dependency paths of all tests.
pub(crate) struct Paths {
    /// As a network sees them.
    pub(crate) words: Vec<PathWords>,
    /// The counted tests, with hashed features of their paths.
    pub(crate) features: Vec<Features>,
    /// These features alone.
    light: Vec<Vec<(u64, f32)>>,
}

/// How much of a test a model sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum View {
    /// The test alone.
    Body,
    /// The test, its names, and what stands around it.
    Full,
    /// What lies on its paths.
    Paths,
}

/// Folds within the part that is trained on.
const INNER_FOLDS: usize = 3;

impl Corpus {
    /// Reads the sources of a data set, on all threads. Everything random that
    /// follows begins at the seed.
    pub fn new(dataset: Dataset, seed: u64) -> Self {
        let records = dataset.records;
        let (examples, features): (Vec<Example>, Vec<Features>) = records
            .par_iter()
            .map(|record| {
                let class_source = record.class_source.as_deref();
                let test = read_fragment(
                    Language::Java,
                    &record.source,
                    class_source,
                    &record.class,
                    &record.method,
                );
                let mut features = Features::of(&test);
                if let Some(surroundings) = &record.surroundings {
                    features = features.with_surroundings(surroundings);
                }
                let example = Example {
                    test,
                    project: record.project.clone(),
                    flaky: record.flaky,
                    category: record.category,
                    surroundings: record.surroundings.clone(),
                };
                (example, features)
            })
            .unzip();
        Self {
            labels: records.iter().map(|record| record.flaky).collect(),
            groups: Groups::new(&records),
            records,
            examples,
            features,
            seed,
            body: OnceLock::new(),
            full: OnceLock::new(),
            paths: OnceLock::new(),
            path_counts: OnceLock::new(),
        }
    }

    /// The folds of a protocol.
    pub fn folds(&self, protocol: Protocol, folds: usize) -> Vec<Fold> {
        self.groups.folds(protocol, folds, self.seed)
    }

    /// Folds within rows to learn from, held out in the same way.
    pub fn inner_folds(&self, rows: &[usize], protocol: Protocol) -> Vec<Fold> {
        self.groups.inner_folds(rows, protocol, INNER_FOLDS, self.seed)
    }

    /// Whether the tests of these rows are flaky.
    pub fn labels_of(&self, rows: &[usize]) -> Vec<bool> {
        rows.iter().map(|&row| self.labels[row]).collect()
    }

    /// What a test belongs to.
    pub(crate) fn keys(&self, row: usize) -> Keys {
        let example = &self.examples[row];
        Keys::new(&example.project, &example.test.id, &self.features[row])
    }

    /// Where everything random begins.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// The dependency paths of all tests; found when they are first requested.
    pub(crate) fn paths(&self) -> &Paths {
        self.paths.get_or_init(|| {
            let graphs: Vec<(PathWords, Vec<(u64, f32)>)> = self
                .records
                .par_iter()
                .map(|record| {
                    let class_source = record.class_source.as_deref();
                    let graph = graph_of_fragment(
                        Language::Java,
                        &record.source,
                        class_source,
                        &record.class,
                        &record.method,
                    );
                    (path_words(&graph), path_features(&graph))
                })
                .collect();
            let (words, light): (Vec<_>, Vec<_>) = graphs.into_iter().unzip();
            let features =
                self.features.iter().zip(&light).map(|(test, light)| test.clone().with_paths(light.clone()));
            Paths { features: features.collect(), words, light }
        })
    }

    pub(crate) fn counts(&self, view: View) -> &SparseMatrix {
        match view {
            View::Body => {
                self.body.get_or_init(|| table(self.features.iter().map(|test| [&test.body[..], &[]])))
            }
            View::Full => self
                .full
                .get_or_init(|| table(self.features.iter().map(|test| [&test.body[..], &test.context]))),
            View::Paths => {
                let light = &self.paths().light;
                self.path_counts.get_or_init(|| table(light.iter().map(|features| [&features[..], &[]])))
            }
        }
    }
}

/// Counts with a column for every word that two tests have. A word of one test
/// alone can never be trained on and predicted again.
fn table<'a>(tests: impl Iterator<Item = [&'a [(u64, f32)]; 2]> + Clone) -> SparseMatrix {
    let mut tests_with: HashMap<u64, u32> = HashMap::new();
    for &(word, _) in tests.clone().flatten().flatten() {
        *tests_with.entry(word).or_insert(0) += 1;
    }
    let mut words: Vec<u64> =
        tests_with.iter().filter(|&(_, &tests)| tests > 1).map(|(&word, _)| word).collect();
    words.sort_unstable();
    let columns: HashMap<u64, u32> = words.iter().copied().zip(0..).collect();
    let mut table = SparseMatrix::new(words.len());
    let mut row = Vec::new();
    for test in tests {
        row.clear();
        row.extend(
            test.into_iter().flatten().filter_map(|(word, count)| Some((*columns.get(word)?, *count))),
        );
        row.sort_unstable_by_key(|&(column, _)| column);
        // A word may be met in the test and around it.
        row.dedup_by(|next, kept| {
            let same = next.0 == kept.0;
            if same {
                kept.1 += next.1;
            }
            same
        });
        table.push(row.iter().copied());
    }
    table
}

/// The columns that enough of the rows to learn from have, for those rows and
/// for others.
pub(crate) struct Columns {
    chosen: Vec<Option<u32>>,
    count: usize,
}

impl Columns {
    pub(crate) fn of(counts: &SparseMatrix, rows: &[usize], least_rows: u32) -> Self {
        let mut rows_with = vec![0_u32; counts.columns()];
        for &row in rows {
            for &column in counts.row(row).indices {
                rows_with[column as usize] += 1;
            }
        }
        let mut next = 0;
        let chosen = rows_with
            .iter()
            .map(|&with| {
                (with >= least_rows).then(|| {
                    next += 1;
                    next - 1
                })
            })
            .collect();
        Self { chosen, count: next as usize }
    }

    /// The rows with these columns, and with further dense ones behind them.
    pub(crate) fn cut(
        &self,
        counts: &SparseMatrix,
        rows: &[usize],
        further: usize,
        mut more: impl FnMut(usize, usize) -> f32,
    ) -> SparseMatrix {
        let mut cut = SparseMatrix::new(self.count + further);
        let first = u32::try_from(self.count).expect("columns are counted in 32 bits");
        for &row in rows {
            let words = counts.row(row);
            let words =
                words.iter().filter_map(|(column, count)| Some((self.chosen[column as usize]?, count)));
            let behind = (first..).zip(0..further).map(|(column, place)| (column, more(row, place)));
            cut.push(words.chain(behind));
        }
        cut
    }
}
