//! The report to look at: one self-contained HTML file.
//!
//! [`report_html`] turns a [`flakewise_model::ProjectOverview`] into a page with
//! charts, a table and a section per test. The page loads nothing: style, script
//! and data are in it, and its Content-Security-Policy names the hashes of that
//! style and that script, so nothing else can run or be fetched.
//!
//! Like `flakewise-report`, this crate computes no verdict and reads no clock: the
//! same input gives the same bytes. Names and messages are hostile. They pass
//! through [`flakewise_model::Foreign`], then through the template's escaping or
//! into a block of JSON in which `<` never occurs; the script shows them as text
//! nodes only.

mod charts;
mod data;
mod page;
mod policy;
mod words;

pub use page::{Page, report_html};
