//! From the failures of a run to what is said about them.
//!
//! [`Change`] is what differs between the code that ran and the code before;
//! [`intersect`] says whether a test depends on any of it; [`BaseTree`] is the
//! code before, in a folder of its own, to run a test there.

mod base;
mod change;
mod depends;
mod error;
mod git;

pub use base::BaseTree;
pub use change::{Change, ChangeKind, ChangedFile, LineRange, Shape};
pub use depends::{Dependencies, Meeting, intersect};
pub use error::ChangeError;
