//! The declarations of a repository, for answers that look beyond one file.

use std::path::Path;

use flakewise_paths::{Index, IndexSummary, Reach, Surroundings};
use flakewise_source::SourceTest;

use crate::own_folder::keep_out_of_git;
use crate::printer::Printer;

/// Declarations of files that have not changed, from the root.
const CACHE: &str = ".flakewise/cache/declarations";

/// The index of a repository.
pub(crate) struct Declarations {
    pub(crate) index: Index,
    /// Changes when any file of it does.
    digest: [u8; 32],
}

impl Declarations {
    /// Reads those of all files below a root.
    pub(crate) fn read(root: &Path, printer: &Printer) -> Self {
        let _span = tracing::info_span!("index", root = %root.display()).entered();
        let spinner = printer.spinner("indexing");
        let cache = root.join(CACHE);
        let (index, IndexSummary { digest, .. }) = Index::build(root, Some(&cache));
        keep_out_of_git(&cache);
        spinner.finish_and_clear();
        Self { index, digest }
    }
}

/// Finds what surrounds tests.
pub(crate) struct Around<'d> {
    reach: Reach<'d>,
    pub(crate) digest: [u8; 32],
}

impl<'d> Around<'d> {
    pub(crate) fn new(root: &'d Path, declarations: &'d Declarations) -> Self {
        Self { reach: Reach::new(root, &declarations.index), digest: declarations.digest }
    }

    /// What surrounds a test of a file, if its language is indexed.
    pub(crate) fn surroundings(&self, path: &str, test: &SourceTest) -> Option<Surroundings> {
        let class = test.id.class_path().pop().unwrap_or_default();
        self.reach.surroundings(path, &class, &test.id.name(), test.line)
    }
}
