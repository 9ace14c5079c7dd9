//! What surrounds a test and lies under it.
//!
//! A test's own text says little about a server that its superclass starts, or
//! about a hash map three calls away. [`Surroundings`] has counts of that code.
//! This module only defines and encodes them: an index of the repository, or a
//! data set that was derived from one, fills them in.

use flakewise_source::sub_tokens;

use crate::features::{Word, WordKind, sorted_words};

/// The code around a test and under it, as counts and names.
///
/// *Test tree* means the sources of tests: superclasses, set-up, helpers.
/// *Code under test* means production code. Depth 1 is what the test or its
/// test tree calls, depth 2 what depth 1 calls, and so on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Surroundings {
    /// Where the calls in the test method go.
    pub calls: Calls,
    /// Interfaces used in the test method.
    pub own: ApiCounts,
    /// The test tree around the test method, without the method itself.
    pub tree: TestTree,
    /// The production code that the test reaches.
    pub under: CodeUnderTest,
}

/// Where the calls in a test method go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Calls {
    /// All calls.
    pub all: u32,
    /// Calls of production code.
    pub production: u32,
    /// Calls of other methods of the test tree.
    pub test_tree: u32,
    /// Calls of libraries, or on what a library returned.
    pub library: u32,
    /// Calls on mocks.
    pub mocks: u32,
    /// Calls whose target is unknown.
    pub unresolved: u32,
    /// Calls resolved only because a single method has that name and arity.
    pub by_unique_name: u32,
}

/// The superclasses, set-up and helpers of a test.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TestTree {
    /// Superclasses in the repository.
    pub superclasses: u32,
    /// Superclasses that are in the test tree themselves.
    pub test_superclasses: u32,
    /// Set-up methods, constructors and initialisers.
    pub set_up: u32,
    /// Methods reached in the test tree, with the test.
    pub methods: u32,
    /// Lines of these methods.
    pub lines: u32,
    /// Calls on mocks in these methods.
    pub mock_calls: u32,
    /// Simple names of the nearest superclasses, nearest first.
    pub bases: Vec<String>,
    /// Interfaces used in the test tree outside the test method.
    pub apis: ApiCounts,
    /// Frequent sub-tokens of that code, in lower case, with counts.
    pub words: Vec<(String, u32)>,
}

/// The production code that a test reaches.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CodeUnderTest {
    /// Methods first reached at depth 1, 2, 3 and 4.
    pub methods: [u32; 4],
    /// Lines of the methods at depth 1 and 2.
    pub lines: [u32; 2],
    /// Distinct classes of the methods at depth 1 and 2.
    pub classes: [u32; 2],
    /// Interfaces used in the methods at depth 1 and 2.
    pub apis: [ApiCounts; 2],
    /// For each family the smallest depth at which it is used, from 1 to 4, or
    /// 0 if it is not.
    pub nearest: ApiCounts,
    /// Classes of the methods at depth 1, by simple name, each once.
    pub class_names: Vec<String>,
    /// Frequent sub-tokens of the methods at depth 1, in lower case, with counts.
    pub words: Vec<(String, u32)>,
}

/// A family of interfaces or constructs that flaky tests are suspected to use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(missing_docs, reason = "`name` says what each is")]
pub enum ApiFamily {
    Thread,
    Lock,
    Time,
    Random,
    Network,
    File,
    Hash,
    Ordered,
    Environment,
    Sleep,
    ReflectionOrder,
    Reflection,
    Database,
    Json,
    Log,
    Process,
    GarbageCollection,
    Container,
    Cache,
    Listener,
    Synchronized,
    StaticWrite,
    StaticRead,
    StaticCollection,
    HashIteration,
    Volatile,
    Catch,
    Loop,
    Lambda,
    AnonymousClass,
    Localhost,
    ToString,
}

impl ApiFamily {
    /// All families, in the order of [`ApiCounts`].
    pub const ALL: [Self; 32] = [
        Self::Thread,
        Self::Lock,
        Self::Time,
        Self::Random,
        Self::Network,
        Self::File,
        Self::Hash,
        Self::Ordered,
        Self::Environment,
        Self::Sleep,
        Self::ReflectionOrder,
        Self::Reflection,
        Self::Database,
        Self::Json,
        Self::Log,
        Self::Process,
        Self::GarbageCollection,
        Self::Container,
        Self::Cache,
        Self::Listener,
        Self::Synchronized,
        Self::StaticWrite,
        Self::StaticRead,
        Self::StaticCollection,
        Self::HashIteration,
        Self::Volatile,
        Self::Catch,
        Self::Loop,
        Self::Lambda,
        Self::AnonymousClass,
        Self::Localhost,
        Self::ToString,
    ];

    /// The stable name, as in the derived data set.
    pub fn name(self) -> &'static str {
        match self {
            Self::Thread => "thread",
            Self::Lock => "lock",
            Self::Time => "time",
            Self::Random => "random",
            Self::Network => "net",
            Self::File => "file",
            Self::Hash => "hash",
            Self::Ordered => "ordered",
            Self::Environment => "env",
            Self::Sleep => "sleep",
            Self::ReflectionOrder => "reflect_order",
            Self::Reflection => "reflect",
            Self::Database => "db",
            Self::Json => "json",
            Self::Log => "log",
            Self::Process => "process",
            Self::GarbageCollection => "gc",
            Self::Container => "container",
            Self::Cache => "cache",
            Self::Listener => "listener",
            Self::Synchronized => "sync",
            Self::StaticWrite => "static_w",
            Self::StaticRead => "static_r",
            Self::StaticCollection => "static_c",
            Self::HashIteration => "hash_iter",
            Self::Volatile => "volatile",
            Self::Catch => "catch",
            Self::Loop => "loop",
            Self::Lambda => "lambda",
            Self::AnonymousClass => "anon",
            Self::Localhost => "localhost",
            Self::ToString => "str",
        }
    }

    /// The family of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|family| family.name() == name)
    }
}

/// A number for each [`ApiFamily`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ApiCounts(pub [u32; 32]);

impl ApiCounts {
    /// The number of a family.
    pub fn get(&self, family: ApiFamily) -> u32 {
        self.0[family as usize]
    }

    /// Sets the number of a family.
    pub fn set(&mut self, family: ApiFamily, count: u32) {
        self.0[family as usize] = count;
    }
}

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
        let mut tree_numbers = vec![
            calls.all,
            calls.production,
            calls.test_tree,
            calls.library,
            calls.mocks,
            calls.unresolved,
            calls.by_unique_name,
            tree.superclasses,
            tree.test_superclasses,
            tree.set_up,
            tree.methods,
            tree.lines,
            tree.mock_calls,
        ];
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
    use super::*;

    #[test]
    fn families_have_their_place_and_a_name_of_their_own() {
        for (place, family) in ApiFamily::ALL.into_iter().enumerate() {
            assert_eq!(family as usize, place);
            assert_eq!(ApiFamily::from_name(family.name()), Some(family));
        }
        assert_eq!(ApiFamily::from_name("nothing"), None);
    }

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
