//! The quarantine as a list, what expires next first.

use std::fmt::Write as _;

use flakewise_model::{Fingerprint, FlakeRate, FlakyTest, Foreign, shell_word};
use flakewise_quarantine::{Accepts, Entry, InForce, Mode, ReleaseEvidence, Target};
use serde::Serialize;

use crate::json::{FORMAT, render};
use crate::style::{BOLD, ERROR, GOOD, HINT, WARNING, styled};
use crate::words::{count, number, plural};

const INDENT: &str = "       ";
/// The longest text of an entry, in characters.
const WIDTH: usize = 200;

/// The entries for people.
pub fn quarantine_text(in_force: &InForce) -> String {
    let mut out = String::new();
    let _ = write_entries(&mut out, in_force);
    out
}

/// The entries as a JSON document.
pub fn quarantine_json(in_force: &InForce) -> String {
    render(&QuarantineSummary {
        format: FORMAT,
        today: in_force.today.to_string(),
        max_entries: in_force.limits.max_entries,
        max_days: in_force.limits.max_days,
        entries: sorted(in_force).into_iter().map(|entry| EntrySummary::of(entry, in_force)).collect(),
    })
}

fn sorted(in_force: &InForce) -> Vec<&Entry> {
    let mut entries: Vec<&Entry> = in_force.quarantine.entries.iter().collect();
    entries.sort_by_key(|entry| in_force.last_day(entry));
    entries
}

fn write_entries(out: &mut String, in_force: &InForce) -> std::fmt::Result {
    let entries = sorted(in_force);
    if entries.is_empty() {
        return writeln!(out, "nothing is quarantined");
    }
    let all = plural(entries.len() as u64, "entry", "entries");
    let expired = entries.iter().filter(|entry| in_force.is_expired(entry)).count() as u64;
    let expired = if expired > 0 { format!(", {expired} expired") } else { String::new() };
    writeln!(out, "{}", styled(BOLD, format!("{all}{expired}, at most {}", in_force.limits.max_entries)))?;
    for entry in entries {
        writeln!(out)?;
        let label = if in_force.is_expired(entry) { styled(ERROR, "EXPIRED  ") } else { String::new() };
        writeln!(out, "{label}{}", styled(BOLD, foreign(entry.target.as_str())))?;
        let last = in_force.last_day(entry);
        let left = match (last - in_force.today).num_days() {
            0 => "last day today".to_owned(),
            days @ 1.. => format!("{} left", count(days.unsigned_abs(), "day")),
            days => format!("{} ago", count(days.unsigned_abs(), "day")),
        };
        writeln!(
            out,
            "{INDENT}until {last} ({left}), since {}, owner {}",
            entry.since,
            foreign(&entry.owner)
        )?;
        writeln!(out, "{INDENT}{}", foreign(&entry.reason))?;
        match &entry.accepts {
            Accepts::AnyFailure => writeln!(out, "{INDENT}forgives any failure but regressions and crashes")?,
            Accepts::Fingerprints(all) => {
                let listed: Vec<&str> = all.iter().map(Fingerprint::as_str).collect();
                writeln!(
                    out,
                    "{INDENT}forgives {}: {}",
                    count(all.len() as u64, "failure"),
                    listed.join(", ")
                )?;
            }
        }
        if let Some(issue) = &entry.issue {
            writeln!(out, "{INDENT}{}", foreign(issue))?;
        }
        if entry.mode == Mode::Skip {
            writeln!(out, "{INDENT}mode skip")?;
        }
    }
    Ok(())
}

fn foreign(text: &str) -> String {
    Foreign::new(text).cut(WIDTH)
}

#[derive(Serialize)]
struct QuarantineSummary<'a> {
    format: u32,
    today: String,
    max_entries: usize,
    max_days: u32,
    entries: Vec<EntrySummary<'a>>,
}

#[derive(Serialize)]
struct EntrySummary<'a> {
    test: Option<&'a str>,
    pattern: Option<&'a str>,
    fingerprints: Vec<&'a str>,
    any_failure: bool,
    reason: &'a str,
    owner: &'a str,
    issue: Option<&'a str>,
    since: String,
    until: String,
    last_day: String,
    days_left: i64,
    expired: bool,
    mode: &'static str,
    line: u32,
}

impl<'a> EntrySummary<'a> {
    fn of(entry: &'a Entry, in_force: &InForce) -> Self {
        let last = in_force.last_day(entry);
        let (test, pattern) = match &entry.target {
            Target::Test(test) => (Some(test.as_str()), None),
            Target::Pattern(pattern) => (None, Some(pattern.as_str())),
        };
        let fingerprints = match &entry.accepts {
            Accepts::Fingerprints(all) => all.iter().map(Fingerprint::as_str).collect(),
            Accepts::AnyFailure => Vec::new(),
        };
        Self {
            test,
            pattern,
            fingerprints,
            any_failure: entry.accepts == Accepts::AnyFailure,
            reason: &entry.reason,
            owner: &entry.owner,
            issue: entry.issue.as_deref(),
            since: entry.since.to_string(),
            until: entry.until.to_string(),
            last_day: last.to_string(),
            days_left: (last - in_force.today).num_days(),
            expired: in_force.is_expired(entry),
            mode: entry.mode.name(),
            line: entry.line,
        }
    }
}

