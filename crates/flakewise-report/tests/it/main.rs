//! What is said about a run, in every form.

mod culprit;
mod github;
mod gitlab;
mod hostile;
mod json;
mod markdown;
mod risk;
mod sample;
mod text;
