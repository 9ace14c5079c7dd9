//! Keeping the tables quick to read: merging many small files into few sorted ones, rolling up
//! days (`rollup`), and removing files that nothing refers to.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::time::Duration;

use chrono::NaiveDate;
use deltalake::DeltaTable;
use deltalake::arrow::array::{AsArray as _, RecordBatch};
use deltalake::arrow::compute::{cast, filter_record_batch};
use deltalake::arrow::datatypes::{DataType, Int32Type, Schema, SchemaRef};
use deltalake::kernel::transaction::{CommitBuilder, CommitProperties};
use deltalake::kernel::{Action, Add, Remove, Transaction};
use deltalake::operations::vacuum::VacuumMode;
use deltalake::protocol::DeltaOperation;
use futures::TryStreamExt as _;

use crate::append::is_lost_race;
use crate::columns::written_schema;
use crate::expire::{Expiry, Sources};
use crate::files::{DataFile, FileWriter, date};
use crate::report::stream_of;
use crate::session::{Reading, empty_session};
use crate::table::{TableKind, configuration};
use crate::{History, HistoryError};

/// Rows per file. A million attempts are some tens of megabytes.
pub(crate) const FILE_ROWS: usize = 1_000_000;
/// A day with more rows has files of its own. Others share a file, so that a commit that merges
/// writes at most a million rows besides those that are new.
const SMALL_DAY_ROWS: u64 = FILE_ROWS as u64 / 8;
/// How many days a roll-up covers, the most first; the first is also the most for any file. Each is a
/// multiple of the next, so that two such spans are disjoint, or one contains the other.
pub(crate) const SPANS: [i32; 3] = [32, 8, 1];

/// Only one process at a time merges files of a table: commits with this id exclude each other. The
/// engine itself lets two commits replace the same files where neither changes the data, so that
/// their rows would be there twice.
pub(crate) const TRANSACTION: &str = "flakewise.merge";

/// What to do.
#[derive(Clone, Debug)]
pub struct MaintainOptions {
    /// Only say what would be done.
    pub dry_run: bool,
    /// Files nothing refers to are kept this long: readers may have begun before
    /// they were replaced, and writers may be about to commit them. Nought is
    /// safe only while nobody else uses the store.
    pub keep: Duration,
    /// Remove days that are older; all days stay if none.
    pub expire: Option<Expiry>,
    /// Remove the attempts of days that are older, and keep what was rolled up of them.
    pub expire_attempts: Option<Expiry>,
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
    /// And after. For a dry run: the least that it can be.
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
    /// Days that were removed because of their age.
    pub days_expired: usize,
}

