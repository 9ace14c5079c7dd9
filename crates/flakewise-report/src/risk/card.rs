//! What a model says about itself.

use std::fmt::Write as _;

use flakewise_predict::{Familiarity, ModelCard};

use super::words;
use crate::style::{BOLD, styled};

/// The card of a model: what it learned from, and what to expect of it at the
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
            let _ = writeln!(out, "accuracy, measured on held-out tests:");
            any = true;
        }
        let _ = writeln!(out, "  tests {}", words::familiarity(familiarity));
        for expectation in told {
            let _ = writeln!(out, "    {}", words::expectation(expectation));
        }
    }
    if !any {
        out.push_str("accuracy was not measured: there are too few tests to hold any out\n");
    }
    out
}
