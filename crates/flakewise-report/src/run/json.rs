//! A run for machines.

use std::collections::BTreeMap;
use std::io;

use flakewise_model::{
    Attempt, AttemptCost, BaseSource, ChangeSummary, Counts, Failure, FailureVerdict, Fingerprint, Incident,
    Probability, Proof, Quarantined, Refusal, Review, RunReport, Tally, TestFailure, Touch, TouchedFile,
};
use serde::Serialize;

use crate::json::{FORMAT, NoticeSummary, time, write};

/// Writes a run as a JSON document. It can be large: about 1.6 kB per failure.
pub fn run_json(report: &RunReport, out: impl io::Write) -> io::Result<()> {
    let run = &report.run;
    let summary = RunSummary {
        format: FORMAT,
        run: run.id.as_str(),
        commit: run.commit.as_deref(),
        dirty: run.dirty,
        branch: run.branch.as_deref(),
        variant: run.variant.to_string(),
        started: time(run.started),
        command: &report.command,
        seed: report.seed.to_string(),
        hash_seed: report.hash_seed,
        complete: report.is_complete(),
        counts: CountsSummary::of(report),
        lost: &report.lost,
        uncollected: &report.uncollected,
        change: report.change.as_ref().map(ChangeForm::from),
        review: report.review.as_ref().map(ReviewSummary::from),
        notices: report.notices.iter().map(NoticeSummary::from).collect(),
        exit: ExitSummary {
            runner: report.exit.runner,
            code: report.exit.code,
            reason: report.exit.reason.name(),
        },
        reruns: report.reruns,
        suite_seconds: report.suite_time.as_secs_f64(),
        triage_seconds: report.triage_time.as_secs_f64(),
        incidents: report.incidents.iter().map(|incident| IncidentSummary::of(incident, report)).collect(),
        failures: report.failures.iter().map(TestFailureSummary::from).collect(),
    };
    write(&summary, out)
}

#[derive(Serialize)]
struct RunSummary<'a> {
    format: u32,
    run: &'a str,
    commit: Option<&'a str>,
    dirty: bool,
    branch: Option<&'a str>,
    variant: String,
    started: String,
    command: &'a [String],
    /// As text: most readers of JSON keep 53 bits of a number.
    seed: String,
    hash_seed: Option<u32>,
    complete: bool,
    counts: CountsSummary,
    lost: &'a [String],
    uncollected: &'a [String],
    change: Option<ChangeForm<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    review: Option<ReviewSummary>,
    notices: Vec<NoticeSummary<'a>>,
    exit: ExitSummary,
    reruns: u64,
    suite_seconds: f64,
    triage_seconds: f64,
    incidents: Vec<IncidentSummary<'a>>,
    failures: Vec<TestFailureSummary<'a>>,
}

#[derive(Serialize)]
struct CountsSummary {
    selected: u64,
    passed: u64,
    failed: u64,
    skipped: u64,
    lost: usize,
    /// Failures that the quarantine forgives.
    quarantined: usize,
    /// Failures by conclusion. All of them are there, so that nobody has to
    /// ask whether one is missing or 0.
    verdicts: BTreeMap<&'static str, u64>,
}

impl CountsSummary {
    fn of(report: &RunReport) -> Self {
        let Counts { selected, passed, failed, skipped } = report.counts;
        let names = [
            "new-flake",
            "flaky",
            "regression",
            "broken-before",
            "environment",
            "infrastructure",
            "undecided",
        ];
        let mut verdicts: BTreeMap<_, _> = names.into_iter().map(|name| (name, 0)).collect();
        for failure in &report.failures {
            *verdicts.entry(failure.verdict.headline()).or_default() += 1;
        }
        let quarantined = report.failures.iter().filter(|failure| failure.is_quarantined()).count();
        Self { selected, passed, failed, skipped, lost: report.lost.len(), quarantined, verdicts }
    }
}

