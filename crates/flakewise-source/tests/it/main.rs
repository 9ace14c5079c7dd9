//! What the crate does, seen from outside.

mod fragment;
mod hostile;
mod ids;
mod java;
mod python;
mod rust;
mod support;
mod walk;
