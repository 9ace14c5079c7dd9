//! The log of a table, as an append sees it.
//!
//! An append asks two things of a log: what the table is, and which reports it has. Opening a table for
//! reading also decodes the names and bounds of all its files, and of those that were replaced. So appends
//! read the log themselves, with the kernel that the engine reads it with too.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use delta_kernel::table_features::Operation;
use delta_kernel::{Snapshot, SnapshotRef};
use deltalake::DeltaTableError;
use deltalake::kernel::engine::arrow_data::ArrowEngineData;
use deltalake::kernel::transaction::{CommitData, TransactionError};
use deltalake::kernel::{Action, Transaction};
use deltalake::logstore::{CommitOrBytes, LogStoreRef, get_actions};
use deltalake::protocol::{DeltaOperation, SaveMode};
use uuid::Uuid;

use crate::files::DataFile;
use crate::table::{TableKind, missing_columns};
use crate::{History, HistoryError};

/// How many commits are read one by one, at most.
pub(crate) const CHECKPOINT_INTERVAL: u64 = 10;
/// How long replaced log entries are kept in a table that does not say so.
const KEPT: Duration = Duration::from_hours(30 * 24);
/// Nothing is committed to a log that was read longer ago. The entry that comes next may have been written and
/// removed since, if the machine was suspended, and would be written again in vain. Entries are kept for longer.
const READ_RECENTLY: Duration = Duration::from_hours(1);

/// The log of a table up to a version, which was its newest one.
pub(crate) struct LogHead {
    log: LogStoreRef,
    /// As it was opened.
    snapshot: SnapshotRef,
    version: u64,
    /// When that was. Other clocks stop while a machine is suspended.
    read: SystemTime,
}

impl History {
    /// The log of a table that is appended to. The table is made, or given the columns it lacks.
    pub(crate) async fn log_head(&self, kind: TableKind) -> Result<LogHead, HistoryError> {
        if let Some(head) = self.existing_log_head(kind).await?
            && missing_columns(kind, &head.snapshot.schema()).is_empty()
        {
            return Ok(head);
        }
        let table = self.open_or_create(kind).await?;
        match self.existing_log_head(kind).await? {
            Some(head) => Ok(head),
            None => Err(self.unreachable(format!("{} is gone", table.table_url()).into())),
        }
    }

    async fn existing_log_head(&self, kind: TableKind) -> Result<Option<LogHead>, HistoryError> {
        let Some(builder) = self.table_builder(kind)? else { return Ok(None) };
        let read = SystemTime::now();
        let log = builder.build_storage().map_err(|error| self.unreachable(error.into()))?;
        let snapshot = match self.snapshot(&log, None).await? {
            Ok(snapshot) => snapshot,
            // The kernel has no other way to say so, and the engine looks for it too.
            Err(error) if error.to_string().contains("No files in log segment") => return Ok(None),
            Err(error) => return Err(self.unreachable(error.into())),
        };
        let configuration = snapshot.metadata_configuration();
        self.check_format(configuration)?;
        self.check_single_writer(configuration)?;
        snapshot
            .table_configuration()
            .ensure_operation_supported(Operation::Write)
            .map_err(|error| self.unwritable(error))?;
        let version = snapshot.version();
        Ok(Some(LogHead { log, snapshot, version, read }))
    }

    /// What the log says at a version, or at its newest one.
    async fn snapshot(
        &self,
        log: &LogStoreRef,
        version: Option<u64>,
    ) -> Result<Result<SnapshotRef, delta_kernel::Error>, HistoryError> {
        let (engine, url) = (log.engine(None), log.root_url().clone());
        self.blocking(move || {
            let mut builder = Snapshot::builder_for(url);
            if let Some(version) = version {
                builder = builder.at_version(version);
            }
            builder.build(engine.as_ref())
        })
        .await
    }

