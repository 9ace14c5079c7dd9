//! The interface of the crate.

mod helpers;
mod java;
mod properties;
mod python;
mod support;
