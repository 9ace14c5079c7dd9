//! What a search for culprits found, in a terminal.

use std::fmt::Write as _;

use flakewise_model::{Culprit, CulpritAnswer, CulpritReport, Foreign, NamedTest, Tally};

use super::shared::{remedy, sentence};
use crate::run::name_of;
use crate::style::{BOLD, GOOD, HINT, WARNING, notice_line, styled};
use crate::words::{count, duration, number, plural, sureness};

/// Culprits printed in full; what follows has a line each.
const FULL: usize = 3;
/// Culprits listed at all.
const LISTED: usize = 50;
/// Shared things that are listed.
const SHARED: usize = 5;
const INDENT: &str = "       ";

/// Which tests a test depends on, how often that showed, and a command that
/// shows it.
pub fn culprit_text(report: &CulpritReport) -> String {
    let mut out = String::new();
    let _ = write_report(&mut out, report);
    out
}

fn write_report(out: &mut String, report: &CulpritReport) -> std::fmt::Result {
    let name = styled(BOLD, name_of(&report.test.name));
    match &report.answer {
        CulpritAnswer::FlakyAlone => {
            writeln!(out, "{}  {name}", styled(WARNING, "FLAKY ALONE"))?;
            writeln!(out, "{INDENT}{}: no other test is needed", alone(report.alone))?;
        }
        CulpritAnswer::NoDifference { orders } => {
            writeln!(out, "{}  {name}", styled(GOOD, "NO DIFFERENCE"))?;
            let others = match *orders {
                0 => "there is no other test".to_owned(),
                orders => ended_so(orders),
            };
            writeln!(out, "{INDENT}{}, and {others}", alone(report.alone))?;
        }
        CulpritAnswer::Undecided { orders } => {
            writeln!(out, "{}  {name}", styled(WARNING, "UNDECIDED"))?;
            let others = match *orders {
                0 => String::new(),
                orders => format!(", and {}", ended_so(orders)),
            };
            writeln!(out, "{INDENT}{}{others}", alone(report.alone))?;
        }
        CulpritAnswer::Victim(culprits) => {
            writeln!(out, "{}  {name}", styled(WARNING, "VICTIM"))?;
            writeln!(out, "{INDENT}{}, and fails after {}", alone(report.alone), few(culprits, "polluter"))?;
        }
        CulpritAnswer::Brittle(culprits) => {
            writeln!(out, "{}  {name}", styled(WARNING, "BRITTLE"))?;
            writeln!(
                out,
                "{INDENT}{}, and passes after {}",
                alone(report.alone),
                few(culprits, "state-setter")
            )?;
        }
    }
    let culprits = report.answer.culprits();
    for (place, culprit) in culprits.iter().take(LISTED).enumerate() {
        write_culprit(out, report, culprit, place < FULL)?;
        if place == 0 {
            write_shared(out, report, culprit)?;
        }
    }
    if culprits.len() > LISTED {
        writeln!(out, "and {} more", number((culprits.len() - LISTED) as u64))?;
    }
    if !report.cleaners.is_empty() {
        let cleaners = report.cleaners.len() as u64;
        let what = plural(
            cleaners,
            "test cleans up if it runs in between",
            "tests clean up if any of them runs in between",
        );
        writeln!(out, "\n{} {what}", styled(BOLD, "cleaners:"))?;
        for cleaner in report.cleaners.iter().take(LISTED) {
            writeln!(out, "{INDENT}- {}", name_of(&cleaner.name))?;
        }
    }
    writeln!(out)?;
    for notice in &report.notices {
        writeln!(out, "{}", notice_line(notice))?;
    }
    if !culprits.is_empty() && !report.exhaustive {
        writeln!(out, "{} pass `--all` to find all culprits and cleaners", styled(HINT, "hint:"))?;
    }
    writeln!(out, "{} in {}", plural(report.forks, "fork", "forks"), duration(report.duration))?;
    write_spent(out, report)
}

fn ended_so(orders: u32) -> String {
    format!("had the same outcome in {} of all tests", plural(u64::from(orders), "order", "orders"))
}

/// That there was no time for more, and how to continue.
pub(super) fn write_spent(out: &mut String, report: &CulpritReport) -> std::fmt::Result {
    let Some(budget) = report.spent else { return Ok(()) };
    writeln!(
        out,
        "stopped: budget of {} exhausted; run the same command to continue, or pass a longer `--budget`",
        duration(budget)
    )
}

