//! Which tests are flaky by history, and what they cost.

use std::cmp::Reverse;
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use chrono::NaiveDate;
use deltalake::arrow::array::{Array as _, AsArray as _, RecordBatch};
use deltalake::arrow::compute::cast;
use deltalake::arrow::datatypes::{DataType, Date32Type, Int64Type, TimestampMicrosecondType};
use deltalake::datafusion::prelude::SessionContext;
use flakewise_model::{
    Conclusion, Cost, FailureGroup, FindingId, FindingKind, Fingerprint, FlakeRate, FlakyTest, HistoryReport,
    SharedFailure, TestId, Timestamp,
};
use futures::TryStreamExt as _;

use crate::aliases::Aliases;
use crate::flaky::{RevisionTally, judge};
use crate::rate_changes::rate_changes;
use crate::session::{FAILURES, Reading};
use crate::{History, HistoryError};

/// What to report on.
#[derive(Clone, Debug, Default)]
pub struct ReportOptions {
    /// Look back this many days from the newest attempt; all of it if none.
    pub days: Option<u32>,
}

impl History {
    /// Finds the flaky tests and ranks them by what they cost.
    pub fn report(&self, options: &ReportOptions) -> Result<HistoryReport, HistoryError> {
        self.block_on("report", async {
            let session = self.session(Reading::Most).await?;
            let mut report = self.totals(&session, options).await?;
            if report.runs == 0 {
                return Ok(report);
            }
            let since = options.days.and(report.window).map(|(first, _)| first);
            let Gathered { tallies, mut costs, mut failures, .. } = self.gather(&session, since).await?;
            report.shared_failures = shared(&failures);
            for (test, tallies) in tallies {
                let verdict = judge(&tallies, 0);
                if !verdict.conclusion.is_flaky() {
                    // Tests that failed only in outages did not fail.
                    report.others_failing += u64::from(verdict.conclusion != Conclusion::NotSeenFailing);
                    report.broken += u64::from(verdict.conclusion == Conclusion::Broken);
                    continue;
                }
                // Ids in a table are somebody else's bytes: one we cannot read
                // is not worth failing for, and cannot be named anyway.
                let Ok(id) = test.parse::<TestId>() else { continue };
                let failures = failures.remove(&test).unwrap_or_default();
                let (Some(since), Some(last_seen)) = (
                    failures.iter().map(|group| group.first_seen).min(),
                    failures.iter().map(|group| group.last_seen).max(),
                ) else {
                    continue;
                };
                report.findings.push(FlakyTest {
                    id: FindingId::of(&id),
                    kind: FindingKind::FlakyByHistory,
                    test: id,
                    verdict,
                    rate: rate(&tallies),
                    reruns: reruns(&tallies),
                    cost: costs.remove(&test).unwrap_or_default(),
                    since,
                    last_seen,
                    changes: rate_changes(&tallies),
                    failures,
                });
            }
            report
                .findings
                .sort_by(|left, right| right.cost.cmp(&left.cost).then_with(|| left.test.cmp(&right.test)));
            Ok(report)
        })
    }

    /// What the tests that failed did.
    pub(crate) async fn gather(
        &self,
        session: &SessionContext,
        since: Option<NaiveDate>,
    ) -> Result<Gathered, HistoryError> {
        let outages = texts(session, OUTAGES, "run").await?;
        let mut failing = texts(session, &Queries::failing(since, &Runs::Except(&outages)), "test").await?;
        let aliases = self.aliases(session, None).await?;
        let named = if aliases.is_empty() {
            Tests::These(&failing)
        } else {
            failing = aliases.all_names(failing.iter().map(String::as_str));
            Tests::ExactlyThese(&failing)
        };
        let queries = Queries::new(since, &Runs::Except(&outages), &named);
        // At the same time: while rows of one are taken in, the others use the other cores.
        let (tallies, costs, failures) = futures::try_join!(
            tallies(session, &queries.revisions, &aliases),
            costs(session, &queries.costs, &aliases),
            failures(session, &queries.failures, &aliases)
        )?;
        Ok(Gathered { outages, aliases, tallies, costs, failures })
    }

