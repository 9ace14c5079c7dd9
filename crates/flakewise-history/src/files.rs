//! Rows to Parquet files, and the log actions that add them.

use std::collections::BTreeSet;
use std::sync::Arc;

use chrono::NaiveDate;
use deltalake::arrow::array::{
    Array as _, ArrayAccessor as _, AsArray as _, BooleanArray, Date32Array, DictionaryArray, Int32Array,
    Int64Array, RecordBatch, StringArray, StringBuilder, StringDictionaryBuilder, TimestampMicrosecondArray,
};
use deltalake::arrow::datatypes::{Date32Type, Int32Type, SchemaRef, TimestampMicrosecondType};
use deltalake::kernel::Add;
use deltalake::parquet::arrow::ArrowWriter;
use deltalake::parquet::arrow::arrow_writer::ArrowWriterOptions;
use deltalake::parquet::basic::{Compression, ZstdLevel};
use deltalake::parquet::errors::ParquetError;
use deltalake::parquet::file::properties::{EnabledStatistics, WriterProperties};
use flakewise_model::{Attempt, Batch, Outcome, Phase, ReportBatch, Timestamp};
use hashbrown::HashMap;
use rayon::prelude::*;

use crate::aliases::roots_text;
use crate::columns::{ATTEMPTS, RUNS, named, rows_of};

/// Rows per row group and per page. Small pages let one test's rows be read
/// without its neighbours'; the figures are those of `docs/src/performance.md`.
const ROW_GROUP_ROWS: usize = 128 * 1024;
const PAGE_ROWS: usize = 8192;
/// Columns that do not compress, such as durations, get shorter pages.
const PAGE_BYTES: usize = 16 * 1024;
/// How much of a test's id a page's bounds keep: enough for most ids' files and
/// classes.
const BOUND_BYTES: usize = 64;

/// A Parquet file in memory, for one day.
pub(crate) struct DataFile {
    pub(crate) bytes: Vec<u8>,
    pub(crate) add: Add,
}

/// Which reports of which batches to write.
pub(crate) type Selection<'a> = Vec<(&'a Batch, &'a ReportBatch)>;

/// The attempts of some reports, one file per day, each sorted by test.
pub(crate) fn attempt_files(project: &str, selection: &Selection<'_>) -> Result<Vec<DataFile>, ParquetError> {
    // Comparing ids is what sorting costs. Reports repeat the same tests, so
    // every distinct id is ranked once and rows are sorted by numbers.
    let mut numbers: HashMap<&str, u32> = HashMap::new();
    let mut tests: Vec<&str> = Vec::new();
    let mut rows: Vec<AttemptRow<'_>> =
        Vec::with_capacity(selection.iter().map(|(_, report)| report.attempts.len()).sum());
    for (report, (_, batch)) in selection.iter().enumerate() {
        for (ordinal, attempt) in batch.attempts.iter().enumerate() {
            let test = *numbers.entry(attempt.test.as_str()).or_insert_with_key(|test| {
                tests.push(test);
                u32::try_from(tests.len() - 1).expect("a batch has fewer than 2^32 tests")
            });
            let started = attempt.started_or_run();
            rows.push(AttemptRow {
                day: day_number(started),
                test,
                started: started.timestamp_micros(),
                report: index(report),
                ordinal: index(ordinal),
                attempt,
            });
        }
    }
    let mut order: Vec<u32> = (0..u32::try_from(tests.len()).expect("counted above")).collect();
    order.sort_unstable_by_key(|test| tests[*test as usize]);
    let mut ranks = vec![0; tests.len()];
    for (rank, test) in order.iter().enumerate() {
        ranks[*test as usize] = u32::try_from(rank).expect("counted above");
    }
    for row in &mut rows {
        row.test = ranks[row.test as usize];
    }
    rows.par_sort_unstable_by_key(|row| (row.day, row.test, row.started, row.report, row.ordinal));
    let tests = StringArray::from_iter_values(order.iter().map(|test| tests[*test as usize]));
    let days: Vec<_> = rows.chunk_by(|left, right| left.day == right.day).collect();
    days.into_par_iter().map(|rows| encode(&[attempt_rows(project, selection, &tests, rows)])).collect()
}

struct AttemptRow<'a> {
    day: i32,
    /// The rank of its test among all in the batch.
    test: u32,
    started: i64,
    report: i32,
    ordinal: i32,
    attempt: &'a Attempt,
}

