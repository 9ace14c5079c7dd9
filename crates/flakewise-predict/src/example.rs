//! What a model learns from.

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
}
