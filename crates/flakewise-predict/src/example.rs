//! What a model learns from.

use flakewise_paths::Surroundings;
use flakewise_source::SourceTest;

use crate::Category;

/// A test of which is known whether it is flaky.
#[derive(Clone, Debug)]
pub struct Example {
    /// Its source.
    pub test: SourceTest,
    /// The project it belongs to.
    pub project: String,
    /// Whether it is flaky.
    pub flaky: bool,
    /// The kind, where known.
    pub category: Option<Category>,
    /// What surrounds it, where its repository is at hand.
    pub surroundings: Option<Box<Surroundings>>,
}