/// What the history suggests to change about a quarantine.
#[derive(Clone, Debug, Default)]
pub struct Suggestions<'a> {
    /// Flaky tests to quarantine, the costliest first, with their owners.
    pub additions: Vec<(&'a FlakyTest, Option<String>)>,
    /// Quarantined tests, with what speaks for their release.
    pub quarantined: Vec<(&'a Entry, ReleaseEvidence)>,
}

/// Suggestions for people, with the commands that follow them.
pub fn suggestions_text(suggestions: &Suggestions<'_>) -> String {
    let mut out = String::new();
    let _ = write_suggestions(&mut out, suggestions);
    out
}

fn write_suggestions(out: &mut String, suggestions: &Suggestions<'_>) -> std::fmt::Result {
    let Suggestions { additions, quarantined } = suggestions;
    if additions.is_empty() && quarantined.is_empty() {
        return writeln!(out, "nothing to quarantine or release");
    }
    for (finding, owner) in additions {
        let id = finding.test.as_str();
        writeln!(out, "{}  {}", styled(WARNING, "QUARANTINE"), styled(BOLD, foreign(id)))?;
        let FlakeRate { failures, attempts } = finding.rate;
        let runs = count(finding.cost.runs_disturbed, "run");
        writeln!(
            out,
            "{INDENT}proved flaky: failed {} of {} first attempts ({}), disturbed {runs}",
            number(failures),
            number(attempts),
            finding.rate.rate()
        )?;
        let owner = match owner {
            Some(owner) => format!("owner {}", foreign(owner)),
            None => "no owner in CODEOWNERS: add `--owner`".to_owned(),
        };
        writeln!(out, "{INDENT}{owner}")?;
        writeln!(out, "{INDENT}{} {}", styled(HINT, "next:"), command("add", id))?;
    }
    for (entry, evidence) in quarantined {
        let id = entry.target.as_str();
        let label = if evidence.is_enough() { styled(GOOD, "RELEASE") } else { styled(BOLD, "KEEP") };
        writeln!(out, "{label}  {}", styled(BOLD, foreign(id)))?;
        let FlakeRate { failures, attempts } = evidence.before;
        let needed = match evidence.needed {
            Some(needed) => format!("{} needed", number(needed)),
            None => "its flake rate is not known".to_owned(),
        };
        writeln!(
            out,
            "{INDENT}{} since its last failure, {needed}; failed {} of {} first attempts before",
            count(evidence.clean_runs, "clean run"),
            number(failures),
            number(attempts)
        )?;
        writeln!(out, "{INDENT}until {}, owner {}", entry.until, foreign(&entry.owner))?;
        if evidence.is_enough() {
            writeln!(out, "{INDENT}{} {}", styled(HINT, "next:"), command("release", id))?;
        }
    }
    Ok(())
}

fn command(verb: &str, id: &str) -> String {
    format!("flakewise quarantine {verb} {}", foreign(&shell_word(id)))
}

/// Suggestions as a JSON document.
pub fn suggestions_json(suggestions: &Suggestions<'_>) -> String {
    let additions = suggestions.additions.iter().map(|(finding, owner)| AdditionSummary {
        test: finding.test.as_str(),
        id: finding.id.as_str(),
        failures: finding.rate.failures,
        attempts: finding.rate.attempts,
        runs_disturbed: finding.cost.runs_disturbed,
        fingerprints: finding
            .failures
            .iter()
            .filter_map(|group| group.fingerprint.as_ref().map(Fingerprint::as_str))
            .collect(),
        owner: owner.as_deref(),
    });
    let quarantined = suggestions.quarantined.iter().map(|(entry, evidence)| ReleaseSummary {
        test: entry.target.as_str(),
        release: evidence.is_enough(),
        clean_runs: evidence.clean_runs,
        needed: evidence.needed,
        failures: evidence.before.failures,
        attempts: evidence.before.attempts,
        owner: &entry.owner,
        until: entry.until.to_string(),
    });
    render(&SuggestionsSummary {
        format: FORMAT,
        additions: additions.collect(),
        quarantined: quarantined.collect(),
    })
}

#[derive(Serialize)]
struct SuggestionsSummary<'a> {
    format: u32,
    additions: Vec<AdditionSummary<'a>>,
    quarantined: Vec<ReleaseSummary<'a>>,
}

#[derive(Serialize)]
struct AdditionSummary<'a> {
    test: &'a str,
    id: &'a str,
    failures: u64,
    attempts: u64,
    runs_disturbed: u64,
    fingerprints: Vec<&'a str>,
    owner: Option<&'a str>,
}

#[derive(Serialize)]
struct ReleaseSummary<'a> {
    test: &'a str,
    release: bool,
    clean_runs: u64,
    needed: Option<u64>,
    failures: u64,
    attempts: u64,
    owner: &'a str,
    until: String,
}
