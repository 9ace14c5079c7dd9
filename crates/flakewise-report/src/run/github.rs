//! A run as annotations of GitHub Actions.

use flakewise_model::RunReport;

use super::blocks::{Block, blocks};
use super::words;
use crate::words::{count, number, plural};
use crate::workflow::{LIMIT, command};

const NAMES: usize = 10;
const WIDTH: usize = 200;

/// What is said about a run, as workflow commands: a warning for a flake, an
/// error for everything else.
pub fn run_github(report: &RunReport) -> String {
    let (flaky, other): (Vec<_>, Vec<_>) =
        blocks(report).into_iter().partition(|block| block.about().headline() == "flaky");
    let missing = [lost(report), uncollected(report)];
    let room = LIMIT - missing.iter().flatten().count();
    let errors =
        missing.into_iter().flatten().chain(other.iter().map(|block| annotation("error", report, block)));
    let warnings = flaky.iter().map(|block| annotation("warning", report, block));
    let mut out: String = errors.take(LIMIT).chain(warnings.take(LIMIT)).collect();
    let hidden = other.iter().skip(room).chain(flaky.iter().skip(LIMIT));
    let hidden: usize = hidden.map(|block| block.members.len()).sum();
    if hidden > 0 {
        let more = plural(hidden as u64, "more test failed", "more tests failed");
        out.push_str(&command(
            "notice",
            &[],
            &[format!("{more}; GitHub shows {LIMIT} annotations of a kind")],
        ));
    }
    out
}

fn annotation(level: &str, report: &RunReport, block: &Block<'_>) -> String {
    let speaker = block.speaker();
    let mut properties = Vec::new();
    if let Some((file, line)) = &speaker.place {
        properties.push(("file", file.clone()));
        properties.push(("line", line.to_string()));
    }
    let subject = match block.members.len() as u64 {
        1 => words::name(speaker),
        tests => count(tests, "test"),
    };
    properties.push(("title", format!("{}: {subject}", words::conclusion(block.about()))));
    let mut lines: Vec<String> =
        block.failures(report, WIDTH).into_iter().take(1).map(|(_, line)| line).collect();
    lines.push(block.verdict());
    lines.extend(block.reasons("; ").into_iter().map(|reason| format!("- {reason}")));
    if block.members.len() > 1 {
        lines.extend(names(block.members.iter().map(|failure| words::name(failure))));
    }
    lines.extend(block.refusal().map(|refusal| format!("not tolerated: {refusal}")));
    lines.push(format!("next: {}", block.next(report)));
    let tried = words::tried(&speaker.reproduce);
    lines.push(format!("reproduce{tried}: {}", speaker.reproduce.command));
    command(level, &properties, &lines)
}

fn lost(report: &RunReport) -> Option<String> {
    missing(&report.lost, ("test gave no result", "tests gave no result"))
}

fn uncollected(report: &RunReport) -> Option<String> {
    missing(&report.uncollected, ("file could not be collected", "files could not be collected"))
}

fn missing(missing: &[String], (one, many): (&str, &str)) -> Option<String> {
    if missing.is_empty() {
        return None;
    }
    let title = plural(missing.len() as u64, one, many);
    let mut lines = vec!["A run that lost tests is never green".to_owned()];
    lines.extend(names(missing.iter().map(|name| words::test(name))));
    Some(command("error", &[("title", title)], &lines))
}

fn names(names: impl ExactSizeIterator<Item = String>) -> Vec<String> {
    let more = names.len().saturating_sub(NAMES) as u64;
    let mut lines: Vec<_> = names.take(NAMES).map(|name| format!("- {name}")).collect();
    if more > 0 {
        lines.push(format!("- and {} more", number(more)));
    }
    lines
}
