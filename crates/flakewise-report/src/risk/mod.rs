//! What a model says of tests: how likely each is flaky, and why.

mod card;
mod github;
mod json;
mod report;
mod sarif;
mod text;
mod words;

pub use card::card_text;
pub use github::risk_github;
pub use json::risk_json;
pub use report::{ModelOrigin, Risk, RiskReason, RiskReport, RiskScope, Threshold};
pub use sarif::risk_sarif;
pub use text::risk_text;

/// A reason in one line.
pub(crate) fn reason_text(reason: &RiskReason) -> String {
    words::reason(reason)
}
