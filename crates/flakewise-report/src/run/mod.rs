//! What is said about the failures of one run, in every form.

mod blocks;
mod findings;
mod json;
pub(crate) mod markdown;
mod text;
mod words;

pub use json::{evidence_json, run_json};
pub use markdown::run_markdown;
pub use text::run_text;
pub(crate) use words::test as name_of;

/// What the quarantine says about a failing test, in one line; none if nothing.
pub fn quarantine_line(failure: &flakewise_model::TestFailure) -> Option<String> {
    let (label, text) = words::quarantine(failure.quarantine.as_ref()?, &failure.test);
    Some(format!("{label}: {text}"))
}
