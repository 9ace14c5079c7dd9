//! One test's past.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::time::Duration;

use deltalake::datafusion::prelude::{SessionContext, col, lit};
use flakewise_model::{
    Cost, FailureGroup, FindingId, Fingerprint, FlakeRate, Outcome, OutcomeStep, Phase, RunId, TestHistory,
    TestId, Timestamp,
};
use futures::TryStreamExt as _;

use crate::aliases::Aliases;
use crate::contexts::{Context, Contexts, RunColumns};
use crate::flaky::{RevisionTally, judge};
use crate::gather::tally;
use crate::rate_changes::rate_changes;
use crate::report::{Columns, merge, rate, reruns, sort_failures};
use crate::session::Reading;
use crate::{History, HistoryError};

/// How many candidates are listed for an ambiguous name.
const CANDIDATES: usize = 20;

/// What a name may stand for.
#[derive(Clone, Debug, PartialEq)]
pub enum Matches {
    /// Exactly one test.
    One(Box<TestHistory>),
    /// Several tests: the first few ids, and whether there are more.
    Several(Vec<String>, bool),
    /// No test.
    None,
}

impl History {
    /// The history of the test whose id is `name`, or contains it. The latest
    /// `steps` attempts are listed one by one.
    pub fn show(&self, name: &str, steps: usize) -> Result<Matches, HistoryError> {
        self.block_on("show", async {
            let session = self.session(Reading::Few).await?;
            let mut contexts = Contexts::load(&session).await?;
            // A whole id is found by the sort order of the files; a part of one
            // means looking through all ids.
            if let Ok(id) = name.parse::<TestId>() {
                let aliases = self.aliases(&session, Some(&[id.as_str()])).await?;
                if let Some(history) = history(&session, id, steps, &mut contexts, &aliases).await? {
                    return Ok(Matches::One(Box::new(history)));
                }
            }
            let aliases = self.aliases(&session, None).await?;
            let mut candidates = candidates(&session, name, &aliases).await?;
            match candidates.len() {
                0 => Ok(Matches::None),
                1 => {
                    let id = candidates.remove(0).parse::<TestId>().map_err(HistoryError::query)?;
                    let history = history(&session, id, steps, &mut contexts, &aliases).await?;
                    Ok(history.map_or(Matches::None, |history| Matches::One(Box::new(history))))
                }
                count => {
                    candidates.truncate(CANDIDATES);
                    Ok(Matches::Several(candidates, count > CANDIDATES))
                }
            }
        })
    }
}

/// Ids that contain the text, in order, or the one a finding of this id is
/// about. A test whose own name is the text, or its id as its runner writes it, goes
/// before those that merely contain it. Tests are recognised by their present ids.
async fn candidates(
    session: &SessionContext,
    part: &str,
    aliases: &Aliases,
) -> Result<Vec<String>, HistoryError> {
    use deltalake::datafusion::functions::expr_fn::strpos;

    // A finding's id is a hash of the test's, so every id must be looked at.
    let finding = part.len() == 8 && part.bytes().all(|byte| byte.is_ascii_hexdigit());
    let wanted = if finding { lit(true) } else { strpos(col("test"), lit(part)).gt(lit(0)) };
    let frame = session
        .table("attempts")
        .await
        .and_then(|table| table.filter(wanted))
        .and_then(|table| table.select_columns(&["test"]))
        .and_then(deltalake::datafusion::prelude::DataFrame::distinct)
        .and_then(|table| table.sort_by(vec![col("test")]))
        .map_err(HistoryError::query)?;
    let mut stream = frame.execute_stream().await.map_err(HistoryError::query)?;
    let mut tests = Vec::new();
    let wanted = FindingId::from_text(part);
    while let Some(batch) = stream.try_next().await.map_err(HistoryError::query)? {
        for test in Columns(&batch).texts("test")?.into_iter().flatten() {
            if finding && test.parse().is_ok_and(|id| wanted.names(&id)) {
                return Ok(vec![aliases.current(&test).into_owned()]);
            }
            if test.contains(part) {
                tests.push(aliases.current(&test).into_owned());
            }
        }
    }
    tests.sort_unstable();
    tests.dedup();
    let is_named =
        |id: &TestId| id.without_scheme() == part || (id.parameters().is_none() && id.name() == part);
    let named: Vec<_> =
        tests.iter().filter(|test| test.parse().is_ok_and(|id| is_named(&id))).cloned().collect();
    Ok(if named.len() == 1 { named } else { tests })
}

