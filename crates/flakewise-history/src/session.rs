//! The SQL session: the tables of a project under the names the docs promise.

use std::num::NonZeroUsize;
use std::sync::Arc;

use deltalake::DeltaTable;
use deltalake::arrow::array::RecordBatch;
use deltalake::datafusion::catalog::TableProvider;
use deltalake::datafusion::config::TableParquetOptions;
use deltalake::datafusion::datasource::MemTable;
use deltalake::datafusion::datasource::file_format::parquet::ParquetFormat;
use deltalake::datafusion::datasource::listing::{
    ListingOptions, ListingTable, ListingTableConfig, ListingTableUrl,
};
use deltalake::datafusion::error::DataFusionError;
use deltalake::datafusion::execution::memory_pool::FairSpillPool;
use deltalake::datafusion::execution::runtime_env::RuntimeEnvBuilder;
use deltalake::datafusion::prelude::{SessionConfig, SessionContext};

use crate::columns::Column;
use crate::flaky::MINIMUM_OUTAGE_TESTS;
use crate::table::TableKind;
use crate::{History, HistoryError};

/// Memory for sorting and grouping; beyond it the engine spills to disk.
const MEMORY: usize = 2 << 30;
/// How much of a file's end is fetched first. Footers of our files fit; the
/// engine's default of half a megabyte would be most of a small file.
const FOOTER_GUESS: usize = 32 << 10;

/// Outcomes that turn a build red, as SQL.
pub(crate) const FAILURES: &str = "('failed', 'errored', 'timed-out', 'crashed')";

/// Of failures grouped by fingerprint (`looks`), those that can prove a test
/// flaky: all but those at a base that were not seen otherwise on that revision.
/// The base's work tree may lack what the test needs, so that it fails there for
/// a reason of its own.
pub(crate) const PROVING_FAILURES: &str = "CASE WHEN own_failures > 0 AND looks IS NOT NULL THEN own_failures + base_failures ELSE own_failures END";

/// How much of the rows a session's questions are about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reading {
    /// Those of few tests: filters decide which pages are read and decoded at all.
    Few,
    /// Most of them: deciding that would cost more than it saves.
    Most,
}

/// Settings of all our sessions.
fn config(reading: Reading) -> SessionConfig {
    let mut config = SessionConfig::new().with_information_schema(true);
    let parquet = &mut config.options_mut().execution.parquet;
    parquet.pushdown_filters = reading == Reading::Few;
    parquet.metadata_size_hint = Some(FOOTER_GUESS);
    config
}

/// A session of this process with nothing in it.
pub(crate) fn empty_session(reading: Reading) -> SessionContext {
    let cores = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
    session_on(cores, reading)
}

/// A session that reads the rows of a file in their order.
pub(crate) fn sequential_session() -> SessionContext {
    session_on(1, Reading::Most)
}

fn session_on(cores: usize, reading: Reading) -> SessionContext {
    let config = config(reading).with_target_partitions(cores);
    let runtime = RuntimeEnvBuilder::new()
        .with_memory_pool(Arc::new(FairSpillPool::new(MEMORY)))
        .build_arc()
        .expect("a memory pool needs nothing from outside");
    SessionContext::new_with_config_rt(config, runtime)
}

impl History {
    /// A session with nothing in it, where this history's statements run.
    pub(crate) fn empty_session(&self, reading: Reading) -> Result<SessionContext, HistoryError> {
        match &self.engine {
            None => Ok(empty_session(reading)),
            Some(engine) => engine.session(config(reading)).map_err(HistoryError::query),
        }
    }

    /// Makes a table visible under a name in such a session, with every column of today: those an
    /// old table lacks are null. If files are given, it has no others.
    pub(crate) async fn register(
        &self,
        session: &SessionContext,
        name: &str,
        table: &DeltaTable,
        columns: &[Column],
        files: Option<Vec<String>>,
        reading: Reading,
    ) -> Result<(), DataFusionError> {
        if self.engine.is_none() {
            return register_here(session, name, table, columns, files, reading).await;
        }
        match remote_provider(table, files, reading)? {
            Some(provider) => register_provider(session, name, table, columns, provider).await,
            None => register_empty(session, name, columns).await,
        }
    }

