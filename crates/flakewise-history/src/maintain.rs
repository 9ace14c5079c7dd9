//! Keeping the tables quick to read: merging the many small files of a day into
//! few sorted ones, rolling up days (`rollup`), and removing files that nothing refers to.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use chrono::NaiveDate;
use deltalake::DeltaTable;
use deltalake::arrow::array::{AsArray as _, RecordBatch};
use deltalake::arrow::compute::{cast, filter_record_batch};
use deltalake::arrow::datatypes::{DataType, Int32Type, Schema, SchemaRef};
use deltalake::kernel::transaction::{CommitBuilder, CommitProperties};
use deltalake::kernel::{Action, Add, Remove};
use deltalake::operations::vacuum::VacuumMode;
use deltalake::protocol::DeltaOperation;
use futures::TryStreamExt as _;

use crate::append::is_lost_race;
use crate::columns::written_schema;
use crate::files::{DataFile, FileWriter, date};
use crate::report::stream_of;
use crate::session::{Reading, empty_session};
use crate::table::TableKind;
use crate::{History, HistoryError};

/// Rows per file. A million attempts are some tens of megabytes.
const FILE_ROWS: usize = 1_000_000;

/// What to do.
#[derive(Clone, Debug)]
pub struct MaintainOptions {
    /// Only say what would be done.
    pub dry_run: bool,
    /// Files nothing refers to are kept this long: readers may have begun before
    /// they were replaced, and writers may be about to commit them. Nought is
    /// safe only while nobody else uses the store.
    pub keep: Duration,
}

/// What was done, or would be, per table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MaintainSummary {
    /// The table.
    pub table: &'static str,
    /// Days whose files were merged.
    pub days_compacted: usize,
    /// Data files of these days before.
    pub files_before: usize,
    /// And after. For a dry run: one per day, at least.
    pub files_after: usize,
    /// Their bytes before.
    pub bytes_before: u64,
    /// And after; none for a dry run.
    pub bytes_after: Option<u64>,
    /// Rows of reports that had been taken in twice.
    pub doubles_dropped: u64,
    /// Days another process was working on at the same time.
    pub days_left_to_others: usize,
    /// Files that nothing referred to and that were removed.
    pub files_removed: usize,
    /// Days whose attempts were rolled up.
    pub days_rolled_up: usize,
}

impl History {
    /// Merges small files and removes dead ones. `progress` gets each day
    /// that is worked on, with the number of days done and to do.
    pub fn maintain(
        &self,
        options: &MaintainOptions,
        progress: &dyn Fn(&str, usize, usize),
    ) -> Result<Vec<MaintainSummary>, HistoryError> {
        self.block_on("maintain", async {
            let mut summaries = Vec::new();
            for kind in TableKind::FACTS {
                if let Some(table) = self.open(kind).await? {
                    summaries.push(self.maintain_table(kind, table, options, progress).await?);
                }
            }
            if summaries.is_empty() {
                return Err(HistoryError::NoHistory {
                    store: self.store.to_string(),
                    project: self.project.clone(),
                });
            }
            summaries.extend(self.roll_up(options, progress).await?);
            Ok(summaries)
        })
    }

    async fn maintain_table(
        &self,
        kind: TableKind,
        mut table: DeltaTable,
        options: &MaintainOptions,
        progress: &dyn Fn(&str, usize, usize),
    ) -> Result<MaintainSummary, HistoryError> {
        if !options.dry_run {
            self.check_single_writer(&table)?;
        }
        let mut summary = MaintainSummary { table: kind.name(), ..MaintainSummary::default() };
        let days: Vec<_> = files_by_day(&table)?.into_iter().filter(|(_, files)| files.len() > 1).collect();
        if options.dry_run {
            summary.bytes_before =
                days.iter().flat_map(|(_, files)| files).map(|file| bytes(file.size)).sum();
            summary.days_compacted = days.len();
            summary.files_before = days.iter().map(|(_, files)| files.len()).sum();
            summary.files_after = days.len();
        } else {
            for (number, (day, files)) in days.iter().enumerate() {
                progress(&format!("{} {}", kind.name(), date(*day)), number, days.len());
                match self.compact_day(kind, &table, files).await? {
                    Some((merged, doubles)) => {
                        summary.days_compacted += 1;
                        summary.files_before += files.len();
                        summary.files_after += merged.len();
                        summary.bytes_before += files.iter().map(|file| bytes(file.size)).sum::<u64>();
                        let after = merged.iter().map(|file| bytes(file.add.size)).sum::<u64>();
                        summary.bytes_after = Some(summary.bytes_after.unwrap_or(0) + after);
                        summary.doubles_dropped += doubles;
                    }
                    None => summary.days_left_to_others += 1,
                }
                table.update_state().await.map_err(|error| self.unwritable(error))?;
            }
            if !days.is_empty() {
                self.checkpoint(&table).await?;
            }
        }
        summary.files_removed = self.vacuum(table, options).await?;
        Ok(summary)
    }

