//! Daily roll-ups: the table `test_days`.
//!
//! `maintain` makes them from `attempts`, and questions about all attempts of many tests are
//! answered from them. They hold nothing of their own, unless attempts have expired before them.
//!
//! *What is in them.* Most attempts are a first attempt that passed, so what is kept of those
//! is one row per test, variant and day (`record` is `day`), with a list of runs (`passes`).
//! Runs are numbered by day (`run`). All other attempts have one row per run and kind of
//! failure (`attempts`).
//!
//! *When they hold.* Each file says which days it covers, with a hash of the names of the data
//! files it was made from (`rolled_from`, in its statistics too). As data files never change, it
//! holds as long as exactly these are the files of its days. Where that is not so, since
//! reports came later or days were merged, the attempts are read. So readers need not
//! know when `maintain` ran, and it may be killed at any time. A roll-up whose attempts have expired
//! holds for ever, and is all there is of its days (`expire`).
//!
//! *How many files there are.* Two for each data file of the latest days, for eight days before, and
//! for 32 days before that: the files that a command opens hardly increase over the years.

use std::ops::RangeInclusive;
use std::sync::Arc;

use chrono::NaiveDate;
use deltalake::DeltaTable;
use deltalake::arrow::array::{
    ArrayRef, BinaryArray, BooleanArray, Date32Array, Int32Array, Int64Array, RecordBatch, StringArray,
};
use deltalake::arrow::compute::{SortOptions, cast};
use deltalake::arrow::datatypes::SchemaRef;
use deltalake::arrow::error::ArrowError;
use deltalake::datafusion::error::DataFusionError;
use deltalake::datafusion::execution::SendableRecordBatchStream;
use deltalake::datafusion::execution::memory_pool::{MemoryConsumer, MemoryPool, UnboundedMemoryPool};
use deltalake::datafusion::physical_expr::expressions::col;
use deltalake::datafusion::physical_expr::{LexOrdering, PhysicalSortExpr};
use deltalake::datafusion::physical_plan::metrics::{BaselineMetrics, ExecutionPlanMetricsSet};
use deltalake::datafusion::physical_plan::sorts::streaming_merge::StreamingMergeBuilder;
use deltalake::datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use deltalake::datafusion::prelude::SessionContext;
use deltalake::kernel::Action;
use deltalake::protocol::{DeltaOperation, SaveMode};
use flakewise_model::{Outcome, Phase};
use futures::{StreamExt as _, TryStreamExt as _, stream};
use hashbrown::HashMap;

use crate::columns::{Column, TEST_DAYS, written_schema};
use crate::contexts::{RunColumns, RunRow, TextColumn};
use crate::expire::Sources;
use crate::files::{DataFile, FileWriter, date};
use crate::gather::{others, passing};
use crate::maintain::{
    LiveFile, MaintainOptions, MaintainSummary, SPANS, Stats, by_days, bytes, conform, is_within, live_files,
    newest_day, overlap, remove, span,
};
use crate::report::{Columns, collect, stream_of};
use crate::session::{
    Reading, empty_session, null, register_empty, register_here, register_rows, sequential_session,
};
use crate::table::TableKind;
use crate::{History, HistoryError};

/// Only one process at a time commits roll-ups: commits with this id exclude each other.
const TRANSACTION: &str = "flakewise.roll-up";
/// How many rows are merged at a time.
const MERGED_ROWS: usize = 8192;
/// How the rows of a file are sorted, and whether nulls come first.
const ORDER: [(&str, bool); 5] =
    [("test", true), ("day", false), ("variant", false), ("run", false), ("number", false)];

/// A session in which attempts are rolled up as far as that is current.
pub(crate) struct DailySession {
    /// With `rolled_days` and `rolled_others`, and `tail` for the attempts that are not in them.
    pub(crate) session: SessionContext,
    pub(crate) has_rolled: bool,
    pub(crate) has_tail: bool,
    /// Days of which nothing is left: their attempts have expired, and their roll-ups are gone.
    pub(crate) lost_days: u64,
    /// The table of attempts, and its files whose days are rolled up.
    pub(crate) attempts: DeltaTable,
    pub(crate) rolled_files: Vec<LiveFile>,
}

impl History {
    /// A session for questions about all attempts of many tests.
    pub(crate) async fn daily_session(&self) -> Result<DailySession, HistoryError> {
        let (session, attempts) = self.session_and_attempts(Reading::Most).await?;
        self.with_roll_ups(session, attempts, Reading::Most).await
    }

