//! Words as columns, weighted by how rare they are.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use flakewise_learn::{Idf, SparseMatrix, TermWeight};

use crate::codec::{Damage, Reader, Writer};
use crate::features::Features;
use crate::surroundings::FeatureGroups;

/// Tables keyed by what is a hash already.
pub(crate) type HashTable<V> = HashMap<u64, V, BuildHasherDefault<Identity>>;

/// A hasher that leaves a hash as it is.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Identity(u64);

impl Hasher for Identity {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, _: &[u8]) {
        unreachable!("only hashes are keys");
    }

    fn write_u64(&mut self, value: u64) {
        self.0 = value;
    }
}

/// The words of one place: in the test, or around it.
pub(crate) type WordsOf = fn(&Features) -> &[(u64, f32)];

/// Words that have a column.
#[derive(Clone, Debug, Default)]
pub(crate) struct Vocabulary {
    hashes: Vec<u64>,
    columns: HashTable<u32>,
}

impl Vocabulary {
    /// Hashes must rise.
    fn new(hashes: Vec<u64>) -> Self {
        let columns = hashes.iter().zip(0..).map(|(&hash, column)| (hash, column)).collect();
        Self { hashes, columns }
    }

    /// The words that at least this many tests have, of this many projects, but not
    /// more than a share of all tests.
    pub(crate) fn fit(
        tests: &[(&Features, u64)],
        words: WordsOf,
        least_tests: u32,
        least_projects: usize,
        share: f64,
    ) -> Self {
        let mut seen: HashTable<(u32, u64)> = HashTable::default();
        for (features, project) in tests {
            for (hash, _) in words(features) {
                let entry = seen.entry(*hash).or_default();
                entry.0 += 1;
                // Projects as bits: two of them may fall together, which only
                // drops a word that few projects have.
                entry.1 |= 1 << (project % 64);
            }
        }
        let most = share * tests.len() as f64;
        let kept = seen.into_iter().filter(|(_, (tests, projects))| {
            *tests >= least_tests
                && f64::from(*tests) < most
                && projects.count_ones() as usize >= least_projects
        });
        let mut hashes: Vec<u64> = kept.map(|(hash, _)| hash).collect();
        hashes.sort_unstable();
        Self::new(hashes)
    }

    pub(crate) fn len(&self) -> usize {
        self.hashes.len()
    }

    pub(crate) fn column(&self, hash: u64) -> Option<u32> {
        self.columns.get(&hash).copied()
    }

    /// The words of a test that have a column, with their counts.
    pub(crate) fn row<'a>(&'a self, words: &'a [(u64, f32)]) -> impl Iterator<Item = (u32, f32)> + 'a {
        // Both rise by hash, so columns rise.
        words.iter().filter_map(|(hash, count)| Some((self.column(*hash)?, *count)))
    }

    pub(crate) fn write(&self, writer: &mut Writer) {
        writer.rising(self.hashes.iter().copied());
    }

    pub(crate) fn read(reader: &mut Reader<'_>) -> Result<Self, Damage> {
        let hashes = reader.rising()?;
        if u32::try_from(hashes.len()).is_err() {
            return Err("it has too many words");
        }
        Ok(Self::new(hashes))
    }
}

/// Words of one place with their weights.
#[derive(Clone, Debug)]
struct Part {
    words: WordsOf,
    vocabulary: Vocabulary,
    idf: Idf,
}

impl Part {
    fn fit(tests: &[(&Features, u64)], words: WordsOf, least_tests: u32, least_projects: usize) -> Self {
        let vocabulary = Vocabulary::fit(tests, words, least_tests, least_projects, 0.5);
        let mut counts = SparseMatrix::new(vocabulary.len());
        for (features, _) in tests {
            counts.push(vocabulary.row(words(features)));
        }
        Self { words, idf: Idf::fit(&counts), vocabulary }
    }

    /// A row at length 1, its columns moved to the right.
    fn row(&self, features: &Features, offset: u32) -> Vec<(u32, f32)> {
        let weights = self.idf.weights();
        let mut row: Vec<(u32, f32)> = self
            .vocabulary
            .row((self.words)(features))
            .map(|(column, count)| (column, TermWeight::Sublinear.of(count) * weights[column as usize]))
            .collect();
        let norm = row.iter().map(|(_, value)| value * value).sum::<f32>().sqrt().max(f32::MIN_POSITIVE);
        for (column, value) in &mut row {
            *column += offset;
            *value /= norm;
        }
        row
    }

