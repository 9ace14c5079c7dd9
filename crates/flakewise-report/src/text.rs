//! Findings in a terminal.

use std::fmt::Write as _;

use flakewise_model::{
    Conclusion, Evidence, FailureGroup, FindingId, FlakeRate, FlakyTest, Foreign, HistoryReport, Outcome,
    OutcomeStep, SharedFailure, TestHistory, Transitions, Verdict,
};

use crate::rate_change::{change_line, latest_change};
use crate::style::{BOLD, DIM, ERROR, GOOD, HINT, WARNING, styled};
use crate::words::{
    count, day, duration, failure_line, minute, number, plural, revision, short_commit, test_name, times,
};

/// Failures listed per finding.
const FAILURES: usize = 3;
/// Failures shared by several tests that are listed.
const SHARED: usize = 5;
const WIDTH: usize = 100;

/// The report: what is flaky, the costliest first, at most `limit` tests.
pub fn report_text(report: &HistoryReport, limit: usize) -> String {
    let mut out = String::new();
    let _ = write_report(&mut out, report, limit);
    out
}

fn write_report(out: &mut String, report: &HistoryReport, limit: usize) -> std::fmt::Result {
    let window = report.window.map_or_else(String::new, |(first, last)| {
        if first == last { format!(" on {first}") } else { format!(" from {first} to {last}") }
    });
    let scope = format!("{} in {}{window}", count(report.attempts, "attempt"), count(report.runs, "run"));
    if report.findings.is_empty() {
        writeln!(out, "{} in {scope}", styled(GOOD, "no flaky test found"))?;
    } else {
        let lost = report.findings.iter().map(|finding| finding.cost.time_lost).sum();
        let flaky = report.findings.len() as u64;
        let costs = format!("{}, {} lost", styled(BOLD, count(flaky, "flaky test")), duration(lost));
        writeln!(out, "{costs} ({scope})")?;
    }
    for (place, finding) in report.findings.iter().take(limit).enumerate() {
        writeln!(out)?;
        write_finding(out, place + 1, finding, &report.findings)?;
    }
    write_shared(out, &report.shared_failures)?;
    let hidden = report.findings.len().saturating_sub(limit) as u64;
    let mut notes = Vec::new();
    if hidden > 0 {
        notes.push(format!("{} not listed, see `--limit`", count(hidden, "flaky test")));
    }
    if report.broken > 0 {
        notes.push(plural(
            report.broken,
            "test fails now and is probably not flaky",
            "tests fail now and are probably not flaky",
        ));
    }
    let undecided = report.others_failing - report.broken;
    if undecided > 0 {
        notes.push(format!(
            "{} without an explanation in the history yet",
            plural(undecided, "test failed", "tests failed")
        ));
    }
    if report.outages > 0 {
        let outages = plural(report.outages, "outage", "outages");
        notes.push(format!("{outages} excluded: most tests of the run failed"));
    }
    if report.incomplete_runs > 0 {
        notes.push(format!(
            "{} cut off, so tests may be missing",
            plural(report.incomplete_runs, "run had a report", "runs had reports")
        ));
    }
    if report.lost_days > 0 {
        notes.push(format!(
            "{} lost: their attempts have expired, and the roll-ups of `test_days` are gone",
            plural(report.lost_days, "day is", "days are")
        ));
    }
    if !notes.is_empty() {
        writeln!(out)?;
    }
    for note in notes {
        writeln!(out, "{note}")?;
    }
    if let Some(finding) = report.findings.first() {
        writeln!(out, "\n{} see the evidence with `flakewise show {}`", styled(HINT, "hint:"), finding.id)?;
    }
    Ok(())
}

/// What several tests have in common is rarely caused by one of them.
fn write_shared(out: &mut String, shared: &[SharedFailure]) -> std::fmt::Result {
    if shared.is_empty() {
        return Ok(());
    }
    writeln!(out, "\n{}", styled(BOLD, count(shared.len() as u64, "failure") + " shared by several tests"))?;
    for SharedFailure { tests, failure } in shared.iter().take(SHARED) {
        let seen = format!("{} to {}", day(failure.first_seen), day(failure.last_seen));
        let tests_count = count(tests.len() as u64, "test");
        writeln!(out, "     {tests_count}, {}", group_line(failure))?;
        let names: Vec<_> = tests.iter().take(FAILURES).map(test_name).collect();
        let more = if tests.len() > FAILURES { ", …" } else { "" };
        writeln!(out, "         {}", styled(DIM, format!("{seen}: {}{more}", names.join(", "))))?;
    }
    if shared.len() > SHARED {
        writeln!(out, "     and {}", plural((shared.len() - SHARED) as u64, "other", "others"))?;
    }
    Ok(())
}

