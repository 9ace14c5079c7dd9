//! Findings for a merge request or a job summary.

use std::fmt::Write as _;

use flakewise_model::{Conclusion, HistoryReport};

use crate::rate_change::latest_change;
use crate::run::markdown::{code, plain};
use crate::text::{failure, reasons};
use crate::words::{count, day, duration, test_name};

/// The report as GitHub-flavoured Markdown.
pub fn report_markdown(report: &HistoryReport, limit: usize) -> String {
    let mut out = String::new();
    let _ = write_report(&mut out, report, limit);
    out
}

fn write_report(out: &mut String, report: &HistoryReport, limit: usize) -> std::fmt::Result {
    let title = count(report.findings.len() as u64, "flaky test");
    writeln!(out, "## {title}\n")?;
    writeln!(out, "{} in {}.\n", count(report.attempts, "attempt"), count(report.runs, "run"))?;
    if report.findings.is_empty() {
        return Ok(());
    }
    writeln!(
        out,
        "| test | verdict | first attempts failed | runs disturbed | time lost | since | last seen | failure |"
    )?;
    writeln!(out, "|---|---|---:|---:|---:|---|---|---|")?;
    for finding in report.findings.iter().take(limit) {
        let verdict = match finding.verdict.conclusion {
            Conclusion::Flaky => "flaky".to_owned(),
            _ => format!("probably flaky ({})", finding.verdict.probability),
        };
        let failure = finding.failures.first().map_or_else(String::new, |group| failure(group, 80));
        writeln!(
            out,
            "| {} | {verdict} | {} | {} | {} | {} | {} | {} |",
            code(&test_name(&finding.test)),
            if finding.rate.attempts == 0 { "–".to_owned() } else { finding.rate.rate().to_string() },
            finding.cost.runs_disturbed,
            duration(finding.cost.time_lost),
            day(finding.since),
            day(finding.last_seen),
            code(&failure),
        )?;
    }
    writeln!(out, "\n<details><summary>Evidence</summary>\n")?;
    for finding in report.findings.iter().take(limit) {
        writeln!(out, "- {} (`{}`)", code(&test_name(&finding.test)), finding.id)?;
        for reason in reasons(&finding.verdict).into_iter().chain(latest_change(finding, &report.findings)) {
            writeln!(out, "  - {}", plain(&reason, true))?;
        }
    }
    writeln!(out, "\n</details>")
}
