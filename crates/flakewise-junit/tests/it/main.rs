//! What the crate does, seen from outside.

mod corpus;
mod hostile;
mod messy;
mod properties;
mod reports;
mod support;
