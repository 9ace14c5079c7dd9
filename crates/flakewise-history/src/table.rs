//! Opening, creating and evolving the tables.

use std::collections::HashMap;
use std::path::Path;
use std::sync::atomic::Ordering;

use deltalake::kernel::{StructField, StructType};
use deltalake::protocol::SaveMode;
use deltalake::{DeltaTable, DeltaTableBuilder, DeltaTableError};

use crate::append::{TRIES, is_lost_race, pause};
use crate::bucket::has_single_writer;
use crate::columns::{
    ATTEMPTS, Column, FORMAT, RENAMES, RUNS, SEALING_FORMAT, TEST_DAYS, VERDICTS, delta_fields,
};
use crate::files::{BOUNDED, DataFile};
use crate::log::CHECKPOINT_INTERVAL;
use crate::{Guarantee, History, HistoryError};

/// Where a table says which format it has.
pub(crate) const FORMAT_KEY: &str = "flakewise.format";

/// Where a table says that its store does not keep several writers apart.
const SINGLE_WRITER_KEY: &str = "flakewise.single-writer";

/// Where a table says which columns have bounds in the log. Without it, opening a table looks for bounds
/// of every column in every line of the log, ids of reports included.
const BOUNDED_KEY: &str = "delta.dataSkippingStatsColumns";

/// Where `runs` says that no test was renamed yet, so that readers need not look for the table of renames.
const RENAMES_KEY: &str = "flakewise.renames";
const NO_RENAMES: &str = "none";

/// How long log entries are kept that a checkpoint replaces. Readers need them for minutes, and a log that is
/// listed with one request is opened with fewer requests, see `cached`.
const LOG_RETENTION: (&str, &str) = ("delta.logRetentionDuration", "interval 1 day");

/// One of the tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TableKind {
    Attempts,
    Runs,
    /// Made when the first verdict comes; a store may do without.
    Verdicts,
    /// Made when the first test is renamed.
    Renames,
    /// Made from `attempts` by `maintain`. May be deleted at any time, unless attempts have expired.
    TestDays,
}

impl TableKind {
    /// The tables that hold facts. All others can be made from them.
    pub(crate) const FACTS: [Self; 4] = [Self::Runs, Self::Attempts, Self::Verdicts, Self::Renames];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Attempts => "attempts",
            Self::Runs => "runs",
            Self::Verdicts => "verdicts",
            Self::Renames => "renames",
            Self::TestDays => "test_days",
        }
    }

    pub(crate) fn columns(self) -> &'static [Column] {
        match self {
            Self::Attempts => ATTEMPTS,
            Self::Runs => RUNS,
            Self::Verdicts => VERDICTS,
            Self::Renames => RENAMES,
            Self::TestDays => TEST_DAYS,
        }
    }

    /// The names of the columns that have bounds in the log.
    fn bounded(self) -> String {
        let is_there = |name: &&str| self.columns().iter().any(|column| column.name == *name);
        BOUNDED.into_iter().filter(is_there).collect::<Vec<_>>().join(",")
    }

    fn comment(self) -> &'static str {
        match self {
            Self::Attempts => "One row per execution of a test",
            Self::Runs => "One row per report of a run",
            Self::Verdicts => "One row per failure of a run that was judged",
            Self::Renames => "One row per decision about a test that was renamed or moved",
            Self::TestDays => "What each test did on each day, made from attempts",
        }
    }
}

impl History {
    /// What opens a table; none if it surely does not exist.
    pub(crate) fn table_builder(&self, kind: TableKind) -> Result<Option<DeltaTableBuilder>, HistoryError> {
        // A folder that is not there is the ordinary first day. Asking first
        // also keeps the engine from creating it.
        if let Some(folder) = self.store.table_folder(&self.project, kind.name())
            && !folder.join("_delta_log").try_exists().map_err(|error| self.unreachable(error.into()))?
        {
            return Ok(None);
        }
        let builder = DeltaTableBuilder::from_url(self.store.table(&self.project, kind.name()));
        builder.map(Some).map_err(|error| self.unreachable(error.into()))
    }

    /// Opens a table for reading; none if it does not exist.
    pub(crate) async fn open(&self, kind: TableKind) -> Result<Option<DeltaTable>, HistoryError> {
        let Some(builder) = self.table_builder(kind)? else { return Ok(None) };
        match builder.load().await {
            Ok(table) => {
                self.check_format(configuration(&table)?)?;
                if kind == TableKind::Runs {
                    self.has_no_renames.store(has_no_renames(&table)?, Ordering::Relaxed);
                }
                Ok(Some(table))
            }
            Err(DeltaTableError::NotATable(_)) => Ok(None),
            Err(error) => Err(self.unreachable(error.into())),
        }
    }

