//! Findings for machines.
//!
//! The shapes here are a promise: fields are added, never changed. Each
//! document says its own `format`.

use std::io;

use flakewise_model::{
    Evidence, FailureGroup, FindingId, FlakeRate, FlakyTest, Foreign, HistoryReport, Notice, OutcomeStep,
    RateChange, Revision, SharedFailure, TestHistory, Timestamp, Verdict,
};
use serde::Serialize;
use serde_json::ser::{Formatter, PrettyFormatter};

pub(crate) const FORMAT: u32 = 1;

/// The report as a JSON document.
pub fn report_json(report: &HistoryReport) -> String {
    render(&ReportSummary {
        format: FORMAT,
        runs: report.runs,
        attempts: report.attempts,
        outages: report.outages,
        incomplete_runs: report.incomplete_runs,
        lost_days: report.lost_days,
        broken: report.broken,
        undecided: report.others_failing - report.broken,
        first_day: report.window.map(|(first, _)| first.to_string()),
        last_day: report.window.map(|(_, last)| last.to_string()),
        findings: report.findings.iter().map(FindingSummary::from).collect(),
        shared_failures: report.shared_failures.iter().map(SharedSummary::from).collect(),
    })
}

/// One test's history as a JSON document.
pub fn history_json(history: &TestHistory) -> String {
    render(&HistorySummary {
        format: FORMAT,
        test: history.test.to_string(),
        verdict: VerdictSummary::from(&history.verdict),
        rate: history.rate.into(),
        reruns: history.reruns.into(),
        id: FindingId::of(&history.test).to_string(),
        runs_disturbed: history.cost.runs_disturbed,
        time_lost_seconds: history.cost.time_lost.as_secs_f64(),
        attempts: history.attempts,
        first_seen: time(history.first_seen),
        steps: history.steps.iter().map(StepSummary::from).collect(),
        failures: history.failures.iter().map(FailureSummary::from).collect(),
        changes: history.changes.iter().map(ChangeSummary::from).collect(),
    })
}

/// A document of JSON, with a line end.
pub fn render(document: &impl Serialize) -> String {
    let mut text = Vec::new();
    write(document, &mut text).expect("our documents have string keys and finite numbers");
    String::from_utf8(text).expect("JSON is written as UTF-8")
}

/// Writes a document of JSON, with a line end, part by part.
pub(crate) fn write(document: &impl Serialize, mut out: impl io::Write) -> io::Result<()> {
    let formatter = Clean(PrettyFormatter::new());
    document.serialize(&mut serde_json::Serializer::with_formatter(&mut out, formatter))?;
    out.write_all(b"\n")
}

/// The pretty layout, with text from outside escaped as [`Foreign::json`] does.
struct Clean(PrettyFormatter<'static>);

impl Formatter for Clean {
    // A fragment ends only where JSON itself escapes a character, which no
    // command to a CI system contains.
    fn write_string_fragment<W: ?Sized + io::Write>(&mut self, out: &mut W, text: &str) -> io::Result<()> {
        out.write_all(Foreign::new(text).json().as_bytes())
    }

    fn begin_array<W: ?Sized + io::Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.0.begin_array(out)
    }

    fn end_array<W: ?Sized + io::Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.0.end_array(out)
    }

    fn begin_array_value<W: ?Sized + io::Write>(&mut self, out: &mut W, first: bool) -> io::Result<()> {
        self.0.begin_array_value(out, first)
    }

    fn end_array_value<W: ?Sized + io::Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.0.end_array_value(out)
    }

    fn begin_object<W: ?Sized + io::Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.0.begin_object(out)
    }

    fn end_object<W: ?Sized + io::Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.0.end_object(out)
    }

    fn begin_object_key<W: ?Sized + io::Write>(&mut self, out: &mut W, first: bool) -> io::Result<()> {
        self.0.begin_object_key(out, first)
    }

    fn begin_object_value<W: ?Sized + io::Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.0.begin_object_value(out)
    }

    fn end_object_value<W: ?Sized + io::Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.0.end_object_value(out)
    }
}

pub(crate) fn time(at: Timestamp) -> String {
    at.to_rfc3339_opts(chrono::SecondsFormat::Micros, true)
}

#[derive(Serialize)]
pub(crate) struct NoticeSummary<'a> {
    level: &'static str,
    text: &'a str,
}

impl<'a> From<&'a Notice> for NoticeSummary<'a> {
    fn from(notice: &'a Notice) -> Self {
        Self { level: if notice.warning { "warning" } else { "note" }, text: &notice.text }
    }
}

#[derive(Serialize)]
struct ReportSummary {
    format: u32,
    runs: u64,
    attempts: u64,
    outages: u64,
    incomplete_runs: u64,
    lost_days: u64,
    broken: u64,
    undecided: u64,
    first_day: Option<String>,
    last_day: Option<String>,
    findings: Vec<FindingSummary>,
    shared_failures: Vec<SharedSummary>,
}

#[derive(Serialize)]
struct SharedSummary {
    tests: Vec<String>,
    #[serde(flatten)]
    failure: FailureSummary,
}

impl From<&SharedFailure> for SharedSummary {
    fn from(shared: &SharedFailure) -> Self {
        Self {
            tests: shared.tests.iter().map(ToString::to_string).collect(),
            failure: FailureSummary::from(&shared.failure),
        }
    }
}

