//! A run for a job summary or a merge request.

use std::fmt::Write as _;

use flakewise_model::{Foreign, Notice, RunReport, TestFailure};

use super::blocks::{Block, blocks};
use super::words;
use crate::words::{count, number, plural};

/// GitHub refuses a summary of more than 1 MiB, of which others may want some.
pub(crate) const LIMIT: usize = 900_000;
/// Kept for what comes last.
const TAIL: usize = 1_000;
/// Names and notices listed.
const NAMES: usize = 20;
const WIDTH: usize = 200;
/// The longest command shown, in characters.
const COMMAND: usize = 4_000;

/// What is said about a run, as GitHub-flavoured Markdown of at most 900 kB.
pub fn run_markdown(report: &RunReport) -> String {
    run_within(report, LIMIT)
}

/// The same of about as many bytes as a limit.
pub(crate) fn run_within(report: &RunReport, limit: usize) -> String {
    let mut out = String::new();
    let _ = write_run(&mut out, report, limit);
    out
}

fn write_run(out: &mut String, report: &RunReport, limit: usize) -> std::fmt::Result {
    // What the table may take of it.
    let table = limit / 9 * 4;
    writeln!(out, "## {}\n", words::totals(report))?;
    if !report.failures.is_empty() {
        writeln!(out, "{}\n", prose(&capital(&words::change(report))))?;
    }
    if !report.lost.is_empty() {
        let lost = plural(report.lost.len() as u64, "test gave no result", "tests gave no result");
        writeln!(out, "**{lost}**, so this run is not green:\n")?;
        write_names(out, report.lost.iter().map(|name| code(&words::test(name))))?;
    }
    write_table(out, report, table)?;
    let blocks = blocks(report);
    let mut left = 0;
    for block in &blocks {
        let details = details(report, block);
        if left == 0 && out.len() + details.len() <= limit.saturating_sub(TAIL + table / 4) {
            out.push_str(&details);
        } else {
            left += block.members.len();
        }
    }
    if left > 0 {
        writeln!(
            out,
            "The evidence for {} is left out, as this page would be too long\n",
            count(left as u64, "failure")
        )?;
    }
    write_notices(out, report)?;
    if let Some(review) = &report.review {
        writeln!(out, "{}\n", prose(&capital(&words::review(review))))?;
    }
    if let Some(exit) = words::exit(report) {
        writeln!(out, "{}\n", prose(&capital(&exit)))?;
    }
    writeln!(out, "In {}", words::took(report))
}

fn write_table(out: &mut String, report: &RunReport, most: usize) -> std::fmt::Result {
    if report.failures.is_empty() {
        return Ok(());
    }
    writeln!(out, "| verdict | test | why |\n|---|---|---|")?;
    for (place, failure) in report.failures.iter().enumerate() {
        let row = row(failure);
        if out.len() + row.len() > most {
            let more = count((report.failures.len() - place) as u64, "failure");
            writeln!(out, "\n{more} not listed, as this page would be too long")?;
            break;
        }
        out.push_str(&row);
    }
    writeln!(out)
}

fn row(failure: &TestFailure) -> String {
    let certainty = words::certainty(&[&failure.verdict]);
    let why = failure.verdict.proofs.first().map_or_else(String::new, words::reason);
    let quarantined = match &failure.quarantine {
        Some(said) if said.is_forgiven() => ", quarantined",
        Some(_) => ", quarantine does not apply",
        None => "",
    };
    format!(
        "| **{}**, {}{quarantined} | {} | {} |\n",
        words::conclusion(&failure.verdict),
        prose(&certainty),
        code(&words::name(failure)),
        prose(&why),
    )
}

fn details(report: &RunReport, block: &Block<'_>) -> String {
    let speaker = block.speaker();
    let subject = match block.members.len() as u64 {
        1 => code(&words::name(speaker)),
        tests => count(tests, "test"),
    };
    let mut out =
        format!("<details><summary><b>{}</b>: {subject}</summary>\n\n", words::conclusion(block.about()));
    let place = words::place(speaker).map_or_else(String::new, |place| format!(" at {}", code(&place)));
    let failures = block.failures(report, WIDTH);
    for (times, failure) in failures.iter().take(NAMES) {
        match failures.len() {
            1 => out.push_str(&format!("{}{place}\n\n", code(failure))),
            _ => out.push_str(&format!("{}× {}\n\n", number(*times as u64), code(failure))),
        }
    }
    out.push_str(&format!("{}\n\n", prose(&capital(&block.verdict()))));
    for reason in block.reasons("; ") {
        out.push_str(&format!("- {}\n", prose(&reason)));
    }
    out.push('\n');
    if block.members.len() > 1 {
        let _ = write_names(&mut out, block.members.iter().map(|failure| code(&words::name(failure))));
    }
    if let Some(refusal) = block.refusal() {
        out.push_str(&format!("Not tolerated: {}\n\n", prose(refusal)));
    }
    if let Some((label, text)) = block.quarantine() {
        out.push_str(&format!("{}: {}\n\n", capital(label), prose(&text)));
    }
    out.push_str(&format!("Next: {}\n\n", prose(&block.next(report))));
    let command = Foreign::new(&speaker.reproduce.command).line();
    if command.chars().nth(COMMAND).is_none() {
        out.push_str(&format!("Reproduce{}: {}\n\n", words::tried(&speaker.reproduce), code(&command)));
    }
    out.push_str("</details>\n\n");
    out
}