fn write_finding(out: &mut String, place: usize, finding: &FlakyTest, all: &[FlakyTest]) -> std::fmt::Result {
    let label = conclusion_label(finding.verdict.conclusion);
    writeln!(out, "{place:>3}. {label}  {}  {}", test_name(&finding.test), styled(DIM, &finding.id))?;
    writeln!(
        out,
        "     {}; {}, {} lost",
        rate(finding.rate, finding.reruns),
        disturbed(finding.cost.runs_disturbed),
        duration(finding.cost.time_lost),
    )?;
    writeln!(out, "     since {}, last seen {}", day(finding.since), day(finding.last_seen))?;
    for reason in reasons(&finding.verdict).into_iter().take(1).chain(latest_change(finding, all)) {
        writeln!(out, "     {reason}")?;
    }
    for group in finding.failures.iter().take(FAILURES) {
        writeln!(out, "     {}", group_line(group))?;
    }
    let more = finding.failures.len().saturating_sub(FAILURES) as u64;
    if more > 0 {
        writeln!(out, "     and {}", plural(more, "other kind of failure", "other kinds of failure"))?;
    }
    Ok(())
}

/// One test's history.
pub fn history_text(history: &TestHistory) -> String {
    let mut out = String::new();
    let _ = write_history(&mut out, history);
    out
}

fn write_history(out: &mut String, history: &TestHistory) -> std::fmt::Result {
    let label = conclusion_label(history.verdict.conclusion);
    let id = FindingId::of(&history.test);
    writeln!(out, "{label}  {}  {}", styled(BOLD, test_name(&history.test)), styled(DIM, id))?;
    writeln!(out, "       {}", styled(DIM, Foreign::new(history.test.as_str()).line()))?;
    writeln!(out)?;
    let probability = match history.verdict.conclusion {
        Conclusion::Flaky => "proved".to_owned(),
        _ => format!("P(flaky) = {}", history.verdict.probability),
    };
    writeln!(out, "verdict   {}, {probability}", conclusion_words(history.verdict.conclusion))?;
    for reason in reasons(&history.verdict) {
        writeln!(out, "          {reason}")?;
    }
    writeln!(out, "rate      {}", rate(history.rate, history.reruns))?;
    for change in &history.changes {
        writeln!(out, "          {}", change_line(change))?;
    }
    writeln!(
        out,
        "cost      {}, {} lost",
        disturbed(history.cost.runs_disturbed),
        duration(history.cost.time_lost)
    )?;
    writeln!(out, "known     since {}, {}", day(history.first_seen), count(history.attempts, "attempt"))?;
    if !history.steps.is_empty() {
        writeln!(out)?;
        write_strip(out, &history.steps)?;
    }
    if !history.failures.is_empty() {
        writeln!(out, "\nfailures by kind")?;
    }
    for group in &history.failures {
        writeln!(out, "  {}", group_line(group))?;
        let fingerprint = group.fingerprint.as_ref().map_or("none", |fingerprint| fingerprint.as_str());
        let fingerprint = Foreign::new(fingerprint).line();
        let seen = format!("{} to {}", day(group.first_seen), day(group.last_seen));
        writeln!(out, "      {}", styled(DIM, format!("fingerprint {fingerprint}, {seen}")))?;
    }
    let recent: Vec<_> =
        history.steps.iter().rev().filter(|step| step.outcome.is_failure()).take(5).collect();
    if !recent.is_empty() {
        writeln!(out, "\nlatest failures")?;
    }
    for step in recent {
        let commit = step.commit.as_deref().map_or_else(|| "unknown commit".to_owned(), short_commit);
        let outage = if step.outage { ", in an outage" } else { "" };
        let variant = if step.variant.is_empty() {
            String::new()
        } else {
            format!("  {}", Foreign::new(&step.variant).line())
        };
        let run = Foreign::new(step.run.as_str()).line();
        let line = format!("  {}  {commit}  run {run}{variant}  {}{outage}", minute(step.at), step.outcome);
        writeln!(out, "{line}")?;
    }
    Ok(())
}

/// A strip of outcomes, oldest first, in lines of a fixed width.
fn write_strip(out: &mut String, steps: &[OutcomeStep]) -> std::fmt::Result {
    const PER_LINE: usize = 80;
    writeln!(
        out,
        "latest {}, oldest first: {} passed, {} failed, {} skipped, {} outage",
        count(steps.len() as u64, "attempt"),
        styled(GOOD, "·"),
        styled(ERROR, "F"),
        styled(DIM, "s"),
        styled(DIM, "o"),
    )?;
    for line in steps.chunks(PER_LINE) {
        let cells: String = line.iter().map(cell).collect();
        writeln!(out, "  {cells}")?;
    }
    let (first, last) = (steps[0].at, steps[steps.len() - 1].at);
    writeln!(out, "  {}", styled(DIM, format!("{} to {}", minute(first), minute(last))))
}

fn cell(step: &OutcomeStep) -> String {
    match step.outcome {
        Outcome::Passed => styled(GOOD, "·"),
        Outcome::Skipped => styled(DIM, "s"),
        _ if step.outage => styled(DIM, "o"),
        Outcome::Failed | Outcome::Errored | Outcome::TimedOut | Outcome::Crashed => styled(ERROR, "F"),
    }
}