    /// What the window holds, from the small table.
    pub(crate) async fn totals(
        &self,
        session: &SessionContext,
        options: &ReportOptions,
    ) -> Result<HistoryReport, HistoryError> {
        let since = options.days.map_or_else(String::new, |days| {
            format!("WHERE day > (SELECT max(day) FROM runs) - INTERVAL '{days}' DAY")
        });
        let query = format!(
            "SELECT count(*) AS runs, coalesce(sum(CAST(outage AS BIGINT)), 0) AS outages,
                    coalesce(sum(CAST(NOT complete AS BIGINT)), 0) AS incomplete,
                    coalesce(sum(attempts), 0) AS attempts, min(day) AS first, max(day) AS last
             FROM runs {since}"
        );
        let batches = collect(session, &query).await?;
        let row = batches.iter().find(|batch| batch.num_rows() > 0);
        let row = row.ok_or_else(|| HistoryError::query("an aggregate gave no row"))?;
        let columns = Columns(row);
        let date = |name| -> Result<Option<NaiveDate>, HistoryError> { Ok(columns.days(name)?[0]) };
        Ok(HistoryReport {
            findings: Vec::new(),
            shared_failures: Vec::new(),
            others_failing: 0,
            broken: 0,
            runs: columns.counts("runs")?[0],
            outages: columns.counts("outages")?[0],
            incomplete_runs: columns.counts("incomplete")?[0],
            attempts: columns.counts("attempts")?[0],
            window: date("first")?.zip(date("last")?),
        })
    }
}

/// All rows of a query.
pub(crate) async fn collect(session: &SessionContext, query: &str) -> Result<Vec<RecordBatch>, HistoryError> {
    session.sql(query).await.map_err(HistoryError::query)?.collect().await.map_err(HistoryError::query)
}

/// What the tests that failed in a window did, by their present ids.
pub(crate) struct Gathered {
    pub(crate) outages: Vec<String>,
    pub(crate) aliases: Aliases,
    pub(crate) tallies: HashMap<String, Vec<RevisionTally>>,
    pub(crate) costs: HashMap<String, Cost>,
    pub(crate) failures: HashMap<String, Vec<FailureGroup>>,
}

/// The runs that prove nothing.
pub(crate) const OUTAGES: &str = "SELECT run FROM runs WHERE outage";
/// Longer lists are left to the engine's joins.
const LISTED: usize = 4096;

/// Which runs count.
pub(crate) enum Runs<'a> {
    /// All but those the engine finds to be outages.
    ExceptOutages,
    /// All but these.
    Except(&'a [String]),
}

