//! The crate's interface, with real repositories.

mod base;
mod change;
mod churn;
mod depends;
mod repository;
mod without;
