//! What the tests that failed did.
//!
//! From the daily roll-ups where they are current (`rollup`), and from the attempts of all
//! other days. Roll-ups are made by the statements below, so both say the same.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, HashSet};
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use chrono::NaiveDate;
use deltalake::arrow::array::{Array as _, ArrayRef, AsArray as _, RecordBatch};
use deltalake::arrow::datatypes::DataType;
use deltalake::datafusion::prelude::SessionContext;
use flakewise_model::{Cost, FailureGroup, Fingerprint, FlakeRate, Outcome, Phase, Timestamp};
use futures::TryStreamExt as _;
use hashbrown::HashMap;
use rayon::prelude::*;

use crate::aliases::Aliases;
use crate::contexts::{Context, Contexts, RunColumns, TextColumn};
use crate::flaky::RevisionTally;
use crate::report::{Columns, add_group, collect, list, literal, sort_failures, stream_of};
use crate::rollup::{DailySession, OF_ATTEMPTS, decode_passes};
use crate::session::FAILURES;
use crate::{History, HistoryError};

/// Longer lists are left to the engine's joins.
pub(crate) const LISTED: usize = 4096;
/// How many first attempts that passed are in memory at a time: this many tests times all runs, at most.
const PASSES_AT_ONCE: usize = 8_000_000;

/// First attempts that passed, of these rows.
pub(crate) fn passing(from: &str) -> String {
    format!(
        "SELECT test, variant, day, run, commit, dirty, branch, duration_us FROM {from} WHERE {}",
        passed()
    )
}

/// The same, counted by test and run.
pub(crate) fn passes(from: &str, conditions: &str) -> String {
    format!(
        "SELECT test, variant, day, run, commit, dirty, branch, count(*) AS attempts
         FROM {from} WHERE {} {conditions}
         GROUP BY test, variant, day, run, commit, dirty, branch",
        passed()
    )
}

fn passed() -> String {
    format!("phase = 'first' AND outcome NOT IN {FAILURES} AND outcome <> 'skipped'")
}

/// All attempts that failed or were not the first, by test and run, of these rows.
pub(crate) fn others(from: &str, conditions: &str) -> String {
    let failed = format!("outcome IN {FAILURES}");
    let latest = |column: &str| {
        format!(
            "last_value({column} ORDER BY started_at, failure_message NULLS FIRST, failure_kind NULLS FIRST)"
        )
    };
    format!(
        "SELECT test, variant, day, run, commit, dirty, branch, phase,
                CASE WHEN {failed} THEN 'failed' WHEN outcome = 'skipped' THEN outcome ELSE 'passed' END
                  AS outcome,
                CASE WHEN {failed} THEN fingerprint END AS fingerprint,
                {} AS failure_kind, {} AS failure_message,
                count(*) AS attempts, coalesce(sum(duration_us), 0) AS spent_us,
                min(started_at) AS first_at, max(started_at) AS last_at
         FROM {from} WHERE ({failed} OR phase <> 'first') {conditions}
         GROUP BY 1, 2, 3, 4, 5, 6, 7, 8, 9, 10",
        latest("failure_kind"),
        latest("failure_message"),
    )
}

/// What the tests that failed in a window did, by their present ids.
pub(crate) struct Gathered {
    pub(crate) contexts: Contexts,
    pub(crate) aliases: Aliases,
    pub(crate) tests: HashMap<String, Record>,
    /// A condition on days.
    window: String,
    numbers: Numbers,
}

/// What one test did, outages left out.
#[derive(Default)]
pub(crate) struct Record {
    /// Sorted by revision, once all are there.
    passes: Vec<Passes>,
    /// The same by day.
    passed_on: Vec<(NaiveDate, u64)>,
    others: Vec<Other>,
}

/// First attempts that passed, on one revision.
struct Passes {
    revision: u32,
    /// The contexts that began first and last.
    first: u32,
    last: u32,
    /// There may be very many of these, and few attempts in each.
    count: u32,
}