impl MaintainSummary {
    fn add(&mut self, group: &Group, files_after: usize, bytes_after: Option<u64>) {
        self.days_compacted += count_days(&group.files);
        self.files_before += group.files.len();
        self.files_after += files_after;
        self.bytes_before += group.files.iter().map(|file| bytes(file.size)).sum::<u64>();
        if let Some(after) = bytes_after {
            self.bytes_after = Some(self.bytes_after.unwrap_or(0) + after);
        }
    }
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
            let expired = self.expire(options).await?;
            let mut summaries = Vec::new();
            for kind in TableKind::FACTS {
                if let Some(table) = self.open(kind).await? {
                    let mut summary = self.maintain_table(kind, table, options, progress).await?;
                    summary.days_expired = expired.get(kind.name()).copied().unwrap_or(0);
                    summaries.push(summary);
                }
            }
            if summaries.is_empty() {
                return Err(HistoryError::NoHistory {
                    store: self.store.to_string(),
                    project: self.project.clone(),
                });
            }
            if let Some(mut summary) = self.roll_up(options, progress).await? {
                summary.days_expired = expired.get(summary.table).copied().unwrap_or(0);
                summaries.push(summary);
            }
            let expired = self.expire_attempts(options).await?;
            for summary in summaries.iter_mut().filter(|one| one.table == TableKind::Attempts.name()) {
                summary.days_expired += expired;
            }
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
            self.check_single_writer(configuration(&table)?)?;
            table = self.declare_properties(kind, table).await?;
        }
        let mut summary = MaintainSummary { table: kind.name(), ..MaintainSummary::default() };
        let groups = groups(live_files(&table)?, &Sources::expired(&table)?);
        let groups: Vec<_> = groups.into_iter().filter(Group::is_due).collect();
        for (number, group) in groups.iter().enumerate() {
            if options.dry_run {
                summary.add(group, group.fewest_files(), None);
                continue;
            }
            progress(&format!("{} {}", kind.name(), date(*group.days.start())), number, groups.len());
            let merged =
                if group.is_in(&table)? { self.compact(kind, &mut table, &group.files).await? } else { None };
            if let Some((merged, doubles)) = merged {
                let after = merged.iter().map(|file| bytes(file.add.size)).sum::<u64>();
                summary.add(group, merged.len(), Some(after));
                summary.doubles_dropped += doubles;
            } else {
                summary.days_left_to_others += count_days(&group.files);
                table.update_state().await.map_err(|error| self.unwritable(error))?;
            }
        }
        if !groups.is_empty() && !options.dry_run {
            self.checkpoint_newest(kind, &table).await?;
        }
        summary.files_removed = self.vacuum(table, options).await?;
        Ok(summary)
    }

    /// Writes a checkpoint of the version that was opened.
    pub(crate) async fn checkpoint_newest(
        &self,
        kind: TableKind,
        table: &DeltaTable,
    ) -> Result<(), HistoryError> {
        match table.version() {
            Some(version) => self.checkpoint(kind, &table.log_store(), version).await,
            None => Ok(()),
        }
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

    /// Merges files. None if somebody else was at it too.
    async fn compact(
        &self,
        kind: TableKind,
        table: &mut DeltaTable,
        files: &[LiveFile],
    ) -> Result<Option<(Vec<DataFile>, u64)>, HistoryError> {
        let (merged, doubles) = self.merge(kind, table, files).await?;
        let removes = files.iter().map(|file| remove(&file.path, file.size, false));
        let adds = merged.iter().map(|file| Action::Add(Add { data_change: false, ..file.add.clone() }));
        let operation = DeltaOperation::Optimize { predicate: None, target_size: 0 };
        self.sync_data(kind, &merged)?;
        let actions = removes.chain(adds).collect();
        let replaced = self.replace(kind, table, actions, TRANSACTION, operation).await?;
        Ok(replaced.then_some((merged, doubles)))
    }

    /// Commits new files in place of others; the table is then the one after the commit. Commits with the
    /// same id exclude each other: false if another one came first. It may be our own, so the files stay.
    pub(crate) async fn replace(
        &self,
        kind: TableKind,
        table: &mut DeltaTable,
        actions: Vec<Action>,
        id: &str,
        operation: DeltaOperation,
    ) -> Result<bool, HistoryError> {
        let now = chrono::Utc::now().timestamp_millis();
        let transaction = Transaction::new_with_last_update(id, now, Some(now));
        let properties = CommitProperties::default().with_application_transaction(transaction);
        let snapshot = table.snapshot().map_err(|error| self.unwritable(error))?;
        let commit = CommitBuilder::from(properties)
            .with_actions(actions)
            .build(Some(snapshot), table.log_store(), operation)
            .await;
        match commit {
            Ok(commit) => {
                self.sync_log(kind, commit.version())?;
                table.state = Some(commit.snapshot);
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
        self.put(&table.object_store(), &file).await?;
        Ok(file)
    }
}

/// A data file of the current snapshot.
#[derive(Clone)]
pub(crate) struct LiveFile {
    pub(crate) path: String,
    pub(crate) size: i64,
    pub(crate) rows: u64,
    /// The first and last day it has rows of, as its statistics say. Files without statistics, or of
    /// more days than we put together, were written by somebody else: they are left alone.
    pub(crate) days: Option<RangeInclusive<i32>>,
    /// The first and last test.
    pub(crate) tests: Option<(String, String)>,
}

/// The span of this length that contains a day.
pub(crate) fn span(day: i32, length: i32) -> RangeInclusive<i32> {
    let start = day.div_euclid(length) * length;
    start..=start + length - 1
}

/// Whether one range of days is within another.
pub(crate) fn is_within(days: &RangeInclusive<i32>, other: &RangeInclusive<i32>) -> bool {
    other.start() <= days.start() && days.end() <= other.end()
}

/// Whether two ranges have a day in common.
pub(crate) fn overlap(left: &RangeInclusive<i32>, right: &RangeInclusive<i32>) -> bool {
    left.start() <= right.end() && right.start() <= left.end()
}

/// Puts things together whose days overlap. The oldest first, with their days.
pub(crate) fn by_days<T>(
    things: impl IntoIterator<Item = (RangeInclusive<i32>, T)>,
) -> Vec<(RangeInclusive<i32>, Vec<T>)> {
    let mut things: Vec<_> = things.into_iter().collect();
    things.sort_by_key(|(days, _)| *days.start());
    let mut groups: Vec<(RangeInclusive<i32>, Vec<T>)> = Vec::new();
    for (days, thing) in things {
        match groups.last_mut() {
            Some((all, things)) if overlap(&days, all) => {
                *all = *all.start()..=*all.end().max(days.end());
                things.push(thing);
            }
            _ => groups.push((days, vec![thing])),
        }
    }
    groups
}

/// How many days these files have, those without rows between two others included.
pub(crate) fn count_days(files: &[LiveFile]) -> usize {
    files.iter().filter_map(|file| file.days.clone()).flatten().collect::<BTreeSet<_>>().len()
}

/// The last day of all files.
pub(crate) fn newest_day(files: &[LiveFile]) -> Option<i32> {
    files.iter().filter_map(|file| Some(*file.days.as_ref()?.end())).max()
}

/// Files that should be one file, or as few as their rows allow.
pub(crate) struct Group {
    days: RangeInclusive<i32>,
    pub(crate) files: Vec<LiveFile>,
}

impl Group {
    /// Whether the days of both may share a file.
    fn can_share_with(&self, later: &Self, expired: &Sources) -> bool {
        let days = |group: &Self| u64::try_from(group.days.clone().count()).unwrap_or(u64::MAX);
        let is_small = |group: &Self| group.rows() <= SMALL_DAY_ROWS * days(group);
        is_small(self)
            && is_small(later)
            && self.rows() + later.rows() <= FILE_ROWS as u64
            && is_within(&later.days, &span(*self.days.start(), SPANS[0]))
            && !expired.divide(&(*self.days.start()..=*later.days.end()))
    }

    fn rows(&self) -> u64 {
        self.files.iter().map(|file| file.rows).sum()
    }

    /// Whether its files are still those of the table: another process may have merged them.
    fn is_in(&self, table: &DeltaTable) -> Result<bool, HistoryError> {
        let snapshot = table.snapshot().map_err(HistoryError::query)?;
        let mut missing: HashSet<&str> = self.files.iter().map(|file| file.path.as_str()).collect();
        for file in snapshot.log_data() {
            missing.remove(file.path().as_ref());
        }
        Ok(missing.is_empty())
    }

    /// How few files are enough for these rows.
    pub(crate) fn fewest_files(&self) -> usize {
        usize::try_from(self.rows()).unwrap_or(usize::MAX).div_ceil(FILE_ROWS).max(1)
    }

    /// Whether there is something to merge. Files that were merged share no test but the one at
    /// which a file was full.
    pub(crate) fn is_due(&self) -> bool {
        let mut tests: Vec<_> = self.files.iter().filter_map(|file| file.tests.as_ref()).collect();
        tests.sort_unstable();
        self.files.len() > self.fewest_files() || tests.windows(2).any(|pair| pair[1].0 < pair[0].1)
    }
}

/// What belongs together: the files of one day, or of several days in a row with few rows. What came later to
/// days that share a file joins them, so that what was taken in twice is always found. What came to days
/// that have expired does not share a file with others.
pub(crate) fn groups(files: Vec<LiveFile>, expired: &Sources) -> Vec<Group> {
    let dated = files.into_iter().filter_map(|file| Some((file.days.clone()?, file)));
    let mut groups: Vec<Group> = Vec::new();
    for (days, files) in by_days(dated) {
        let group = Group { days, files };
        match groups.last_mut() {
            Some(last) if last.can_share_with(&group, expired) => {
                last.days = *last.days.start()..=*group.days.end();
                last.files.extend(group.files);
            }
            _ => groups.push(group),
        }
    }
    groups
}

pub(crate) fn bytes(size: i64) -> u64 {
    u64::try_from(size).unwrap_or(0)
}

/// The log action that removes a file. `data_change` is whether its rows are in no other file.
pub(crate) fn remove(path: &str, size: i64, data_change: bool) -> Action {
    Action::Remove(Remove {
        path: path.to_owned(),
        data_change,
        deletion_timestamp: Some(chrono::Utc::now().timestamp_millis()),
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

    /// How many rows there are. No file has more than that many, whatever it says.
    fn rows(&self) -> u64 {
        let rows = self.0.get("numRecords").and_then(serde_json::Value::as_u64);
        rows.unwrap_or(0).min(u32::MAX.into())
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
        let day = |text: &str| Some(text.parse::<NaiveDate>().ok()?.to_epoch_days());
        let bounds = |column| stats.least(column).zip(stats.greatest(column));
        let days = bounds("day").and_then(|(least, greatest)| Some(day(least)?..=day(greatest)?));
        files.push(LiveFile {
            path: file.path().into_owned(),
            size: file.size(),
            rows: stats.rows(),
            days: days.filter(|days| !days.is_empty() && is_within(days, &span(*days.start(), SPANS[0]))),
            tests: bounds("test").map(|(least, greatest)| (least.to_owned(), greatest.to_owned())),
        });
    }
    Ok(files)
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
