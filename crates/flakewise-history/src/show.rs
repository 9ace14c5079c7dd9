//! One test's past.
//!
//! It is read from the attempts, which are sorted by test. In a history of many files most of it comes from the
//! roll-ups (`show_rolled`), with the same answer. So does what is about days whose attempts have expired.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use deltalake::arrow::array::RecordBatch;
use deltalake::datafusion::prelude::{SessionContext, col, lit};
use flakewise_model::{
    Cost, FailureGroup, FindingId, Fingerprint, FlakeRate, Outcome, OutcomeStep, Phase, RunId, TestHistory,
    TestId, Timestamp,
};
use futures::TryStreamExt as _;

use crate::aliases::Aliases;
use crate::contexts::{Context, Contexts, RunColumns};
use crate::expire::Sources;
use crate::flaky::{RevisionTally, judge};
use crate::gather::tally;
use crate::rate_changes::rate_changes;
use crate::report::{Columns, merge, rate, reruns, sort_failures};
use crate::rollup::DailySession;
use crate::session::Reading;
use crate::{History, HistoryError};

/// If the attempts are in no more files, reading roll-ups too would cost more than it saves, see `bench/growth`.
const FEW_FILES: usize = 64;
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
        self.show_within(name, steps, FEW_FILES)
    }

    /// The same, from the attempts alone if they are in no more files than that: for tests.
    #[doc(hidden)]
    pub fn show_within(&self, name: &str, steps: usize, few_files: usize) -> Result<Matches, HistoryError> {
        self.block_on("show", async {
            let (session, attempts) = self.session_and_attempts(Reading::Few).await?;
            let files = attempts.snapshot().map_err(HistoryError::query)?.log_data().num_files();
            let (session, daily) = if files > few_files || !Sources::expired(&attempts)?.is_empty() {
                let daily = self.with_roll_ups(session, attempts, Reading::Few).await?;
                (daily.session.clone(), Some(daily).filter(|daily| daily.has_rolled))
            } else {
                (session, None)
            };
            let past = Past { history: self, session, daily };
            let session = &past.session;
            let mut contexts = Contexts::load(session).await?;
            // A whole id is found by the sort order of the files; a part of one
            // means looking through all ids.
            if let Ok(id) = name.parse::<TestId>() {
                let aliases = self.aliases(session, Some(&[id.as_str()])).await?;
                if let Some(history) = past.of(&id, steps, &mut contexts, &aliases).await? {
                    return Ok(Matches::One(Box::new(history)));
                }
            }
            let aliases = self.aliases(session, None).await?;
            let mut candidates = past.candidates(name, &aliases).await?;
            match candidates.len() {
                0 => Ok(Matches::None),
                1 => {
                    let id = candidates.remove(0).parse::<TestId>().map_err(HistoryError::query)?;
                    let history = past.of(&id, steps, &mut contexts, &aliases).await?;
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

/// Where the past of tests is read.
struct Past<'a> {
    history: &'a History,
    session: SessionContext,
    /// None if everything is read from the attempts.
    daily: Option<DailySession>,
}

impl Past<'_> {
    /// The table of the attempts that are not in roll-ups.
    fn attempts(&self) -> &'static str {
        if self.daily.is_some() { "tail" } else { "attempts" }
    }

    /// Ids that contain the text, in order, or the one a finding of this id is
    /// about. A test whose own name is the text, or its id as its runner writes it, goes
    /// before those that merely contain it. Tests are recognised by their present ids.
    async fn candidates(&self, part: &str, aliases: &Aliases) -> Result<Vec<String>, HistoryError> {
        use deltalake::datafusion::functions::expr_fn::strpos;

        // A finding's id is a hash of the test's, so every id must be looked at.
        let finding = part.len() == 8 && part.bytes().all(|byte| byte.is_ascii_hexdigit());
        let wanted = if finding { lit(true) } else { strpos(col("test"), lit(part)).gt(lit(0)) };
        let rolled = self.daily.as_ref().map_or(&[][..], |_| &["rolled_days", "rolled_others"]);
        let mut tests = Vec::new();
        let named = FindingId::from_text(part);
        for table in [self.attempts()].iter().chain(rolled) {
            let frame = self
                .session
                .table(*table)
                .await
                .and_then(|table| table.filter(wanted.clone()))
                .and_then(|table| table.select_columns(&["test"]))
                .and_then(deltalake::datafusion::prelude::DataFrame::distinct)
                .map_err(HistoryError::query)?;
            let mut stream = frame.execute_stream().await.map_err(HistoryError::query)?;
            while let Some(batch) = stream.try_next().await.map_err(HistoryError::query)? {
                for test in Columns(&batch).texts("test")?.into_iter().flatten() {
                    if finding && test.parse().is_ok_and(|id| named.names(&id)) {
                        return Ok(vec![aliases.current(&test).into_owned()]);
                    }
                    if test.contains(part) {
                        tests.push(aliases.current(&test).into_owned());
                    }
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

    /// The past of one test; none if it has none.
    async fn of(
        &self,
        test: &TestId,
        steps: usize,
        contexts: &mut Contexts,
        aliases: &Aliases,
    ) -> Result<Option<TestHistory>, HistoryError> {
        let test = aliases.current(test.as_str()).parse::<TestId>().map_err(HistoryError::query)?;
        let names = aliases.all_names([test.as_str()]);
        let mut builder = Builder::new(steps);
        if let Some(daily) = &self.daily {
            self.history.add_rolled(&mut builder, daily, &names, contexts).await?;
        }
        if self.daily.as_ref().is_none_or(|daily| daily.has_tail) {
            self.add_attempts(&mut builder, &names, contexts).await?;
        }
        Ok(builder.finish(test, contexts))
    }

    async fn add_attempts(
        &self,
        builder: &mut Builder,
        names: &[String],
        contexts: &mut Contexts,
    ) -> Result<(), HistoryError> {
        let names = names.iter().map(|name| lit(name.as_str())).collect();
        let frame = self
            .session
            .table(self.attempts())
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
        while let Some(batch) = stream.try_next().await.map_err(HistoryError::query)? {
            let columns = Columns(&batch);
            let durations = columns.counts("duration_us")?;
            let phases = columns.texts("phase")?;
            let fingerprints = columns.texts("fingerprint")?;
            let kinds = columns.texts("failure_kind")?;
            let messages = columns.texts("failure_message")?;
            for (row, number, step) in steps_of(&batch, contexts)? {
                let details = Details {
                    duration: Duration::from_micros(durations[row]),
                    is_first: phases[row].as_deref() == Some(Phase::First.name()),
                    as_base: phases[row].as_deref() == Some(Phase::Base.name()),
                    fingerprint: fingerprints[row].clone(),
                    kind: kinds[row].clone(),
                    message: messages[row].clone(),
                };
                builder.add(step, number, contexts.get(number), details);
            }
        }
        Ok(())
    }
}

/// The attempts of some rows, each with its row and its context.
pub(crate) fn steps_of(
    batch: &RecordBatch,
    contexts: &mut Contexts,
) -> Result<Vec<(usize, u32, OutcomeStep)>, HistoryError> {
    let columns = Columns(batch);
    let places = RunColumns::new(&columns)?;
    let times = columns.times("started_at")?;
    let outcomes = columns.texts("outcome")?;
    let step = |row: usize| {
        // Outcomes a later version invented are not ours to judge.
        let outcome = outcomes[row].as_deref()?.parse::<Outcome>().ok()?;
        let place = places.at(row);
        let number = contexts.find(&place);
        let step = OutcomeStep {
            at: times[row],
            outcome,
            outage: contexts.get(number).is_outage,
            commit: place.commit.map(str::to_owned),
            variant: place.variant.to_owned(),
            run: RunId::new(place.run),
        };
        Some((row, number, step))
    };
    Ok((0..batch.num_rows()).filter_map(step).collect())
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

/// Attempts of one run that ended alike.
pub(crate) struct Alike {
    pub(crate) outcome: Outcome,
    pub(crate) count: u64,
    /// Whether the suite itself made them, and not because of an earlier attempt.
    pub(crate) is_first: bool,
    pub(crate) as_base: bool,
    pub(crate) fingerprint: Option<String>,
    /// Of the latest of them.
    pub(crate) kind: Option<String>,
    pub(crate) message: String,
    pub(crate) spent: Duration,
    pub(crate) first: Timestamp,
    pub(crate) last: Timestamp,
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
pub(crate) struct Builder {
    pub(crate) limit: usize,
    attempts: u64,
    first_seen: Option<Timestamp>,
    steps: Vec<OutcomeStep>,
    /// By revision, and whether it ran as a base.
    counts: BTreeMap<(u32, bool), Counts>,
    failures: HashMap<Option<String>, FailureGroup>,
    disturbed: HashSet<Arc<str>>,
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

    /// Takes in an attempt.
    fn add(&mut self, step: OutcomeStep, place: u32, context: &Context, details: Details) {
        let Details { duration, is_first, as_base, fingerprint, kind, message } = details;
        let message = message.unwrap_or_default();
        let alike = Alike {
            outcome: step.outcome,
            count: 1,
            is_first,
            as_base,
            fingerprint,
            kind,
            message,
            spent: duration,
            first: step.at,
            last: step.at,
        };
        self.add_alike(place, context, alike);
        self.add_step(step);
    }

    /// Takes in when an attempt was made, and how it ended, which may be listed.
    pub(crate) fn add_step(&mut self, step: OutcomeStep) {
        self.see(step.at);
        self.steps.push(step);
        // Sorting now and then keeps the list bounded at a small cost.
        if self.steps.len() >= 2 * self.limit.max(512) {
            self.keep_latest();
        }
    }

    /// Takes in that there was an attempt by then.
    pub(crate) fn see(&mut self, at: Timestamp) {
        self.first_seen = Some(self.first_seen.map_or(at, |first| first.min(at)));
    }

    /// Takes in attempts of which nothing else is said.
    pub(crate) fn add_count(&mut self, attempts: u64) {
        self.attempts += attempts;
    }

    /// Takes in attempts that ended alike in one run.
    pub(crate) fn add_alike(&mut self, place: u32, context: &Context, alike: Alike) {
        self.attempts += alike.count;
        let failed = alike.outcome.is_failure();
        if context.is_outage {
            self.outage_failures += if failed { alike.count } else { 0 };
            return;
        }
        if alike.outcome == Outcome::Skipped {
            return;
        }
        let counts = self.counts_of(place, context, alike.as_base);
        if failed {
            *counts.failed.entry(alike.fingerprint.clone()).or_default() += alike.count;
        } else {
            counts.passed += alike.count;
        }
        if alike.is_first {
            counts.first_attempts.attempts += alike.count;
            counts.first_attempts.failures += if failed { alike.count } else { 0 };
        }
        if failed || !alike.is_first {
            self.lost += alike.spent;
        }
        if !failed || alike.as_base {
            return;
        }
        self.disturbed.insert(Arc::clone(&context.run));
        let group = FailureGroup {
            fingerprint: alike.fingerprint.as_deref().map(Fingerprint::from_text),
            kind: alike.kind,
            message: alike.message,
            count: alike.count,
            first_seen: alike.first,
            last_seen: alike.last,
        };
        match self.failures.entry(alike.fingerprint) {
            Entry::Occupied(known) => merge(known.into_mut(), group),
            Entry::Vacant(vacant) => {
                vacant.insert(group);
            }
        }
    }

    /// Takes in first attempts that passed in one run, which is no outage.
    pub(crate) fn add_passes(&mut self, place: u32, context: &Context, count: u64) {
        let counts = self.counts_of(place, context, false);
        counts.passed += count;
        counts.first_attempts.attempts += count;
    }

    fn counts_of(&mut self, place: u32, context: &Context, as_base: bool) -> &mut Counts {
        let new = || Counts {
            place,
            passed: 0,
            failed: BTreeMap::new(),
            first_attempts: FlakeRate::default(),
            first: context.started,
            last: context.started,
        };
        let counts = self.counts.entry((context.revision, as_base)).or_insert_with(new);
        counts.first = counts.first.min(context.started);
        counts.last = counts.last.max(context.started);
        counts
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
