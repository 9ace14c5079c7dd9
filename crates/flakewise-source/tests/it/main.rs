//! What the crate does, seen from outside.

mod fragment;
mod go;
mod hostile;
mod ids;
mod java;
mod python;
mod rust;
mod script;
mod support;
mod walk;