/// Which tests count.
pub(crate) enum Tests<'a> {
    /// Those the engine finds to have failed.
    ThatFailed,
    /// These, which have.
    These(&'a [String]),
    /// These, some of which are former ids of tests that have.
    ExactlyThese(&'a [String]),
}

/// The three aggregates a report is made of. They are plain SQL on `attempts`
/// and `runs`, so that their cost can be compared with the bare engine's.
///
/// Tests that failed and runs that were outages are few among many. Told by
/// name, they are filters that the scan applies by itself; as subqueries they
/// are joins, whose sides the engine has no statistics to choose by.
pub(crate) struct Queries {
    pub(crate) revisions: String,
    pub(crate) costs: String,
    pub(crate) failures: String,
}

impl Queries {
    pub(crate) fn new(since: Option<NaiveDate>, runs: &Runs<'_>, tests: &Tests<'_>) -> Self {
        let (from, scope) = scope(since, runs);
        let failed = format!("outcome IN {FAILURES}");
        let tests = Self::among(since, runs, tests);
        let revisions = format!(
            "SELECT test, variant, branch, CASE WHEN dirty THEN NULL ELSE commit END AS revision,
                    CASE WHEN dirty OR commit IS NULL THEN attempts.run END AS run,
                    CASE WHEN {failed} THEN fingerprint END AS looks,
                    sum(CASE WHEN {failed} THEN 0 ELSE 1 END) AS passed,
                    sum(CASE WHEN {failed} THEN 1 ELSE 0 END) AS failed,
                    sum(CASE WHEN phase = 'first' AND NOT {failed} THEN 1 ELSE 0 END) AS first_passed,
                    sum(CASE WHEN phase = 'first' AND {failed} THEN 1 ELSE 0 END) AS first_failed,
                    min(started_at) AS first, max(started_at) AS last, phase = 'base' AS as_base
             FROM {from} WHERE outcome <> 'skipped' {scope} {tests}
             GROUP BY 1, 2, 3, 4, 5, 6, phase = 'base'"
        );
        let costs = format!(
            "SELECT test,
                    count(DISTINCT CASE WHEN {failed} AND phase <> 'base' THEN attempts.run END) AS runs,
                    coalesce(sum(duration_us), 0) AS lost
             FROM {from} WHERE ({failed} OR phase <> 'first') {scope}
             GROUP BY test"
        );
        let failures = format!(
            "SELECT test, fingerprint, max(failure_kind) AS kind,
                    last_value(failure_message ORDER BY started_at) AS message,
                    count(*) AS count, min(started_at) AS first, max(started_at) AS last
             FROM {from} WHERE {failed} AND phase <> 'base' {scope}
             GROUP BY test, fingerprint"
        );
        Self { revisions, costs, failures }
    }

    /// A condition on tests.
    pub(crate) fn among(since: Option<NaiveDate>, runs: &Runs<'_>, tests: &Tests<'_>) -> String {
        match tests {
            Tests::These(tests) if tests.len() <= LISTED => list("test", "IN", tests),
            Tests::ExactlyThese(tests) => list("test", "IN", tests),
            _ => format!("AND test IN ({})", Self::failing(since, runs)),
        }
    }

    /// The tests that ever failed outside an outage.
    pub(crate) fn failing(since: Option<NaiveDate>, runs: &Runs<'_>) -> String {
        let (from, scope) = scope(since, runs);
        format!("SELECT DISTINCT test FROM {from} WHERE outcome IN {FAILURES} {scope}")
    }
}

/// What to select from, and conditions on days and runs.
pub(crate) fn scope(since: Option<NaiveDate>, runs: &Runs<'_>) -> (String, String) {
    let window = since.map_or_else(String::new, |day| format!("AND day >= DATE '{day}'"));
    match runs {
        Runs::Except(runs) if runs.len() <= LISTED => {
            ("attempts".to_owned(), format!("{window} {}", list("attempts.run", "NOT IN", runs)))
        }
        _ => {
            (format!("attempts LEFT ANTI JOIN ({OUTAGES}) AS outages ON attempts.run = outages.run"), window)
        }
    }
}

/// A condition on a column, by a list of literals.
pub(crate) fn list(column: &str, operator: &str, values: &[impl AsRef<str>]) -> String {
    if values.is_empty() {
        return if operator == "IN" { "AND false".to_owned() } else { String::new() };
    }
    let literals: Vec<_> = values.iter().map(|value| literal(value.as_ref())).collect();
    format!("AND {column} {operator} ({})", literals.join(", "))
}

/// Text as SQL.
pub(crate) fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

/// One column of a query's answer.
pub(crate) async fn texts(
    session: &SessionContext,
    query: &str,
    column: &str,
) -> Result<Vec<String>, HistoryError> {
    let mut values = Vec::new();
    for batch in collect(session, query).await? {
        values.extend(Columns(&batch).texts(column)?.into_iter().flatten());
    }
    Ok(values)
}

async fn tallies(
    session: &SessionContext,
    query: &str,
    aliases: &Aliases,
) -> Result<HashMap<String, Vec<RevisionTally>>, HistoryError> {
    let mut tallies: HashMap<String, Vec<RevisionTally>> = HashMap::new();
    let mut labels = Labels::default();
    let no_variant = labels.one("");
    let mut stream = session
        .sql(query)
        .await
        .map_err(HistoryError::query)?
        .execute_stream()
        .await
        .map_err(HistoryError::query)?;
    while let Some(batch) = stream.try_next().await.map_err(HistoryError::query)? {
        let columns = Columns(&batch);
        let tests = columns.get("test", &DataType::Utf8)?;
        let tests = tests.as_string::<i32>();
        let variants = labels.of(&columns, "variant")?;
        let branches = labels.of(&columns, "branch")?;
        let commits = labels.of(&columns, "revision")?;
        let runs = labels.of(&columns, "run")?;
        let fingerprints = labels.of(&columns, "looks")?;
        let passed = columns.counts("passed")?;
        let failed = columns.counts("failed")?;
        let first_passed = columns.counts("first_passed")?;
        let first_failed = columns.counts("first_failed")?;
        let first = columns.times("first")?;
        let last = columns.times("last")?;
        let as_base = columns.flags("as_base")?;
        for row in 0..batch.num_rows() {
            if !tests.is_valid(row) {
                continue;
            }
            let test = aliases.current(tests.value(row));
            let failures = Some((fingerprints[row].clone(), failed[row])).filter(|(_, count)| *count > 0);
            let tally = RevisionTally {
                variant: variants[row].as_ref().unwrap_or(&no_variant).clone(),
                branch: branches[row].clone(),
                commit: commits[row].clone(),
                run: runs[row].clone(),
                passed: passed[row],
                failed: failures.into_iter().collect(),
                first_attempts: FlakeRate {
                    failures: first_failed[row],
                    attempts: first_passed[row] + first_failed[row],
                },
                first: first[row],
                last: last[row],
                as_base: as_base[row],
            };
            match tallies.get_mut(test.as_ref()) {
                Some(known) => known.push(tally),
                None => {
                    tallies.insert(test.into_owned(), vec![tally]);
                }
            }
        }
    }
    for tallies in tallies.values_mut() {
        merge_revisions(tallies);
    }
    Ok(tallies)
}

/// Puts together what was counted apart of one revision: its failures by
/// fingerprint, and attempts under former ids.
fn merge_revisions(tallies: &mut Vec<RevisionTally>) {
    // Texts of one query are equal if they are the same, see `Labels`. Comparing them would
    // cost as much as the query.
    fn key(tally: &RevisionTally) -> (usize, usize, usize, usize, bool) {
        let address = |text: Option<&Arc<str>>| text.map_or(0, |text| text.as_ptr().addr());
        let (branch, commit) = (address(tally.branch.as_ref()), address(tally.commit.as_ref()));
        (address(Some(&tally.variant)), branch, commit, address(tally.run.as_ref()), tally.as_base)
    }
    tallies.sort_unstable_by_key(key);
    tallies.dedup_by(|next, kept| {
        let same = key(next) == key(kept);
        if same {
            kept.add(next.clone());
        }
        same
    });
}

async fn costs(
    session: &SessionContext,
    query: &str,
    aliases: &Aliases,
) -> Result<HashMap<String, Cost>, HistoryError> {
    let mut costs: HashMap<String, Cost> = HashMap::new();
    for batch in collect(session, query).await? {
        let columns = Columns(&batch);
        let runs = columns.counts("runs")?;
        let lost = columns.counts("lost")?;
        for (row, test) in columns.texts("test")?.into_iter().enumerate() {
            let Some(test) = test else { continue };
            // A run has a test under one id, so its runs are counted once.
            let cost = costs.entry(aliases.current(&test).into_owned()).or_default();
            cost.runs_disturbed += runs[row];
            cost.time_lost += Duration::from_micros(lost[row]);
        }
    }
    Ok(costs)
}

async fn failures(
    session: &SessionContext,
    query: &str,
    aliases: &Aliases,
) -> Result<HashMap<String, Vec<FailureGroup>>, HistoryError> {
    let mut groups: HashMap<String, Vec<FailureGroup>> = HashMap::new();
    for batch in collect(session, query).await? {
        let columns = Columns(&batch);
        let tests = columns.texts("test")?;
        let fingerprints = columns.texts("fingerprint")?;
        let kinds = columns.texts("kind")?;
        let messages = columns.texts("message")?;
        let counts = columns.counts("count")?;
        let first = columns.times("first")?;
        let last = columns.times("last")?;
        for row in 0..batch.num_rows() {
            let Some(test) = &tests[row] else { continue };
            let group = FailureGroup {
                fingerprint: fingerprints[row].as_deref().map(Fingerprint::from_text),
                kind: kinds[row].clone(),
                message: messages[row].clone().unwrap_or_default(),
                count: counts[row],
                first_seen: first[row],
                last_seen: last[row],
            };
            add_group(groups.entry(aliases.current(test).into_owned()).or_default(), group);
        }
    }
    for groups in groups.values_mut() {
        sort_failures(groups);
    }
    Ok(groups)
}

/// The failures that look the same in several tests, those of most tests first.
fn shared(failures: &HashMap<String, Vec<FailureGroup>>) -> Vec<SharedFailure> {
    let mut by_fingerprint: BTreeMap<&str, SharedFailure> = BTreeMap::new();
    for (test, groups) in failures {
        // Ids in a table are somebody else's bytes, see `History::report`.
        let Ok(test) = test.parse::<TestId>() else { continue };
        for group in groups {
            let Some(fingerprint) = &group.fingerprint else { continue };
            match by_fingerprint.entry(fingerprint.as_str()) {
                Entry::Occupied(known) => {
                    let known = known.into_mut();
                    known.tests.push(test.clone());
                    merge(&mut known.failure, group.clone());
                }
                Entry::Vacant(vacant) => {
                    vacant.insert(SharedFailure { tests: vec![test.clone()], failure: group.clone() });
                }
            }
        }
    }
    let mut shared: Vec<_> = by_fingerprint.into_values().filter(|shared| shared.tests.len() > 1).collect();
    for shared in &mut shared {
        shared.tests.sort_unstable();
    }
    // In the order of their fingerprints so far.
    shared.sort_by_key(|shared| Reverse((shared.tests.len(), shared.failure.count)));
    shared
}

fn add_group(groups: &mut Vec<FailureGroup>, group: FailureGroup) {
    match groups.iter_mut().find(|known| known.fingerprint == group.fingerprint) {
        Some(known) => merge(known, group),
        None => groups.push(group),
    }
}

fn merge(known: &mut FailureGroup, group: FailureGroup) {
    known.count += group.count;
    known.first_seen = known.first_seen.min(group.first_seen);
    if group.last_seen > known.last_seen {
        known.last_seen = group.last_seen;
        known.kind = group.kind;
        known.message = group.message;
    }
}

/// The most frequent first; ties by latest, then by name, so that the order is
/// always the same.
pub(crate) fn sort_failures(groups: &mut [FailureGroup]) {
    groups.sort_by(|left, right| {
        (right.count, right.last_seen)
            .cmp(&(left.count, left.last_seen))
            .then_with(|| left.fingerprint.cmp(&right.fingerprint))
    });
}

/// How often the test's first attempts failed over these revisions.
pub(crate) fn rate(tallies: &[RevisionTally]) -> FlakeRate {
    FlakeRate {
        failures: tallies.iter().map(|tally| tally.first_attempts.failures).sum(),
        attempts: tallies.iter().map(|tally| tally.first_attempts.attempts).sum(),
    }
}

/// How often all other attempts of the test failed, those on a base left out.
pub(crate) fn reruns(tallies: &[RevisionTally]) -> FlakeRate {
    let own = || tallies.iter().filter(|tally| !tally.as_base);
    let again = |all: u64, first: u64| all.saturating_sub(first);
    FlakeRate {
        failures: own().map(|tally| again(tally.failures(), tally.first_attempts.failures)).sum(),
        attempts: own()
            .map(|tally| again(tally.passed + tally.failures(), tally.first_attempts.attempts))
            .sum(),
    }
}

/// Texts that many rows of a query share, each kept once.
#[derive(Default)]
struct Labels(hashbrown::HashSet<Arc<str>>);

impl Labels {
    fn one(&mut self, text: &str) -> Arc<str> {
        Arc::clone(self.0.get_or_insert_with(text, |text| Arc::from(text)))
    }

    fn of(&mut self, columns: &Columns<'_>, name: &str) -> Result<Vec<Option<Arc<str>>>, HistoryError> {
        let column = columns.get(name, &DataType::Utf8)?;
        Ok(column.as_string::<i32>().iter().map(|text| text.map(|text| self.one(text))).collect())
    }
}

/// Typed access to a result's columns. Tables are somebody else's bytes, so a
/// column of another type is an error, never a panic.
pub(crate) struct Columns<'a>(pub(crate) &'a RecordBatch);