/// A list of at most twenty names, then how many more there are.
pub(crate) fn write_names(
    out: &mut String,
    names: impl ExactSizeIterator<Item = String>,
) -> std::fmt::Result {
    let more = names.len().saturating_sub(NAMES) as u64;
    for name in names.take(NAMES) {
        writeln!(out, "- {name}")?;
    }
    if more > 0 {
        writeln!(out, "- and {} more", number(more))?;
    }
    writeln!(out)
}

fn write_notices(out: &mut String, report: &RunReport) -> std::fmt::Result {
    if report.notices.is_empty() {
        return Ok(());
    }
    let (warnings, notes): (Vec<&Notice>, Vec<_>) = report.notices.iter().partition(|notice| notice.warning);
    let warnings = warnings.into_iter().map(|notice| format!("**Warning:** {}", notice_text(notice)));
    let all: Vec<_> = warnings.chain(notes.into_iter().map(notice_text)).collect();
    write_names(out, all.into_iter())
}

fn notice_text(notice: &Notice) -> String {
    prose(&Foreign::new(&notice.text).cut(2 * WIDTH))
}

pub(crate) fn capital(text: &str) -> String {
    let mut characters = text.chars();
    characters.next().map_or_else(String::new, |first| first.to_uppercase().chain(characters).collect())
}

/// A sentence of ours, in which literals stand in backticks. They become code,
/// and what is around them plain text.
pub(crate) fn prose(text: &str) -> String {
    if !text.matches('`').count().is_multiple_of(2) {
        return plain(text, true);
    }
    let parts = text.split('`').enumerate();
    parts.map(|(place, part)| if place % 2 == 1 { code(part) } else { plain(part, true) }).collect()
}

/// Text of others as code.
///
/// A code span of backticks will not do: in a table, a backslash before a bar
/// can be read in two ways, and only an entity is never the end of a cell.
pub(crate) fn code(text: &str) -> String {
    if text.is_empty() { String::new() } else { format!("<code>{}</code>", plain(text, false)) }
}

/// Text without any markup, on one line. Outside of code, what would call
/// people or refer to issues is taken apart by a space without width.
pub(crate) fn plain(text: &str, apart: bool) -> String {
    let text = Foreign::new(text).line();
    let mut out = String::with_capacity(text.len() + text.len() / 4);
    let mut before = None;
    let mut rest = text.chars();
    while let Some(character) = rest.next() {
        let after = rest.clone().next();
        let inside =
            |neighbour: Option<char>| neighbour.is_some_and(|neighbour| neighbour.is_ascii_alphanumeric());
        let encode = match character {
            '&' | '<' | '>' | '"' | '\'' | '|' | '`' | '*' | '\\' | '[' | ']' | '~' | '!' | '#' | '@'
            | '$' | '^' => true,
            // Between letters it is never emphasis, and most names have some.
            '_' => !(inside(before) && inside(after)),
            // `https://…` and `www.…` become links by themselves.
            ':' => after == Some('/'),
            '.' => before.is_some_and(|before| before.eq_ignore_ascii_case(&'w')),
            _ => false,
        };
        if encode {
            let _ = write!(out, "&#{};", u32::from(character));
        } else {
            out.push(character);
        }
        if apart && matches!(character, '@' | '#' | '!' | '&' | '~' | '$' | '%') && inside(after) {
            out.push_str("&#8203;");
        }
        before = Some(character);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stay_readable() {
        assert_eq!(code("tests/test_cart.py::test_total"), "<code>tests/test_cart.py::test_total</code>");
    }

    #[test]
    fn nothing_of_others_becomes_markup() {
        let hostile = code("a|b\\|c`d</code><img src=x>*e* [f](http://g) _h_ www.i.j @k\n# l");
        for forbidden in ["|", "`", "<img", "*", "[", "](", "http://", "www.", "_h", "@", "\n", "\\"] {
            assert!(!hostile.contains(forbidden), "{forbidden} is left in {hostile}");
        }
        assert_eq!(hostile.matches("</code>").count(), 1);
    }

    #[test]
    fn literals_become_code() {
        assert_eq!(prose("run with `--base REF` again"), "run with <code>--base REF</code> again");
        assert_eq!(prose("odd ` <b>"), "odd &#96; &#60;b&#62;");
        assert_eq!(prose("ask @all about #12"), "ask &#64;&#8203;all about &#35;&#8203;12");
    }
}
