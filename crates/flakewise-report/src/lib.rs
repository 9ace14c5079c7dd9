//! Findings for people and machines: terminal text, Markdown, JSON and the
//! annotations of CI systems.
//!
//! Everything here turns values of `flakewise-model`, `flakewise-predict` and
//! `flakewise-quarantine` into text. Nothing here computes a verdict, reads a clock or knows where
//! values come from, so the same input always gives the same bytes.
//!
//! Text carries ANSI styles; the caller strips them where they are not wanted.
//! Everything is understandable without them.

mod check;
mod culprit;
mod explain;
mod finding;
mod hunt;
mod json;
mod lines;
mod markdown;
mod quarantine;
mod rate_change;
mod renames;
mod risk;
mod rows;
mod run;
mod style;
mod text;
mod words;
mod workflow;

pub use check::check_markdown;
pub use culprit::{culprit_evidence, culprit_json, culprit_text, reproduce_json, reproduce_text};
pub use explain::{Explanation, PathStep, WeighedLine, explain_text};
pub use finding::{
    Finding, Findings, Kind, Level, Place, Subject, findings_github, findings_gitlab, findings_markdown,
    findings_sarif,
};
pub use hunt::{hunt_json, hunt_text};
pub use json::{history_json, render as json_document, report_json};
pub use markdown::report_markdown;
pub use quarantine::{Suggestions, quarantine_json, quarantine_text, suggestions_json, suggestions_text};
pub use rate_change::change_line;
pub use renames::{found_renames_json, found_renames_text, renames_json, renames_text};
pub use risk::{
    ModelOrigin, Risk, RiskReason, RiskReport, RiskScope, Threshold, card_text, risk_json, risk_text,
};
pub use rows::{rows_csv, rows_json, rows_text};
pub use run::{evidence_json, quarantine_line, run_json, run_markdown, run_text};
pub use style::{ERROR, HINT, WARNING};
pub use text::{history_text, reasons, report_text};
pub use words::{count, duration, number, plural, short_commit};
