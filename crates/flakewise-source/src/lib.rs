//! Finds the tests of a repository in its source, and measures them.
//!
//! Nothing is run and nothing is resolved beyond the file at hand. Source is
//! hostile input: a file that is broken, huge or deeply nested gives what can
//! be understood of it plus [`Issue`]s, never an error.
//!
//! | language | tests | id |
//! |---|---|---|
//! | Python | pytest's default rules, `unittest.TestCase` | `pytest:file::classes::function` |
//! | Java | `JUnit` 3 to 5, `TestNG` | `junit:package::classes::method` |
//! | Rust | attributes that end in `test`, `rstest`, `test_case` | `rust:binary::modules::function` |
//! | Go | `TestXxx`, `FuzzXxx`, examples with an output | `go:import path::function` |
//! | JavaScript, TypeScript | `it` and `test` within `describe` | `jest:file::titles::title`, or `vitest`, `node`, `playwright` by the imports |
//!
//! The binary and the import path begin with what a manifest says: see
//! [`Package`]. Without one the folder stands for it.

mod file;
mod fragment;
mod go;
mod java;
mod kind;
mod language;
mod limits;
mod lineage;
mod metrics;
mod nesting;
mod outline;
mod package;
mod piece;
mod python;
mod renames;
mod rust;
mod script;
mod source_test;
mod syntax;
mod tree;
mod walk;
mod words;

pub use file::{read_packaged, read_source};
pub use fragment::read_fragment;
pub use language::may_hold_tests;
pub use package::Package;
pub use renames::find_renames;
pub use source_test::{
    Call, Framework, Issue, Language, Metrics, Piece, PieceKind, SourceFile, SourceTest, Token, TokenKind,
};
pub use syntax::{NodeIndex, SyntaxTree};
pub use walk::{SourcePath, is_foreign_folder, list_files, list_sources, load_file, read_tree};
pub use words::sub_tokens;
