//! What tests of several crates share: made-up histories, a place to run the
//! real binary in, a suite of known behaviour, and what may turn green. Never
//! shipped.

mod context;
pub mod green;
mod history;
pub mod zoo;

pub use context::{Output, TestContext};
pub use history::{BatchBuilder, at, test_id, test_id_in};
