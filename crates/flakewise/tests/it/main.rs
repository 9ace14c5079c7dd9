//! The real binary, as people and CI use it.
