//! What surrounds a test and lies under it, as a model sees it.

use flakewise_paths::{ApiFamily, Surroundings};
use flakewise_source::sub_tokens;

use crate::features::{Word, WordKind, sorted_words};

/// What a model uses beside the words of a test and its file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each group is selected independently")]
pub struct FeatureGroups {
    /// The test tree: superclasses, set-up, helpers.
    pub test_tree: bool,
    /// The production code that is reached: counts and families.
    pub code_under_test: bool,
    /// Names and words of that production code.
    pub words_under_test: bool,
    /// What lies on the paths of values through the test.
    pub paths: bool,
}

impl FeatureGroups {
    /// Only the test and its file.
    pub const NONE: Self =
        Self { test_tree: false, code_under_test: false, words_under_test: false, paths: false };
    /// The test tree, the code under test with its words, and the paths.
    pub const ALL: Self =
        Self { test_tree: true, code_under_test: true, words_under_test: true, paths: true };

    /// Whether a model looks beyond the file of a test.
    pub fn needs_surroundings(self) -> bool {
        self.test_tree || self.code_under_test || self.words_under_test
    }

    pub(crate) fn to_bits(self) -> u8 {
        u8::from(self.test_tree)
            | u8::from(self.code_under_test) << 1
            | u8::from(self.words_under_test) << 2
            | u8::from(self.paths) << 3
    }

    pub(crate) fn from_bits(bits: u8) -> Option<Self> {
        (bits < 16).then_some(Self {
            test_tree: bits & 1 != 0,
            code_under_test: bits & 2 != 0,
            words_under_test: bits & 4 != 0,
            paths: bits & 8 != 0,
        })
    }

    /// How many numbers the groups have.
    pub(crate) fn numbers(self) -> usize {
        usize::from(self.test_tree) * TREE_NUMBERS + usize::from(self.code_under_test) * UNDER_NUMBERS
    }
}

const FAMILIES: usize = ApiFamily::ALL.len();
const TREE_NUMBERS: usize = 7 + 6 + 2 * FAMILIES;
const UNDER_NUMBERS: usize = 8 + 3 * FAMILIES;

/// [`Surroundings`] as a model sees them.
#[derive(Clone, Debug, Default)]
pub(crate) struct SurroundingFeatures {
    tree: Vec<f32>,
    under: Vec<f32>,
    pub(crate) tree_words: Vec<(u64, f32)>,
    pub(crate) under_words: Vec<(u64, f32)>,
}

impl SurroundingFeatures {
    pub(crate) fn of(surroundings: &Surroundings) -> Self {
        let Surroundings { calls, own, tree, under } = surroundings;
        let mut tree_numbers = [&calls.numbers()[..], &tree.numbers()].concat();
        tree_numbers.extend(own.0.iter().chain(&tree.apis.0));
        let mut under_numbers = [&under.methods[..], &under.lines, &under.classes].concat();
        under_numbers.extend(under.apis.iter().flat_map(|counts| counts.0));
        // Nearer counts more, and what is not used at all counts nothing.
        under_numbers.extend(under.nearest.0.map(|depth| if depth == 0 { 0 } else { 5 - depth.min(4) }));
        debug_assert_eq!((tree_numbers.len(), under_numbers.len()), (TREE_NUMBERS, UNDER_NUMBERS));
        let bases = tree.bases.iter().map(|base| (WordKind::Base, base.as_str(), 1));
        let base_parts = tree.bases.iter().flat_map(|base| parts(base)).collect::<Vec<_>>();
        let base_parts = base_parts.iter().map(|part| (WordKind::TreeSubToken, part.as_str(), 1));
        let tree_words = counted(&tree.words, WordKind::TreeSubToken);
        let class_names = under.class_names.iter().map(|name| (WordKind::UnderClass, name.as_str(), 1));
        let under_words = counted(&under.words, WordKind::UnderSubToken);
        Self {
            tree: tree_numbers.into_iter().map(|number| number as f32).collect(),
            under: under_numbers.into_iter().map(|number| number as f32).collect(),
            tree_words: hashed(bases.chain(base_parts).chain(tree_words)),
            under_words: hashed(class_names.chain(under_words)),
        }
    }

    /// The numbers of the groups.
    pub(crate) fn numbers(&self, groups: FeatureGroups) -> impl Iterator<Item = f32> + '_ {
        let tree = groups.test_tree.then_some(&self.tree);
        let under = groups.code_under_test.then_some(&self.under);
        tree.into_iter().chain(under).flatten().copied()
    }
}

fn counted(words: &[(String, u32)], kind: WordKind) -> impl Iterator<Item = (WordKind, &str, u32)> {
    words.iter().map(move |(word, count)| (kind, word.as_str(), *count))
}

fn parts(name: &str) -> Vec<String> {
    let mut parts = Vec::new();
    sub_tokens(name, |part| parts.push(part.to_owned()));
    parts
}

fn hashed<'a>(words: impl Iterator<Item = (WordKind, &'a str, u32)>) -> Vec<(u64, f32)> {
    let mut counts = std::collections::HashMap::new();
    for (kind, text, count) in words {
        *counts.entry(Word { kind, text, with: "" }.hash()).or_insert(0.0) += count as f32;
    }
    sorted_words(counts)
}

#[cfg(test)]
mod tests {
    use flakewise_paths::TestTree;

    use super::*;

    #[test]
    fn groups_survive_their_bits() {
        for bits in 0..16 {
            assert_eq!(FeatureGroups::from_bits(bits).map(FeatureGroups::to_bits), Some(bits));
        }
        assert_eq!(FeatureGroups::from_bits(16), None);
    }

    #[test]
    fn only_the_numbers_of_the_groups_are_seen() {
        let mut surroundings = Surroundings::default();
        surroundings.tree.lines = 40;
        surroundings.under.lines = [7, 0];
        surroundings.under.nearest.set(ApiFamily::Network, 4);
        surroundings.under.nearest.set(ApiFamily::Sleep, 1);
        let features = SurroundingFeatures::of(&surroundings);
        let sum = |groups| features.numbers(groups).sum::<f32>();
        let tree = FeatureGroups { test_tree: true, ..FeatureGroups::NONE };
        let under = FeatureGroups { code_under_test: true, ..FeatureGroups::NONE };
        assert!(sum(FeatureGroups::NONE).abs() < 1e-6);
        assert!((sum(tree) - 40.0).abs() < 1e-6);
        assert!((sum(under) - (7.0 + 1.0 + 4.0)).abs() < 1e-6, "nearer counts more");
        for groups in [FeatureGroups::NONE, tree, under, FeatureGroups::ALL] {
            assert_eq!(features.numbers(groups).count(), groups.numbers());
        }
    }

    #[test]
    fn bases_are_seen_as_a_whole_and_in_parts() {
        let of = |base: &str| {
            let tree = TestTree { bases: vec![base.to_owned()], ..TestTree::default() };
            SurroundingFeatures::of(&Surroundings { tree, ..Surroundings::default() }).tree_words
        };
        let shared = |left: &[(u64, f32)], right: &[(u64, f32)]| {
            left.iter().filter(|(word, _)| right.iter().any(|(other, _)| word == other)).count()
        };
        assert_eq!(of("HttpServerTest").len(), 4);
        assert_eq!(shared(&of("HttpServerTest"), &of("TcpServerTest")), 2);
    }
}
