//! Which tests are flaky by history, and what they cost.

use std::cmp::Reverse;
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, HashMap};

use chrono::NaiveDate;
use deltalake::arrow::array::{AsArray as _, RecordBatch};
use deltalake::arrow::compute::cast;
use deltalake::arrow::datatypes::{DataType, Date32Type, Int64Type, TimestampMicrosecondType};
use deltalake::datafusion::execution::SendableRecordBatchStream;
use deltalake::datafusion::prelude::SessionContext;
use flakewise_model::{
    Conclusion, FailureGroup, FindingId, FindingKind, FlakeRate, FlakyTest, HistoryReport, SharedFailure,
    TestId, Timestamp,
};

use crate::contexts::Contexts;
use crate::flaky::{RevisionTally, judge};
use crate::gather::Record;
use crate::rate_changes::rate_changes;
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
            let daily = self.daily_session().await?;
            let mut report = self.totals(&daily.session, options).await?;
            report.lost_days = daily.lost_days;
            if report.runs == 0 {
                return Ok(report);
            }
            let since = options.days.and(report.window).map(|(first, _)| first);
            let mut failures = HashMap::new();
            for (name, said) in self.gather(&daily, since).await?.of_each(&daily, judged).await? {
                let Judged { conclusion, groups, finding } = said;
                failures.insert(name, groups);
                match finding {
                    Some(finding) => report.findings.push(finding),
                    None if conclusion.is_flaky() => {}
                    None => {
                        // Tests that failed only in outages did not fail.
                        report.others_failing += u64::from(conclusion != Conclusion::NotSeenFailing);
                        report.broken += u64::from(conclusion == Conclusion::Broken);
                    }
                }
            }
            report.shared_failures = shared(&failures);
            for finding in &mut report.findings {
                finding.failures = failures.remove(finding.test.as_str()).unwrap_or_default();
            }
            report
                .findings
                .sort_by(|left, right| right.cost.cmp(&left.cost).then_with(|| left.test.cmp(&right.test)));
            Ok(report)
        })
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
            lost_days: 0,
            attempts: columns.counts("attempts")?[0],
            window: date("first")?.zip(date("last")?),
        })
    }
}

/// All rows of a query.
pub(crate) async fn collect(session: &SessionContext, query: &str) -> Result<Vec<RecordBatch>, HistoryError> {
    session.sql(query).await.map_err(HistoryError::query)?.collect().await.map_err(HistoryError::query)
}

/// The rows of a query, as they come.
pub(crate) async fn stream_of(
    session: &SessionContext,
    query: &str,
) -> Result<SendableRecordBatchStream, HistoryError> {
    let frame = session.sql(query).await.map_err(HistoryError::query)?;
    frame.execute_stream().await.map_err(HistoryError::query)
}

/// What is concluded of one test.
struct Judged {
    conclusion: Conclusion,
    groups: Vec<FailureGroup>,
    /// If it is flaky; its failures are `groups`.
    finding: Option<FlakyTest>,
}

fn judged(name: &str, record: &Record, contexts: &Contexts) -> Judged {
    let tallies = record.tallies(contexts);
    let verdict = judge(&tallies, 0);
    let conclusion = verdict.conclusion;
    let groups = record.failures();
    let times = || {
        let since = groups.iter().map(|group| group.first_seen).min()?;
        Some((since, groups.iter().map(|group| group.last_seen).max()?))
    };
    // Ids in a table are somebody else's bytes: one we cannot read is not worth failing for, and
    // cannot be named anyway.
    let finding = conclusion.is_flaky().then(|| name.parse::<TestId>().ok().zip(times())).flatten().map(
        |(id, (since, last_seen))| FlakyTest {
            id: FindingId::of(&id),
            kind: FindingKind::FlakyByHistory,
            test: id,
            verdict,
            rate: rate(&tallies),
            reruns: reruns(&tallies),
            cost: record.cost(contexts),
            since,
            last_seen,
            changes: rate_changes(&tallies),
            failures: Vec::new(),
        },
    );
    Judged { conclusion, groups, finding }
}

/// The runs that prove nothing.
pub(crate) const OUTAGES: &str = "SELECT run FROM runs WHERE outage";
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

pub(crate) fn add_group(groups: &mut Vec<FailureGroup>, group: FailureGroup) {
    match groups.iter_mut().find(|known| known.fingerprint == group.fingerprint) {
        Some(known) => merge(known, group),
        None => groups.push(group),
    }
}

pub(crate) fn merge(known: &mut FailureGroup, group: FailureGroup) {
    known.count += group.count;
    known.first_seen = known.first_seen.min(group.first_seen);
    // Of failures at the same time, the same one in whatever order they come.
    let latest = |group: &FailureGroup| (group.last_seen, group.message.clone(), group.kind.clone());
    if group.last_seen > known.last_seen
        || group.last_seen == known.last_seen && latest(&group) > latest(known)
    {
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
pub(crate) fn rate(tallies: &[RevisionTally<'_>]) -> FlakeRate {
    FlakeRate {
        failures: tallies.iter().map(|tally| tally.first_attempts.failures).sum(),
        attempts: tallies.iter().map(|tally| tally.first_attempts.attempts).sum(),
    }
}

/// How often all other attempts of the test failed, those on a base left out.
pub(crate) fn reruns(tallies: &[RevisionTally<'_>]) -> FlakeRate {
    let own = || tallies.iter().filter(|tally| !tally.as_base);
    let again = |all: u64, first: u64| all.saturating_sub(first);
    FlakeRate {
        failures: own().map(|tally| again(tally.failures(), tally.first_attempts.failures)).sum(),
        attempts: own()
            .map(|tally| again(tally.passed + tally.failures(), tally.first_attempts.attempts))
            .sum(),
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
