//! How to make a test fail, in a terminal and for machines.

use std::fmt::Write as _;

use flakewise_model::{CulpritAnswer, CulpritReport, Foreign, PlainCommand, ReproduceReport, Way};
use serde::Serialize;

use super::json::{NameSummary, TallySummary};
use super::text::{alone, names, write_spent};
use crate::json::{FORMAT, NoticeSummary, render};
use crate::run::name_of;
use crate::style::{BOLD, HINT, WARNING, notice_line, styled};
use crate::words::{duration, number, plural};

const INDENT: &str = "       ";

/// The shortest command that makes a test fail, and how often it does.
pub fn reproduce_text(report: &ReproduceReport) -> String {
    let mut out = String::new();
    let _ = write_report(&mut out, report);
    out
}

fn write_report(out: &mut String, report: &ReproduceReport) -> std::fmt::Result {
    let search = &report.search;
    let name = styled(BOLD, name_of(&search.test.name));
    if let Some(way) = report.best() {
        writeln!(out, "{}  {name}", styled(WARNING, "REPRODUCED"))?;
        writeln!(out, "{INDENT}{}", needs(way))?;
        writeln!(out, "{INDENT}{}", how_often(way))?;
        writeln!(out, "{INDENT}{} {}", styled(HINT, "reproduce:"), command(search, way))?;
        if let Some(repeats) = way.repeats().filter(|repeats| *repeats > 1) {
            writeln!(out, "{INDENT}{} {}", styled(HINT, "95 % sure:"), looped(search, way, repeats))?;
        }
        if matches!(search.answer, CulpritAnswer::Brittle(_)) {
            writeln!(out, "{INDENT}it passes after other tests; find them with `flakewise culprit`")?;
        }
    } else {
        writeln!(out, "{}  {name}", styled(WARNING, "NOT REPRODUCED"))?;
        let orders = match search.answer {
            CulpritAnswer::NoDifference { orders } | CulpritAnswer::Undecided { orders } if orders > 0 => {
                format!(", in {} of all tests", plural(u64::from(orders), "order", "orders"))
            }
            _ => String::new(),
        };
        let seeds = match report.hash_seeds {
            0 => String::new(),
            seeds => format!(" and with {}", plural(u64::from(seeds), "hash seed", "hash seeds")),
        };
        writeln!(out, "{INDENT}{}{orders}{seeds}", alone(search.alone))?;
        writeln!(
            out,
            "{INDENT}it may depend on the machine, load, time or network; `flakewise show` lists when it failed"
        )?;
    }
    writeln!(out)?;
    for notice in &search.notices {
        writeln!(out, "{}", notice_line(notice))?;
    }
    writeln!(out, "{} in {}", plural(search.forks, "fork", "forks"), duration(search.duration))?;
    write_spent(out, search)
}

fn needs(way: &Way) -> String {
    match (way.before.len() as u64, way.hash_seed) {
        (_, Some(seed)) => {
            format!("it fails with hash seed {seed}: it depends on the order of a set or of hashes")
        }
        (0, None) => "it needs no other test to fail".to_owned(),
        (others, None) => format!("it fails after {}", plural(others, "other test", "other tests")),
    }
}

fn how_often(way: &Way) -> String {
    let tally = way.counted();
    let place = if tally == way.fresh { "new processes" } else { "forks" };
    let runs = format!("failed in {} of {} {place}", number(tally.failed), number(tally.runs()));
    format!("{runs}, {} each", duration(way.seconds))
}

/// The command to type.
fn command(search: &CulpritReport, way: &Way) -> String {
    Foreign::new(&seeded(search, way).line(names(search, &way.before))).line()
}

/// The command again and again until it fails.
fn looped(search: &CulpritReport, way: &Way, repeats: u32) -> String {
    Foreign::new(&seeded(search, way).repeated(names(search, &way.before), repeats)).line()
}

fn seeded(search: &CulpritReport, way: &Way) -> PlainCommand {
    let plain = search.plain.clone();
    match way.hash_seed {
        Some(seed) => plain.with_variable("PYTHONHASHSEED", &seed.to_string()),
        None => plain,
    }
}

/// How to make a test fail, as a JSON document.
pub fn reproduce_json(report: &ReproduceReport) -> String {
    let search = &report.search;
    render(&ReproduceSummary {
        format: FORMAT,
        test: NameSummary::from(&search.test),
        command: &search.command,
        seed: search.seed.to_string(),
        answer: search.answer.name(),
        alone: search.alone.into(),
        reproduced: report.best().map(|way| WaySummary {
            before: way.before.iter().map(NameSummary::from).collect(),
            hash_seed: way.hash_seed,
            forks: way.forks.into(),
            fresh: way.fresh.into(),
            chance: way.chance().get(),
            seconds: way.seconds.as_secs_f64(),
            command: command(search, way),
            repeats: way.repeats(),
            repeated: way.repeats().map(|repeats| looped(search, way, repeats)),
        }),
        hash_seeds_tried: report.hash_seeds,
        forks: search.forks,
        budget_exhausted: search.spent.is_some(),
        notices: search.notices.iter().map(NoticeSummary::from).collect(),
    })
}

#[derive(Serialize)]
struct ReproduceSummary<'a> {
    format: u32,
    test: NameSummary<'a>,
    command: &'a [String],
    seed: String,
    answer: &'static str,
    alone: TallySummary,
    reproduced: Option<WaySummary<'a>>,
    hash_seeds_tried: u32,
    forks: u64,
    budget_exhausted: bool,
    notices: Vec<NoticeSummary<'a>>,
}

#[derive(Serialize)]
struct WaySummary<'a> {
    before: Vec<NameSummary<'a>>,
    hash_seed: Option<u32>,
    forks: TallySummary,
    fresh: TallySummary,
    chance: f64,
    seconds: f64,
    command: String,
    repeats: Option<u32>,
    repeated: Option<String>,
}
