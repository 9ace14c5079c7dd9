//! What tests of several crates share: made-up histories, a place to run the
//! real binary in, and a suite of known behaviour. Never shipped.

mod context;
mod history;
pub mod zoo;

pub use context::{Output, TestContext};
pub use history::{BatchBuilder, at, test_id, test_id_in};
