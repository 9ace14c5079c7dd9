//! A run in a terminal, below what its runner printed.

use std::fmt::Write as _;

use anstyle::Style;
use flakewise_model::{Blame, FailureVerdict, Foreign, RunReport};

use super::blocks::{Block, blocks};
use super::words;
use crate::style::{BOLD, DIM, ERROR, GOOD, HINT, WARNING, notice_line, styled};
use crate::words::{count, number, plural};

/// Blocks in full; what follows has a line each.
const BLOCKS: usize = 20;
/// Tests listed per block.
const NAMES: usize = 5;
/// Different failures listed per block.
const FAILURES: usize = 3;
/// Reasons listed per block.
const REASONS: usize = 7;
const WIDTH: usize = 100;
const INDENT: &str = "       ";

/// What is said about a run: what needs a person first, each failure in a few
/// lines, and how the build ends. A line if all is well.
pub fn run_text(report: &RunReport) -> String {
    let mut out = String::new();
    let _ = write_run(&mut out, report);
    out
}

fn write_run(out: &mut String, report: &RunReport) -> std::fmt::Result {
    let blocks = blocks(report);
    if !blocks.is_empty() {
        let of = report.counts.selected.max(report.failures.len() as u64);
        let failed = format!("{} of {} failed", number(report.failures.len() as u64), count(of, "test"));
        writeln!(out, "{}, {}", styled(BOLD, failed), words::change(report))?;
    }
    for block in blocks.iter().take(BLOCKS) {
        writeln!(out)?;
        write_block(out, report, block)?;
    }
    for (place, block) in blocks.iter().skip(BLOCKS).enumerate() {
        if place == 0 {
            writeln!(out)?;
        }
        writeln!(out, "{}", title(block))?;
    }
    if !blocks.is_empty() {
        writeln!(out)?;
    }
    let green = is_green(report);
    let (warnings, notes): (Vec<_>, Vec<_>) = report.notices.iter().partition(|notice| notice.warning);
    for warning in warnings {
        writeln!(out, "{}", notice_line(warning))?;
    }
    for note in notes.iter().filter(|_| !green) {
        writeln!(out, "{}", notice_line(note))?;
    }
    if let Some(review) = &report.review {
        writeln!(out, "{}", words::review(review))?;
    }
    let style = if green { GOOD } else { BOLD };
    writeln!(out, "{}", styled(style, words::summary(report)))?;
    write_lost(out, report)?;
    if let Some(exit) = words::exit(report) {
        writeln!(out, "{exit}")?;
    }
    Ok(())
}

/// Whether there is nothing to say but that all is well.
fn is_green(report: &RunReport) -> bool {
    report.failures.is_empty() && report.is_complete() && report.counts.failed == 0 && report.exit.code == 0
}

fn write_block(out: &mut String, report: &RunReport, block: &Block<'_>) -> std::fmt::Result {
    let speaker = block.speaker();
    writeln!(out, "{}", title(block))?;
    if block.members.len() > 1 {
        write_names(out, block.members.iter().map(|failure| words::name(failure)))?;
    }
    let failures = block.failures(report, WIDTH);
    for (times, failure) in failures.iter().take(FAILURES) {
        let times = if failures.len() > 1 { format!("{}× ", number(*times as u64)) } else { String::new() };
        let place = words::place(speaker).filter(|_| block.members.len() == 1);
        let place = place.map_or_else(String::new, |place| format!(" ({place})"));
        writeln!(out, "{INDENT}{times}{failure}{place}")?;
    }
    let more = failures.len().saturating_sub(FAILURES) as u64;
    if more > 0 {
        writeln!(out, "{INDENT}and {}", plural(more, "other kind of failure", "other kinds of failure"))?;
    }
    writeln!(out, "{INDENT}{}", block.verdict())?;
    let reasons = block.reasons("   ");
    for reason in reasons.iter().take(REASONS) {
        writeln!(out, "{INDENT}- {reason}")?;
    }
    let more = reasons.len().saturating_sub(REASONS) as u64;
    if more > 0 {
        writeln!(out, "{INDENT}- and {}", plural(more, "weaker reason", "weaker reasons"))?;
    }
    if let Some(refusal) = block.refusal() {
        writeln!(out, "{INDENT}{} {refusal}", styled(WARNING, "not tolerated:"))?;
    }
    if let Some((label, text)) = block.quarantine() {
        let style = if speaker.is_quarantined() { HINT } else { WARNING };
        writeln!(out, "{INDENT}{} {text}", styled(style, format!("{label}:")))?;
    }
    writeln!(out, "{INDENT}{} {}", styled(HINT, "next:"), block.next(report))?;
    let label = format!("reproduce{}:", words::tried(&speaker.reproduce));
    writeln!(out, "{INDENT}{} {}", styled(HINT, label), Foreign::new(&speaker.reproduce.command).line())
}

/// `FLAKY  tests/test_cart.py::test_total  7f3a91c2`.
fn title(block: &Block<'_>) -> String {
    let speaker = block.speaker();
    let label = styled(style(block.about()), words::label(block.about()));
    match block.members.len() as u64 {
        1 => format!("{label}  {}  {}", styled(BOLD, words::name(speaker)), styled(DIM, &speaker.id)),
        tests => format!("{label}  {}", styled(BOLD, count(tests, "test"))),
    }
}

fn write_names(out: &mut String, names: impl ExactSizeIterator<Item = String>) -> std::fmt::Result {
    let more = names.len().saturating_sub(NAMES) as u64;
    for name in names.take(NAMES) {
        writeln!(out, "{INDENT}- {name}")?;
    }
    if more > 0 {
        writeln!(out, "{INDENT}- and {} more", number(more))?;
    }
    Ok(())
}

fn write_lost(out: &mut String, report: &RunReport) -> std::fmt::Result {
    if report.lost.is_empty() {
        return Ok(());
    }
    let lost = plural(report.lost.len() as u64, "test gave no result", "tests gave no result");
    writeln!(out, "{} {lost}, so this run is not green", styled(ERROR, "lost:"))?;
    write_names(out, report.lost.iter().map(|name| words::test(name)))
}

fn style(verdict: &FailureVerdict) -> Style {
    match verdict.blame {
        Blame::Regression => ERROR,
        Blame::Flaky(_) if verdict.is_new_flake() => ERROR,
        Blame::Flaky(_) => WARNING,
        _ => BOLD,
    }
}