/// Attempts of one run that failed alike, or were not the first.
struct Other {
    context: u32,
    day: NaiveDate,
    is_first: bool,
    as_base: bool,
    outcome: Outcome,
    fingerprint: Option<Arc<str>>,
    kind: Option<Arc<str>>,
    message: Option<Arc<str>>,
    attempts: u64,
    spent: Duration,
    first: Timestamp,
    last: Timestamp,
}

impl History {
    /// What the tests that failed did, but for first attempts that passed.
    pub(crate) async fn gather(
        &self,
        daily: &DailySession,
        since: Option<NaiveDate>,
    ) -> Result<Gathered, HistoryError> {
        let session = &daily.session;
        let mut contexts = Contexts::load(session).await?;
        let aliases = self.aliases(session, None).await?;
        let window = since.map_or_else(String::new, |day| format!("AND day >= DATE '{day}'"));
        // Most failures may be those of outages.
        let outages = contexts.outages();
        let outages = if outages.len() <= LISTED { list("run", "NOT IN", &outages) } else { String::new() };
        let mut queries = Vec::new();
        let mut numbered = Numbers::new();
        if daily.has_rolled {
            let columns = OF_ATTEMPTS.map(|name| format!("\"{name}\"")).join(", ");
            queries.push(format!(
                "SELECT {columns} FROM rolled_others WHERE record = 'attempts' {window} {outages}"
            ));
            numbered = numbers(&mut contexts, session, &window).await?;
        }
        if daily.has_tail {
            queries.push(others("tail", &format!("{window} {outages}")));
        }
        let mut gathered = Gathered { contexts, aliases, tests: HashMap::new(), window, numbers: numbered };
        for query in queries {
            let mut stream = stream_of(session, &query).await?;
            while let Some(batch) = stream.try_next().await.map_err(HistoryError::query)? {
                gathered.add_others(&batch)?;
            }
        }
        gathered.tests.retain(|_, record| record.others.iter().any(|other| other.outcome == Outcome::Failed));
        Ok(gathered)
    }
}

impl Gathered {
    /// Says something of each test, and returns it by test, in order. First attempts that passed are read for
    /// some tests at a time, since there are very many of them.
    pub(crate) async fn of_each<T: Send>(
        &mut self,
        daily: &DailySession,
        say: impl Fn(&str, &Record, &Contexts) -> T + Sync,
    ) -> Result<Vec<(String, T)>, HistoryError> {
        let at_once = (PASSES_AT_ONCE / self.contexts.count().max(1)).clamp(1, LISTED);
        self.of_some(daily, at_once, say).await
    }

    /// The same, with the number of tests whose first attempts are read at a time.
    async fn of_some<T: Send>(
        &mut self,
        daily: &DailySession,
        at_once: usize,
        say: impl Fn(&str, &Record, &Contexts) -> T + Sync,
    ) -> Result<Vec<(String, T)>, HistoryError> {
        let mut tests: Vec<String> = self.tests.keys().cloned().collect();
        tests.sort_unstable();
        let mut said = Vec::with_capacity(tests.len());
        for tests in tests.chunks(at_once) {
            self.read_passes(daily, tests).await?;
            let contexts = &self.contexts;
            let records: Vec<_> = tests.iter().map(|test| (test, &self.tests[test])).collect();
            let say = |(test, record): (&String, &Record)| (test.clone(), say(test, record, contexts));
            said.par_extend(records.into_par_iter().map(say));
            for test in tests {
                if let Some(record) = self.tests.get_mut(test) {
                    (record.passes, record.passed_on) = Default::default();
                }
            }
        }
        Ok(said)
    }

