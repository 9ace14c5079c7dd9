//! Finds the flaky tests of a suite on a budget, and the tests that another one
//! depends on.
//!
//! [`hunt()`] runs a suite and then single tests, in parallel, as [`Planner`]
//! says; [`culprit()`] runs a test after others. [`Planner`] says which test to run
//! next and what is probably still hidden. It is pure: the same answers to the
//! same observations and seed. [`cannier`] has what CANNIER does instead.

mod answers;
mod belief;
pub mod cannier;
mod culprit;
mod decide;
mod fit;
mod hunt;
mod minimise;
mod name;
mod order;
mod pairs;
mod plan;
mod prior;
mod reproduce;
mod shard;
mod shared;
mod survival;

pub use answers::Answers;
pub use culprit::{CulpritContext, CulpritError, CulpritProgress, CulpritSettings, culprit};
pub use fit::Known;
pub use hunt::{HuntContext, HuntProgress, HuntSettings, Knowledge, Orders, hunt};
pub use pairs::{Pair, PairTest, Pairs, pairs};
pub use plan::{Candidate, Planner};
pub use prior::Prior;
pub use reproduce::reproduce;
pub use shared::shared;
