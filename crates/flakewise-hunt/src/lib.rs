//! Finds the flaky tests of a suite on a budget.
//!
//! [`Planner`] says which test to run next and what is probably still hidden.
//! It is pure: the same answers to the same observations and seed.

mod belief;
pub mod cannier;
mod fit;
mod plan;
mod prior;
mod survival;

pub use fit::Known;
pub use plan::{Candidate, Hidden, Planner};
pub use prior::Prior;
