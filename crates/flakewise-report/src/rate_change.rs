//! Changes of a test's failure rate in words.

use flakewise_model::{FlakeRate, FlakyTest, Foreign, RateChange};

use crate::words::{count, day, number, plural, short_commit};

/// What changed and in which commits, in a range as git takes it.
pub fn change_line(change: &RateChange) -> String {
    let of = |rate: FlakeRate| format!("{} of {}", number(rate.failures), number(rate.attempts));
    let (first, last) = (day(change.good.at), day(change.last.at));
    format!(
        "failure rate {} from {} to {} first attempts in {}..{}{} ({} with runs, {})",
        if change.is_rise() { "rose" } else { "fell" },
        of(change.before),
        of(change.after),
        short_commit(&change.good.id),
        short_commit(&change.last.id),
        change
            .branch
            .as_ref()
            .map_or_else(String::new, |branch| format!(" on {}", Foreign::new(branch).line())),
        count(change.commits, "commit"),
        if first == last { last } else { format!("{first} to {last}") },
    )
}

/// The latest change of a finding, and how many others one commit may have changed with it.
pub(crate) fn latest_change(finding: &FlakyTest, all: &[FlakyTest]) -> Option<String> {
    let change = finding.changes.last()?;
    let is_shared = |other: &&FlakyTest| {
        other.test != finding.test && other.changes.iter().any(|other| other.may_share_a_commit(change))
    };
    let shared = match all.iter().filter(is_shared).count() as u64 {
        0 => String::new(),
        others => {
            format!("; {} there too", plural(others, "other flaky test changed", "other flaky tests changed"))
        }
    };
    Some(format!("{}{shared}", change_line(change)))
}
