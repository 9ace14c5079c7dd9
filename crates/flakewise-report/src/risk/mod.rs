//! What a model says of tests: how likely each is flaky, and why.

mod card;
mod findings;
mod json;
mod report;
mod text;
mod words;

pub use card::card_text;
pub use json::risk_json;
pub use report::{ModelOrigin, Risk, RiskReason, RiskReport, RiskScope, Threshold};
pub use text::risk_text;

/// A reason in one line.
pub(crate) fn reason_text(reason: &RiskReason) -> String {
    words::reason(reason)
}
