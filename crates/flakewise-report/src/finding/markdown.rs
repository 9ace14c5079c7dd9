//! Findings for a job summary or a merge request.

use std::fmt::Write as _;

use super::{Finding, Findings};
use crate::run::markdown::{LIMIT, capital, code, prose, write_names};
use crate::words::count;

/// Kept for what comes last.
const TAIL: usize = 10_000;

/// The findings as GitHub-flavoured Markdown of at most 900 kB.
pub fn findings_markdown(findings: &Findings) -> String {
    findings_within(findings, LIMIT)
}

/// The same of about as many bytes as a limit.
pub(crate) fn findings_within(findings: &Findings, limit: usize) -> String {
    let mut out = String::new();
    let _ = write_findings(&mut out, findings, limit.saturating_sub(TAIL));
    out
}

fn write_findings(out: &mut String, findings: &Findings, most: usize) -> std::fmt::Result {
    writeln!(out, "## {}\n", prose(&findings.summary))?;
    for (place, finding) in findings.findings.iter().enumerate() {
        let text = details(finding);
        if out.len() + text.len() > most {
            let left = count((findings.findings.len() - place) as u64, "finding");
            writeln!(out, "{left} left out, as this page would be too long\n")?;
            break;
        }
        out.push_str(&text);
    }
    for note in &findings.notes {
        writeln!(out, "{}\n", prose(&capital(note)))?;
    }
    Ok(())
}

fn details(finding: &Finding) -> String {
    let subject = match finding.subjects.as_slice() {
        [only] => code(&only.name),
        several => count(several.len() as u64, "test"),
    };
    let mut out = format!("<details><summary><b>{}</b>: {subject}</summary>\n\n", prose(&finding.conclusion));
    let first = finding.subjects.first();
    if let Some(failure) = first.and_then(|subject| subject.failure.as_deref()) {
        let place = first.and_then(|subject| subject.place.as_ref());
        let place = place.map_or_else(String::new, |place| {
            format!(" at {}", code(&format!("{}:{}", place.path, place.line)))
        });
        out.push_str(&format!("{}{place}\n\n", code(failure)));
    }
    if let Some(verdict) = &finding.verdict {
        out.push_str(&format!("{}\n\n", prose(&capital(verdict))));
    }
    for line in &finding.evidence {
        out.push_str(&format!("- {}\n", prose(line)));
    }
    if !finding.evidence.is_empty() {
        out.push('\n');
    }
    if finding.subjects.len() > 1 {
        let _ = write_names(&mut out, finding.subjects.iter().map(|subject| code(&subject.name)));
    }
    for line in finding.quarantine.iter().chain(&finding.actions) {
        out.push_str(&format!("{}\n\n", prose(&capital(line))));
    }
    out.push_str(&format!("[{}]({})\n\n</details>\n\n", finding.kind.id(), finding.kind.url()));
    out
}