    /// Adds the roll-ups to a session that has the attempts.
    pub(crate) async fn with_roll_ups(
        &self,
        session: SessionContext,
        attempts: DeltaTable,
        reading: Reading,
    ) -> Result<DailySession, HistoryError> {
        let files = live_files(&attempts)?;
        let expired = Sources::expired(&attempts)?;
        let rolled = match self.open(TableKind::TestDays).await? {
            Some(table) => Some((current(&files, roll_ups(&table)?, &expired), table)),
            None => None,
        };
        let lost_days = expired.missing(rolled.as_ref().map_or(&[][..], |(rolled, _)| rolled)).len() as u64;
        if lost_days > 0 {
            tracing::warn!(lost_days, "roll-ups of days whose attempts have expired are gone");
        }
        let columns = TableKind::Attempts.columns();
        let Some((rolled, table)) = rolled.filter(|(rolled, _)| !rolled.is_empty()) else {
            session.sql("CREATE VIEW tail AS SELECT * FROM attempts").await.map_err(HistoryError::query)?;
            let rolled_files = Vec::new();
            return Ok(DailySession {
                session,
                has_rolled: false,
                has_tail: true,
                lost_days,
                attempts,
                rolled_files,
            });
        };
        let is_rolled = |days: &RangeInclusive<i32>| {
            rolled.iter().any(|one| is_within(days, &one.days) && !expired.has(one))
        };
        let (rolled_files, tail): (Vec<_>, Vec<_>) =
            files.into_iter().partition(|file| file.days.as_ref().is_some_and(is_rolled));
        let has_tail = !tail.is_empty();
        if has_tail {
            let tail = tail.into_iter().map(|file| file.path).collect();
            self.register(&session, "tail", &attempts, columns, Some(tail), reading).await
        } else {
            register_empty(&session, "tail", columns).await
        }
        .map_err(HistoryError::query)?;
        for (name, of_days) in [("rolled_days", true), ("rolled_others", false)] {
            let paths: Vec<_> =
                rolled.iter().filter(|one| one.of_days == of_days).map(|one| one.path.clone()).collect();
            if paths.is_empty() {
                register_empty(&session, name, TEST_DAYS).await
            } else {
                // Lists of runs are long and most tests never failed: the filter decides what is decoded.
                self.register(&session, name, &table, TEST_DAYS, Some(paths), Reading::Few).await
            }
            .map_err(HistoryError::query)?;
        }
        Ok(DailySession { session, has_rolled: true, has_tail, lost_days, attempts, rolled_files })
    }

    /// Makes the roll-ups that are missing or no longer current.
    pub(crate) async fn roll_up(
        &self,
        options: &MaintainOptions,
        progress: &dyn Fn(&str, usize, usize),
    ) -> Result<Option<MaintainSummary>, HistoryError> {
        let Some(mut attempts) = self.open(TableKind::Attempts).await? else { return Ok(None) };
        let files = live_files(&attempts)?;
        let mut summary = MaintainSummary { table: TableKind::TestDays.name(), ..MaintainSummary::default() };
        let table = if options.dry_run {
            self.open(TableKind::TestDays).await?
        } else {
            let table = self.open_or_create(TableKind::TestDays).await?;
            Some(self.declare_properties(TableKind::TestDays, table).await?)
        };
        let existing = table.as_ref().map(roll_ups).transpose()?.unwrap_or_default();
        let expired = Sources::expired(&attempts)?;
        let plan = plan(&files, &existing, &expired);
        let Some(mut table) = table.filter(|_| !options.dry_run) else {
            summary.days_rolled_up = plan.iter().map(Step::days_read).sum();
            return Ok(Some(summary));
        };
        let sealed = Sources::sealed(&table)?;
        let is_sealed = plan.iter().flat_map(|step| &step.removed).any(|one| sealed.has(one));
        let mut is_free = !is_sealed;
        for (number, step) in plan.iter().enumerate() {
            progress(&format!("test_days {}", date(*step.days.start())), number, plan.len());
            let made = self.make_roll_up(&attempts, &table, step).await?;
            is_free = is_free || self.break_seals(&mut attempts).await?;
            if !(is_free && self.commit_roll_up(&mut table, step, &made).await?) {
                // Another process rolls up too. What it leaves is for the next `maintain`.
                summary.days_left_to_others += plan[number..].iter().map(Step::days_read).sum::<usize>();
                break;
            }
            summary.days_rolled_up += step.days_read();
            summary.files_after += made.len();
            summary.bytes_after = Some(
                made.iter().map(|file| bytes(file.add.size)).sum::<u64>() + summary.bytes_after.unwrap_or(0),
            );
        }
        if !plan.is_empty() {
            self.checkpoint_newest(TableKind::TestDays, &table).await?;
        }
        summary.files_removed = self.vacuum(table, options).await?;
        Ok(Some(summary))
    }

    /// How many days are read at the same time. In this process one after the other, since each
    /// needs memory and keeps all cores busy.
    fn days_at_once(&self) -> usize {
        if self.engine.is_some() { 4 } else { 1 }
    }

    /// The files of one step: one of days and one of everything else, if there is any.
    async fn make_roll_up(
        &self,
        attempts: &DeltaTable,
        table: &DeltaTable,
        step: &Step,
    ) -> Result<Vec<DataFile>, HistoryError> {
        let mut fresh: [Vec<RecordBatch>; 2] = [Vec::new(), Vec::new()];
        let days = step.fresh.iter().map(|(_, files)| self.roll_days(attempts, files.clone()));
        let mut days = stream::iter(days).buffered(self.days_at_once());
        while let Some(rolled) = days.try_next().await? {
            for (all, rows) in fresh.iter_mut().zip(rolled) {
                all.extend(rows);
            }
        }
        let names: Vec<_> = TEST_DAYS.iter().map(|column| format!("\"{}\"", column.name)).collect();
        let names = names.join(", ");
        let schema = written_schema(TEST_DAYS);
        let mut made = Vec::new();
        for (of_days, fresh) in [true, false].into_iter().zip(fresh) {
            let mut sorted = Vec::new();
            if !fresh.is_empty() {
                let session = empty_session(Reading::Most);
                register_rows(&session, "fresh", fresh)?;
                let nulls = |first| if first { "FIRST" } else { "LAST" };
                let order = ORDER.map(|(name, first)| format!("{name} NULLS {}", nulls(first)));
                let query = format!("SELECT {names} FROM fresh ORDER BY {}", order.join(", "));
                sorted.push(stream_of(&session, &query).await?);
            }
            // Files that cover fewer days are put together. Each of them is sorted, so few rows are in memory.
            for part in step.parts.iter().filter(|part| part.of_days == of_days) {
                let session = sequential_session();
                let file = Some(vec![part.path.clone()]);
                register_here(&session, "part", table, TEST_DAYS, file, Reading::Most)
                    .await
                    .map_err(HistoryError::query)?;
                sorted.push(stream_of(&session, &format!("SELECT {names} FROM part")).await?);
            }
            if sorted.is_empty() {
                continue;
            }
            let mut rows = merged(sorted, &schema).map_err(HistoryError::query)?;
            let mut file = FileWriter::new(Arc::clone(&schema)).map_err(|error| self.unwritable(error))?;
            while let Some(batch) = rows.try_next().await.map_err(HistoryError::query)? {
                let batch = self.rolled_from(&batch, &step.source).map_err(HistoryError::query)?;
                file.write(&batch).map_err(|error| self.unwritable(error))?;
            }
            if file.rows() > 0 {
                made.push(self.put_file(table, file).await?);
            }
        }
        self.sync_data(TableKind::TestDays, &made)?;
        Ok(made)
    }