    /// A session with everything the docs promise.
    pub(crate) async fn full_session(&self, reading: Reading) -> Result<SessionContext, HistoryError> {
        let session = self.session(reading).await?;
        for kind in [TableKind::Verdicts, TableKind::Renames, TableKind::TestDays] {
            self.add_table(&session, kind, reading).await?;
        }
        Ok(session)
    }

    /// Makes a table visible that may not exist yet.
    pub(crate) async fn add_table(
        &self,
        session: &SessionContext,
        kind: TableKind,
        reading: Reading,
    ) -> Result<(), HistoryError> {
        match self.open(kind).await? {
            Some(table) => self.register(session, kind.name(), &table, kind.columns(), None, reading).await,
            None => register_empty(session, kind.name(), kind.columns()).await,
        }
        .map_err(HistoryError::query)
    }

    /// A session with the attempts and reports of the project and the views on
    /// them: all that our own questions are about.
    pub(crate) async fn session(&self, reading: Reading) -> Result<SessionContext, HistoryError> {
        Ok(self.session_and_attempts(reading).await?.0)
    }

    /// The same, and its table of attempts.
    pub(crate) async fn session_and_attempts(
        &self,
        reading: Reading,
    ) -> Result<(SessionContext, DeltaTable), HistoryError> {
        let missing =
            || HistoryError::NoHistory { store: self.store.to_string(), project: self.project.clone() };
        let attempts = self.open(TableKind::Attempts).await?.ok_or_else(missing)?;
        let runs = self.open(TableKind::Runs).await?.ok_or_else(missing)?;
        let session = self.empty_session(reading)?;
        for (name, table, kind) in
            [("attempts", &attempts, TableKind::Attempts), ("reports", &runs, TableKind::Runs)]
        {
            self.register(&session, name, table, kind.columns(), None, reading)
                .await
                .map_err(HistoryError::query)?;
        }
        for view in views() {
            session.sql(&view).await.map_err(HistoryError::query)?;
        }
        Ok((session, attempts))
    }
}

/// Makes a table visible in a session of this process.
pub(crate) async fn register_here(
    session: &SessionContext,
    name: &str,
    table: &DeltaTable,
    columns: &[Column],
    files: Option<Vec<String>>,
    reading: Reading,
) -> Result<(), DataFusionError> {
    table.update_datafusion_session(&session.state()).map_err(external)?;
    let own = session.state();
    let is_own = own.config_options().execution.parquet.pushdown_filters == (reading == Reading::Few);
    let reader = if is_own { own } else { empty_session(reading).state() };
    let mut provider = table.table_provider().with_session(Arc::new(reader));
    if let Some(files) = files {
        provider = provider.with_file_paths(files);
    }
    register_provider(session, name, table, columns, provider.await?).await
}

/// What reads a table elsewhere: its files, since what reads a Delta table cannot be sent. None if
/// it has no files.
fn remote_provider(
    table: &DeltaTable,
    files: Option<Vec<String>>,
    reading: Reading,
) -> Result<Option<Arc<dyn TableProvider>>, DataFusionError> {
    let snapshot = table.snapshot().map_err(external)?;
    let files = files
        .unwrap_or_else(|| snapshot.log_data().into_iter().map(|file| file.path().into_owned()).collect());
    if files.is_empty() {
        return Ok(None);
    }
    let urls = files.iter().map(|file| {
        let url = table.table_url().join(file).map_err(|error| DataFusionError::External(error.into()))?;
        ListingTableUrl::try_new(url, None)
    });
    let mut parquet = TableParquetOptions::new();
    parquet.global.pushdown_filters = reading == Reading::Few;
    parquet.global.metadata_size_hint = Some(FOOTER_GUESS);
    let format = ParquetFormat::default().with_options(parquet);
    let options = ListingOptions::new(Arc::new(format));
    let config = ListingTableConfig::new_with_multi_paths(urls.collect::<Result<_, _>>()?)
        .with_listing_options(options)
        .with_schema(snapshot.snapshot().arrow_schema());
    Ok(Some(Arc::new(ListingTable::try_new(config)?)))
}