    /// Takes in the first attempts of these tests that passed.
    async fn read_passes(&mut self, daily: &DailySession, tests: &[String]) -> Result<(), HistoryError> {
        let session = &daily.session;
        let names = self.aliases.all_names(tests.iter().map(String::as_str));
        // Of long lists, the engine does not look for the pages that may have one of them.
        let range = match (names.iter().min(), names.iter().max()) {
            (Some(first), Some(last)) if tests.len() < self.tests.len() => {
                format!("AND test BETWEEN {} AND {}", literal(first), literal(last))
            }
            _ => String::new(),
        };
        let conditions = format!("{} {range} {}", self.window, list("test", "IN", &names));
        if daily.has_rolled {
            let query =
                format!("SELECT test, day, passes FROM rolled_days WHERE outcome = 'passed' {conditions}");
            let mut stream = stream_of(session, &query).await?;
            while let Some(batch) = stream.try_next().await.map_err(HistoryError::query)? {
                self.add_rolled_passes(&batch)?;
            }
        }
        if daily.has_tail {
            let mut stream = stream_of(session, &passes("tail", &conditions)).await?;
            while let Some(batch) = stream.try_next().await.map_err(HistoryError::query)? {
                self.add_passes(&batch)?;
            }
        }
        for test in tests {
            if let Some(record) = self.tests.get_mut(test) {
                record.passes.sort_by_key(|passes| passes.revision);
            }
        }
        Ok(())
    }
}

/// The rows of each test, as far as they follow each other: they mostly do, as files are sorted.
fn by_test(tests: &TextColumn, rows: usize) -> impl Iterator<Item = (&str, Range<usize>)> {
    let mut next = 0;
    std::iter::from_fn(move || {
        let first = (next..rows).find(|row| tests.at(*row).is_some())?;
        let test = tests.at(first)?;
        next = (first + 1..rows).find(|row| tests.at(*row) != Some(test)).unwrap_or(rows);
        Some((test, first..next))
    })
}

/// The contexts of each day, by their numbers in its roll-up.
pub(crate) type Numbers = HashMap<NaiveDate, Vec<Option<Numbered>>>;

/// A context, and what is asked of it for each pass.
#[derive(Clone, Copy)]
pub(crate) struct Numbered {
    pub(crate) context: u32,
    /// None if its run is an outage.
    pub(crate) revision: Option<u32>,
}

/// More runs on one day are not believed.
const MOST_RUNS: usize = 10_000_000;

/// Reads which runs the numbers in roll-ups stand for.
pub(crate) async fn numbers(
    contexts: &mut Contexts,
    session: &SessionContext,
    window: &str,
) -> Result<Numbers, HistoryError> {
    let query = format!(
        "SELECT day, number, run, variant, commit, dirty, branch
         FROM rolled_others WHERE record = 'run' {window}"
    );
    let mut numbers = Numbers::new();
    for batch in collect(session, &query).await? {
        let columns = Columns(&batch);
        let runs = RunColumns::new(&columns)?;
        let (days, places) = (columns.days("day")?, columns.counts("number")?);
        for (row, place) in places.into_iter().enumerate() {
            let place = usize::try_from(place).ok().filter(|place| *place < MOST_RUNS);
            let (Some(day), Some(place)) = (days[row], place) else { continue };
            let numbers = numbers.entry(day).or_default();
            if numbers.len() <= place {
                numbers.resize(place + 1, None);
            }
            let context = contexts.find(&runs.at(row));
            let known = contexts.get(context);
            let revision = (!known.is_outage).then_some(known.revision);
            numbers[place] = Some(Numbered { context, revision });
        }
    }
    Ok(numbers)
}

/// The lists of runs in a column of roll-ups, by row.
pub(crate) struct Packed(ArrayRef);

impl Packed {
    pub(crate) fn new(columns: &Columns<'_>) -> Result<Self, HistoryError> {
        Ok(Self(columns.get("passes", &DataType::Binary)?))
    }

    /// The passes of a row, by the runs of its day: in which run each was, and how many there are.
    pub(crate) fn at<'a>(
        &'a self,
        row: usize,
        runs: &'a [Option<Numbered>],
    ) -> Result<impl Iterator<Item = Result<(Numbered, u64), HistoryError>> + 'a, HistoryError> {
        let damaged = || {
            HistoryError::query(
                "the table `test_days` is damaged: unless attempts have expired, delete its folder",
            )
        };
        if self.0.is_null(row) {
            return Err(damaged());
        }
        Ok(decode_passes(self.0.as_binary::<i32>().value(row)).map(move |pass| {
            let (number, count) = pass.ok_or_else(damaged)?;
            Ok((runs.get(number).copied().flatten().ok_or_else(damaged)?, count))
        }))
    }
}