    /// The rows with the name of the project, and of what they were rolled up from.
    fn rolled_from(&self, batch: &RecordBatch, source: &str) -> Result<RecordBatch, ArrowError> {
        let schema = batch.schema();
        let columns = schema.fields().iter().zip(batch.columns()).map(|(field, column)| {
            let text = match field.name().as_str() {
                "project" => self.project.as_str(),
                "rolled_from" => source,
                _ => return Ok(Arc::clone(column)),
            };
            let texts = StringArray::from_iter_values(std::iter::repeat_n(text, batch.num_rows()));
            cast(&texts, field.data_type())
        });
        RecordBatch::try_new(Arc::clone(&schema), columns.collect::<Result<_, _>>()?)
    }

    /// Whether the commit was made; if not, another one came first.
    async fn commit_roll_up(
        &self,
        table: &mut DeltaTable,
        step: &Step,
        made: &[DataFile],
    ) -> Result<bool, HistoryError> {
        let removes = step.removed.iter().map(|file| remove(&file.path, file.size, false));
        let adds = made.iter().map(|file| Action::Add(file.add.clone()));
        let operation = DeltaOperation::Write { mode: SaveMode::Append, partition_by: None, predicate: None };
        self.replace(TableKind::TestDays, table, removes.chain(adds).collect(), TRANSACTION, operation).await
    }
}

impl History {
    /// The rows of some days from all their files: those of days, and all others.
    async fn roll_days(
        &self,
        attempts: &DeltaTable,
        files: Vec<String>,
    ) -> Result<[Vec<RecordBatch>; 2], HistoryError> {
        let session = self.empty_session(Reading::Most)?;
        // Few attempts are no first ones that passed: the filter decides what is decoded.
        for (name, reading) in [("passing", Reading::Most), ("tail", Reading::Few)] {
            self.register(
                &session,
                name,
                attempts,
                TableKind::Attempts.columns(),
                Some(files.clone()),
                reading,
            )
            .await
            .map_err(HistoryError::query)?;
        }
        let mut packer = Packer::default();
        let mut stream = stream_of(&session, &passing("passing")).await?;
        while let Some(batch) = stream.try_next().await.map_err(HistoryError::query)? {
            packer.add(&batch)?;
        }
        let (passed, runs) = packer.finish()?;
        let here = empty_session(Reading::Most);
        register_rows(&here, "passed", vec![passed])?;
        register_rows(&here, "numbered", vec![runs])?;
        let others = format!("({}) AS others", others("tail", ""));
        let mut made = [Vec::new(), Vec::new()];
        let schema = written_schema(TEST_DAYS);
        for (kind, session, query) in [
            (0, &here, rows("day", &OF_TEST, "passed")),
            (0, &session, rows("day", &OF_TEST[..8], SKIPPED)),
            (1, &here, rows("run", &OF_RUN, "numbered")),
            (1, &session, rows("attempts", &OF_ATTEMPTS, &others)),
        ] {
            for batch in collect(session, &query).await? {
                made[kind].push(conform(&batch, &schema).map_err(HistoryError::query)?);
            }
        }
        Ok(made)
    }
}

/// Puts sorted rows together. Little of each stream is in memory at any time.
fn merged(
    streams: Vec<SendableRecordBatchStream>,
    schema: &SchemaRef,
) -> Result<SendableRecordBatchStream, DataFusionError> {
    let schema = conform(&RecordBatch::new_empty(Arc::clone(schema)), schema)?.schema();
    let streams = streams.into_iter().map(|rows| {
        let to = Arc::clone(&schema);
        let rows = rows.map(move |batch| Ok(conform(&batch?, &to)?));
        Box::pin(RecordBatchStreamAdapter::new(Arc::clone(&schema), rows)) as SendableRecordBatchStream
    });
    let keys = ORDER.into_iter().map(|(name, nulls_first)| {
        let options = SortOptions { descending: false, nulls_first };
        Ok(PhysicalSortExpr::new(col(name, &schema)?, options))
    });
    let order = LexOrdering::new(keys.collect::<Result<Vec<_>, DataFusionError>>()?);
    let memory: Arc<dyn MemoryPool> = Arc::new(UnboundedMemoryPool::default());
    StreamingMergeBuilder::new()
        .with_streams(streams.collect())
        .with_schema(Arc::clone(&schema))
        .with_expressions(&order.expect("there are columns"))
        .with_metrics(BaselineMetrics::new(&ExecutionPlanMetricsSet::new(), 0))
        .with_batch_size(MERGED_ROWS)
        .with_reservation(MemoryConsumer::new("roll-ups").register(&memory))
        .build()
}