    pub(crate) fn check_format(&self, configuration: &HashMap<String, String>) -> Result<(), HistoryError> {
        let format = configuration.get(FORMAT_KEY).and_then(|text| text.parse().ok());
        match format {
            Some(found) if found > SEALING_FORMAT => {
                Err(HistoryError::NewerFormat { store: self.store.to_string(), found, known: SEALING_FORMAT })
            }
            _ => Ok(()),
        }
    }

    /// Opens a table for writing, creating it or adding the columns it lacks.
    pub(crate) async fn open_or_create(&self, kind: TableKind) -> Result<DeltaTable, HistoryError> {
        let table = match self.open(kind).await? {
            Some(table) => table,
            None => self.create(kind).await?,
        };
        self.check_single_writer(configuration(&table)?)?;
        let schema = table.snapshot().map_err(|error| self.unwritable(error))?.schema();
        let missing = missing_columns(kind, &schema);
        if missing.is_empty() {
            return Ok(table);
        }
        table.add_columns().with_fields(missing).await.map_err(|error| self.unwritable(error))
    }

    /// Gives a table of an earlier version the properties that new ones have.
    pub(crate) async fn declare_properties(
        &self,
        kind: TableKind,
        table: DeltaTable,
    ) -> Result<DeltaTable, HistoryError> {
        let known = configuration(&table)?;
        let mut properties = HashMap::from([(BOUNDED_KEY, kind.bounded()), owned(LOG_RETENTION)]);
        properties.retain(|key, _| !known.contains_key(*key));
        if properties.is_empty() {
            return Ok(table);
        }
        match set_properties(&table, properties).await {
            Ok(table) => Ok(table),
            // The next time will do.
            Err(error) if is_lost_race(&error) => Ok(table),
            Err(error) => Err(self.unwritable(error)),
        }
    }

    /// Makes readers look for renames from now on. This comes before the first one, so that it is never
    /// overlooked: a table of renames without a table of runs does not exist.
    pub(crate) async fn announce_renames(&self) -> Result<(), HistoryError> {
        for number in 0..TRIES {
            let runs = self.open_or_create(TableKind::Runs).await?;
            if !has_no_renames(&runs)? {
                let version = runs.version();
                return version.map_or(Ok(()), |version| self.sync_log(TableKind::Runs, version));
            }
            match set_properties(&runs, HashMap::from([owned((RENAMES_KEY, "some"))])).await {
                Ok(_) => {}
                Err(error) if is_lost_race(&error) => tokio::time::sleep(pause(number)).await,
                Err(error) => return Err(self.unwritable(error)),
            }
        }
        Err(HistoryError::Contended { store: self.store.to_string(), tries: TRIES })
    }

    /// Refuses to write to a table of a single writer, unless that is who we are.
    pub(crate) fn check_single_writer(
        &self,
        configuration: &HashMap<String, String>,
    ) -> Result<(), HistoryError> {
        self.allow(configuration.get(SINGLE_WRITER_KEY))
    }

    /// Allows to write if the store keeps writers apart or there is only one. `does` is what it does
    /// instead.
    fn allow(&self, does: Option<&String>) -> Result<(), HistoryError> {
        match does {
            Some(does) if !has_single_writer() => {
                Err(HistoryError::Unshareable { store: self.store.to_string(), does: does.clone() })
            }
            _ => Ok(()),
        }
    }

    /// What the store does instead of keeping writers apart, for a table that is about to be made.
    async fn cannot_share(&self, kind: TableKind) -> Result<Option<String>, HistoryError> {
        if !self.store.is_bucket() {
            return Ok(None);
        }
        // `runs` is the first table of a project, and knows.
        if kind != TableKind::Runs
            && let Some(runs) = self.open(TableKind::Runs).await?
        {
            return Ok(configuration(&runs)?.get(SINGLE_WRITER_KEY).cloned());
        }
        let guarantee = self.guarantee_at_creation().await?;
        Ok((guarantee != Guarantee::OneWins).then(|| guarantee.to_string()))
    }

    async fn create(&self, kind: TableKind) -> Result<DeltaTable, HistoryError> {
        let single_writer = self.cannot_share(kind).await?;
        self.allow(single_writer.as_ref())?;
        if let Some(folder) = self.store.table_folder(&self.project, kind.name()) {
            std::fs::create_dir_all(&folder).map_err(|error| self.unwritable(error))?;
        }
        let configuration: HashMap<_, _> = [
            (FORMAT_KEY, FORMAT.to_string()),
            // Exactly-once keys are kept this long; see `append`.
            ("delta.setTransactionRetentionDuration", "interval 7 days".to_owned()),
            ("delta.checkpointInterval", CHECKPOINT_INTERVAL.to_string()),
            (BOUNDED_KEY, kind.bounded()),
            owned(LOG_RETENTION),
        ]
        .into_iter()
        .chain((kind == TableKind::Runs).then(|| owned((RENAMES_KEY, NO_RENAMES))))
        .chain(single_writer.map(|does| (SINGLE_WRITER_KEY, does)))
        .map(|(key, value)| (key.to_owned(), Some(value)))
        .collect();
        let url = self.store.table(&self.project, kind.name());
        let created = DeltaTable::try_from_url(url)
            .await
            .map_err(|error| self.unwritable(error))?
            .create()
            .with_table_name(kind.name())
            .with_comment(kind.comment())
            .with_columns(delta_fields(kind.columns()))
            .with_configuration(configuration)
            .with_raise_if_key_not_exists(false)
            .with_save_mode(SaveMode::Ignore)
            .await;
        match created {
            Ok(table) => Ok(table),
            // Somebody else created it in the same moment: theirs is as good.
            Err(error) => match self.open(kind).await? {
                Some(table) => Ok(table),
                None => Err(self.unwritable(error)),
            },
        }
    }

