//! How good prediction is, measured on public data by the papers' protocols.

mod category;

pub use category::{CategoryConfusion, CategoryRecord, CategoryReport, evaluate_categories};