impl Gathered {
    fn add_others(&mut self, batch: &RecordBatch) -> Result<(), HistoryError> {
        let columns = Columns(batch);
        let tests = TextColumn::new(&columns, "test")?;
        let runs = RunColumns::new(&columns)?;
        let days = columns.days("day")?;
        let phases = TextColumn::new(&columns, "phase")?;
        let outcomes = TextColumn::new(&columns, "outcome")?;
        let fingerprints = TextColumn::new(&columns, "fingerprint")?;
        let kinds = TextColumn::new(&columns, "failure_kind")?;
        let messages = TextColumn::new(&columns, "failure_message")?;
        let attempts = columns.counts("attempts")?;
        let spent = columns.counts("spent_us")?;
        let first = columns.times("first_at")?;
        let last = columns.times("last_at")?;
        for row in 0..batch.num_rows() {
            let (Some(test), Some(Ok(outcome))) = (tests.at(row), outcomes.at(row).map(str::parse)) else {
                continue;
            };
            let context = self.contexts.find(&runs.at(row));
            if self.contexts.get(context).is_outage {
                continue;
            }
            let record = self.tests.entry_ref(self.aliases.current(test).as_ref()).or_default();
            let mut label = |column: &TextColumn| Some(self.contexts.label(column.at(row)?));
            record.others.push(Other {
                context,
                day: days[row].unwrap_or_default(),
                is_first: phases.at(row) == Some(Phase::First.name()),
                as_base: phases.at(row) == Some(Phase::Base.name()),
                outcome,
                fingerprint: label(&fingerprints),
                kind: label(&kinds),
                message: label(&messages),
                attempts: attempts[row],
                spent: Duration::from_micros(spent[row]),
                first: first[row],
                last: last[row],
            });
        }
        Ok(())
    }

    fn add_passes(&mut self, batch: &RecordBatch) -> Result<(), HistoryError> {
        let columns = Columns(batch);
        let tests = TextColumn::new(&columns, "test")?;
        let runs = RunColumns::new(&columns)?;
        let days = columns.days("day")?;
        let attempts = columns.counts("attempts")?;
        for (test, rows) in by_test(&tests, batch.num_rows()) {
            let Some(record) = self.tests.get_mut(self.aliases.current(test).as_ref()) else { continue };
            for row in rows {
                let context = self.contexts.find(&runs.at(row));
                if !self.contexts.get(context).is_outage {
                    let revision = self.contexts.get(context).revision;
                    record.add_passes(&mut [(revision, context, attempts[row])], &self.contexts);
                    record.passed_on.push((days[row].unwrap_or_default(), attempts[row]));
                }
            }
        }
        Ok(())
    }

    fn add_rolled_passes(&mut self, batch: &RecordBatch) -> Result<(), HistoryError> {
        let columns = Columns(batch);
        let tests = TextColumn::new(&columns, "test")?;
        let days = columns.days("day")?;
        let packed = Packed::new(&columns)?;
        let mut passes = Vec::new();
        for (row, day) in days.into_iter().enumerate() {
            let (Some(test), Some(day)) = (tests.at(row), day) else { continue };
            let Some(record) = self.tests.get_mut(self.aliases.current(test).as_ref()) else { continue };
            let runs = self.numbers.get(&day).map_or(&[][..], Vec::as_slice);
            let mut sum = 0;
            for pass in packed.at(row, runs)? {
                let (Numbered { context, revision }, count) = pass?;
                if let Some(revision) = revision {
                    passes.push((revision, context, count));
                    sum += count;
                }
            }
            record.add_passes(&mut passes, &self.contexts);
            passes.clear();
            record.passed_on.push((day, sum));
        }
        Ok(())
    }
}

