//! The yardstick: the aggregates of a report, run by the bare engine on the bare
//! files, without Delta or settings of ours. Benchmarks only.
//!
//! A report names failing tests and outages in its statements; the plain form
//! here leaves them to subqueries. Both forms can be run, so that what naming
//! saves is not mistaken for what the rest costs.

use std::path::PathBuf;

use deltalake::datafusion::prelude::{ParquetReadOptions, SessionContext};

use crate::report::{OUTAGES, Queries, Runs, Tests, texts};
use crate::session::views;
use crate::table::TableKind;
use crate::{History, HistoryError};

impl History {
    /// The data files of the current snapshot: of `attempts`, then of `runs`.
    pub fn data_files(&self) -> Result<(Vec<PathBuf>, Vec<PathBuf>), HistoryError> {
        self.block_on("list files", async {
            let mut files = Vec::new();
            for kind in [TableKind::Attempts, TableKind::Runs] {
                let table = self.open(kind).await?;
                let table = table.ok_or_else(|| HistoryError::query("there is no such table"))?;
                let uris = table.get_file_uris().map_err(HistoryError::query)?;
                files.push(uris.map(|uri| PathBuf::from(uri.trim_start_matches("file://"))).collect());
            }
            let runs = files.pop().unwrap_or_default();
            Ok((files.pop().unwrap_or_default(), runs))
        })
    }
}

/// Runs the aggregates of a report without a window on these files, as subqueries
/// or with tests and runs named, and returns how many rows each gave.
pub fn bare_report(attempts: &[PathBuf], runs: &[PathBuf], named: bool) -> Result<[usize; 3], HistoryError> {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().enable_all().build().map_err(HistoryError::query)?;
    runtime.block_on(async {
        let session = SessionContext::new();
        for (name, files) in [("attempts", attempts), ("reports", runs)] {
            let files: Vec<_> = files.iter().map(|path| path.to_string_lossy().into_owned()).collect();
            let frame = session
                .read_parquet(files, ParquetReadOptions::default())
                .await
                .map_err(HistoryError::query)?;
            session.register_table(name, frame.into_view()).map_err(HistoryError::query)?;
        }
        session.sql(&views()[0]).await.map_err(HistoryError::query)?;
        let queries = if named {
            let outages = texts(&session, OUTAGES, "run").await?;
            let failing = texts(&session, &Queries::failing(None, &Runs::Except(&outages)), "test").await?;
            Queries::new(None, &Runs::Except(&outages), &Tests::These(&failing))
        } else {
            Queries::new(None, &Runs::ExceptOutages, &Tests::ThatFailed)
        };
        let mut rows = [0; 3];
        for (count, query) in rows.iter_mut().zip([&queries.revisions, &queries.costs, &queries.failures]) {
            let frame = session.sql(query).await.map_err(HistoryError::query)?;
            *count = frame
                .collect()
                .await
                .map_err(HistoryError::query)?
                .iter()
                .map(deltalake::arrow::array::RecordBatch::num_rows)
                .sum();
        }
        Ok(rows)
    })
}