    /// A checkpoint spares the next reader the log's many entries.
    pub(crate) async fn checkpoint(&self, table: &DeltaTable) -> Result<(), HistoryError> {
        deltalake::checkpoints::create_checkpoint(table, None).await.map_err(|error| self.unwritable(error))
    }

    /// Removes the files nothing refers to, and returns how many there were.
    pub(crate) async fn vacuum(
        &self,
        table: DeltaTable,
        options: &MaintainOptions,
    ) -> Result<usize, HistoryError> {
        let keep = chrono::Duration::from_std(options.keep).unwrap_or(chrono::Duration::MAX);
        let (_, metrics) = table
            .vacuum()
            .with_retention_period(keep)
            .with_enforce_retention_duration(false)
            .with_mode(VacuumMode::Full)
            .with_dry_run(options.dry_run)
            .await
            .map_err(|error| self.unwritable(error))?;
        Ok(metrics.files_deleted.len())
    }

    /// Merges the files of one day. None if somebody else was at it too.
    async fn compact_day(
        &self,
        kind: TableKind,
        table: &DeltaTable,
        files: &[LiveFile],
    ) -> Result<Option<(Vec<DataFile>, u64)>, HistoryError> {
        let (merged, doubles) = self.merge(kind, table, files).await?;
        let now = chrono::Utc::now().timestamp_millis();
        let removes = files.iter().map(|file| remove(&file.path, file.size, now));
        let adds = merged.iter().map(|file| Action::Add(Add { data_change: false, ..file.add.clone() }));
        let operation = DeltaOperation::Optimize { predicate: None, target_size: 0 };
        self.sync_data(kind, &merged)?;
        let actions = removes.chain(adds).collect();
        let replaced = self.replace(kind, table, actions, CommitProperties::default(), operation).await?;
        Ok(replaced.then_some((merged, doubles)))
    }

    /// Commits new files in place of others. False if another commit came first; it may be our own,
    /// so the files stay.
    pub(crate) async fn replace(
        &self,
        kind: TableKind,
        table: &DeltaTable,
        actions: Vec<Action>,
        properties: CommitProperties,
        operation: DeltaOperation,
    ) -> Result<bool, HistoryError> {
        let snapshot = table.snapshot().map_err(|error| self.unwritable(error))?;
        let commit = CommitBuilder::from(properties)
            .with_actions(actions)
            .build(Some(snapshot), table.log_store(), operation)
            .await;
        match commit {
            Ok(commit) => {
                self.sync_log(kind, Some(commit.version()))?;
                Ok(true)
            }
            Err(error) if is_lost_race(&error) => Ok(false),
            Err(error) => Err(self.unwritable(error)),
        }
    }

    /// Reads files, sorts their rows, drops doubles and writes new files.
    async fn merge(
        &self,
        kind: TableKind,
        table: &DeltaTable,
        files: &[LiveFile],
    ) -> Result<(Vec<DataFile>, u64), HistoryError> {
        let session = empty_session(Reading::Most);
        table.update_datafusion_session(&session.state()).map_err(HistoryError::query)?;
        let provider = table
            .table_provider()
            .with_file_paths(files.iter().map(|file| file.path.clone()))
            .await
            .map_err(HistoryError::query)?;
        session.register_table("files", provider).map_err(HistoryError::query)?;
        let order = match kind {
            TableKind::Attempts | TableKind::Verdicts => "test, started_at, report, ordinal",
            TableKind::Runs => "run, report",
            TableKind::Renames => "test, decided_at",
            TableKind::TestDays => unreachable!("roll-ups are made again, not merged"),
        };
        let schema = written_schema(kind.columns());
        let mut stream = stream_of(&session, &format!("SELECT * FROM files ORDER BY {order}")).await?;
        let mut doubles = Doubles::default();
        let new_file = || FileWriter::new(Arc::clone(&schema)).map_err(|error| self.unwritable(error));
        let mut file = new_file()?;
        let mut merged = Vec::new();
        while let Some(batch) = stream.try_next().await.map_err(HistoryError::query)? {
            let batch = doubles.drop_from(&batch).map_err(HistoryError::query)?;
            let batch = conform(&batch, &schema).map_err(HistoryError::query)?;
            file.write(&batch).map_err(|error| self.unwritable(error))?;
            if file.rows() >= FILE_ROWS {
                merged.push(self.put_file(table, std::mem::replace(&mut file, new_file()?)).await?);
            }
        }
        if file.rows() > 0 {
            merged.push(self.put_file(table, file).await?);
        }
        Ok((merged, doubles.dropped))
    }

    /// Finishes a file and writes it.
    pub(crate) async fn put_file(
        &self,
        table: &DeltaTable,
        file: FileWriter,
    ) -> Result<DataFile, HistoryError> {
        let file = file.finish().map_err(|error| self.unwritable(error))?;
        self.put(table, &file).await?;
        Ok(file)
    }
}

/// A data file of the current snapshot.
pub(crate) struct LiveFile {
    pub(crate) path: String,
    pub(crate) size: i64,
    /// The day it holds, as its statistics say. Files without statistics, or of several days, were
    /// written by somebody else: they are left alone.
    pub(crate) day: Option<i32>,
}