impl Columns<'_> {
    pub(crate) fn get(
        &self,
        name: &str,
        kind: &DataType,
    ) -> Result<deltalake::arrow::array::ArrayRef, HistoryError> {
        let column = self.0.column_by_name(name);
        let column =
            column.ok_or_else(|| HistoryError::query(format!("the table has no column `{name}`")))?;
        cast(column, kind).map_err(HistoryError::query)
    }

    pub(crate) fn texts(&self, name: &str) -> Result<Vec<Option<String>>, HistoryError> {
        let column = self.get(name, &DataType::Utf8)?;
        Ok(column.as_string::<i32>().iter().map(|value| value.map(str::to_owned)).collect())
    }

    pub(crate) fn counts(&self, name: &str) -> Result<Vec<u64>, HistoryError> {
        let column = self.get(name, &DataType::Int64)?;
        let column = column.as_primitive::<Int64Type>();
        Ok(column.iter().map(|value| u64::try_from(value.unwrap_or(0)).unwrap_or(0)).collect())
    }

    pub(crate) fn times(&self, name: &str) -> Result<Vec<Timestamp>, HistoryError> {
        Ok(self.times_if_any(name)?.into_iter().map(Option::unwrap_or_default).collect())
    }

    /// Times of which some are unknown.
    pub(crate) fn times_if_any(&self, name: &str) -> Result<Vec<Option<Timestamp>>, HistoryError> {
        let kind = DataType::Timestamp(deltalake::arrow::datatypes::TimeUnit::Microsecond, None);
        let column = self.get(name, &kind)?;
        let column = column.as_primitive::<TimestampMicrosecondType>();
        Ok(column.iter().map(|value| value.and_then(Timestamp::from_timestamp_micros)).collect())
    }

    pub(crate) fn days(&self, name: &str) -> Result<Vec<Option<NaiveDate>>, HistoryError> {
        let column = self.get(name, &DataType::Date32)?;
        let column = column.as_primitive::<Date32Type>();
        Ok(column.iter().map(|day| day.and_then(NaiveDate::from_epoch_days)).collect())
    }

    pub(crate) fn flags(&self, name: &str) -> Result<Vec<bool>, HistoryError> {
        let column = self.get(name, &DataType::Boolean)?;
        Ok(column.as_boolean().iter().map(|value| value.unwrap_or(false)).collect())
    }
}