#[derive(Serialize)]
struct HistorySummary {
    format: u32,
    id: String,
    test: String,
    verdict: VerdictSummary,
    rate: RateSummary,
    reruns: RateSummary,
    runs_disturbed: u64,
    time_lost_seconds: f64,
    attempts: u64,
    first_seen: String,
    steps: Vec<StepSummary>,
    failures: Vec<FailureSummary>,
    changes: Vec<ChangeSummary>,
}

#[derive(Serialize)]
struct FindingSummary {
    id: String,
    kind: &'static str,
    test: String,
    verdict: VerdictSummary,
    rate: RateSummary,
    reruns: RateSummary,
    runs_disturbed: u64,
    time_lost_seconds: f64,
    since: String,
    last_seen: String,
    failures: Vec<FailureSummary>,
    changes: Vec<ChangeSummary>,
}

impl From<&FlakyTest> for FindingSummary {
    fn from(finding: &FlakyTest) -> Self {
        Self {
            id: finding.id.to_string(),
            kind: finding.kind.name(),
            test: finding.test.to_string(),
            verdict: VerdictSummary::from(&finding.verdict),
            rate: finding.rate.into(),
            reruns: finding.reruns.into(),
            runs_disturbed: finding.cost.runs_disturbed,
            time_lost_seconds: finding.cost.time_lost.as_secs_f64(),
            since: time(finding.since),
            last_seen: time(finding.last_seen),
            failures: finding.failures.iter().map(FailureSummary::from).collect(),
            changes: finding.changes.iter().map(ChangeSummary::from).collect(),
        }
    }
}

#[derive(Serialize)]
struct VerdictSummary {
    conclusion: &'static str,
    probability: f64,
    evidence: Vec<EvidenceSummary>,
}

impl From<&Verdict> for VerdictSummary {
    fn from(verdict: &Verdict) -> Self {
        Self {
            conclusion: verdict.conclusion.name(),
            probability: verdict.probability.get(),
            evidence: verdict.evidence.iter().map(EvidenceSummary::from).collect(),
        }
    }
}

#[derive(Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
enum EvidenceSummary {
    MixedOutcomes {
        revisions: u64,
        commit: Option<String>,
        run: Option<String>,
        variant: String,
        passed: u64,
        failed: u64,
        at: String,
    },
    Transitions {
        stayed_passing: u64,
        began_failing: u64,
        stayed_failing: u64,
        recovered: u64,
    },
    OutagesIgnored {
        failures: u64,
    },
}

impl From<&Evidence> for EvidenceSummary {
    fn from(evidence: &Evidence) -> Self {
        match evidence {
            Evidence::MixedOutcomes { revisions, latest, variant, passed, failed, at } => {
                let (commit, run) = match latest {
                    Revision::Commit(commit) => (Some(commit.clone()), None),
                    Revision::Run(run) => (None, Some(run.to_string())),
                };
                Self::MixedOutcomes {
                    revisions: *revisions,
                    commit,
                    run,
                    variant: variant.to_string(),
                    passed: *passed,
                    failed: *failed,
                    at: time(*at),
                }
            }
            Evidence::Transitions(transitions) => Self::Transitions {
                stayed_passing: transitions.stayed_passing,
                began_failing: transitions.began_failing,
                stayed_failing: transitions.stayed_failing,
                recovered: transitions.recovered,
            },
            Evidence::OutagesIgnored { failures } => Self::OutagesIgnored { failures: *failures },
        }
    }
}

#[derive(Serialize)]
struct RateSummary {
    failures: u64,
    attempts: u64,
    rate: f64,
    low: f64,
    high: f64,
}

impl From<FlakeRate> for RateSummary {
    fn from(rate: FlakeRate) -> Self {
        let interval = rate.interval();
        Self {
            failures: rate.failures,
            attempts: rate.attempts,
            rate: rate.rate().get(),
            low: interval.low.get(),
            high: interval.high.get(),
        }
    }
}

#[derive(Serialize)]
struct FailureSummary {
    fingerprint: Option<String>,
    kind: Option<String>,
    message: String,
    count: u64,
    first_seen: String,
    last_seen: String,
}

impl From<&FailureGroup> for FailureSummary {
    fn from(group: &FailureGroup) -> Self {
        Self {
            fingerprint: group.fingerprint.as_ref().map(ToString::to_string),
            kind: group.kind.clone(),
            message: group.message.clone(),
            count: group.count,
            first_seen: time(group.first_seen),
            last_seen: time(group.last_seen),
        }
    }
}

#[derive(Serialize)]
struct ChangeSummary {
    before: RateSummary,
    after: RateSummary,
    branch: Option<String>,
    good_commit: String,
    last_commit: String,
    good_at: String,
    last_at: String,
    commits: u64,
}

impl From<&RateChange> for ChangeSummary {
    fn from(change: &RateChange) -> Self {
        Self {
            before: change.before.into(),
            after: change.after.into(),
            branch: change.branch.clone(),
            good_commit: change.good.id.clone(),
            last_commit: change.last.id.clone(),
            good_at: time(change.good.at),
            last_at: time(change.last.at),
            commits: change.commits,
        }
    }
}

#[derive(Serialize)]
struct StepSummary {
    at: String,
    outcome: &'static str,
    outage: bool,
    commit: Option<String>,
    variant: String,
    run: String,
}

impl From<&OutcomeStep> for StepSummary {
    fn from(step: &OutcomeStep) -> Self {
        Self {
            at: time(step.at),
            outcome: step.outcome.name(),
            outage: step.outage,
            commit: step.commit.clone(),
            variant: step.variant.clone(),
            run: step.run.to_string(),
        }
    }
}
