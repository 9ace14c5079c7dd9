//! Which tests another test depends on.

mod json;
mod reproduce;
mod shared;
mod text;

pub use json::{culprit_evidence, culprit_json};
pub use reproduce::{reproduce_json, reproduce_text};
pub use text::culprit_text;
