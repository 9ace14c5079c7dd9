//! Why an evaluation cannot be made.

use std::path::PathBuf;

/// Why an evaluation cannot be made or kept.
#[derive(Debug, thiserror::Error)]
pub enum EvalError {
    /// The data set cannot be read.
    #[error("failed to read `{path}`")]
    Read {
        /// Which file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// There is nothing to measure on.
    #[error("`{path}` has {flaky} flaky and {other} other tests; each protocol needs some of both")]
    TooFewTests {
        /// Which file.
        path: PathBuf,
        /// Flaky tests in it.
        flaky: usize,
        /// Others.
        other: usize,
    },
    /// A result cannot be written.
    #[error("failed to write `{path}`")]
    Write {
        /// Which file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
}