fn conclusion_label(conclusion: Conclusion) -> String {
    match conclusion {
        Conclusion::Flaky => styled(WARNING, "FLAKY"),
        Conclusion::ProbablyFlaky => styled(WARNING, "FLAKY?"),
        Conclusion::Broken => styled(ERROR, "BROKEN"),
        Conclusion::Undecided => styled(BOLD, "UNDECIDED"),
        Conclusion::NotSeenFailing => styled(GOOD, "OK"),
    }
}

fn conclusion_words(conclusion: Conclusion) -> &'static str {
    match conclusion {
        Conclusion::Flaky => "flaky",
        Conclusion::ProbablyFlaky => "probably flaky",
        Conclusion::Broken => "broken, fails consistently",
        Conclusion::Undecided => "undecided: it failed, and the history does not explain why",
        Conclusion::NotSeenFailing => "not seen failing",
    }
}

/// Why, in words, strongest first. Also used by the other formats.
pub fn reasons(verdict: &Verdict) -> Vec<String> {
    verdict.evidence.iter().map(reason).collect()
}

fn reason(evidence: &Evidence) -> String {
    match evidence {
        Evidence::MixedOutcomes { revisions, latest, variant, passed, failed, at } => {
            let place = if variant.is_empty() {
                String::new()
            } else {
                format!(" ({})", Foreign::new(&variant.to_string()).line())
            };
            let code = match revisions {
                1 => revision(latest),
                _ => format!("{} versions of the code, last on {}", number(*revisions), revision(latest)),
            };
            format!(
                "passed and failed on {code}{place}: {} passed, {} failed, {}",
                number(*passed),
                number(*failed),
                day(*at),
            )
        }
        Evidence::Transitions(Transitions { stayed_passing, began_failing, stayed_failing, recovered }) => {
            let changes = stayed_passing + began_failing + stayed_failing + recovered;
            format!(
                "over {} of the code it went from pass to fail {}, stayed failing {}, recovered {}",
                count(changes, "change"),
                times(*began_failing),
                times(*stayed_failing),
                times(*recovered),
            )
        }
        Evidence::OutagesIgnored { failures } => {
            format!("{} in excluded outages", count(*failures, "failure"))
        }
    }
}

/// How often first attempts failed, and reruns beside them. A failing test is
/// run again and a passing one is not, so the two are never added up.
pub(crate) fn rate(first: FlakeRate, reruns: FlakeRate) -> String {
    let with_interval = |rate: FlakeRate, what: &str| {
        let interval = rate.interval();
        format!(
            "failed {} of {} ({}, 95 % interval {} to {})",
            number(rate.failures),
            count(rate.attempts, what),
            rate.rate(),
            interval.low,
            interval.high,
        )
    };
    match (first.attempts, reruns.attempts) {
        (0, 0) => "no attempt counts".to_owned(),
        (0, _) => with_interval(reruns, "rerun"),
        (_, 0) => with_interval(first, "first attempt"),
        _ => {
            let again = format!("{} of {}", number(reruns.failures), count(reruns.attempts, "rerun"));
            format!("{}, and {again}", with_interval(first, "first attempt"))
        }
    }
}

fn disturbed(runs: u64) -> String {
    format!("disturbed {}", count(runs, "run"))
}

fn group_line(group: &FailureGroup) -> String {
    format!("{}× {}", number(group.count), failure(group, WIDTH))
}

/// What went wrong in one line: the type, and the message if it adds anything.
pub(crate) fn failure(group: &FailureGroup, width: usize) -> String {
    failure_line(group.kind.as_deref(), &group.message, width)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rate_of(first: (u64, u64), reruns: (u64, u64)) -> String {
        let of = |(failures, attempts)| FlakeRate { failures, attempts };
        rate(of(first), of(reruns))
    }

    #[test]
    fn rates_say_what_they_count() {
        assert_eq!(
            rate_of((1, 2), (0, 0)),
            "failed 1 of 2 first attempts (50 %, 95 % interval 9.5 % to 91 %)"
        );
        assert_eq!(
            rate_of((1, 1), (0, 1)),
            "failed 1 of 1 first attempt (100 %, 95 % interval 21 % to 100 %), and 0 of 1 rerun"
        );
        assert_eq!(rate_of((0, 0), (1, 2)), "failed 1 of 2 reruns (50 %, 95 % interval 9.5 % to 91 %)");
        assert_eq!(rate_of((0, 0), (0, 0)), "no attempt counts");
    }

    #[test]
    fn what_a_report_says_of_a_failure_cannot_reach_the_terminal() {
        let group = FailureGroup {
            fingerprint: None,
            kind: Some("Er\u{1b}[31mror".to_owned()),
            message: "me\u{7}ssage\u{202e}".to_owned(),
            count: 1,
            first_seen: flakewise_model::Timestamp::default(),
            last_seen: flakewise_model::Timestamp::default(),
        };
        let line = group_line(&group);
        assert!(!line.contains(['\u{1b}', '\u{7}', '\u{202e}']), "{line:?}");
    }
}