/// Columns of the three kinds of rows.
const OF_TEST: [&str; 9] =
    ["day", "test", "variant", "phase", "outcome", "attempts", "runs", "spent_us", "passes"];
const OF_RUN: [&str; 7] = ["day", "variant", "run", "number", "commit", "dirty", "branch"];
pub(crate) const OF_ATTEMPTS: [&str; 16] = [
    "day",
    "test",
    "variant",
    "run",
    "commit",
    "dirty",
    "branch",
    "phase",
    "outcome",
    "fingerprint",
    "failure_kind",
    "failure_message",
    "attempts",
    "spent_us",
    "first_at",
    "last_at",
];

/// First attempts that were skipped.
const SKIPPED: &str = "(SELECT test, variant, day, phase, outcome, count(*) AS attempts,
                               count(DISTINCT run) AS runs, coalesce(sum(duration_us), 0) AS spent_us
                        FROM tail WHERE phase = 'first' AND outcome = 'skipped'
                        GROUP BY test, variant, day, phase, outcome) AS skipped";

/// Rows of `test_days` as SQL; columns that are not given are null.
fn rows(record: &str, given: &[&str], from: &str) -> String {
    let column = |column: &Column| match column.name {
        "record" => format!("'{record}' AS record"),
        name if given.contains(&name) => format!("\"{name}\""),
        _ => null(column),
    };
    format!("SELECT {} FROM {from}", TEST_DAYS.iter().map(column).collect::<Vec<_>>().join(", "))
}

/// Numbers the runs of each day, and makes one row of the passes of each test and day.
#[derive(Default)]
struct Packer {
    labels: Labels,
    /// How many runs each day has.
    counts: HashMap<i32, u32>,
    /// Runs by their names.
    runs: HashMap<Arc<str>, Vec<Run>>,
    /// By day, test and variant.
    passes: HashMap<(i32, u32, u32), Passes>,
}

#[derive(Default)]
struct Passes {
    /// One number of a run for each pass.
    runs: Vec<u32>,
    spent: u64,
}

/// A run on a day, with the numbers of its texts.
struct Run {
    day: i32,
    variant: u32,
    commit: Option<u32>,
    dirty: bool,
    branch: Option<u32>,
    /// Its own, on that day.
    number: u32,
}

impl Packer {
    /// Takes in rows of [`passing`].
    fn add(&mut self, batch: &RecordBatch) -> Result<(), HistoryError> {
        let columns = Columns(batch);
        let tests = TextColumn::new(&columns, "test")?;
        let contexts = RunColumns::new(&columns)?;
        let spent = columns.counts("duration_us")?;
        // Rows are sorted by test in all files but the smallest.
        let mut last: Option<(&str, u32)> = None;
        for (row, day) in columns.days("day")?.into_iter().enumerate() {
            let (Some(test), Some(day)) = (tests.at(row), day) else { continue };
            let day = day.to_epoch_days();
            let label = match last {
                Some((same, label)) if same == test => label,
                _ => self.labels.one(test),
            };
            last = Some((test, label));
            let (number, variant) = self.run(day, &contexts.at(row));
            let passes = self.passes.entry((day, label, variant)).or_default();
            passes.runs.push(number);
            passes.spent += spent[row];
        }
        Ok(())
    }

    /// The number of a run on this day, and that of its variant.
    fn run(&mut self, day: i32, row: &RunRow<'_>) -> (u32, u32) {
        let labels = &self.labels;
        let is_same = |run: &&Run| {
            run.day == day
                && run.dirty == row.dirty
                && labels.text(run.variant) == row.variant
                && run.commit.map(|commit| labels.text(commit)) == row.commit
                && run.branch.map(|branch| labels.text(branch)) == row.branch
        };
        if let Some(run) = self.runs.get(row.run).and_then(|runs| runs.iter().find(is_same)) {
            return (run.number, run.variant);
        }
        let count = self.counts.entry(day).or_default();
        let run = Run {
            day,
            variant: self.labels.one(row.variant),
            commit: row.commit.map(|commit| self.labels.one(commit)),
            dirty: row.dirty,
            branch: row.branch.map(|branch| self.labels.one(branch)),
            number: *count,
        };
        *count += 1;
        let known = (run.number, run.variant);
        self.runs.entry_ref(row.run).or_default().push(run);
        known
    }

