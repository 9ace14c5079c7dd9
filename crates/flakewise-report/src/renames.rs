//! Tests that were renamed or moved.

use std::fmt::Write as _;

use flakewise_model::{Foreign, Rename, RenameAction, RenameDecision, Renames, Timestamp};
use serde::Serialize;

use crate::json::{FORMAT, render};
use crate::style::{BOLD, styled};
use crate::words::{count, short_commit};

/// The longest id that is printed, in characters.
const WIDTH: usize = 300;

/// The renames that hold, the latest first, for people.
pub fn renames_text(decisions: &[RenameDecision]) -> String {
    let holding = holding(decisions);
    let mut out = String::new();
    if holding.is_empty() {
        return "no test was renamed\n".to_owned();
    }
    let head = format!("{} renamed", count(holding.len() as u64, "test"));
    let _ = writeln!(out, "{}", styled(BOLD, head));
    for decision in holding {
        let RenameDecision { rename, action, commit, decided } = decision;
        let how = match (action, &commit) {
            (RenameAction::Added, _) => "added by hand".to_owned(),
            (_, Some(commit)) => format!("found in {}", foreign(&short_commit(commit))),
            (_, None) => "found".to_owned(),
        };
        let _ = write!(out, "\n{}", pair(rename));
        let alike = rename.similarity.map_or_else(String::new, |_| format!(", {}", alike(rename)));
        let _ = writeln!(out, "       {how} on {}{alike}", decided.date_naive());
    }
    out
}

/// Renames that were found, for people.
pub fn found_renames_text(renames: &[Rename]) -> String {
    if renames.is_empty() {
        return "no renamed test found\n".to_owned();
    }
    let mut out = format!("{} renamed\n", count(renames.len() as u64, "test"));
    for rename in renames {
        let _ = write!(out, "\n{}       {}\n", pair(rename), alike(rename));
    }
    out
}

/// The decisions as a JSON document, in the order of time.
pub fn renames_json(decisions: &[RenameDecision]) -> String {
    let renames = Renames::new(decisions);
    let rows = decisions.iter().map(|decision| Row {
        former: decision.rename.former.as_str(),
        test: decision.rename.current.as_str(),
        action: decision.action.as_str(),
        similarity: decision.rename.similarity,
        commit: decision.commit.as_deref(),
        decided_at: Some(time(decision.decided)),
        in_force: is_in_force(&renames, decision),
    });
    render(&Document { format: FORMAT, renames: rows.collect() })
}

/// Renames that were found, as a JSON document.
pub fn found_renames_json(renames: &[Rename]) -> String {
    let rows = renames.iter().map(|rename| Row {
        former: rename.former.as_str(),
        test: rename.current.as_str(),
        action: RenameAction::Found.as_str(),
        similarity: rename.similarity,
        commit: None,
        decided_at: None,
        in_force: true,
    });
    render(&Document { format: FORMAT, renames: rows.collect() })
}

/// The decisions that hold, the latest first.
fn holding(decisions: &[RenameDecision]) -> Vec<&RenameDecision> {
    let renames = Renames::new(decisions);
    let mut seen = std::collections::HashSet::new();
    let latest = decisions.iter().rev().filter(|decision| is_in_force(&renames, decision));
    latest.filter(|decision| seen.insert(&decision.rename.former)).collect()
}

fn is_in_force(renames: &Renames, decision: &RenameDecision) -> bool {
    decision.action != RenameAction::Undone
        && renames.next(&decision.rename.former).as_ref() == Some(&decision.rename.current)
}

/// The former id above the present one.
fn pair(rename: &Rename) -> String {
    format!("{}\n    -> {}\n", foreign(rename.former.as_str()), foreign(rename.current.as_str()))
}

fn alike(rename: &Rename) -> String {
    // Rounded down: only what is equal is all the same.
    rename.similarity.map_or_else(String::new, |share| {
        format!("{:.0} % of its source is the same", (share.clamp(0.0, 1.0) * 100.0 + 1e-9).floor())
    })
}

fn foreign(text: &str) -> String {
    Foreign::new(text).cut(WIDTH)
}

fn time(at: Timestamp) -> String {
    at.to_rfc3339_opts(chrono::SecondsFormat::Micros, true)
}

#[derive(Serialize)]
struct Document<'a> {
    format: u32,
    renames: Vec<Row<'a>>,
}

#[derive(Serialize)]
struct Row<'a> {
    former: &'a str,
    test: &'a str,
    action: &'static str,
    similarity: Option<f64>,
    commit: Option<&'a str>,
    decided_at: Option<String>,
    in_force: bool,
}
