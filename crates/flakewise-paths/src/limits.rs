//! What extraction may cost. Source is untrusted: time and memory stay in
//! proportion to its size.

/// Paths of one test, as in PEELER's table I.
pub const MAX_PATHS: usize = 100;
/// Nodes of one path, as in PEELER's table I.
pub const MAX_PATH_NODES: usize = 20;
/// Syntax nodes visited for one test, inlined helpers included.
pub(crate) const VISITS_PER_TEST: usize = 200_000;
/// Values that flow into one node.
pub(crate) const INPUTS_PER_NODE: usize = 64;
/// Definitions of a variable that can reach one use.
pub(crate) const REACHING_DEFINITIONS: usize = 8;
/// Definitions of a variable that are looked at for one use.
pub(crate) const DEFINITIONS_SCANNED: usize = 64;
/// Branches around a use whose other arms are excluded.
pub(crate) const BRANCHES_SCANNED: usize = 32;
/// Helpers are followed to this depth.
pub(crate) const HELPER_DEPTH: u32 = 4;
/// Helper calls that are followed in one test.
pub(crate) const HELPERS_PER_TEST: u32 = 64;
/// Literals and calls are shown up to this length.
pub(crate) const TEXT_BYTES: usize = 60;
/// Classes within classes are read to this depth.
pub(crate) const CLASS_DEPTH: usize = 32;
/// Superclasses are followed this far.
pub(crate) const SUPERCLASSES: usize = 16;
/// Overloads of one name that are compared.
pub(crate) const OVERLOADS: usize = 256;
/// Files of one repository that are indexed.
pub(crate) const FILES: usize = 200_000;
/// Parts of a dotted name that are looked at.
pub(crate) const NAME_PARTS: usize = 16;
/// Modules that hand a name on, such as `__init__.py`.
pub(crate) const REEXPORTS: usize = 4;
/// Arguments of a call whose types are looked at.
pub(crate) const ARGUMENTS: usize = 32;
/// Methods of the test tree of one test.
pub(crate) const TEST_TREE_METHODS: usize = 80;
/// Methods of the production code that one test reaches before the search ends.
pub(crate) const REACHED_METHODS: usize = 900;
/// Calls of production code that are followed from one depth of one test.
pub(crate) const REACHED_CALLS: usize = 16 * 1024;
/// Implementations of an abstract method that are followed.
pub(crate) const IMPLEMENTATIONS: usize = 3;
/// Superclasses of a test that are named.
pub(crate) const BASES: usize = 3;
/// Classes under test that are named.
pub(crate) const CLASS_NAMES: usize = 40;
/// Words of the test tree that are kept.
pub(crate) const TREE_WORDS: usize = 40;
/// Words of the code under test that are kept.
pub(crate) const UNDER_WORDS: usize = 60;