fn attempt_rows(
    project: &str,
    selection: &Selection<'_>,
    tests: &StringArray,
    rows: &[AttemptRow<'_>],
) -> RecordBatch {
    let of_report = |value: &dyn Fn(&Batch, &ReportBatch) -> Option<String>| {
        let values: Vec<_> = selection.iter().map(|(batch, report)| value(batch, report)).collect();
        Arc::new(keyed(rows.iter().map(|row| Some(row.report)), &values))
    };
    let label = |value: &dyn for<'r> Fn(&'r AttemptRow<'_>) -> Option<&'r str>| {
        let mut builder = StringDictionaryBuilder::<Int32Type>::new();
        for row in rows {
            builder.append_option(value(row));
        }
        Arc::new(builder.finish())
    };
    let mut messages = StringBuilder::new();
    for row in rows {
        messages.append_option(row.attempt.failure.as_ref().map(|failure| failure.message.as_str()));
    }
    let outcomes: Vec<_> = Outcome::ALL.iter().map(|outcome| Some(outcome.name().to_owned())).collect();
    let phases: Vec<_> = Phase::ALL.iter().map(|phase| Some(phase.name().to_owned())).collect();
    let place = |found: Option<usize>| Some(index(found.expect("`ALL` names every value")));
    rows_of(
        ATTEMPTS,
        vec![
            named("project", of_report(&|_, _| Some(project.to_owned()))),
            named("day", Arc::new(Date32Array::from_iter_values(rows.iter().map(|row| row.day)))),
            named(
                "test",
                Arc::new(DictionaryArray::new(
                    rows.iter().map(|row| i32::try_from(row.test).ok()).collect::<Int32Array>(),
                    Arc::new(tests.clone()),
                )),
            ),
            named("variant", of_report(&|batch, _| Some(batch.run.variant.to_string()))),
            named("run", of_report(&|batch, _| Some(batch.run.id.to_string()))),
            named("report", of_report(&|_, report| Some(report.id.to_string()))),
            named("ordinal", Arc::new(Int32Array::from_iter_values(rows.iter().map(|row| row.ordinal)))),
            named(
                "phase",
                Arc::new(keyed(
                    rows.iter()
                        .map(|row| place(Phase::ALL.iter().position(|phase| *phase == row.attempt.phase))),
                    &phases,
                )),
            ),
            named(
                "attempt",
                Arc::new(
                    rows.iter().map(|row| i32::try_from(row.attempt.number).ok()).collect::<Int32Array>(),
                ),
            ),
            named(
                "outcome",
                Arc::new(keyed(
                    rows.iter().map(|row| {
                        place(Outcome::ALL.iter().position(|known| *known == row.attempt.outcome))
                    }),
                    &outcomes,
                )),
            ),
            named("started_at", times(rows.iter().map(|row| row.started))),
            named(
                "duration_us",
                Arc::new(
                    rows.iter()
                        .map(|row| {
                            row.attempt.duration.and_then(|duration| i64::try_from(duration.as_micros()).ok())
                        })
                        .collect::<Int64Array>(),
                ),
            ),
            named("commit", of_report(&|batch, _| batch.run.commit.clone())),
            named(
                "dirty",
                Arc::new(rows.iter().map(|row| Some(row.attempt.run.dirty)).collect::<BooleanArray>()),
            ),
            named("branch", of_report(&|batch, _| batch.run.branch.clone())),
            named("worker", Arc::new(workers(rows, selection.len()))),
            named(
                "position",
                Arc::new(
                    rows.iter()
                        .map(|row| row.attempt.position.and_then(|position| i32::try_from(position).ok()))
                        .collect::<Int32Array>(),
                ),
            ),
            named("failure_kind", label(&|row| row.attempt.failure.as_ref()?.kind.as_deref())),
            named("failure_message", Arc::new(messages.finish())),
            named(
                "fingerprint",
                label(&|row| {
                    row.attempt
                        .failure
                        .as_ref()?
                        .fingerprint
                        .as_ref()
                        .map(flakewise_model::Fingerprint::as_str)
                }),
            ),
        ],
    )
}

/// Who ran each attempt. The attempts of a report mostly share the text, which is looked
/// up once then.
fn workers(rows: &[AttemptRow<'_>], reports: usize) -> DictionaryArray<Int32Type> {
    let mut keys = Vec::with_capacity(rows.len());
    let mut numbers: HashMap<&str, i32> = HashMap::new();
    let mut names: Vec<&str> = Vec::new();
    let mut latest: Vec<Option<(&Arc<str>, i32)>> = vec![None; reports];
    for row in rows {
        let Some(worker) = &row.attempt.worker else {
            keys.push(None);
            continue;
        };
        let report = usize::try_from(row.report).expect("an index");
        let known = latest[report].filter(|(text, _)| Arc::ptr_eq(text, worker));
        let look_up = || {
            *numbers.entry(worker).or_insert_with(|| {
                names.push(worker);
                index(names.len() - 1)
            })
        };
        let number = known.map_or_else(look_up, |(_, number)| number);
        latest[report] = Some((worker, number));
        keys.push(Some(number));
    }
    DictionaryArray::new(Int32Array::from(keys), Arc::new(StringArray::from(names)))
}

/// The rows of `runs` for some reports, one file per day.
pub(crate) fn run_files(
    project: &str,
    selection: &Selection<'_>,
    now: Timestamp,
) -> Result<Vec<DataFile>, ParquetError> {
    let mut rows: Vec<_> =
        selection.par_iter().map(|(batch, report)| (*batch, *report, tally(batch, report))).collect();
    rows.sort_by_key(|(batch, report, tally)| (day(tally.started), batch.run.id.clone(), report.id.clone()));
    rows.chunk_by(|left, right| day(left.2.started) == day(right.2.started))
        .map(|rows| encode(&[run_rows(project, rows, now)]))
        .collect()
}

fn run_rows(project: &str, rows: &[(&Batch, &ReportBatch, Tally)], now: Timestamp) -> RecordBatch {
    let text = |value: &dyn Fn(&Batch, &ReportBatch) -> Option<String>| {
        Arc::new(rows.iter().map(|(batch, report, _)| value(batch, report)).collect::<StringArray>())
    };
    let label = |value: &dyn Fn(&Batch) -> Option<String>| {
        let mut builder = StringDictionaryBuilder::<Int32Type>::new();
        for (batch, ..) in rows {
            builder.append_option(value(batch));
        }
        Arc::new(builder.finish())
    };
    let count = |value: &dyn Fn(&Tally) -> usize| {
        Arc::new(rows.iter().map(|(.., tally)| i64::try_from(value(tally)).ok()).collect::<Int64Array>())
    };
    rows_of(
        RUNS,
        vec![
            named("project", label(&|_| Some(project.to_owned()))),
            named(
                "day",
                Arc::new(
                    rows.iter().map(|(.., tally)| Some(day_number(tally.started))).collect::<Date32Array>(),
                ),
            ),
            named("run", text(&|batch, _| Some(batch.run.id.to_string()))),
            named("report", text(&|_, report| Some(report.id.to_string()))),
            named("source", text(&|_, report| Some(report.source.clone()))),
            named(
                "complete",
                Arc::new(rows.iter().map(|(_, report, _)| Some(report.complete)).collect::<BooleanArray>()),
            ),
            named("tests", count(&|tally| tally.tests)),
            named("tests_failed", count(&|tally| tally.failed)),
            named("attempts", count(&|tally| tally.attempts)),
            named("variant", label(&|batch| Some(batch.run.variant.to_string()))),
            named("started_at", times(rows.iter().map(|(.., tally)| tally.started.timestamp_micros()))),
            named("commit", label(&|batch| batch.run.commit.clone())),
            named(
                "dirty",
                Arc::new(rows.iter().map(|(batch, ..)| Some(batch.run.dirty)).collect::<BooleanArray>()),
            ),
            named("branch", label(&|batch| batch.run.branch.clone())),
            named("provider", label(&|batch| batch.run.provider.clone())),
            named("url", text(&|batch, _| batch.run.url.clone())),
            named("ingested_at", times(rows.iter().map(|_| now.timestamp_micros()))),
            named("roots", text(&|batch, _| batch.run.roots.as_ref().map(roots_text))),
            named("packages", label(&|batch| batch.run.packages.as_deref().map(str::to_owned))),
        ],
    )
}

/// What a report amounts to.
struct Tally {
    tests: usize,
    /// Tests that ran and never passed.
    failed: usize,
    attempts: usize,
    /// When its first attempt began, so that all tables speak of one day.
    started: Timestamp,
}

fn tally(batch: &Batch, report: &ReportBatch) -> Tally {
    let mut passed: HashMap<&str, bool> = HashMap::with_capacity(report.attempts.len());
    for attempt in report.attempts.iter().filter(|attempt| attempt.outcome != Outcome::Skipped) {
        *passed.entry(attempt.test.as_str()).or_default() |= attempt.outcome == Outcome::Passed;
    }
    Tally {
        tests: passed.len(),
        failed: passed.values().filter(|passed| !**passed).count(),
        attempts: report.attempts.len(),
        started: first_started(batch, report),
    }
}

/// When a report's first attempt began.
pub(crate) fn first_started(batch: &Batch, report: &ReportBatch) -> Timestamp {
    report.attempts.iter().map(Attempt::started_or_run).min().unwrap_or(batch.run.started)
}

/// Writes rows of one day, sorted by test, as one Parquet file.
pub(crate) fn encode(batches: &[RecordBatch]) -> Result<DataFile, ParquetError> {
    let mut file = FileWriter::new(batches[0].schema())?;
    for batch in batches {
        file.write(batch)?;
    }
    file.finish()
}

/// A Parquet file in the making. It gets rows sorted by test.
pub(crate) struct FileWriter {
    writer: ArrowWriter<Vec<u8>>,
    bounds: Bounds,
}

impl FileWriter {
    pub(crate) fn new(schema: SchemaRef) -> Result<Self, ParquetError> {
        let mut properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(ZstdLevel::try_new(1).expect("1 is a level")))
            .set_max_row_group_row_count(Some(ROW_GROUP_ROWS))
            .set_data_page_row_count_limit(PAGE_ROWS)
            .set_data_page_size_limit(PAGE_BYTES)
            // Pages end only between these.
            .set_write_batch_size(PAGE_BYTES / 8)
            // Bounds per page serve to find one test; those of other columns would
            // only make every file's end longer.
            .set_statistics_enabled(EnabledStatistics::Chunk)
            .set_column_statistics_enabled("test".into(), EnabledStatistics::Page)
            .set_column_index_truncate_length(Some(BOUND_BYTES))
            .set_statistics_truncate_length(None);
        for name in ["evidence", "failure_message", "packages", "source", "url"] {
            properties = properties.set_column_statistics_enabled(name.into(), EnabledStatistics::None);
        }
        // A dictionary of nearly distinct values is as long as the column, and must
        // be read whole for a single row.
        for name in ["duration_us", "evidence", "failure_message", "ordinal", "position"] {
            properties = properties.set_column_dictionary_enabled(name.into(), false);
        }
        let options =
            ArrowWriterOptions::new().with_properties(properties.build()).with_skip_arrow_metadata(true);
        let writer = ArrowWriter::try_new_with_options(Vec::new(), schema, options)?;
        Ok(Self { writer, bounds: Bounds::default() })
    }

    pub(crate) fn write(&mut self, batch: &RecordBatch) -> Result<(), ParquetError> {
        self.bounds.take_in(batch);
        self.writer.write(batch)
    }

    /// How many rows it has got.
    pub(crate) fn rows(&self) -> usize {
        self.bounds.rows
    }

    /// The file, and its entry in the log with the statistics that let readers skip it.
    pub(crate) fn finish(self) -> Result<DataFile, ParquetError> {
        let bytes = self.writer.into_inner()?;
        let day = self.bounds.day.map_or_else(String::new, |(low, _)| date(low).to_string());
        let add = Add {
            path: format!("{day}-{}.parquet", uuid::Uuid::new_v4()),
            size: i64::try_from(bytes.len()).expect("a file in memory has a size"),
            modification_time: chrono::Utc::now().timestamp_millis(),
            data_change: true,
            stats: Some(self.bounds.json()),
            ..Add::default()
        };
        Ok(DataFile { bytes, add })
    }
}

/// The columns readers filter by. The log has their least and greatest values in each file.
pub(crate) const BOUNDED: [&str; 5] = ["day", "record", "rolled_from", "started_at", "test"];

/// Least and greatest values of [`BOUNDED`] columns.
#[derive(Default)]
struct Bounds {
    rows: usize,
    day: Option<(i32, i32)>,
    started: Option<(i64, i64)>,
    test: Option<(String, String)>,
    without_test: usize,
    /// Of roll-ups: what kind of rows there are, and what they were made from.
    record: Option<(String, String)>,
    rolled_from: Option<(String, String)>,
}

impl Bounds {
    fn take_in(&mut self, batch: &RecordBatch) {
        fn widen<T: Ord + Clone>(bounds: &mut Option<(T, T)>, low: T, high: T) {
            *bounds = Some(match bounds.take() {
                Some((least, greatest)) => (least.min(low), greatest.max(high)),
                None => (low, high),
            });
        }
        use deltalake::arrow::compute::{max, min};
        self.rows += batch.num_rows();
        let column = |name| batch.column_by_name(name);
        if let Some(days) = column("day").and_then(|array| array.as_primitive_opt::<Date32Type>())
            && let (Some(low), Some(high)) = (min(days), max(days))
        {
            widen(&mut self.day, low, high);
        }
        if let Some(times) =
            column("started_at").and_then(|array| array.as_primitive_opt::<TimestampMicrosecondType>())
            && let (Some(low), Some(high)) = (min(times), max(times))
        {
            widen(&mut self.started, low, high);
        }
        let labels = |name| {
            let array = column(name)?.as_dictionary_opt::<Int32Type>()?;
            array.downcast_dict::<StringArray>()
        };
        // Rows are sorted by test, those without one first: the first and the last are the bounds.
        if let Some(tests) = labels("test")
            && let Some(first) = (0..batch.num_rows()).find(|row| tests.is_valid(*row))
        {
            let at = |row: usize| tests.value(row).to_owned();
            widen(&mut self.test, at(first), at(batch.num_rows() - 1));
        }
        self.without_test += column("test").map_or(0, deltalake::arrow::array::Array::null_count);
        for (name, bounds) in [("record", &mut self.record), ("rolled_from", &mut self.rolled_from)] {
            let Some(labels) = labels(name) else { continue };
            let distinct: BTreeSet<&str> = labels.into_iter().flatten().collect();
            if let (Some(low), Some(high)) = (distinct.first(), distinct.last()) {
                widen(bounds, (*low).to_owned(), (*high).to_owned());
            }
        }
    }

    fn json(self) -> String {
        let mut low = serde_json::Map::new();
        let mut high = serde_json::Map::new();
        let mut nulls = serde_json::Map::new();
        let mut bound = |name: &str, least: String, greatest: String| {
            low.insert(name.to_owned(), least.into());
            high.insert(name.to_owned(), greatest.into());
            nulls.insert(name.to_owned(), 0.into());
        };
        if let Some((least, greatest)) = self.day {
            bound("day", date(least).to_string(), date(greatest).to_string());
        }
        if let Some((least, greatest)) = self.started {
            let text = |micros| {
                chrono::DateTime::from_timestamp_micros(micros)
                    .unwrap_or_default()
                    .format("%Y-%m-%dT%H:%M:%S%.6fZ")
                    .to_string()
            };
            bound("started_at", text(least), text(greatest));
        }
        let labels = [("test", self.test), ("record", self.record), ("rolled_from", self.rolled_from)];
        for (name, bounds) in labels {
            if let Some((least, greatest)) = bounds {
                bound(name, least, greatest);
            }
        }
        if let Some(count) = nulls.get_mut("test") {
            *count = self.without_test.into();
        }
        serde_json::json!({
            "numRecords": self.rows, "minValues": low, "maxValues": high, "nullCount": nulls,
        })
        .to_string()
    }
}

/// A column whose values are given by their index in a short list.
pub(crate) fn keyed(
    keys: impl Iterator<Item = Option<i32>>,
    values: &[Option<String>],
) -> DictionaryArray<Int32Type> {
    // Equal values must share one entry, or readers would see two dictionary
    // entries for one label.
    let mut distinct: Vec<&str> = Vec::new();
    let places: Vec<Option<i32>> = values
        .iter()
        .map(|value| {
            let value = value.as_deref()?;
            Some(index(distinct.iter().position(|known| *known == value).unwrap_or_else(|| {
                distinct.push(value);
                distinct.len() - 1
            })))
        })
        .collect();
    let keys: Int32Array =
        keys.map(|key| key.and_then(|key| places[usize::try_from(key).expect("keys are indices")])).collect();
    DictionaryArray::new(keys, Arc::new(StringArray::from(distinct)))
}

pub(crate) fn times(micros: impl Iterator<Item = i64>) -> Arc<TimestampMicrosecondArray> {
    Arc::new(micros.map(Some).collect::<TimestampMicrosecondArray>().with_timezone("UTC"))
}

pub(crate) fn index(value: usize) -> i32 {
    i32::try_from(value).expect("a batch has fewer than 2^31 rows")
}

fn day(at: Timestamp) -> i64 {
    at.timestamp().div_euclid(86_400)
}

pub(crate) fn day_number(at: Timestamp) -> i32 {
    i32::try_from(day(at)).expect("time stamps are within some million years")
}

pub(crate) fn date(days: i32) -> NaiveDate {
    NaiveDate::from_epoch_days(days).unwrap_or_default()
}