#[derive(Serialize)]
struct ChangeForm<'a> {
    base: &'a str,
    found: &'a str,
    files: u32,
    uncommitted: bool,
}

impl<'a> From<&'a ChangeSummary> for ChangeForm<'a> {
    fn from(change: &'a ChangeSummary) -> Self {
        let ChangeSummary { base, found, files, uncommitted } = change;
        Self { base, found, files: *files, uncommitted: *uncommitted }
    }
}

/// What reruns of new and changed tests showed.
#[derive(Serialize)]
struct ReviewSummary {
    tests: u64,
    flaky: u64,
    runs: u64,
    fewest: u32,
    most: u32,
    goal: u32,
    rate: f64,
    shows: f64,
    seconds: f64,
    budget_seconds: f64,
}

impl From<&Review> for ReviewSummary {
    fn from(review: &Review) -> Self {
        let Review { tests, flaky, runs, each: (fewest, most), goal, rate, time, budget } = *review;
        Self {
            tests,
            flaky,
            runs,
            fewest,
            most,
            goal,
            rate,
            shows: review.shows().get(),
            seconds: time.as_secs_f64(),
            budget_seconds: budget.as_secs_f64(),
        }
    }
}

#[derive(Serialize)]
struct ExitSummary {
    runner: Option<i32>,
    code: u8,
    reason: &'static str,
}

#[derive(Serialize)]
struct IncidentSummary<'a> {
    kind: Option<&'a str>,
    message: &'a str,
    failures: Vec<&'a str>,
}

impl<'a> IncidentSummary<'a> {
    fn of(incident: &'a Incident, report: &'a RunReport) -> Self {
        let failures = incident.failures.iter().filter_map(|place| report.failures.get(*place));
        Self {
            kind: incident.kind.as_deref(),
            message: &incident.message,
            failures: failures.map(|failure| failure.id.as_str()).collect(),
        }
    }
}

#[derive(Serialize)]
struct TestFailureSummary<'a> {
    id: &'a str,
    test: &'a str,
    name: &'a str,
    place: Option<PlaceSummary<'a>>,
    verdict: VerdictSummary,
    evidence: Vec<ProofSummary<'a>>,
    attempts: Vec<AttemptSummary<'a>>,
    incident: usize,
    reproduce: &'a str,
    refusal: Option<&'static str>,
    reproduce_tried: Option<TriedSummary>,
    quarantine: Option<QuarantineSummary<'a>>,
}

impl<'a> From<&'a TestFailure> for TestFailureSummary<'a> {
    fn from(failure: &'a TestFailure) -> Self {
        Self {
            id: failure.id.as_str(),
            test: failure.test.as_str(),
            name: &failure.name,
            place: failure.place.as_ref().map(|(file, line)| PlaceSummary { file, line: *line }),
            verdict: VerdictSummary::from(&failure.verdict),
            evidence: failure.verdict.proofs.iter().map(ProofSummary::from).collect(),
            attempts: attempts(failure),
            incident: failure.incident,
            reproduce: &failure.reproduce.command,
            reproduce_tried: failure.reproduce.tried.map(TriedSummary::from),
            refusal: failure.refusal.map(Refusal::name),
            quarantine: failure.quarantine.as_ref().map(QuarantineSummary::from),
        }
    }
}

/// The quarantine entry of a failing test.
#[derive(Serialize)]
struct QuarantineSummary<'a> {
    status: &'static str,
    entry: &'a str,
    owner: &'a str,
    reason: &'a str,
    issue: Option<&'a str>,
    until: String,
}

impl<'a> From<&'a Quarantined> for QuarantineSummary<'a> {
    fn from(said: &'a Quarantined) -> Self {
        let Quarantined { entry, owner, reason, issue, until, status } = said;
        Self {
            status: status.name(),
            entry,
            owner,
            reason,
            issue: issue.as_deref(),
            until: until.to_string(),
        }
    }
}