fn write_culprit(
    out: &mut String,
    report: &CulpritReport,
    culprit: &Culprit,
    full: bool,
) -> std::fmt::Result {
    let names: Vec<String> = culprit.tests.iter().map(|test| name_of(&test.name)).collect();
    if !full {
        return writeln!(out, "{INDENT}{}", names.join(" and then "));
    }
    let role = if matches!(report.answer, CulpritAnswer::Victim(_)) { "POLLUTER" } else { "STATE-SETTER" };
    let label = if names.len() == 1 { role.to_owned() } else { format!("{role}S, together") };
    writeln!(out, "\n{}  {}", styled(WARNING, label), styled(BOLD, &names[0]))?;
    for name in &names[1..] {
        writeln!(out, "{INDENT}and then {}", styled(BOLD, name))?;
    }
    let verb = if matches!(report.answer, CulpritAnswer::Victim(_)) { "failed" } else { "passed" };
    let times = |tally: Tally| {
        let done = if verb == "failed" { tally.failed } else { tally.passed };
        format!("{} of {}", number(done), number(tally.runs()))
    };
    let proof = if report.is_proved(culprit) { "proved" } else { "not confirmed in a new process" };
    let is_certain = !culprit.forks.is_mixed();
    let whom = if names.len() == 1 { "it" } else { "them" };
    let sure = if is_certain { String::new() } else { format!(" ({})", sureness(culprit.confidence)) };
    writeln!(
        out,
        "{INDENT}{verb} {} times after {whom} in forks{sure}, {} in new processes: {proof}",
        times(culprit.forks),
        times(culprit.fresh)
    )?;
    writeln!(out, "{INDENT}{} {}", styled(HINT, "reproduce:"), reproduce(report, culprit))
}

/// What they share, how sure that is, and what to do about it.
fn write_shared(out: &mut String, report: &CulpritReport, culprit: &Culprit) -> std::fmt::Result {
    let label = |word: &str| styled(HINT, format!("{word}:"));
    for state in culprit.shared.iter().take(SHARED) {
        writeln!(out, "{INDENT}{} {}", label("why"), sentence(report, state))?;
    }
    let verb =
        if matches!(report.answer, CulpritAnswer::Victim(_)) { "passes" } else { "fails as it does alone" };
    match &culprit.shared[..] {
        [] if report.spent.is_some() => {
            return writeln!(
                out,
                "{INDENT}{} budget exhausted before the shared state was found",
                label("why")
            );
        }
        [] => return writeln!(out, "{INDENT}{} the shared state could not be determined", label("why")),
        [state, ..] if !state.is_proved => {
            writeln!(
                out,
                "{INDENT}{} likely, not proved: it cannot be undone, or undoing it is not enough",
                label("proof")
            )?;
        }
        [_] => writeln!(out, "{INDENT}{} once that is undone, it {verb}", label("proof"))?,
        [..] => writeln!(out, "{INDENT}{} once these are undone, it {verb}", label("proof"))?,
    }
    for state in culprit.shared.iter().take(SHARED) {
        writeln!(out, "{INDENT}{} {}", label("remedy"), remedy(report, state))?;
    }
    Ok(())
}

/// A plain command that runs the culprits and then the test.
pub(super) fn reproduce(report: &CulpritReport, culprit: &Culprit) -> String {
    plain(report, &culprit.tests)
}

/// A plain command that runs some tests and then the one in question.
pub(super) fn plain(report: &CulpritReport, before: &[NamedTest]) -> String {
    Foreign::new(&report.plain.line(names(report, before))).line()
}

/// What the runner takes for some tests and the one in question.
pub(super) fn names<'a>(report: &'a CulpritReport, before: &'a [NamedTest]) -> impl Iterator<Item = &'a str> {
    before.iter().chain([&report.test]).map(|test| test.argument.as_str())
}

pub(super) fn alone(tally: Tally) -> String {
    let runs = count(tally.runs(), "time");
    if tally.runs() == 0 {
        return "did not run alone".to_owned();
    }
    match (tally.passed, tally.failed) {
        (0, _) => format!("failed all {runs} it ran alone"),
        (_, 0) => format!("passed all {runs} it ran alone"),
        (_, failed) => format!("failed {} of {runs} it ran alone", number(failed)),
    }
}

/// `a polluter`, `3 polluters`.
fn few(culprits: &[Culprit], noun: &str) -> String {
    match culprits {
        [one] if one.tests.len() == 1 => format!("a {noun}"),
        [one] => format!("{} that work together", count(one.tests.len() as u64, noun)),
        _ => count(culprits.len() as u64, noun),
    }
}
