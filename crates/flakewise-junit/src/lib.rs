//! JUnit XML in every dialect, read and written.

mod attributes;
mod case;
mod collector;
mod dialect;
mod element;
mod identity;
mod issue;
mod lexer;
mod limits;
mod note;
mod number;
mod outcome;
mod read;
mod value;
mod window;
mod write;

pub use dialect::Dialect;
pub use issue::{Issue, IssueKind, IssueLevel, Place};
pub use limits::Limits;
pub use read::{Report, read, read_bytes};
pub use write::write;
