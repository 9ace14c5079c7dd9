//! What a hunt found.

mod findings;
mod json;
mod text;

pub use json::hunt_json;
pub use text::hunt_text;