async fn history(
    session: &SessionContext,
    test: TestId,
    steps: usize,
    contexts: &mut Contexts,
    aliases: &Aliases,
) -> Result<Option<TestHistory>, HistoryError> {
    let test = aliases.current(test.as_str()).parse::<TestId>().map_err(HistoryError::query)?;
    let names = aliases.all_names([test.as_str()]).into_iter().map(lit).collect();
    let frame = session
        .table("attempts")
        .await
        .and_then(|table| table.filter(col("test").in_list(names, false)))
        .and_then(|table| {
            table.select_columns(&[
                "started_at",
                "outcome",
                "run",
                "commit",
                "dirty",
                "branch",
                "variant",
                "duration_us",
                "phase",
                "fingerprint",
                "failure_kind",
                "failure_message",
            ])
        })
        .map_err(HistoryError::query)?;
    let mut stream = frame.execute_stream().await.map_err(HistoryError::query)?;
    let mut builder = Builder::new(steps);
    while let Some(batch) = stream.try_next().await.map_err(HistoryError::query)? {
        let columns = Columns(&batch);
        let places = RunColumns::new(&columns)?;
        let times = columns.times("started_at")?;
        let outcomes = columns.texts("outcome")?;
        let durations = columns.counts("duration_us")?;
        let phases = columns.texts("phase")?;
        let fingerprints = columns.texts("fingerprint")?;
        let kinds = columns.texts("failure_kind")?;
        let messages = columns.texts("failure_message")?;
        for row in 0..batch.num_rows() {
            // Outcomes a later version invented are not ours to judge.
            let Some(Ok(outcome)) = outcomes[row].as_deref().map(str::parse::<Outcome>) else { continue };
            let place = places.at(row);
            let number = contexts.find(&place);
            let context = contexts.get(number);
            builder.add(
                OutcomeStep {
                    at: times[row],
                    outcome,
                    outage: context.is_outage,
                    commit: place.commit.map(str::to_owned),
                    variant: place.variant.to_owned(),
                    run: RunId::new(place.run),
                },
                number,
                context,
                Details {
                    duration: Duration::from_micros(durations[row]),
                    is_first: phases[row].as_deref() == Some(Phase::First.name()),
                    as_base: phases[row].as_deref() == Some(Phase::Base.name()),
                    fingerprint: fingerprints[row].clone(),
                    kind: kinds[row].clone(),
                    message: messages[row].clone(),
                },
            );
        }
    }
    Ok(builder.finish(test, contexts))
}

/// What is needed of an attempt besides the step that is shown.
struct Details {
    duration: Duration,
    /// Whether the suite itself made it, and not because of an earlier attempt.
    is_first: bool,
    as_base: bool,
    fingerprint: Option<String>,
    kind: Option<String>,
    message: Option<String>,
}

/// What attempts on one revision did.
struct Counts {
    /// The number of a context with this revision.
    place: u32,
    passed: u64,
    failed: BTreeMap<Option<String>, u64>,
    first_attempts: FlakeRate,
    first: Timestamp,
    last: Timestamp,
}

impl Counts {
    fn tally<'a>(&'a self, contexts: &'a Contexts, as_base: bool) -> RevisionTally<'a> {
        RevisionTally {
            passed: self.passed,
            failed: self.failed.iter().map(|(fingerprint, count)| (fingerprint.as_deref(), *count)).collect(),
            first_attempts: self.first_attempts,
            first: self.first,
            last: self.last,
            ..tally(contexts.get(self.place), as_base)
        }
    }
}

