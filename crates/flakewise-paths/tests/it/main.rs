//! The interface of the crate.

mod features;
mod helpers;
mod index;
mod java;
mod properties;
mod python;
mod support;
mod surroundings;