    /// Runs what the kernel does, which blocks.
    async fn blocking<T: Send + 'static>(
        &self,
        task: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, HistoryError> {
        tokio::task::spawn_blocking(task).await.map_err(|error| self.unreachable(error.into()))
    }

    /// Writes a checkpoint, which spares the next reader the many entries of the log.
    pub(crate) async fn checkpoint(
        &self,
        kind: TableKind,
        log: &LogStoreRef,
        version: u64,
    ) -> Result<(), HistoryError> {
        let snapshot = self.snapshot(log, Some(version)).await?.map_err(|error| self.unwritable(error))?;
        let engine = log.engine(None);
        self.blocking(move || snapshot.checkpoint(engine.as_ref(), None))
            .await?
            .map_err(|error| self.unwritable(error))?;
        self.sync_checkpoint(kind, version)
    }

    /// Writes a checkpoint after an append where one is due, and removes log entries that are old. No
    /// part of the commit, which has succeeded.
    pub(crate) async fn tidy_log(&self, kind: TableKind, head: &LogHead, version: u64) {
        if !(version + 1).is_multiple_of(CHECKPOINT_INTERVAL) {
            return;
        }
        if let Err(error) = self.checkpoint(kind, &head.log, version).await {
            tracing::info!(%error, version, "no checkpoint was written");
            return;
        }
        let properties = head.snapshot.table_properties();
        if properties.enable_expired_log_cleanup == Some(false) {
            return;
        }
        // A table may say anything.
        let kept = i64::try_from(properties.log_retention_duration.unwrap_or(KEPT).as_millis());
        let oldest = chrono::Utc::now().timestamp_millis().saturating_sub(kept.unwrap_or(i64::MAX)).max(0);
        let removed =
            deltalake::checkpoints::cleanup_expired_logs_for(version, head.log.as_ref(), oldest, None);
        if let Err(error) = removed.await {
            tracing::info!(%error, version, "old log entries were not removed");
        }
    }
}

impl LogHead {
    /// The version it is at.
    pub(crate) fn version(&self) -> u64 {
        self.version
    }

    /// Where the table's files are.
    pub(crate) fn store(&self) -> deltalake::logstore::ObjectStoreRef {
        self.log.object_store(None)
    }

    /// Those of the application transaction ids that are in the log as it was opened.
    ///
    /// The engine can look up one id per replay of the log; an ingest asks for
    /// hundreds, so this replays the log once.
    pub(crate) async fn known(
        &self,
        history: &History,
        wanted: HashSet<String>,
    ) -> Result<HashSet<String>, HistoryError> {
        use deltalake::arrow::array::{Array as _, AsArray as _};

        let engine = self.log.engine(None);
        let snapshot = Arc::clone(&self.snapshot);
        let replay = move || -> Result<HashSet<String>, delta_kernel::Error> {
            // Many ids are looked up in few.
            let wanted: hashbrown::HashSet<String> = wanted.into_iter().collect();
            let schema = delta_kernel::actions::get_commit_schema().project(&["txn"])?;
            let mut known = HashSet::new();
            for actions in snapshot.log_segment().read_actions(engine.as_ref(), schema)? {
                let batch = ArrowEngineData::try_from_engine_data(actions?.actions)?;
                let batch = batch.record_batch();
                let Some(transactions) =
                    batch.column_by_name("txn").and_then(|column| column.as_struct_opt())
                else {
                    continue;
                };
                let Some(app_ids) =
                    transactions.column_by_name("appId").and_then(|column| column.as_string_opt::<i32>())
                else {
                    continue;
                };
                let is_id = |row: &usize| transactions.is_valid(*row) && app_ids.is_valid(*row);
                let ids = (0..batch.num_rows()).filter(is_id).map(|row| app_ids.value(row));
                known.extend(ids.filter_map(|id| wanted.get(id).cloned()));
            }
            Ok(known)
        };
        history.blocking(replay).await?.map_err(|error| history.unreachable(error.into()))
    }