impl Record {
    /// Takes in first attempts that passed, by revision and context.
    fn add_passes(&mut self, passes: &mut [(u32, u32, u64)], contexts: &Contexts) {
        passes.sort_unstable();
        let started = |(_, context, _): &&(u32, u32, u64)| contexts.get(*context).started;
        for revision in passes.chunk_by(|left, right| left.0 == right.0) {
            let (number, mut first, mut count) = revision[0];
            let mut last = first;
            if revision.len() > 1 {
                first = revision.iter().min_by_key(started).map_or(first, |(_, context, _)| *context);
                last = revision.iter().max_by_key(started).map_or(last, |(_, context, _)| *context);
                count = revision.iter().map(|(.., count)| count).sum();
            }
            let count = u32::try_from(count).unwrap_or(u32::MAX);
            self.passes.push(Passes { revision: number, first, last, count });
        }
    }

    /// Its outcomes by revision.
    pub(crate) fn tallies<'a>(&'a self, contexts: &'a Contexts) -> Vec<RevisionTally<'a>> {
        let mut others = self.tallies_of_others(contexts).into_iter().peekable();
        let mut tallies = Vec::with_capacity(self.passes.len() + others.len());
        for revision in self.passes.chunk_by(|left, right| left.revision == right.revision) {
            let key = (revision[0].revision, false);
            let before = std::iter::from_fn(|| others.next_if(|(other, _)| *other < key));
            tallies.extend(before.map(|(_, tally)| tally));
            let mut tally = tally(contexts.get(revision[0].first), false);
            for passes in revision {
                tally.passed += u64::from(passes.count);
                tally.first = tally.first.min(contexts.get(passes.first).started);
                tally.last = tally.last.max(contexts.get(passes.last).started);
            }
            tally.first_attempts.attempts = tally.passed;
            if let Some((_, other)) = others.next_if(|(other, _)| *other == key) {
                tally.add(other);
            }
            tallies.push(tally);
        }
        tallies.extend(others.map(|(_, tally)| tally));
        tallies
    }

    /// The same without first attempts that passed, sorted by the number of the revision and by
    /// whether it is about a base.
    fn tallies_of_others<'a>(&'a self, contexts: &'a Contexts) -> Vec<((u32, bool), RevisionTally<'a>)> {
        let mut tallies: BTreeMap<(u32, bool), RevisionTally<'_>> = BTreeMap::new();
        for other in self.others.iter().filter(|other| other.outcome != Outcome::Skipped) {
            let context = contexts.get(other.context);
            let mut tally = tally(context, other.as_base);
            let failed = other.outcome == Outcome::Failed;
            if failed {
                tally.failed.insert(other.fingerprint.as_deref(), other.attempts);
            } else {
                tally.passed = other.attempts;
            }
            if other.is_first {
                tally.first_attempts =
                    FlakeRate { failures: if failed { other.attempts } else { 0 }, attempts: other.attempts };
            }
            match tallies.entry((context.revision, other.as_base)) {
                Entry::Occupied(known) => known.into_mut().add(tally),
                Entry::Vacant(vacant) => {
                    vacant.insert(tally);
                }
            }
        }
        tallies.into_iter().collect()
    }

    /// What its failures cost.
    pub(crate) fn cost(&self, contexts: &Contexts) -> Cost {
        let disturbed: HashSet<*const u8> =
            self.failures_of_its_own().map(|other| contexts.get(other.context).run.as_ptr()).collect();
        Cost {
            runs_disturbed: u64::try_from(disturbed.len()).unwrap_or(u64::MAX),
            time_lost: self.others.iter().map(|other| other.spent).sum(),
        }
    }

    /// Its failures, by what they look like.
    pub(crate) fn failures(&self) -> Vec<FailureGroup> {
        let mut groups = Vec::new();
        for other in self.failures_of_its_own() {
            let group = FailureGroup {
                fingerprint: other.fingerprint.as_deref().map(Fingerprint::from_text),
                kind: other.kind.as_deref().map(str::to_owned),
                message: other.message.as_deref().unwrap_or_default().to_owned(),
                count: other.attempts,
                first_seen: other.first,
                last_seen: other.last,
            };
            add_group(&mut groups, group);
        }
        sort_failures(&mut groups);
        groups
    }

    /// How it did day by day, attempts at a base left out.
    pub(crate) fn days(&self) -> BTreeMap<NaiveDate, flakewise_model::Tally> {
        let mut days: BTreeMap<NaiveDate, flakewise_model::Tally> = BTreeMap::new();
        for (day, count) in self.passed_on.iter().filter(|(_, count)| *count > 0) {
            days.entry(*day).or_default().passed += count;
        }
        for other in self.others.iter().filter(|other| !other.as_base && other.outcome != Outcome::Skipped) {
            let tally = days.entry(other.day).or_default();
            match other.outcome {
                Outcome::Failed => tally.failed += other.attempts,
                _ => tally.passed += other.attempts,
            }
        }
        days
    }

    /// The runs it took time from, with its failures in each and that time.
    pub(crate) fn losses(&self) -> impl Iterator<Item = (u32, u64, Duration)> {
        self.others.iter().map(|other| {
            let failed = other.outcome == Outcome::Failed && !other.as_base;
            (other.context, if failed { other.attempts } else { 0 }, other.spent)
        })
    }

    /// Whether it failed, and not just at a base.
    pub(crate) fn has_failures(&self) -> bool {
        self.failures_of_its_own().next().is_some()
    }

    fn failures_of_its_own(&self) -> impl Iterator<Item = &Other> {
        self.others.iter().filter(|other| other.outcome == Outcome::Failed && !other.as_base)
    }
}