/// How often a command failed of how often it was run.
#[derive(Serialize)]
struct TriedSummary {
    failed: u64,
    runs: u64,
}

impl From<Tally> for TriedSummary {
    fn from(tally: Tally) -> Self {
        Self { failed: tally.failed, runs: tally.runs() }
    }
}

#[derive(Serialize)]
struct PlaceSummary<'a> {
    file: &'a str,
    line: u32,
}

#[derive(Serialize)]
struct VerdictSummary {
    headline: &'static str,
    conclusion: &'static str,
    detail: Option<&'static str>,
    kind_probability: Option<f64>,
    novelty: &'static str,
    proved: bool,
    flaky: f64,
    regression: f64,
    environment: f64,
}

impl From<&FailureVerdict> for VerdictSummary {
    fn from(verdict: &FailureVerdict) -> Self {
        Self {
            headline: verdict.headline(),
            conclusion: verdict.blame.name(),
            detail: verdict.blame.detail(),
            kind_probability: verdict.kind.map(Probability::get),
            novelty: verdict.novelty.name(),
            proved: verdict.blame.is_proved_flaky(),
            flaky: verdict.flaky.get(),
            regression: verdict.regression.get(),
            environment: verdict.environment.get(),
        }
    }
}

#[derive(Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
enum ProofSummary<'a> {
    PassedAgain { phase: &'static str, failures_before: u32 },
    FailedAgain { failed: u32, runs: u32 },
    AlwaysFailed { attempts: u32, processes: u32 },
    HashSeed { failing: u32, passing: u32 },
    TouchesChange { changed: u32, files: Vec<TouchedSummary<'a>> },
    UntouchedByChange { changed: u32, dependencies: u32 },
    DependenciesUnknown { reason: &'a str },
    AtBase { commit: &'a str, passed: u32, failed: u32, source: &'static str },
    NothingChanged { commit: &'a str },
    OtherFailureAtBase { commit: &'a str, error: Option<&'a str> },
    SeenWithoutChange { failures: u64, commits: u64 },
    EveryWholeRun { runs: u64 },
    MoreOften { failed: u64, runs: u64, failed_before: u64, runs_before: u64 },
    InstalledDiffers { packages: &'a [String] },
    KnownFlaky { failures: u64, revisions: u64 },
    SharedFailure { tests: u32, representative: Option<&'a str> },
    TooManyFailures { failed: u64, ran: u64 },
}

impl<'a> From<&'a Proof> for ProofSummary<'a> {
    fn from(proof: &'a Proof) -> Self {
        match proof {
            Proof::PassedAgain { phase, failures_before } => {
                Self::PassedAgain { phase: phase.name(), failures_before: *failures_before }
            }
            Proof::FailedAgain { failed, runs } => Self::FailedAgain { failed: *failed, runs: *runs },
            Proof::AlwaysFailed { attempts, processes } => {
                Self::AlwaysFailed { attempts: *attempts, processes: *processes }
            }
            Proof::HashSeed { failing, passing } => Self::HashSeed { failing: *failing, passing: *passing },
            Proof::TouchesChange { files, changed } => Self::TouchesChange {
                changed: *changed,
                files: files.iter().map(TouchedSummary::from).collect(),
            },
            Proof::UntouchedByChange { changed, dependencies } => {
                Self::UntouchedByChange { changed: *changed, dependencies: *dependencies }
            }
            Proof::DependenciesUnknown { reason } => Self::DependenciesUnknown { reason },
            Proof::AtBase { commit, passed, failed, source } => Self::AtBase {
                commit,
                passed: *passed,
                failed: *failed,
                source: match source {
                    BaseSource::Run => "run",
                    BaseSource::History => "history",
                },
            },
            Proof::NothingChanged { commit } => Self::NothingChanged { commit },
            Proof::OtherFailureAtBase { commit, kind } => {
                Self::OtherFailureAtBase { commit, error: kind.as_deref() }
            }
            Proof::SeenWithoutChange { failures, commits } => {
                Self::SeenWithoutChange { failures: *failures, commits: *commits }
            }
            Proof::EveryWholeRun { runs } => Self::EveryWholeRun { runs: *runs },
            Proof::MoreOften { here, before } => Self::MoreOften {
                failed: here.0,
                runs: here.1,
                failed_before: before.0,
                runs_before: before.1,
            },
            Proof::InstalledDiffers { packages } => Self::InstalledDiffers { packages },
            Proof::KnownFlaky { failures, revisions } => {
                Self::KnownFlaky { failures: *failures, revisions: *revisions }
            }
            Proof::SharedFailure { tests, representative } => {
                Self::SharedFailure { tests: *tests, representative: representative.as_deref() }
            }
            Proof::TooManyFailures { failed, ran } => Self::TooManyFailures { failed: *failed, ran: *ran },
        }
    }
}

#[derive(Serialize)]
struct TouchedSummary<'a> {
    path: &'a str,
    touch: &'static str,
    lines: Option<&'a [u32]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    keys: Option<&'a [String]>,
}

impl<'a> From<&'a TouchedFile> for TouchedSummary<'a> {
    fn from(file: &'a TouchedFile) -> Self {
        let (touch, lines, keys) = match &file.touch {
            Touch::Executed(lines) => ("executed", Some(&**lines), None),
            Touch::Loaded => ("loaded", None, None),
            Touch::Opened => ("opened", None, None),
            Touch::LookedFor => ("looked-for", None, None),
            Touch::Configured(keys) => ("configured", None, Some(&**keys)),
        };
        Self { path: &file.path, touch, lines, keys }
    }
}

#[derive(Serialize)]
struct AttemptSummary<'a> {
    number: u32,
    phase: &'static str,
    outcome: &'static str,
    seconds: Option<f64>,
    worker: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    process: Option<ProcessSummary>,
    failure: Option<FailureSummary<'a>>,
}

/// What the process cost that ran nothing but this.
#[derive(Serialize)]
struct ProcessSummary {
    wall_seconds: f64,
    cpu_seconds: f64,
}

fn attempts(failure: &TestFailure) -> Vec<AttemptSummary<'_>> {
    let summary = |attempt| AttemptSummary::of(attempt, &failure.costs);
    failure.attempts.iter().map(summary).collect()
}

