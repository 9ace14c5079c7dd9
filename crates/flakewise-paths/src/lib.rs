//! How values flow through a test, from where they begin to what it asserts.
//!
//! A [`Graph`] has the variables, literals and calls of a test as nodes, with
//! their lines, and the flow of data between them as edges. Its
//! [`paths`](Graph::paths) lead from START nodes to ASSERT nodes. This follows
//! "Learning to effectively predict flakiness without running tests" (PEELER,
//! 2022) for Java and Python, and goes beyond it where its extractor gives up:
//!
//! - assertions in helpers of the class and its superclasses are followed;
//! - expected exceptions, `verify`, `fail`, matchers and waits are assertions;
//! - a test with no assertion at all has an implicit one: its last statement
//!   must not throw. Such paths end at [`AssertionKind::Implicit`].
//!
//! [`Reach`] follows calls beyond the test: through its set-up, superclasses and
//! helpers, and into the code under test. [`Surroundings`] count what is found.
//!
//! Source is untrusted. Nothing here recurses over it, panics on it, or takes
//! time or memory out of proportion to its size.

mod assertion;
mod build;
mod draw;
mod features;
mod graph;
mod index;
mod limits;
mod outline;
mod paths;
mod read;
mod resolve;
mod scope;
mod shape;
mod surroundings;
mod value;
mod variables;
mod words;

pub use draw::{graph_dot, graph_svg};
pub use features::{FeatureKind, each_feature, feature_hash, path_features};
pub use graph::{AssertionKind, Callee, Edge, EdgeId, EdgeKind, Graph, Helper, Node, NodeId, NodeKind};
pub use index::{FileResolver, Index, IndexSummary, parse_files};
pub use limits::{MAX_PATH_NODES, MAX_PATHS};
pub use outline::{Class, Function, Import, Outline, Variable};
pub use paths::Path;
pub use read::{graph_of_fragment, graph_of_source, graph_of_test};
pub use resolve::{CallSite, Resolution, Resolve, Unresolved};
pub use scope::{ParsedFile, Scope};
pub use surroundings::{ApiCounts, ApiFamily, Calls, CodeUnderTest, Reach, Surroundings, TestTree};
pub use words::{PathWords, path_words, word_hash};