async fn register_provider(
    session: &SessionContext,
    name: &str,
    table: &DeltaTable,
    columns: &[Column],
    provider: Arc<dyn TableProvider>,
) -> Result<(), DataFusionError> {
    let schema = table.snapshot().map_err(external)?.schema();
    if columns.iter().all(|column| schema.field(column.name).is_some()) {
        session.register_table(name, provider)?;
        return Ok(());
    }
    let stored = format!("{name}_stored");
    session.register_table(stored.as_str(), provider)?;
    let list: Vec<_> = columns
        .iter()
        .map(|column| match schema.field(column.name) {
            Some(_) => format!("\"{}\"", column.name),
            None => null(column),
        })
        .collect();
    session.sql(&format!("CREATE VIEW {name} AS SELECT {} FROM {stored}", list.join(", "))).await?;
    Ok(())
}

fn external(error: deltalake::DeltaTableError) -> DataFusionError {
    DataFusionError::External(Box::new(error))
}

/// Makes rows visible as a table.
pub(crate) fn register_rows(
    session: &SessionContext,
    name: &str,
    rows: Vec<RecordBatch>,
) -> Result<(), HistoryError> {
    let Some(first) = rows.first() else { return Ok(()) };
    let table = MemTable::try_new(first.schema(), vec![rows]).map_err(HistoryError::query)?;
    session.register_table(name, Arc::new(table)).map_err(HistoryError::query)?;
    Ok(())
}

/// Makes a table visible that does not exist yet.
pub(crate) async fn register_empty(
    session: &SessionContext,
    name: &str,
    columns: &[Column],
) -> Result<(), DataFusionError> {
    let list: Vec<_> = columns.iter().map(null).collect();
    session.sql(&format!("CREATE VIEW {name} AS SELECT {} WHERE false", list.join(", "))).await?;
    Ok(())
}

/// A column that is not there, as SQL.
pub(crate) fn null(column: &Column) -> String {
    format!("CAST(NULL AS {}) AS \"{}\"", column.kind.sql(), column.name)
}

/// The views, in the order they build on each other. `docs/src/reference/sql.md`
/// describes them.
pub(crate) fn views() -> [String; 3] {
    [
        format!(
            "CREATE VIEW runs AS
             SELECT run, min(day) AS day, min(started_at) AS started_at, max(commit) AS commit,
                    bool_or(dirty) AS dirty, max(branch) AS branch, max(variant) AS variant,
                    max(provider) AS provider, max(url) AS url, max(roots) AS roots,
                    max(packages) AS packages, count(*) AS reports,
                    bool_and(complete) AS complete, sum(tests) AS tests, sum(tests_failed) AS tests_failed,
                    sum(attempts) AS attempts,
                    sum(tests) >= {MINIMUM_OUTAGE_TESTS} AND 2 * sum(tests_failed) > sum(tests) AS outage
             FROM reports GROUP BY run"
        ),
        format!(
            "CREATE VIEW outcomes AS
             SELECT attempts.*, outcome IN {FAILURES} AS failed,
                    CASE WHEN dirty OR commit IS NULL THEN run ELSE commit END AS revision
             FROM attempts LEFT ANTI JOIN (SELECT run FROM runs WHERE outage) AS outages
               ON attempts.run = outages.run
             WHERE outcome <> 'skipped'"
        ),
        format!(
            "CREATE VIEW mixed AS
             SELECT test, variant, revision, sum(passes) AS passed, sum({PROVING_FAILURES}) AS failed,
                    max(seen) AS last_seen
             FROM (SELECT test, variant, revision, CASE WHEN failed THEN fingerprint END AS looks,
                          count(*) FILTER (WHERE NOT failed) AS passes,
                          count(*) FILTER (WHERE failed AND phase <> 'base') AS own_failures,
                          count(*) FILTER (WHERE failed AND phase = 'base') AS base_failures,
                          max(started_at) AS seen
                   FROM outcomes GROUP BY 1, 2, 3, 4)
             GROUP BY test, variant, revision
             HAVING sum(passes) > 0 AND sum({PROVING_FAILURES}) > 0"
        ),
    ]
}
