//! What a model says about itself.

use std::fmt::Write as _;

use flakewise_predict::{Familiarity, ModelCard};

use super::words;
use crate::style::{BOLD, styled};

/// The card of a model: what it learnt from, and what to expect of it at the
/// thresholds for machines and for people.
pub fn card_text(card: &ModelCard) -> String {
    let mut out = format!(
        "{} {}: {}\n",
        styled(BOLD, "trained on"),
        words::name(&card.trained_on),
        words::training(card)
    );
    let mut any = false;
    for familiarity in [Familiarity::KnownClass, Familiarity::KnownProject, Familiarity::NewProject] {
        let mut told = Vec::new();
        for threshold in [0.5, 0.95] {
            let Some(expectation) = words::nearest(card, familiarity, threshold) else { continue };
            if !told.contains(&expectation) {
                told.push(expectation);
            }
        }
        if told.is_empty() {
            continue;
        }
        if !any {
            let _ = writeln!(out, "what to expect, measured on tests that were held out:");
            any = true;
        }
        let _ = writeln!(out, "  tests {}", words::familiarity(familiarity));
        for expectation in told {
            let _ = writeln!(out, "    {}", words::expectation(expectation));
        }
    }
    if !any {
        out.push_str("what to expect of it was not measured: there is too little to hold anything out\n");
    }
    out
}