    /// The rows of passes, and the runs.
    fn finish(self) -> Result<(RecordBatch, RecordBatch), HistoryError> {
        let Self { labels, runs, passes, .. } = self;
        let long = |value: u64| i64::try_from(value).unwrap_or(i64::MAX);
        let length = |list: &[_]| i64::try_from(list.len()).unwrap_or(i64::MAX);
        let mut rows: Vec<_> = passes.into_iter().collect();
        rows.sort_unstable_by_key(|(key, _)| *key);
        let rows: Vec<_> = rows
            .into_iter()
            .map(|(key, mut passes)| {
                passes.runs.sort_unstable();
                let runs = passes.runs.chunk_by(|left, right| left == right);
                let runs: Vec<(u32, u64)> = runs.map(|run| (run[0], run.len() as u64)).collect();
                (key, length(&passes.runs), runs, passes.spent)
            })
            .collect();
        let texts = |values: &mut dyn Iterator<Item = Option<u32>>| -> ArrayRef {
            Arc::new(values.map(|label| label.map(|label| labels.text(label))).collect::<StringArray>())
        };
        let passed: Vec<(&str, ArrayRef)> = vec![
            ("day", Arc::new(rows.iter().map(|((day, ..), ..)| Some(*day)).collect::<Date32Array>())),
            ("test", texts(&mut rows.iter().map(|((_, test, _), ..)| Some(*test)))),
            ("variant", texts(&mut rows.iter().map(|((.., variant), ..)| Some(*variant)))),
            ("phase", Arc::new(StringArray::from(vec![Phase::First.name(); rows.len()]))),
            ("outcome", Arc::new(StringArray::from(vec![Outcome::Passed.name(); rows.len()]))),
            (
                "attempts",
                Arc::new(rows.iter().map(|(_, attempts, ..)| Some(*attempts)).collect::<Int64Array>()),
            ),
            (
                "runs",
                Arc::new(
                    rows.iter().map(|(_, _, runs, _)| i64::try_from(runs.len()).ok()).collect::<Int64Array>(),
                ),
            ),
            ("spent_us", Arc::new(rows.iter().map(|(.., spent)| Some(long(*spent))).collect::<Int64Array>())),
            (
                "passes",
                Arc::new(
                    rows.iter().map(|(_, _, runs, _)| Some(encode_passes(runs))).collect::<BinaryArray>(),
                ),
            ),
        ];
        let runs: Vec<(&str, &Run)> =
            runs.iter().flat_map(|(name, runs)| runs.iter().map(|run| (name.as_ref(), run))).collect();
        let numbered: Vec<(&str, ArrayRef)> = vec![
            ("day", Arc::new(runs.iter().map(|(_, run)| Some(run.day)).collect::<Date32Array>())),
            ("run", Arc::new(runs.iter().map(|(name, _)| Some(*name)).collect::<StringArray>())),
            (
                "number",
                Arc::new(runs.iter().map(|(_, run)| i32::try_from(run.number).ok()).collect::<Int32Array>()),
            ),
            ("variant", texts(&mut runs.iter().map(|(_, run)| Some(run.variant)))),
            ("commit", texts(&mut runs.iter().map(|(_, run)| run.commit))),
            ("dirty", Arc::new(runs.iter().map(|(_, run)| Some(run.dirty)).collect::<BooleanArray>())),
            ("branch", texts(&mut runs.iter().map(|(_, run)| run.branch))),
        ];
        let batch = |columns| RecordBatch::try_from_iter(columns).map_err(HistoryError::query);
        Ok((batch(passed)?, batch(numbered)?))
    }
}

/// Texts by numbers.
#[derive(Default)]
struct Labels {
    numbers: HashMap<Arc<str>, u32>,
    texts: Vec<Arc<str>>,
}

impl Labels {
    fn one(&mut self, text: &str) -> u32 {
        if let Some(number) = self.numbers.get(text) {
            return *number;
        }
        let number = u32::try_from(self.texts.len()).expect("some days have fewer than 2^32 texts");
        let text: Arc<str> = text.into();
        self.texts.push(Arc::clone(&text));
        self.numbers.insert(text, number);
        number
    }

    fn text(&self, number: u32) -> &str {
        &self.texts[number as usize]
    }
}

/// Numbers of runs in ascending order, each with a count, as bytes: the distance from the
/// number before, times two, as a LEB128 integer; if the count is not one, that plus one, and
/// then the count. A test that passed once in every run of a day has a row of zeros.
fn encode_passes(runs: &[(u32, u64)]) -> Vec<u8> {
    fn put(bytes: &mut Vec<u8>, mut value: u64) {
        while value >= 0x80 {
            bytes.push(value.to_le_bytes()[0] | 0x80);
            value >>= 7;
        }
        bytes.push(value.to_le_bytes()[0]);
    }
    let mut bytes = Vec::with_capacity(runs.len());
    let mut next = 0;
    for (number, count) in runs {
        put(&mut bytes, u64::from(number - next) << 1 | u64::from(*count != 1));
        if *count != 1 {
            put(&mut bytes, *count);
        }
        next = number + 1;
    }
    bytes
}

/// The inverse; an element is none if the bytes are something else.
pub(crate) fn decode_passes(mut bytes: &[u8]) -> impl Iterator<Item = Option<(usize, u64)>> {
    fn take(bytes: &mut &[u8]) -> Option<u64> {
        let mut value = 0_u64;
        for shift in (0..64).step_by(7) {
            let (byte, rest) = bytes.split_first()?;
            *bytes = rest;
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Some(value);
            }
        }
        None
    }
    let mut next = 0_usize;
    let mut one = move |bytes: &mut &[u8]| {
        let word = take(bytes)?;
        let count = if word & 1 == 1 { take(bytes)? } else { 1 };
        let number = next.checked_add(usize::try_from(word >> 1).ok()?)?;
        next = number.checked_add(1)?;
        Some((number, count))
    };
    std::iter::from_fn(move || {
        (!bytes.is_empty()).then(|| {
            let pass = one(&mut bytes);
            if pass.is_none() {
                bytes = &[];
            }
            pass
        })
    })
}

/// A file of `test_days`.
#[derive(Clone)]
pub(crate) struct RollUp {
    pub(crate) path: String,
    size: i64,
    /// The days it covers, with and without rows.
    pub(crate) days: RangeInclusive<i32>,
    /// These days, and a hash of the data files it was made from.
    pub(crate) source: String,
    /// Whether it has the rows of days or all others.
    of_days: bool,
}

