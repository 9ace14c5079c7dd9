//! A hunt in a terminal.

use std::fmt::Write as _;

use flakewise_model::{FoundKind, FoundTest, Hidden, HuntEnd, HuntReport, Probability, highest_rate};

use crate::run::{name_of, what};
use crate::style::{BOLD, DIM, GOOD, HINT, WARNING, styled};
use crate::words::{clean, count, duration, number, plural, test_name, times};

/// Tests told in full; what follows has a line each.
const FULL: usize = 30;
/// Names in a list.
const NAMES: usize = 5;
const WIDTH: usize = 100;
const INDENT: &str = "       ";

/// What a hunt found: the flaky tests, what the others are cleared of, and what
/// is probably still hidden.
pub fn hunt_text(report: &HuntReport) -> String {
    let mut out = String::new();
    let _ = write_hunt(&mut out, report);
    out
}

fn write_hunt(out: &mut String, report: &HuntReport) -> std::fmt::Result {
    let found = plural(report.found.len() as u64, "flaky test found", "flaky tests found");
    let style = if report.found.is_empty() { GOOD } else { BOLD };
    let runs = plural(report.executions, "run", "runs");
    let took = duration(report.duration);
    let jobs = if report.jobs > 1 { format!(", {} side by side", report.jobs) } else { String::new() };
    writeln!(out, "{} in {runs} of {} ({took}{jobs})", styled(style, found), count(report.tests, "test"))?;
    if let Some(shard) = report.shard {
        writeln!(out, "part {} of {} of the tests", shard.number, shard.of)?;
    }
    if report.known > 0 {
        writeln!(out, "{} of this code were known before", plural(report.known, "run", "runs"))?;
    }
    for (place, found) in report.found.iter().enumerate() {
        if place < FULL {
            write_found(out, found)?;
        } else {
            writeln!(out, "{}", title(found))?;
        }
    }
    writeln!(out)?;
    if !report.always_fail.is_empty() {
        let all = report.always_fail.len() as u64;
        writeln!(
            out,
            "{} {}",
            styled(BOLD, "broken:"),
            plural(all, "test never passed", "tests never passed")
        )?;
        for test in report.always_fail.iter().take(NAMES) {
            writeln!(out, "{INDENT}- {}", clean(test_name(test)))?;
        }
        if all > NAMES as u64 {
            writeln!(out, "{INDENT}- and {} more", number(all - NAMES as u64))?;
        }
    }
    write_cleared(out, report)?;
    if let Some(hidden) = report.hidden {
        writeln!(out, "{} {}", styled(BOLD, "hidden:"), hidden_words(hidden))?;
    }
    for notice in &report.notices {
        let label = if notice.warning { styled(WARNING, "warning:") } else { styled(HINT, "note:") };
        writeln!(out, "{label} {}", clean(&notice.text))?;
    }
    writeln!(out, "{}", end(report))
}

fn write_found(out: &mut String, found: &FoundTest) -> std::fmt::Result {
    writeln!(out, "\n{}", title(found))?;
    if let Some(failure) = &found.failure {
        let place = found.place.as_ref();
        let place = place.map_or_else(String::new, |(file, line)| format!(" ({}:{line})", clean(file)));
        writeln!(out, "{INDENT}{}{place}", what(failure.kind.as_deref(), &failure.message, WIDTH))?;
    }
    writeln!(out, "{INDENT}{}", how(found))
}

/// `FLAKY  tests/test_cart.py::test_total  7f3a91c2`.
fn title(found: &FoundTest) -> String {
    let label = styled(WARNING, "FLAKY");
    format!("{label}  {}  {}", styled(BOLD, name_of(&found.name)), styled(DIM, &found.id))
}

fn how(found: &FoundTest) -> String {
    let runs = found.alone.attempts;
    let failures = found.alone.failures;
    match found.kind {
        FoundKind::Alone | FoundKind::Beside | FoundKind::Together if runs == 0 => {
            "passed and failed in earlier runs of this code".to_owned()
        }
        FoundKind::Alone | FoundKind::Together => {
            let interval = found.alone.interval();
            format!(
                "failed {} of {} runs alone: {} (between {} and {})",
                number(failures),
                number(runs),
                percent(found.alone.rate()),
                percent(interval.low),
                percent(interval.high)
            )
        }
        FoundKind::Beside => format!(
            "failed {} of {} runs, but only while other tests ran beside it: look for a port, file or \
             table they share",
            number(failures),
            number(runs)
        ),
        FoundKind::FailsAlone => format!(
            "passes with the others, failed {} it ran alone: it needs what another test leaves behind",
            all(runs)
        ),
        FoundKind::PassesAlone => format!(
            "failed with the others, passed {} it ran alone: another test is in its way, or it fails rarely",
            all(runs)
        ),
    }
}

fn all(runs: u64) -> String {
    match runs {
        1 => "the one time".to_owned(),
        _ => format!("all {}", times(runs).replace("twice", "2 times")),
    }
}

fn write_cleared(out: &mut String, report: &HuntReport) -> std::fmt::Result {
    let cleared = report.cleared;
    if cleared.tests == 0 {
        return Ok(());
    }
    let tests = plural(cleared.tests, "test showed no surprise", "tests showed no surprise");
    write!(out, "{} {tests}", styled(BOLD, "cleared:"))?;
    if cleared.median_runs > 0 {
        write!(
            out,
            "; half of them ran {} or more alone, and so fail in less than {} of runs (95 % sure)",
            times(cleared.median_runs),
            percent(highest_rate(cleared.median_runs))
        )?;
    }
    writeln!(out)
}

fn hidden_words(hidden: Hidden) -> String {
    let expected = hidden.expected;
    match (hidden.low, hidden.high) {
        (_, 0) => "probably no further flaky test".to_owned(),
        (low, high) if low == high => format!("probably {} more", count(u64::from(low), "flaky test")),
        (low, high) => format!(
            "probably {low} to {} more, {expected:.1} expected (90 % sure)",
            count(u64::from(high), "flaky test")
        ),
    }
}

fn end(report: &HuntReport) -> String {
    let why = match report.end {
        HuntEnd::Budget => "the time was over",
        HuntEnd::Confidence => "every test is as sure as you asked",
        HuntEnd::Hidden => "few enough are expected to be hidden",
        HuntEnd::Exhausted => "there is nothing left to run",
        HuntEnd::Interrupted => "it was interrupted",
    };
    let next = if report.run.dirty {
        "commit, so that the next hunt can go on from here"
    } else {
        "the next hunt on this commit goes on from here"
    };
    format!("ended because {why}; {next}")
}

/// `2 %`, `0.3 %`.
fn percent(share: Probability) -> String {
    let percent = share.get() * 100.0;
    if percent >= 9.95 { format!("{percent:.0} %") } else { format!("{percent:.1} %") }
}
