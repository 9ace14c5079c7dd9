//! Learning from numbers. Nothing here knows what a test is.
//!
//! Everything that draws at random takes a seed, and gives the same result on
//! any number of threads.

mod matrix;

pub use matrix::{DenseMatrix, SparseMatrix, SparseRow};