    /// Whether it was read long ago.
    fn is_old(&self) -> bool {
        self.read.elapsed().is_ok_and(|since| since > READ_RECENTLY)
    }

    /// Reads what other writers have committed since, and returns the ids in it. None if they changed
    /// the table itself, or entries may be missing: then it must be opened again.
    pub(crate) async fn advance(&mut self) -> Result<Option<HashSet<String>>, DeltaTableError> {
        if self.is_old() {
            return Ok(None);
        }
        let mut ids = HashSet::new();
        while let Some(entry) = self.log.read_commit_entry(self.version + 1).await? {
            for action in get_actions(self.version + 1, &entry)? {
                match action {
                    Action::Txn(transaction) => {
                        ids.insert(transaction.app_id);
                    }
                    Action::Metadata(_) | Action::Protocol(_) => return Ok(None),
                    _ => {}
                }
            }
            self.version += 1;
        }
        Ok(Some(ids))
    }

    /// Commits files as the next version, with the ids of what is in them. None if another writer has
    /// made that version, or may have: it may have some of the same ids.
    pub(crate) async fn commit(
        &self,
        ids: &[String],
        files: &[DataFile],
    ) -> Result<Option<u64>, TransactionError> {
        if self.is_old() {
            return Ok(None);
        }
        let now = chrono::Utc::now().timestamp_millis();
        let transactions = ids.iter().map(|id| Transaction::new_with_last_update(id, 1, Some(now))).collect();
        let actions = files.iter().map(|file| Action::Add(file.add.clone())).collect();
        let operation = DeltaOperation::Write { mode: SaveMode::Append, partition_by: None, predicate: None };
        let entry = CommitData::new(actions, operation, HashMap::new(), transactions).get_bytes()?;
        let version = self.version + 1;
        match self.log.write_commit_entry(version, CommitOrBytes::LogBytes(entry), Uuid::new_v4()).await {
            Ok(()) => Ok(Some(version)),
            Err(TransactionError::VersionAlreadyExists(_)) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::StoreUrl;

    use super::*;

    fn ids(of: &[&str]) -> Vec<String> {
        of.iter().map(|id| (*id).to_owned()).collect()
    }

    #[test]
    fn who_comes_second_must_read_the_log_again() {
        let folder = tempfile::tempdir().expect("made");
        let store = StoreUrl::parse(folder.path().to_str().expect("UTF-8")).expect("a path");
        let history = History::new(store, "acme/shop");
        let task = async {
            let first = history.log_head(TableKind::Runs).await?;
            let mut second = history.log_head(TableKind::Runs).await?;
            assert_eq!(first.version(), second.version());
            let committed = first.commit(&ids(&["a", "b"]), &[]).await.expect("nobody was quicker");
            assert_eq!(committed, Some(first.version() + 1));
            assert_eq!(second.commit(&ids(&["b", "c"]), &[]).await.expect("no error"), None);
            let new = second.advance().await.expect("readable");
            assert_eq!(new, Some(ids(&["a", "b"]).into_iter().collect()));
            let committed = second.commit(&ids(&["c"]), &[]).await.expect("nobody was quicker");
            assert_eq!(committed, Some(first.version() + 2));
            let mut third = history.log_head(TableKind::Runs).await?;
            assert_eq!(Some(third.version()), committed);
            let wanted = ids(&["b", "c", "d"]).into_iter().collect();
            assert_eq!(third.known(&history, wanted).await?, ids(&["b", "c"]).into_iter().collect());
            // The machine was suspended.
            third.read -= 2 * READ_RECENTLY;
            assert_eq!(third.commit(&ids(&["d"]), &[]).await.expect("no error"), None);
            assert_eq!(third.advance().await.expect("readable"), None);
            let mut third = history.log_head(TableKind::Runs).await?;
            // Somebody changes the table.
            history.announce_renames().await?;
            assert_eq!(third.advance().await.expect("readable"), None);
            Ok(())
        };
        history.block_on("test", task).expect("a new folder can be written to");
    }
}
