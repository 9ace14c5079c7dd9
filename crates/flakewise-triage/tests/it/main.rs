//! The crate's interface, with real repositories.

mod base;
mod change;
mod depends;
mod repository;
