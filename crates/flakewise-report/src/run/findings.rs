//! The failures of a run as findings.

use flakewise_model::{FindingId, Foreign, RunReport, TestFailure};

use super::blocks::{Block, blocks, what_went_wrong};
use super::words;
use crate::finding::{Finding, Findings, Kind, Level, Place, Subject};
use crate::words::plural;

const WIDTH: usize = 200;

impl From<&RunReport> for Findings {
    /// Errors come first: what fails the build. A flake, or a failure that is
    /// quarantined, is a warning.
    fn from(report: &RunReport) -> Self {
        let lost = plural(report.lost.len() as u64, "test gave no result", "tests gave no result");
        let uncollected = plural(
            report.uncollected.len() as u64,
            "file could not be collected",
            "files could not be collected",
        );
        let lost = missing(&report.lost, lost, "no result");
        let uncollected = missing(&report.uncollected, uncollected, "not collected");
        let mut findings: Vec<Finding> = lost.into_iter().chain(uncollected).collect();
        findings.extend(blocks(report).iter().map(|block| finding(report, block)));
        findings.sort_by_key(|finding| finding.level);
        let notes = report.review.as_ref().map(words::review).into_iter().collect();
        Self { findings, summary: words::totals(report), notes }
    }
}

fn finding(report: &RunReport, block: &Block<'_>) -> Finding {
    let speaker = block.speaker();
    let is_quarantined = speaker.is_quarantined();
    let is_warning = is_quarantined || block.about().headline() == "flaky";
    let mut actions = Vec::new();
    actions.extend(block.refusal().map(|refusal| format!("not tolerated: {refusal}")));
    let said = block.quarantine().map(|(label, text)| format!("{label}: {text}"));
    let (quarantine, refused) = if is_quarantined { (said, None) } else { (None, said) };
    actions.extend(refused);
    actions.push(format!("next: {}", block.next(report)));
    let tried = words::tried(&speaker.reproduce);
    actions.push(format!("reproduce{tried}: {}", Foreign::new(&speaker.reproduce.command).line()));
    let quarantined = if is_quarantined { ", quarantined" } else { "" };
    Finding {
        verdict: Some(block.verdict()),
        evidence: block.reasons("; "),
        quarantine,
        actions,
        ..Finding::new(
            Kind::from(block.about()),
            if is_warning { Level::Warning } else { Level::Error },
            format!("{}{quarantined}", words::conclusion(block.about())),
            block.members.iter().map(|failure| subject(report, failure)).collect(),
        )
    }
}

fn subject(report: &RunReport, failure: &TestFailure) -> Subject {
    let mut subject = Subject::new(&failure.test, &failure.name).at(failure.place.as_ref(), &failure.test);
    subject.id = failure.id.clone();
    subject.failure = Some(what_went_wrong(report, failure, WIDTH));
    subject
}

/// Tests or files without a result. Nothing is known of them but their names.
fn missing(missing: &[String], title: String, conclusion: &str) -> Option<Finding> {
    let subject = |name: &String| Subject {
        id: FindingId::of_name(name),
        test: words::test(name),
        name: words::test(name),
        place: Some(Place::new(name.split("::").next().unwrap_or_default(), 1, 1)),
        failure: None,
        risk: None,
    };
    let subjects: Vec<Subject> = missing.iter().map(subject).collect();
    (!subjects.is_empty()).then(|| Finding {
        title,
        verdict: Some("a run that lost tests is never green".to_owned()),
        ..Finding::new(Kind::LostTest, Level::Error, conclusion.to_owned(), subjects)
    })
}