/// The roll-ups of the current snapshot. Files that do not say what they cover, cover nothing.
pub(crate) fn roll_ups(table: &DeltaTable) -> Result<Vec<RollUp>, HistoryError> {
    let mut found = Vec::new();
    for file in table.snapshot().map_err(HistoryError::query)?.log_data() {
        let stats = Stats::new(file.stats());
        let source = stats.least("rolled_from").unwrap_or_default().to_owned();
        #[expect(clippy::reversed_empty_ranges, reason = "it is meant to be empty")]
        let days = covered(&source).unwrap_or(1..=0);
        let of_days = stats.least("record") == Some("day");
        found.push(RollUp { path: file.path().into_owned(), size: file.size(), days, source, of_days });
    }
    Ok(found)
}

/// Those that hold for these data files, or without theirs since these have expired. Only the latter
/// if two of them cover the same day: then something is wrong with the table.
pub(crate) fn current(files: &[LiveFile], mut roll_ups: Vec<RollUp>, expired: &Sources) -> Vec<RollUp> {
    roll_ups.retain(|one| expired.has(one) || one.source == source(files, &one.days));
    let mut sorted: Vec<&RollUp> = roll_ups.iter().collect();
    sorted.sort_by_key(|one| (one.of_days, *one.days.start()));
    let is_double =
        |pair: &[&RollUp]| pair[0].of_days == pair[1].of_days && overlap(&pair[0].days, &pair[1].days);
    if sorted.windows(2).any(is_double) {
        roll_ups.retain(|one| expired.has(one));
    }
    roll_ups
}

/// Some days, and a hash of their data files: `2026-11-01/2026-11-08/HASH`.
fn source(files: &[LiveFile], days: &RangeInclusive<i32>) -> String {
    let mut paths: Vec<&str> = files
        .iter()
        .filter(|file| file.days.as_ref().is_some_and(|of_file| overlap(of_file, days)))
        .map(|file| file.path.as_str())
        .collect();
    paths.sort_unstable();
    let mut hasher = blake3::Hasher::new();
    for path in paths {
        hasher.update(path.as_bytes()).update(b"\n");
    }
    format!("{}/{}/{}", date(*days.start()), date(*days.end()), &hasher.finalize().to_hex()[..32])
}

/// The days of a source.
pub(crate) fn covered(source: &str) -> Option<RangeInclusive<i32>> {
    let mut parts = source.splitn(3, '/').map(|part| part.parse::<NaiveDate>().ok());
    let (first, last) = (parts.next()??, parts.next()??);
    Some(first.to_epoch_days()..=last.to_epoch_days())
}

/// One commit: roll-ups of some days, and which ones they replace.
struct Step {
    days: RangeInclusive<i32>,
    source: String,
    /// Days whose attempts are read, with all their files.
    fresh: Vec<(RangeInclusive<i32>, Vec<String>)>,
    /// Roll-ups that have the other days.
    parts: Vec<RollUp>,
    removed: Vec<RollUp>,
}

impl Step {
    fn days_read(&self) -> usize {
        self.fresh.iter().map(|(days, _)| days.clone().count()).sum()
    }
}

