//! What tests of several crates share: made-up histories, and a place to run
//! the real binary in. Never shipped.

mod context;
mod history;

pub use context::{Output, TestContext};
pub use history::{BatchBuilder, at, test_id};