    pub(crate) fn unreachable(&self, source: Box<dyn std::error::Error + Send + Sync>) -> HistoryError {
        HistoryError::Unreachable { store: self.store.to_string(), source }
    }

    pub(crate) fn unwritable(&self, error: impl std::error::Error + Send + Sync + 'static) -> HistoryError {
        HistoryError::Unwritable { store: self.store.to_string(), source: Box::new(error) }
    }
}

/// The properties of a table.
pub(crate) fn configuration(table: &DeltaTable) -> Result<&HashMap<String, String>, HistoryError> {
    Ok(table.snapshot().map_err(HistoryError::query)?.metadata().configuration())
}

/// The columns of ours that a table lacks.
pub(crate) fn missing_columns(kind: TableKind, schema: &StructType) -> Vec<StructField> {
    delta_fields(kind.columns()).into_iter().filter(|field| schema.field(&field.name).is_none()).collect()
}

/// Whether the table of runs says that no test was renamed.
fn has_no_renames(runs: &DeltaTable) -> Result<bool, HistoryError> {
    Ok(configuration(runs)?.get(RENAMES_KEY).is_some_and(|renames| renames == NO_RENAMES))
}

fn owned((key, value): (&'static str, &str)) -> (&'static str, String) {
    (key, value.to_owned())
}

pub(crate) async fn set_properties(
    table: &DeltaTable,
    properties: HashMap<&str, String>,
) -> Result<DeltaTable, DeltaTableError> {
    let properties = properties.into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
    table.clone().set_tbl_properties().with_properties(properties).with_raise_if_not_exists(false).await
}

/// How many of the newest log entries are synced. Every writer syncs them before
/// it acknowledges anything, so older ones have been synced before.
const SYNCED_ENTRIES: u64 = 64;

/// Durability on local disks: the engine's storage does not sync there. Object
/// stores do so by themselves.
impl History {
    /// Syncs data files, then the folders that name them, up to the store. This
    /// comes before the commit, so that the log never names what may be lost.
    pub(crate) fn sync_data(&self, kind: TableKind, files: &[DataFile]) -> Result<(), HistoryError> {
        let Some(folder) = self.store.table_folder(&self.project, kind.name()) else {
            return Ok(());
        };
        let files = files.iter().map(|file| folder.join(&file.add.path));
        // The folders of the table, of its project, and of the store.
        let folders = folder.ancestors().take(3).map(Path::to_owned);
        files.chain(folders).try_for_each(|path| sync(&path)).map_err(|error| self.unwritable(error))?;
        // The folder around the store may be somebody else's, who may have
        // forbidden to read it.
        if let Some(around) = folder.ancestors().nth(3) {
            let _ = sync(around);
        }
        Ok(())
    }

    /// Syncs the newest log entries up to a version, then the folder that names
    /// them.
    pub(crate) fn sync_log(&self, kind: TableKind, version: u64) -> Result<(), HistoryError> {
        let Some(folder) = self.store.table_folder(&self.project, kind.name()) else { return Ok(()) };
        let log = folder.join("_delta_log");
        let sync_entry = |version: u64| match sync(&log.join(format!("{version:020}.json"))) {
            // Old entries are removed once a checkpoint has them.
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
            synced => synced,
        };
        let mut entries = version.saturating_sub(SYNCED_ENTRIES - 1)..=version;
        let synced = entries.try_for_each(sync_entry).and_then(|()| sync(&log)).and_then(|()| sync(&folder));
        synced.map_err(|error| self.unwritable(error))
    }

    /// Syncs a checkpoint: readers prefer it to the entries that it replaces.
    pub(crate) fn sync_checkpoint(&self, kind: TableKind, version: u64) -> Result<(), HistoryError> {
        let Some(folder) = self.store.table_folder(&self.project, kind.name()) else { return Ok(()) };
        let checkpoint = folder.join("_delta_log").join(format!("{version:020}.checkpoint.parquet"));
        match sync(&checkpoint) {
            // Tables of other writers may have theirs under other names.
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
            synced => synced.map_err(|error| self.unwritable(error)),
        }
    }
}

/// Syncs a file or a folder.
pub(crate) fn sync(path: &Path) -> std::io::Result<()> {
    std::fs::File::open(path)?.sync_all()
}