/// Nothing yet, on one revision.
pub(crate) fn tally(context: &Context, as_base: bool) -> RevisionTally<'_> {
    RevisionTally {
        variant: &context.variant,
        branch: context.branch.as_deref(),
        commit: context.revision_commit().map(AsRef::as_ref),
        run: context.revision_run().map(AsRef::as_ref),
        passed: 0,
        failed: BTreeMap::new(),
        first_attempts: FlakeRate::default(),
        first: context.started,
        last: context.started,
        as_base,
    }
}

#[cfg(test)]
mod tests {
    use flakewise_model::Outcome::{Failed, Passed};
    use flakewise_testkit::BatchBuilder;

    use super::*;
    use crate::{MaintainOptions, StoreUrl};

    #[test]
    fn tests_have_the_same_past_however_many_are_read_at_once() {
        let folder = tempfile::tempdir().expect("made");
        let store = StoreUrl::parse(folder.path().to_str().expect("UTF-8")).expect("a path");
        let history = History::new(store, "acme/shop");
        for day in 0..6_i64 {
            let batch = (0..5_i64).fold(
                BatchBuilder::new(&format!("run-{day}"), &format!("c{day}"), 24 * day),
                |batch, test| {
                    batch.attempt(&format!("test_{test}"), if day == test { Failed } else { Passed })
                },
            );
            history.append(&[batch.attempt("test_good", Passed).build()]).expect("written");
            // The last days are in no roll-up.
            if day == 3 {
                let options = MaintainOptions {
                    dry_run: false,
                    keep: Duration::from_hours(1),
                    expire: None,
                    expire_attempts: None,
                };
                history.maintain(&options, &|_, _, _| {}).expect("maintained");
            }
        }
        let said = |at_once| {
            history.block_on("test", async {
                let daily = history.daily_session().await?;
                let mut gathered = history.gather(&daily, None).await?;
                let say = |name: &str, record: &Record, contexts: &Contexts| {
                    format!("{name} {:?} {:?}", record.tallies(contexts), record.days())
                };
                gathered.of_some(&daily, at_once, say).await
            })
        };
        let all = said(100).expect("readable");
        assert_eq!(all.len(), 5, "tests that failed");
        assert!(all.iter().all(|(_, said)| said.matches("passed: 1").count() >= 5), "{all:?}");
        for at_once in [1, 2, 5] {
            assert_eq!(said(at_once).expect("readable"), all, "{at_once}");
        }
    }
}
