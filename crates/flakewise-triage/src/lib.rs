//! From the failures of a run to what is said about them.
//!
//! [`triage()`] runs a suite and climbs a ladder with every test that fails: again
//! at once, again after the suite, alone in a fork, alone in a new process. The
//! rung that clears a failure names its kind. What never passes is compared with
//! the change. [`Change`] is what differs between the code that ran and the code before;
//! [`intersect`] says whether a test depends on any of it; [`BaseTree`] is the
//! code before, in a folder of its own, to run a test there. [`Churn`] is how often
//! each line changed lately.

mod base;
mod change;
mod churn;
mod depends;
mod detour;
mod error;
mod git;
mod judge;
mod kind;
mod ladder;
mod policy;
mod reproduce;
mod review;
#[cfg(test)]
mod testing;
mod triage;
mod watch;

pub use base::{BaseTree, same_failure};
pub use change::{
    Change, ChangeKind, ChangedFile, ChangedKey, KeyChanges, KeyEffect, LineRange, Shape, Sides, main_branch,
};
pub use churn::{Churn, WINDOW};
pub use depends::{Dependencies, Meeting, intersect};
pub use error::ChangeError;
pub use flakewise_runner::Versions;
pub use git::Git;
pub use policy::Tolerance;
#[doc(hidden)]
pub mod simulate;
pub use reproduce::{Trial, try_lines};
pub use review::ReviewSettings;
pub use triage::{Context, Memory, NoMemory, Past, Progress, TriageSettings, Triaged, triage};
pub use watch::meetings;
