//! What is said about the failures of one run, in every form.

mod blocks;
mod github;
mod gitlab;
mod json;
pub(crate) mod markdown;
mod text;
mod words;

pub use github::run_github;
pub use gitlab::run_gitlab;
pub use json::{evidence_json, run_json};
pub use markdown::run_markdown;
pub use text::run_text;
pub(crate) use words::test as name_of;
