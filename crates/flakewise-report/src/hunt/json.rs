//! A hunt for machines.

use flakewise_model::{FoundTest, Hidden, HuntReport, Surroundings, Tally, highest_rate};
use serde::Serialize;

use crate::json::{FORMAT, NoticeSummary, render, time};

/// What a hunt found, as a JSON document.
pub fn hunt_json(report: &HuntReport) -> String {
    let run = &report.run;
    let runs = report.cleared.median_runs;
    render(&HuntSummary {
        format: FORMAT,
        run: run.id.as_str(),
        commit: run.commit.as_deref(),
        dirty: run.dirty,
        variant: run.variant.to_string(),
        started: time(run.started),
        command: &report.command,
        seed: report.seed.to_string(),
        shard: report.shard.map(|shard| [shard.number, shard.of]),
        tests: report.tests,
        skipped: report.skipped,
        orders: report.orders,
        executions: report.executions,
        known_executions: report.known,
        seconds: report.duration.as_secs_f64(),
        jobs: report.jobs,
        end: report.end.name(),
        found: report.found.iter().map(FoundSummary::from).collect(),
        only_beside: report.only_beside.iter().map(FoundSummary::from).collect(),
        always_fail: report.always_fail.iter().map(ToString::to_string).collect(),
        cleared: ClearedSummary {
            tests: report.cleared.tests,
            runs: report.cleared.runs,
            fewest_runs: report.cleared.fewest_runs,
            median_runs: runs,
            highest_rate: highest_rate(runs).get(),
        },
        hidden: report.hidden.map(|hidden| HiddenSummary {
            expected: hidden.expected,
            low: hidden.low,
            high: hidden.high,
            least_rate: Hidden::LEAST_RATE,
        }),
        notices: report.notices.iter().map(NoticeSummary::from).collect(),
    })
}

#[derive(Serialize)]
struct HuntSummary<'a> {
    format: u32,
    run: &'a str,
    commit: Option<&'a str>,
    dirty: bool,
    variant: String,
    started: String,
    command: &'a [String],
    /// As text: most readers of JSON keep 53 bits of a number.
    seed: String,
    shard: Option<[u32; 2]>,
    tests: u64,
    skipped: u64,
    orders: u64,
    executions: u64,
    known_executions: u64,
    seconds: f64,
    jobs: usize,
    end: &'static str,
    found: Vec<FoundSummary<'a>>,
    only_beside: Vec<FoundSummary<'a>>,
    always_fail: Vec<String>,
    cleared: ClearedSummary,
    hidden: Option<HiddenSummary>,
    notices: Vec<NoticeSummary<'a>>,
}

#[derive(Serialize)]
struct FoundSummary<'a> {
    id: &'a str,
    test: String,
    name: &'a str,
    kind: &'static str,
    failures: u64,
    runs: u64,
    rate: f64,
    rate_low: f64,
    rate_high: f64,
    solo: TallySummary,
    beside: TallySummary,
    decision: Option<DecisionSummary>,
    failure_kind: Option<&'a str>,
    failure_message: Option<&'a str>,
    file: Option<&'a str>,
    line: Option<u32>,
    risk: f64,
    runs_until_found: u64,
}

impl<'a> From<&'a FoundTest> for FoundSummary<'a> {
    fn from(found: &'a FoundTest) -> Self {
        let interval = found.alone.interval();
        Self {
            id: found.id.as_str(),
            test: found.test.to_string(),
            name: &found.name,
            kind: found.kind.name(),
            failures: found.alone.failures,
            runs: found.alone.attempts,
            rate: found.alone.rate().get(),
            rate_low: interval.low.get(),
            rate_high: interval.high.get(),
            solo: found.solo.into(),
            beside: found.beside.into(),
            decision: found.decision.as_ref().map(|decision| DecisionSummary {
                fails: decision.fails.into(),
                passes: decision.passes.into(),
                confidence: decision.confidence.get(),
            }),
            failure_kind: found.failure.as_ref().and_then(|failure| failure.kind.as_deref()),
            failure_message: found.failure.as_ref().map(|failure| failure.message.as_str()),
            file: found.place.as_ref().map(|(file, _)| file.as_str()),
            line: found.place.as_ref().map(|(_, line)| *line),
            risk: found.risk.get(),
            runs_until_found: found.after,
        }
    }
}

#[derive(Serialize)]
struct TallySummary {
    passed: u64,
    failed: u64,
}

impl From<Tally> for TallySummary {
    fn from(tally: Tally) -> Self {
        Self { passed: tally.passed, failed: tally.failed }
    }
}

#[derive(Serialize)]
struct DecisionSummary {
    fails: SurroundingsSummary,
    passes: SurroundingsSummary,
    confidence: f64,
}

#[derive(Serialize)]
struct SurroundingsSummary {
    order: &'static str,
    /// As text: most readers of JSON keep 53 bits of a number.
    seed: Option<String>,
    failed: u64,
    runs: u64,
}

impl From<(Surroundings, Tally)> for SurroundingsSummary {
    fn from((place, tally): (Surroundings, Tally)) -> Self {
        let seed = place.seed().map(|seed| seed.to_string());
        Self { order: place.name(), seed, failed: tally.failed, runs: tally.runs() }
    }
}

#[derive(Serialize)]
struct ClearedSummary {
    tests: u64,
    runs: u64,
    fewest_runs: u64,
    median_runs: u64,
    highest_rate: f64,
}

#[derive(Serialize)]
struct HiddenSummary {
    expected: f64,
    low: u32,
    high: u32,
    least_rate: f64,
}
