//! The yardstick: the aggregates of a report, run by the bare engine on the bare
//! files, without Delta or settings of ours. Benchmarks only.
//!
//! A report names failing tests and outages in its statements; the plain form
//! here leaves them to subqueries. Both forms can be run, so that what naming
//! saves is not mistaken for what the rest costs.

use std::collections::BTreeSet;
use std::path::PathBuf;

use deltalake::arrow::array::RecordBatch;
use deltalake::datafusion::prelude::{ParquetReadOptions, SessionContext};

use crate::gather::{others, passes};
use crate::report::{Columns, OUTAGES, collect, list, texts};
use crate::session::{FAILURES, views};
use crate::table::TableKind;
use crate::{History, HistoryError};

/// The data files of the current snapshots.
#[derive(Debug, Default)]
pub struct DataFiles {
    /// Of the table `attempts`.
    pub attempts: Vec<PathBuf>,
    /// Of the table `runs`.
    pub runs: Vec<PathBuf>,
    /// Of the roll-ups.
    pub test_days: Vec<PathBuf>,
}

impl History {
    /// The data files of the current snapshots, of a store in a folder.
    pub fn data_files(&self) -> Result<DataFiles, HistoryError> {
        self.block_on("list files", async {
            let mut files = DataFiles::default();
            for (kind, list) in [
                (TableKind::Attempts, &mut files.attempts),
                (TableKind::Runs, &mut files.runs),
                (TableKind::TestDays, &mut files.test_days),
            ] {
                let Some(table) = self.open(kind).await? else { continue };
                let uris = table.get_file_uris().map_err(HistoryError::query)?;
                *list = uris.map(|uri| PathBuf::from(uri.trim_start_matches("file://"))).collect();
            }
            Ok(files)
        })
    }
}

/// Runs the aggregates of a report without a window on these files, as subqueries
/// or with tests and runs named, and returns how many rows each gave.
pub fn bare_report(attempts: &[PathBuf], runs: &[PathBuf], named: bool) -> Result<[usize; 2], HistoryError> {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().enable_all().build().map_err(HistoryError::query)?;
    runtime.block_on(async {
        let session = SessionContext::new();
        for (name, files) in [("attempts", attempts), ("reports", runs)] {
            read(&session, name, files).await?;
        }
        session.sql(&views()[0]).await.map_err(HistoryError::query)?;
        let count = |batches: &[RecordBatch]| batches.iter().map(RecordBatch::num_rows).sum();
        let failed = format!("SELECT DISTINCT test FROM attempts WHERE outcome IN {FAILURES}");
        let outages = if named {
            list("run", "NOT IN", &texts(&session, OUTAGES, "run").await?)
        } else {
            format!("AND run NOT IN ({OUTAGES})")
        };
        let failures = collect(&session, &others("attempts", &outages)).await?;
        let tests = if named {
            let mut tests = BTreeSet::new();
            for batch in &failures {
                let columns = Columns(batch);
                let outcomes = columns.texts("outcome")?;
                let names = columns.texts("test")?.into_iter().zip(outcomes);
                let failed = names.filter(|(_, outcome)| outcome.as_deref() == Some("failed"));
                tests.extend(failed.filter_map(|(test, _)| test));
            }
            list("test", "IN", &tests.into_iter().collect::<Vec<_>>())
        } else {
            format!("AND test IN ({failed} {outages})")
        };
        let passed = collect(&session, &passes("attempts", &tests)).await?;
        Ok([count(&failures), count(&passed)])
    })
}

/// The answer to a statement on `attempts`, as text.
pub fn bare_sql(attempts: &[PathBuf], query: &str) -> Result<String, HistoryError> {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().enable_all().build().map_err(HistoryError::query)?;
    runtime.block_on(async {
        let session = SessionContext::new();
        read(&session, "attempts", attempts).await?;
        let batches = collect(&session, query).await?;
        let text = deltalake::arrow::util::pretty::pretty_format_batches(&batches);
        Ok(text.map_err(HistoryError::query)?.to_string())
    })
}

async fn read(session: &SessionContext, name: &str, files: &[PathBuf]) -> Result<(), HistoryError> {
    let files: Vec<_> = files.iter().map(|path| path.to_string_lossy().into_owned()).collect();
    let frame =
        session.read_parquet(files, ParquetReadOptions::default()).await.map_err(HistoryError::query)?;
    session.register_table(name, frame.into_view()).map_err(HistoryError::query)?;
    Ok(())
}