pub(crate) fn bytes(size: i64) -> u64 {
    u64::try_from(size).unwrap_or(0)
}

/// The log action that replaces a file.
pub(crate) fn remove(path: &str, size: i64, now: i64) -> Action {
    Action::Remove(Remove {
        path: path.to_owned(),
        data_change: false,
        deletion_timestamp: Some(now),
        extended_file_metadata: Some(true),
        partition_values: Some(HashMap::new()),
        size: Some(size),
        ..Remove::default()
    })
}

/// The statistics of a file, as its log entry has them.
pub(crate) struct Stats(serde_json::Value);

impl Stats {
    pub(crate) fn new(text: Option<impl AsRef<str>>) -> Self {
        let parsed = text.and_then(|text| serde_json::from_str(text.as_ref()).ok());
        Self(parsed.unwrap_or_default())
    }

    /// The least value of a column.
    pub(crate) fn least(&self, column: &str) -> Option<&str> {
        self.0.get("minValues")?.get(column)?.as_str()
    }

    fn greatest(&self, column: &str) -> Option<&str> {
        self.0.get("maxValues")?.get(column)?.as_str()
    }
}

pub(crate) fn live_files(table: &DeltaTable) -> Result<Vec<LiveFile>, HistoryError> {
    let mut files = Vec::new();
    for file in table.snapshot().map_err(HistoryError::query)?.log_data() {
        let stats = Stats::new(file.stats());
        let day = stats.least("day").filter(|low| stats.greatest("day") == Some(*low));
        files.push(LiveFile {
            path: file.path().into_owned(),
            size: file.size(),
            day: day.and_then(|day| Some(day.parse::<NaiveDate>().ok()?.to_epoch_days())),
        });
    }
    Ok(files)
}

/// The live files by the day they hold.
fn files_by_day(table: &DeltaTable) -> Result<BTreeMap<i32, Vec<LiveFile>>, HistoryError> {
    let mut days: BTreeMap<i32, Vec<LiveFile>> = BTreeMap::new();
    for file in live_files(table)? {
        if let Some(day) = file.day {
            days.entry(day).or_default().push(file);
        }
    }
    Ok(days)
}

/// Finds rows that are there twice: same report, same place in it. Sorted rows
/// have their doubles next to them or, for `runs`, in the same report.
#[derive(Default)]
struct Doubles {
    seen: HashSet<(String, Option<i32>)>,
    last_key: Option<String>,
    dropped: u64,
}

impl Doubles {
    fn drop_from(&mut self, batch: &RecordBatch) -> Result<RecordBatch, deltalake::arrow::error::ArrowError> {
        let texts = |name: &str| {
            let column = batch.column_by_name(name);
            column.map(|column| cast(column, &DataType::Utf8)).transpose()
        };
        let key = texts("test")?.or(texts("run")?);
        let (Some(keys), Some(reports)) = (key, texts("report")?) else {
            return Ok(batch.clone());
        };
        let (keys, reports) = (keys.as_string::<i32>(), reports.as_string::<i32>());
        let ordinals =
            batch.column_by_name("ordinal").and_then(|column| column.as_primitive_opt::<Int32Type>());
        let keep: deltalake::arrow::array::BooleanArray = (0..batch.num_rows())
            .map(|row| {
                if self.last_key.as_deref() != Some(keys.value(row)) {
                    self.last_key = Some(keys.value(row).to_owned());
                    self.seen.clear();
                }
                Some(
                    self.seen
                        .insert((reports.value(row).to_owned(), ordinals.map(|column| column.value(row)))),
                )
            })
            .collect();
        self.dropped += u64::try_from(keep.false_count()).unwrap_or(0);
        filter_record_batch(batch, &keep)
    }
}

/// Casts rows as read to the types we write. Columns that only a later version
/// knows stay as they are: a rewrite by an older one must not lose them.
pub(crate) fn conform(
    batch: &RecordBatch,
    schema: &SchemaRef,
) -> Result<RecordBatch, deltalake::arrow::error::ArrowError> {
    let mut fields = Vec::new();
    let mut columns = Vec::new();
    for field in schema.fields() {
        columns.push(match batch.column_by_name(field.name()) {
            Some(column) => cast(column, field.data_type())?,
            None => deltalake::arrow::array::new_null_array(field.data_type(), batch.num_rows()),
        });
        fields.push(field.as_ref().clone().with_nullable(true));
    }
    for (field, column) in batch.schema().fields().iter().zip(batch.columns()) {
        if schema.field_with_name(field.name()).is_err() {
            let kind = match field.data_type() {
                DataType::Utf8View => DataType::Utf8,
                DataType::BinaryView => DataType::Binary,
                other => other.clone(),
            };
            columns.push(cast(column, &kind)?);
            fields.push(field.as_ref().clone().with_data_type(kind));
        }
    }
    RecordBatch::try_new(Arc::new(Schema::new(fields)), columns)
}
