//! Which tests another test depends on.

mod json;
mod shared;
mod text;

pub use json::culprit_json;
pub use text::culprit_text;