    fn columns(&self) -> u32 {
        u32::try_from(self.vocabulary.len()).expect("columns are counted in 32 bits")
    }

    fn write(&self, writer: &mut Writer) {
        self.vocabulary.write(writer);
        writer.coarse(self.idf.weights());
    }

    fn read(reader: &mut Reader<'_>, words: WordsOf) -> Result<Self, Damage> {
        let vocabulary = Vocabulary::read(reader)?;
        let weights = reader.coarse()?;
        if weights.len() != vocabulary.len() {
            return Err("words and their weights differ in number");
        }
        Ok(Self { words, vocabulary, idf: Idf::from_weights(weights) })
    }
}

/// Tests as weighted words: those of the test itself, those around it, and
/// those of the chosen groups of its surroundings. Each part has length 1, so
/// that a long class does not drown a short test.
#[derive(Clone, Debug)]
pub(crate) struct TextSpace {
    parts: Vec<Part>,
}

/// The parts of a space in the order of their columns, each with the fewest
/// tests that have a word of it.
fn parts(groups: FeatureGroups) -> impl Iterator<Item = (WordsOf, u32)> {
    let tree = groups.test_tree.then_some((tree as WordsOf, 3));
    let under = groups.words_under_test.then_some((under as WordsOf, 3));
    let paths = groups.paths.then_some((paths as WordsOf, 3));
    [(body as WordsOf, 2), (context as WordsOf, 3)].into_iter().chain(tree).chain(under).chain(paths)
}

impl TextSpace {
    /// Learns words and weights from tests, each with its project. Words of
    /// fewer projects than requested are left out.
    pub(crate) fn fit(tests: &[(&Features, u64)], projects: usize, groups: FeatureGroups) -> Self {
        let fit = |(words, least)| Part::fit(tests, words, least, projects);
        Self { parts: parts(groups).map(fit).collect() }
    }

    pub(crate) fn columns(&self) -> usize {
        self.parts.iter().map(|part| part.vocabulary.len()).sum()
    }

    pub(crate) fn row(&self, features: &Features) -> Vec<(u32, f32)> {
        let mut row = Vec::new();
        let mut offset = 0;
        for part in &self.parts {
            row.extend(part.row(features, offset));
            offset += part.columns();
        }
        row
    }

    pub(crate) fn rows<'a>(&self, tests: impl Iterator<Item = &'a Features>) -> SparseMatrix {
        let mut rows = SparseMatrix::new(self.columns());
        for features in tests {
            rows.push(self.row(features));
        }
        rows
    }

    /// The column of a word, by where it stands.
    pub(crate) fn column(&self, in_body: bool, hash: u64) -> Option<u32> {
        if in_body {
            self.parts[0].vocabulary.column(hash)
        } else {
            Some(self.parts[1].vocabulary.column(hash)? + self.body_columns())
        }
    }

    /// Where the columns of each part end.
    pub(crate) fn ends(&self) -> impl Iterator<Item = u32> + '_ {
        self.parts.iter().scan(0, |end, part| {
            *end += part.columns();
            Some(*end)
        })
    }

    /// How many columns are words of the test itself; they come first.
    pub(crate) fn body_columns(&self) -> u32 {
        self.parts[0].columns()
    }

    pub(crate) fn write(&self, writer: &mut Writer) {
        self.parts.iter().for_each(|part| part.write(writer));
    }

    pub(crate) fn read(reader: &mut Reader<'_>, groups: FeatureGroups) -> Result<Self, Damage> {
        let parts: Result<Vec<Part>, Damage> =
            parts(groups).map(|(words, _)| Part::read(reader, words)).collect();
        Ok(Self { parts: parts? })
    }
}

pub(crate) fn body(features: &Features) -> &[(u64, f32)] {
    &features.body
}

pub(crate) fn context(features: &Features) -> &[(u64, f32)] {
    &features.context
}

pub(crate) fn tree(features: &Features) -> &[(u64, f32)] {
    &features.surroundings.tree_words
}

pub(crate) fn under(features: &Features) -> &[(u64, f32)] {
    &features.surroundings.under_words
}

pub(crate) fn paths(features: &Features) -> &[(u64, f32)] {
    &features.paths
}