/// What to do, the oldest days first.
fn plan(files: &[LiveFile], existing: &[RollUp], expired: &Sources) -> Vec<Step> {
    // What came to days after their attempts had expired is never rolled up.
    let dated = files.iter().filter_map(|file| Some((file.days.clone()?, file)));
    let dated = dated.filter(|(days, _)| !expired.overlap(days));
    let Some(newest) = newest_day(files) else { return Vec::new() };
    let valid = current(files, existing.to_vec(), expired);
    let is_valid = |one: &RollUp| valid.iter().any(|valid| valid.path == one.path);
    // The longest span that is over, or the days of the file. No day has two roll-ups.
    let spanning = |days: &RangeInclusive<i32>| {
        let spans = SPANS.map(|length| span(*days.start(), length));
        let is_over = |span: &RangeInclusive<i32>| {
            *span.end() < newest && is_within(days, span) && !expired.overlap(span)
        };
        spans.into_iter().find(is_over).unwrap_or_else(|| days.clone())
    };
    let mut steps = Vec::new();
    for (span, files_of_span) in by_days(dated.map(|(days, file)| (spanning(&days), (days, file)))) {
        let first = files_of_span.iter().map(|(days, _)| *days.start()).min().unwrap_or(*span.start());
        let last = files_of_span.iter().map(|(days, _)| *days.end()).max().unwrap_or(*span.end());
        let is_ours = |one: &&RollUp| overlap(&one.days, &span) && !expired.has(one);
        let overlapping: Vec<&RollUp> = existing.iter().filter(is_ours).collect();
        let is_whole = |one: &&RollUp| one.days == (first..=last) && is_valid(one);
        if !overlapping.is_empty() && overlapping.iter().all(is_whole) {
            continue;
        }
        let is_part = |one: &&&RollUp| is_valid(one) && is_within(&one.days, &(first..=last));
        let parts: Vec<RollUp> = overlapping.iter().filter(is_part).map(|one| (*one).clone()).collect();
        let is_fresh =
            |(days, _): &(RangeInclusive<i32>, _)| !parts.iter().any(|part| is_within(days, &part.days));
        let fresh = files_of_span.into_iter().filter(is_fresh);
        steps.push(Step {
            days: first..=last,
            source: source(files, &(first..=last)),
            fresh: by_days(fresh.map(|(days, file)| (days, file.path.clone()))),
            parts,
            removed: overlapping.into_iter().cloned().collect(),
        });
    }
    // What is left of days that are gone, or was written by somebody else.
    let is_replaced =
        |one: &RollUp| steps.iter().flat_map(|step| &step.removed).any(|file| file.path == one.path);
    let dead = existing.iter().filter(|one| !is_valid(one) && !is_replaced(one)).cloned().collect::<Vec<_>>();
    if !dead.is_empty() {
        steps.push(Step {
            days: newest..=newest,
            source: String::new(),
            fresh: Vec::new(),
            parts: Vec::new(),
            removed: dead,
        });
    }
    steps
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;
    use crate::maintain::{FILE_ROWS, Group, groups};

    /// Rows with a test, a day and the number of a run, as one stream.
    fn rows_of(rows: &[(Option<&str>, i32, Option<i32>)]) -> SendableRecordBatchStream {
        let tests: StringArray = rows.iter().map(|(test, _, _)| *test).collect();
        let days: Date32Array = rows.iter().map(|(_, day, _)| Some(*day)).collect();
        let numbers: Int32Array = rows.iter().map(|(_, _, number)| *number).collect();
        let columns: [(&str, ArrayRef); 3] =
            [("test", Arc::new(tests)), ("day", Arc::new(days)), ("number", Arc::new(numbers))];
        let batch = RecordBatch::try_from_iter(columns).expect("columns of one length");
        Box::pin(RecordBatchStreamAdapter::new(batch.schema(), stream::iter([Ok(batch)])))
    }

    #[test]
    fn sorted_files_are_merged_into_a_sorted_one() {
        let streams = vec![
            rows_of(&[(None, 2, Some(0)), (None, 2, Some(1)), (Some("a"), 2, None), (Some("c"), 2, None)]),
            rows_of(&[(None, 1, Some(0)), (Some("b"), 1, None), (Some("c"), 1, None)]),
            rows_of(&[(Some("a"), 3, None), (Some("c"), 3, None), (Some("d"), 3, None)]),
        ];
        let merged = merged(streams, &written_schema(TEST_DAYS)).expect("columns to sort by");
        let batches: Vec<_> = futures::executor::block_on(merged.try_collect()).expect("rows");
        let mut rows = Vec::new();
        for batch in &batches {
            assert_eq!(batch.num_columns(), TEST_DAYS.len(), "columns that are missing are null");
            let columns = Columns(batch);
            let days =
                columns.days("day").expect("days").into_iter().map(|day| day.map(|day| day.to_epoch_days()));
            rows.extend(columns.texts("test").expect("texts").into_iter().zip(days));
        }
        let tests: Vec<_> = rows.iter().map(|(test, day)| (test.as_deref(), day.unwrap_or(0))).collect();
        let of_tests = [("a", 2), ("a", 3), ("b", 1), ("c", 1), ("c", 2), ("c", 3), ("d", 3)];
        let expected = [(None, 1), (None, 2), (None, 2)].into_iter();
        assert_eq!(tests, expected.chain(of_tests.map(|(test, day)| (Some(test), day))).collect::<Vec<_>>());
    }

    /// A store, and what `maintain` has made of it.
    #[derive(Default)]
    struct Store {
        files: Vec<LiveFile>,
        roll_ups: Vec<RollUp>,
        expired: Sources,
        made: usize,
    }

    impl Store {
        fn add(&mut self, days: RangeInclusive<i32>, rows: u64) {
            self.made += 1;
            let path = format!("file-{}", self.made);
            self.files.push(LiveFile { path, size: 1, rows, days: Some(days), tests: None });
        }

        fn append(&mut self, day: i32) {
            self.add(day..=day, 1);
        }

        fn merge(&mut self) {
            for group in groups(self.files.clone(), &self.expired).into_iter().filter(Group::is_due) {
                self.files.retain(|file| !group.files.iter().any(|merged| merged.path == file.path));
                let days = |file: &LiveFile| file.days.clone().expect("days");
                let first = group.files.iter().map(|file| *days(file).start()).min().expect("a file");
                let last = group.files.iter().map(|file| *days(file).end()).max().expect("a file");
                let rows: u64 = group.files.iter().map(|file| file.rows).sum();
                for _ in 1..group.fewest_files() {
                    self.add(first..=last, FILE_ROWS as u64);
                }
                self.add(first..=last, rows - FILE_ROWS as u64 * (group.fewest_files() as u64 - 1));
            }
            let groups = groups(self.files.clone(), &self.expired);
            assert!(!groups.iter().any(Group::is_due), "nothing is left to merge");
            let days =
                |group: &Group| group.files.iter().filter_map(|file| file.days.clone()).collect::<Vec<_>>();
            for (place, group) in groups.iter().enumerate() {
                for other in groups[place + 1..].iter().flat_map(days) {
                    assert!(!days(group).iter().any(|days| overlap(days, &other)), "a day is in one group");
                }
            }
        }

        fn roll_up(&mut self) {
            for step in self.plan() {
                self.roll_ups.retain(|one| !step.removed.iter().any(|removed| removed.path == one.path));
                // Runs are numbered by day: only one source has a day.
                let parts: BTreeSet<_> =
                    step.parts.iter().map(|part| part.days.clone().collect::<Vec<_>>()).collect();
                let fresh = step.fresh.iter().map(|(days, _)| days.clone().collect::<Vec<_>>());
                let days: Vec<i32> = parts.into_iter().chain(fresh).flatten().collect();
                assert_eq!(days.len(), days.iter().collect::<BTreeSet<_>>().len(), "days are read once");
                for of_days in [true, false] {
                    if step.fresh.is_empty() && step.parts.is_empty() {
                        continue;
                    }
                    self.made += 1;
                    self.roll_ups.push(RollUp {
                        path: format!("roll-up-{}", self.made),
                        size: 1,
                        days: step.days.clone(),
                        source: step.source.clone(),
                        of_days,
                    });
                }
            }
        }

        fn plan(&self) -> Vec<Step> {
            plan(&self.files, &self.roll_ups, &self.expired)
        }

        fn current(&self) -> Vec<RollUp> {
            current(&self.files, self.roll_ups.clone(), &self.expired)
        }

        /// Removes the attempts of the days before, as far as they are rolled up.
        fn expire_attempts(&mut self, first_kept: i32) {
            let mut rolled = self.current();
            rolled.retain(|one| *one.days.end() < first_kept && !self.expired.overlap(&one.days));
            let is_rolled = |days: &RangeInclusive<i32>| rolled.iter().any(|one| is_within(days, &one.days));
            self.files.retain(|file| !file.days.as_ref().is_some_and(is_rolled));
            self.expired.extend(&rolled);
        }

        /// How many files are not in a roll-up, of days that have not expired.
        fn tail(&self) -> usize {
            let current = self.current();
            let days = self.files.iter().filter_map(|file| file.days.as_ref());
            let days = days.filter(|days| {
                assert!(!self.expired.divide(days), "expired days share files with no others");
                !self.expired.overlap(days)
            });
            days.filter(|days| !current.iter().any(|one| is_within(days, &one.days))).count()
        }
    }

    proptest! {
        #[test]
        fn every_file_is_rolled_up_once_after_maintenance(
            appends in prop::collection::vec(
                (0..200_i32, prop_oneof![1..9_u64, 100_000..2_500_000_u64], 0..4_u8), 1..60),
        ) {
            let mut store = Store::default();
            let mut newest = 0;
            for (day, rows, then) in &appends {
                store.add(*day..=*day, *rows);
                newest = newest.max(*day);
                // It may be killed between these.
                if *then > 0 {
                    store.merge();
                }
                if *then > 1 {
                    store.roll_up();
                }
                if *then > 2 {
                    store.expire_attempts(*span(newest - 40, SPANS[0]).start());
                }
            }
            store.merge();
            store.roll_up();
            prop_assert_eq!(store.tail(), 0);
            prop_assert_eq!(store.current().len(), store.roll_ups.len(), "no other roll-up is left");
            prop_assert!(store.plan().is_empty());
            let rows: u64 = store.files.iter().map(|file| file.rows).sum();
            let appended = appends.iter().map(|(_, rows, _)| rows).sum::<u64>();
            prop_assert_eq!(rows < appended, !store.expired.is_empty());
        }

        #[test]
        fn merging_writes_few_old_rows(days in prop::collection::vec(1..2_500_000_u64, 1..80)) {
            let mut store = Store::default();
            for (day, rows) in (0..).zip(days) {
                store.add(day..=day, rows);
                let due = groups(store.files.clone(), &store.expired).into_iter().filter(Group::is_due);
                let written: u64 = due.flat_map(|group| group.files).map(|file| file.rows).sum();
                prop_assert!(written <= rows + FILE_ROWS as u64);
                store.merge();
            }
        }

        #[test]
        fn passes_are_what_they_were(counts in prop::collection::btree_map(0..5000_u32, 1..300_u64, 0..50)) {
            let passes: Vec<(u32, u64)> = counts.into_iter().collect();
            let bytes = encode_passes(&passes);
            let decoded: Option<Vec<_>> = decode_passes(&bytes).collect();
            let expected: Vec<_> = passes.iter().map(|(number, count)| (*number as usize, *count)).collect();
            prop_assert_eq!(decoded, Some(expected));
        }

        #[test]
        fn any_bytes_can_be_read(bytes: Vec<u8>) {
            prop_assert!(decode_passes(&bytes).count() <= bytes.len());
        }
    }

    #[test]
    #[expect(clippy::reversed_empty_ranges, reason = "it is meant to be empty")]
    fn what_covers_nothing_is_removed() {
        let mut store = Store::default();
        store.append(100);
        store.append(5);
        store.roll_up();
        // Its day is gone, and one is somebody else's.
        store.files.retain(|file| file.days != Some(5..=5));
        let other =
            RollUp { path: "other".to_owned(), size: 1, days: 1..=0, source: String::new(), of_days: true };
        store.roll_ups.push(other);
        store.roll_up();
        assert_eq!(store.roll_ups.len(), 2);
        assert!(store.roll_ups.iter().all(|one| one.days == (100..=100)));
        assert!(store.plan().is_empty());
    }

    #[test]
    fn a_source_says_which_days_it_covers() {
        let days = 20_000..=20_031;
        assert_eq!(covered(&source(&[], &days)), Some(days));
        for other in ["", "2026-11-01", "2026-11-01/", "a/b/c", "2026-13-01/2026-11-01/x"] {
            assert_eq!(covered(other), None, "{other}");
        }
    }

    #[test]
    fn years_have_few_files() {
        let few = |files: usize| files <= 600 / 32 + 4 + 8;
        let mut store = Store::default();
        for day in 0..600 {
            store.append(day);
            store.merge();
            store.roll_up();
        }
        assert_eq!(store.tail(), 0);
        assert_eq!(store.files.len(), 600_usize.div_ceil(32));
        assert_eq!(store.roll_ups.len(), 2 * 600_usize.div_ceil(32));
        // Days that fill a file stay as they are.
        let mut store = Store::default();
        for day in 0..600 {
            store.add(day..=day, FILE_ROWS as u64);
            store.merge();
            store.roll_up();
        }
        assert_eq!(store.files.len(), 600);
        assert!(few(store.roll_ups.len() / 2), "{}", store.roll_ups.len());
        // Each attempt is rolled up three times: with its day, with eight and with 32.
        assert!(store.made <= 600 + 2 * (600 + 600 / 8 + 600 / 32 + 3), "{}", store.made);
    }
}
