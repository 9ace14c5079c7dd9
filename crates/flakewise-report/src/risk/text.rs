//! Risks in a terminal.

use std::fmt::Write as _;

use anstyle::Style;
use flakewise_model::Foreign;

use super::report::{ModelOrigin, Risk, RiskReport};
use super::words;
use crate::style::{BOLD, DIM, GOOD, HINT, WARNING, styled};
use crate::words::{count, number, plural, test_name};

/// Risks in full; what follows has a line each.
const BLOCKS: usize = 20;
/// Reasons listed per risk.
const REASONS: usize = 4;
const INDENT: &str = "       ";

/// What is predicted, the riskiest first, with reasons and what to do next.
pub fn risk_text(report: &RiskReport) -> String {
    let mut out = String::new();
    let _ = write_report(&mut out, report);
    out
}

/// How many tests are named, in a few words.
pub(super) fn headline(report: &RiskReport) -> (Style, String) {
    let named = report.risks.len() as u64;
    match named {
        0 if report.scope.tests == 0 && report.scope.base.is_some() => {
            (Style::new(), "no changed test found".to_owned())
        }
        0 if report.scope.tests == 0 => (Style::new(), "no test found".to_owned()),
        0 if report.thresholds.iter().any(|(_, threshold)| is_precise(*threshold)) => {
            (GOOD, "no test is likely flaky".to_owned())
        }
        0 => (BOLD, "no test can be called flaky with confidence".to_owned()),
        _ if is_all(report) => (BOLD, format!("all {}", count(named, "test"))),
        _ => (BOLD, plural(named, "test is likely flaky", "tests are likely flaky")),
    }
}

fn write_report(out: &mut String, report: &RiskReport) -> std::fmt::Result {
    let scope = words::scope(&report.scope);
    let (style, headline) = headline(report);
    writeln!(out, "{}: {scope}", styled(style, headline))?;
    if report.scope.tests == 0 {
        return Ok(());
    }
    let named = report.risks.len();
    writeln!(out, "by {}, trained on {}", words::origin(&report.origin), words::training(&report.card))?;
    for line in notes(report) {
        writeln!(out, "{line}")?;
    }
    if named == 0 && !report.most_likely.is_empty() {
        writeln!(out, "\nhighest-risk tests (low confidence):")?;
    }
    let shown = if named == 0 { &report.most_likely } else { &report.risks };
    for risk in shown.iter().take(BLOCKS) {
        writeln!(out)?;
        write_risk(out, risk)?;
    }
    for (place, risk) in shown.iter().skip(BLOCKS).enumerate() {
        if place == 0 {
            writeln!(out)?;
        }
        writeln!(out, "{}", title(risk))?;
    }
    write_end(out, report)
}

fn write_risk(out: &mut String, risk: &Risk) -> std::fmt::Result {
    writeln!(out, "{}", title(risk))?;
    let place = format!("{}:{}", Foreign::new(&risk.path).line(), risk.line);
    match risk.category {
        Some(guess) => {
            let kind = guess.category.name();
            let means = words::category(guess.category);
            writeln!(out, "{INDENT}{place}; if so, {kind} ({}): {means}", guess.probability)?;
        }
        None => writeln!(out, "{INDENT}{place}")?,
    }
    for reason in risk.reasons.iter().take(REASONS) {
        writeln!(out, "{INDENT}- {}", words::reason(reason))?;
    }
    let more = risk.reasons.len().saturating_sub(REASONS) as u64;
    if more > 0 {
        writeln!(out, "{INDENT}- and {}", plural(more, "weaker reason", "weaker reasons"))?;
    }
    let advice = risk.kind().advice();
    writeln!(out, "{INDENT}{} {advice}", styled(HINT, "next:"))
}

/// `97 %  tests/test_cart.py::test_total  7f3a91c2  async-wait`.
fn title(risk: &Risk) -> String {
    let percent = format!("{:>6}", risk.risk.to_string());
    let style = if risk.risk.get() >= 0.5 { WARNING } else { BOLD };
    let category =
        risk.category.map_or_else(String::new, |guess| format!("  {}", styled(DIM, guess.category.name())));
    let name = styled(BOLD, test_name(&risk.test));
    format!("{} {name}  {}{category}", styled(style, percent), styled(DIM, risk.id()))
}

/// Why the threshold is what it is, and how much to trust all this.
fn notes(report: &RiskReport) -> Vec<String> {
    let mut notes: Vec<String> = words::honesty(report).into_iter().collect();
    for (familiarity, threshold) in &report.thresholds {
        let note = words::threshold(*familiarity, *threshold);
        notes.extend(note.filter(|note| !notes.contains(note)));
    }
    notes
}

fn write_end(out: &mut String, report: &RiskReport) -> std::fmt::Result {
    writeln!(out)?;
    let shown = if report.risks.is_empty() { &report.most_likely } else { &report.risks };
    let rest = report.scope.tests.saturating_sub(shown.len() as u64);
    if rest > 0 {
        writeln!(out, "{} with less risk not listed, see `--all`", plural(rest, "test", "tests"))?;
    }
    if report.scope.unclear > 0 {
        let files = plural(report.scope.unclear, "file", "files");
        writeln!(out, "{files} could not be fully parsed, so tests may be missing")?;
    }
    writeln!(out, "{} {}", styled(HINT, "hint:"), hint(report, shown))
}

fn hint(report: &RiskReport, shown: &[Risk]) -> String {
    if report.origin == ModelOrigin::Pretrained {
        return "once `flakewise run` or `flakewise ingest` has filled the history, train a model on this project \
                with `flakewise train`"
            .to_owned();
    }
    match shown.first() {
        Some(risk) => format!("see the history of a test with `flakewise show {}`", risk.id()),
        None => format!(
            "train again as the history grows; this model was trained on {} tests",
            number(report.card.tests)
        ),
    }
}

fn is_precise(threshold: super::Threshold) -> bool {
    !matches!(threshold, super::Threshold::Imprecise(_))
}

fn is_all(report: &RiskReport) -> bool {
    report.thresholds.iter().any(|(_, threshold)| *threshold == super::Threshold::All)
}
