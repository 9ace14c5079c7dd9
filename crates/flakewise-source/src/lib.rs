//! Finds the tests of a repository in its source, and measures them.
//!
//! Nothing is run and nothing is resolved beyond the file at hand. Source is
//! hostile input: a file that is broken, huge or deeply nested gives what can
//! be understood of it plus [`Issue`]s, never an error.

mod file;
mod fragment;
mod java;
mod kind;
mod language;
mod limits;
mod metrics;
mod nesting;
mod outline;
mod package;
mod piece;
mod python;
mod rust;
mod source_test;
mod tree;
mod walk;

pub use file::{read_packaged, read_source};
pub use fragment::read_fragment;
pub use language::may_hold_tests;
pub use package::Package;
pub use source_test::{
    Call, Framework, Issue, Language, Metrics, Piece, PieceKind, SourceFile, SourceTest, Token, TokenKind,
};
pub use walk::{SourcePath, list_files, load_file, read_tree};