impl<'a> AttemptSummary<'a> {
    fn of(attempt: &'a Attempt, costs: &[AttemptCost]) -> Self {
        let cost = costs.iter().find(|cost| cost.number == attempt.number);
        Self {
            number: attempt.number,
            phase: attempt.phase.name(),
            outcome: attempt.outcome.name(),
            seconds: attempt.duration.map(|duration| duration.as_secs_f64()),
            worker: attempt.worker.as_deref(),
            process: cost.map(|cost| ProcessSummary {
                wall_seconds: cost.wall.as_secs_f64(),
                cpu_seconds: cost.cpu.as_secs_f64(),
            }),
            failure: attempt.failure.as_deref().map(FailureSummary::from),
        }
    }
}

#[derive(Serialize)]
struct FailureSummary<'a> {
    kind: Option<&'a str>,
    message: &'a str,
    fingerprint: Option<&'a str>,
}

impl<'a> From<&'a Failure> for FailureSummary<'a> {
    fn from(failure: &'a Failure) -> Self {
        Self {
            kind: failure.kind.as_deref(),
            message: &failure.message,
            fingerprint: failure.fingerprint.as_ref().map(Fingerprint::as_str),
        }
    }
}

/// The evidence for one failure alone, as it is kept in the history.
pub fn evidence_json(failure: &TestFailure) -> String {
    let evidence: Vec<_> = failure.verdict.proofs.iter().map(ProofSummary::from).collect();
    serde_json::to_string(&evidence).expect("evidence has string keys")
}
