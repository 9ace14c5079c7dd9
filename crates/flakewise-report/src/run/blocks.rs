//! Failures that are said in one breath.

use std::collections::HashMap;

use flakewise_model::{Blame, FailureVerdict, OpenQuestion, Proof, Refusal, RunReport, TestFailure};

use super::words;
use crate::words::failure_line;

/// Failures of one incident with one verdict, or one failure alone.
pub(super) struct Block<'a> {
    /// The failures; the one that was run most often, and so knows most, first.
    pub(super) members: Vec<&'a TestFailure>,
}

impl<'a> Block<'a> {
    /// The failure that speaks for all.
    pub(super) fn speaker(&self) -> &'a TestFailure {
        self.members[0]
    }

    pub(super) fn about(&self) -> &'a FailureVerdict {
        &self.speaker().verdict
    }

    /// What it says and how sure that is.
    pub(super) fn verdict(&self) -> String {
        let verdicts: Vec<&FailureVerdict> = self.members.iter().map(|failure| &failure.verdict).collect();
        words::verdict(&verdicts)
    }

    /// Why, strongest first, then how all attempts ended, by outcome.
    pub(super) fn reasons(&self, separator: &str) -> Vec<String> {
        let named = self
            .members
            .iter()
            .flat_map(|failure| &failure.verdict.proofs)
            .find(|proof| matches!(proof, Proof::SharedFailure { representative: Some(_), .. }));
        let speaker = self.speaker();
        let proofs = speaker.verdict.proofs.iter().map(|proof| match (proof, named) {
            // The one that was run again for all does not name itself.
            (Proof::SharedFailure { .. }, Some(named)) => words::reason(named),
            _ => words::reason(proof),
        });
        proofs
            .chain(words::other_failures(&speaker.attempts))
            .chain(words::attempts(&speaker.attempts, separator))
            .collect()
    }

    /// Why it is not tolerated, unless the quarantine says so.
    pub(super) fn refusal(&self) -> Option<&'static str> {
        self.speaker().refusal.filter(|why| *why != Refusal::QuarantineExpired).map(words::refusal)
    }

    /// What the quarantine says, with a label.
    pub(super) fn quarantine(&self) -> Option<(&'static str, String)> {
        self.speaker().quarantine.as_ref().map(|said| words::quarantine(said, &self.speaker().test))
    }

    pub(super) fn next(&self, report: &RunReport) -> String {
        words::next(self.speaker(), report)
    }

    /// What went wrong, the most frequent first. Mostly it is one thing.
    pub(super) fn failures(&self, report: &RunReport, width: usize) -> Vec<(usize, String)> {
        let mut found: Vec<(usize, usize, &TestFailure)> = Vec::new();
        let mut places: HashMap<usize, usize> = HashMap::new();
        for failure in &self.members {
            let place = *places.entry(failure.incident).or_insert_with(|| {
                found.push((0, failure.incident, failure));
                found.len() - 1
            });
            found[place].0 += 1;
        }
        found.sort_by_key(|(count, ..)| std::cmp::Reverse(*count));
        found
            .into_iter()
            .map(|(count, _, failure)| (count, what_went_wrong(report, failure, width)))
            .collect()
    }
}

/// The first failure of a test in one line, or that of its incident.
pub(super) fn what_went_wrong(report: &RunReport, failure: &TestFailure, width: usize) -> String {
    let own = failure.first().and_then(|attempt| attempt.failure.as_deref());
    match (own, report.incidents.get(failure.incident)) {
        (Some(own), _) => failure_line(own.kind.as_deref(), &own.message, width),
        (None, Some(incident)) => failure_line(incident.kind.as_deref(), &incident.message, width),
        (None, None) => failure_line(None, "", width),
    }
}

/// The failures of a run in blocks, in the order of their first.
pub(super) fn blocks(report: &RunReport) -> Vec<Block<'_>> {
    let mut blocks: Vec<Block<'_>> = Vec::new();
    let mut places = HashMap::new();
    for failure in &report.failures {
        let blame = &failure.verdict.blame;
        // Nothing is known of any of these but that there are too many.
        let many = *blame == Blame::Undecided(OpenQuestion::TooManyFailures);
        let incident = (!many).then_some(failure.incident);
        let key = (
            failure.verdict.headline(),
            blame.detail(),
            failure.refusal,
            failure.quarantine.as_ref(),
            incident,
        );
        let place = *places.entry(key).or_insert_with(|| {
            blocks.push(Block { members: Vec::new() });
            blocks.len() - 1
        });
        blocks[place].members.push(failure);
    }
    for block in &mut blocks {
        let most = block.members.iter().map(|failure| failure.attempts.len()).max();
        if let Some(at) = block.members.iter().position(|failure| Some(failure.attempts.len()) == most) {
            block.members[..=at].rotate_right(1);
        }
    }
    blocks
}
