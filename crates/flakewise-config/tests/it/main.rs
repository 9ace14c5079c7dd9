//! The configuration file, from outside.

mod discover;
mod parse;
