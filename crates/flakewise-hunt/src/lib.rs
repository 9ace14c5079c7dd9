//! Finds the flaky tests of a suite on a budget.
//!
//! [`hunt`] runs a suite and then single tests, side by side, as [`Planner`]
//! says; [`Planner`] says which test to run next and what is probably still hidden.
//! It is pure: the same answers to the same observations and seed.

mod culprit;
mod hunt;
mod minimise;
mod plan;
mod shard;

pub use culprit::{CulpritContext, CulpritError, CulpritProgress, CulpritSettings, culprit};
pub use hunt::{HuntContext, HuntProgress, HuntSettings, Knowledge, hunt};
pub use plan::{Candidate, Planner};
