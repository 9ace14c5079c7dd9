//! Orders of tests in which one of them failed.

use flakewise_model::TestId;

use crate::report::{Columns, list, literal, texts};
use crate::session::{FAILURES, Reading};
use crate::{History, HistoryError};

impl History {
    /// The tests that ran before this one in the same process when it failed, the
    /// latest failures first. Only those that the runner's order tells: attempts
    /// made alone or again say nothing of others. No history is no order.
    pub fn failing_orders(&self, test: &TestId, most: usize) -> Result<Vec<Vec<TestId>>, HistoryError> {
        self.block_on("failing orders", async {
            let session = match self.session(Reading::Few).await {
                Err(HistoryError::NoHistory { .. }) => return Ok(Vec::new()),
                session => session?,
            };
            let aliases = self.aliases(&session, None).await?;
            let failures = format!(
                "SELECT run, report, worker, CAST(position AS BIGINT) AS position FROM attempts
                 WHERE outcome IN {FAILURES} AND phase IN ('first', 'order')
                       AND worker IS NOT NULL AND position > 0 {}
                 ORDER BY started_at DESC LIMIT {most}",
                list("test", "IN", &aliases.all_names([test.as_str()]))
            );
            let frame = session.sql(&failures).await.map_err(HistoryError::query)?;
            let mut orders = Vec::new();
            for batch in frame.collect().await.map_err(HistoryError::query)? {
                let columns = Columns(&batch);
                let (runs, reports) = (columns.texts("run")?, columns.texts("report")?);
                let (workers, positions) = (columns.texts("worker")?, columns.counts("position")?);
                for row in 0..batch.num_rows() {
                    let (Some(run), Some(report), Some(worker)) = (&runs[row], &reports[row], &workers[row])
                    else {
                        continue;
                    };
                    let before = format!(
                        "SELECT test FROM attempts
                         WHERE run = {} AND report = {} AND worker = {} AND position < {}
                               AND phase IN ('first', 'order')
                         ORDER BY position",
                        literal(run),
                        literal(report),
                        literal(worker),
                        positions[row]
                    );
                    let names = texts(&session, &before, "test").await?;
                    orders.push(names.iter().filter_map(|name| aliases.current(name).parse().ok()).collect());
                }
            }
            Ok(orders)
        })
    }
}
