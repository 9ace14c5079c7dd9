//! What a search for culprits found, for machines.

use flakewise_model::{CulpritAnswer, CulpritReport, NamedTest, SharedState, Tally};
use serde::Serialize;

use super::shared::{remedy, sentence};
use super::text::reproduce;
use crate::json::{FORMAT, NoticeSummary, render, time};

/// What a search found, as a JSON document.
pub fn culprit_json(report: &CulpritReport) -> String {
    let run = &report.run;
    let orders = match report.answer {
        CulpritAnswer::NoDifference { orders } | CulpritAnswer::Undecided { orders } => Some(orders),
        _ => None,
    };
    render(&CulpritSummary {
        format: FORMAT,
        test: NameSummary::from(&report.test),
        commit: run.commit.as_deref(),
        dirty: run.dirty,
        variant: run.variant.to_string(),
        started: time(run.started),
        command: &report.command,
        seed: report.seed.to_string(),
        answer: report.answer.name(),
        orders_tried: orders,
        alone: report.alone.into(),
        culprits: report
            .answer
            .culprits()
            .iter()
            .map(|culprit| CulpritForm {
                tests: culprit.tests.iter().map(NameSummary::from).collect(),
                forks: culprit.forks.into(),
                fresh: culprit.fresh.into(),
                confidence: culprit.confidence.get(),
                proved: report.is_proved(culprit),
                reproduce: reproduce(report, culprit),
                shared: culprit.shared.iter().map(|state| SharedForm::new(report, state)).collect(),
            })
            .collect(),
        cleaners: report.cleaners.iter().map(NameSummary::from).collect(),
        exhaustive: report.exhaustive,
        forks: report.forks,
        known_answers: report.known,
        pairs: report.pairs.map(|(pairs, _)| pairs),
        pairs_seconds: report.pairs.map(|(_, took)| took.as_secs_f64()),
        first_proof_seconds: report.first_proof.map(|after| after.as_secs_f64()),
        seconds: report.duration.as_secs_f64(),
        budget_exhausted: report.spent.is_some(),
        notices: report.notices.iter().map(NoticeSummary::from).collect(),
    })
}

/// The culprits that were proved, as the evidence of a stored verdict; none if there are
/// none.
pub fn culprit_evidence(report: &CulpritReport) -> Option<String> {
    let culprits = report.answer.culprits().iter().filter(|culprit| report.is_proved(culprit));
    let evidence: Vec<_> = culprits
        .map(|culprit| CulpritEvidence {
            kind: "culprits",
            tests: culprit.tests.iter().map(|named| named.test.to_string()).collect(),
            shared: culprit.shared.iter().map(|state| sentence(report, state)).collect(),
        })
        .collect();
    (!evidence.is_empty()).then(|| serde_json::to_string(&evidence).expect("evidence has string keys"))
}

#[derive(Serialize)]
struct CulpritEvidence {
    kind: &'static str,
    tests: Vec<String>,
    shared: Vec<String>,
}

#[derive(Serialize)]
struct CulpritSummary<'a> {
    format: u32,
    test: NameSummary<'a>,
    commit: Option<&'a str>,
    dirty: bool,
    variant: String,
    started: String,
    command: &'a [String],
    seed: String,
    answer: &'static str,
    orders_tried: Option<u32>,
    alone: TallySummary,
    culprits: Vec<CulpritForm<'a>>,
    cleaners: Vec<NameSummary<'a>>,
    exhaustive: bool,
    forks: u64,
    known_answers: u64,
    pairs: Option<u64>,
    pairs_seconds: Option<f64>,
    first_proof_seconds: Option<f64>,
    seconds: f64,
    budget_exhausted: bool,
    notices: Vec<NoticeSummary<'a>>,
}

#[derive(Serialize)]
struct CulpritForm<'a> {
    tests: Vec<NameSummary<'a>>,
    forks: TallySummary,
    fresh: TallySummary,
    confidence: f64,
    proved: bool,
    reproduce: String,
    shared: Vec<SharedForm<'a>>,
}

#[derive(Serialize)]
struct SharedForm<'a> {
    key: &'a str,
    kind: &'static str,
    name: &'a str,
    before: &'a str,
    after: &'a str,
    left_by: NameSummary<'a>,
    read: bool,
    read_at: Option<PlaceForm<'a>>,
    proved: bool,
    text: String,
    remedy: String,
}

#[derive(Serialize)]
struct PlaceForm<'a> {
    file: &'a str,
    line: u32,
}

impl<'a> SharedForm<'a> {
    fn new(report: &CulpritReport, state: &'a SharedState) -> Self {
        let change = &state.change;
        Self {
            key: &change.key,
            kind: change.kind.name(),
            name: &change.name,
            before: &change.before,
            after: &change.after,
            left_by: NameSummary::from(&state.left_by),
            read: state.is_read,
            read_at: state.read_at.as_ref().map(|(file, line)| PlaceForm { file, line: *line }),
            proved: state.is_proved,
            text: sentence(report, state),
            remedy: remedy(report, state),
        }
    }
}

#[derive(Serialize)]
pub(super) struct NameSummary<'a> {
    test: String,
    name: &'a str,
}

impl<'a> From<&'a NamedTest> for NameSummary<'a> {
    fn from(named: &'a NamedTest) -> Self {
        Self { test: named.test.to_string(), name: &named.name }
    }
}

#[derive(Serialize)]
pub(super) struct TallySummary {
    passed: u64,
    failed: u64,
}

impl From<Tally> for TallySummary {
    fn from(tally: Tally) -> Self {
        Self { passed: tally.passed, failed: tally.failed }
    }
}