/// Builds a history from attempts in any order, in memory bounded by the number
/// of revisions, failures by fingerprint, and steps requested.
struct Builder {
    limit: usize,
    attempts: u64,
    first_seen: Option<Timestamp>,
    steps: Vec<OutcomeStep>,
    /// By revision, and whether it ran as a base.
    counts: BTreeMap<(u32, bool), Counts>,
    failures: HashMap<Option<String>, FailureGroup>,
    disturbed: HashSet<String>,
    lost: Duration,
    outage_failures: u64,
}

impl Builder {
    fn new(limit: usize) -> Self {
        Self {
            limit,
            attempts: 0,
            first_seen: None,
            steps: Vec::new(),
            counts: BTreeMap::new(),
            failures: HashMap::new(),
            disturbed: HashSet::new(),
            lost: Duration::ZERO,
            outage_failures: 0,
        }
    }

    fn add(&mut self, step: OutcomeStep, place: u32, context: &Context, details: Details) {
        self.attempts += 1;
        self.first_seen = Some(self.first_seen.map_or(step.at, |first| first.min(step.at)));
        let failed = step.outcome.is_failure();
        if step.outage {
            self.outage_failures += u64::from(failed);
        } else if step.outcome != Outcome::Skipped {
            self.judge_step(&step, place, context, &details);
        }
        if failed && !step.outage && !details.as_base {
            let group = FailureGroup {
                fingerprint: details.fingerprint.as_deref().map(Fingerprint::from_text),
                kind: details.kind,
                message: details.message.unwrap_or_default(),
                count: 1,
                first_seen: step.at,
                last_seen: step.at,
            };
            match self.failures.entry(details.fingerprint) {
                Entry::Occupied(known) => merge(known.into_mut(), group),
                Entry::Vacant(vacant) => {
                    vacant.insert(group);
                }
            }
        }
        self.steps.push(step);
        // Sorting now and then keeps the list bounded at a small cost.
        if self.steps.len() >= 2 * self.limit.max(512) {
            self.keep_latest();
        }
    }

    fn judge_step(&mut self, step: &OutcomeStep, place: u32, context: &Context, details: &Details) {
        let failed = step.outcome.is_failure();
        let new = || Counts {
            place,
            passed: 0,
            failed: BTreeMap::new(),
            first_attempts: FlakeRate::default(),
            first: context.started,
            last: context.started,
        };
        let counts = self.counts.entry((context.revision, details.as_base)).or_insert_with(new);
        counts.passed += u64::from(!failed);
        if failed {
            *counts.failed.entry(details.fingerprint.clone()).or_default() += 1;
        }
        counts.first_attempts.attempts += u64::from(details.is_first);
        counts.first_attempts.failures += u64::from(details.is_first && failed);
        counts.first = counts.first.min(context.started);
        counts.last = counts.last.max(context.started);
        if failed && !details.as_base {
            self.disturbed.insert(step.run.to_string());
        }
        if failed || !details.is_first {
            self.lost += details.duration;
        }
    }

    fn keep_latest(&mut self) {
        self.steps.sort_by(|left, right| (left.at, &left.run).cmp(&(right.at, &right.run)));
        let surplus = self.steps.len().saturating_sub(self.limit);
        self.steps.drain(..surplus);
    }

    fn finish(mut self, test: TestId, contexts: &Contexts) -> Option<TestHistory> {
        let first_seen = self.first_seen?;
        self.keep_latest();
        let counts = self.counts.iter();
        let tallies: Vec<_> = counts.map(|((_, as_base), counts)| counts.tally(contexts, *as_base)).collect();
        let mut failures: Vec<_> = self.failures.into_values().collect();
        sort_failures(&mut failures);
        Some(TestHistory {
            test,
            verdict: judge(&tallies, self.outage_failures),
            rate: rate(&tallies),
            reruns: reruns(&tallies),
            cost: Cost {
                runs_disturbed: u64::try_from(self.disturbed.len()).unwrap_or(u64::MAX),
                time_lost: self.lost,
            },
            attempts: self.attempts,
            first_seen,
            steps: self.steps,
            failures,
            changes: rate_changes(&tallies),
        })
    }
}
