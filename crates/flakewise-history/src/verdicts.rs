//! What was concluded about the failures of a run, as rows.

use std::sync::Arc;

use deltalake::arrow::array::{
    BooleanArray, Date32Array, Float64Array, Int32Array, RecordBatch, StringArray, StringDictionaryBuilder,
};
use deltalake::arrow::datatypes::Int32Type;
use deltalake::parquet::errors::ParquetError;
use flakewise_model::{Batch, ReportBatch, StoredVerdict};

use crate::columns::{VERDICTS, named, rows_of};
use crate::files::{DataFile, Selection, day_number, encode, first_started, index, keyed, times};

/// The verdicts of some reports, one file per day, each sorted by test. Their
/// time is that of their report in `runs`.
pub(crate) fn verdict_files(project: &str, selection: &Selection<'_>) -> Result<Vec<DataFile>, ParquetError> {
    let mut rows = Vec::new();
    for (report, (batch, content)) in selection.iter().enumerate() {
        let started = first_started(batch, content);
        for (ordinal, verdict) in content.verdicts.iter().enumerate() {
            rows.push(VerdictRow {
                day: day_number(started),
                started: started.timestamp_micros(),
                report: index(report),
                ordinal: index(ordinal),
                dirty: batch.run.dirty,
                verdict,
            });
        }
    }
    rows.sort_by_key(|row| (row.day, row.verdict.test.as_str(), row.started, row.report, row.ordinal));
    rows.chunk_by(|left, right| left.day == right.day)
        .map(|rows| encode(&[verdict_rows(project, selection, rows)]))
        .collect()
}

struct VerdictRow<'a> {
    day: i32,
    started: i64,
    report: i32,
    ordinal: i32,
    dirty: bool,
    verdict: &'a StoredVerdict,
}

fn verdict_rows(project: &str, selection: &Selection<'_>, rows: &[VerdictRow<'_>]) -> RecordBatch {
    let of_report = |value: &dyn Fn(&Batch, &ReportBatch) -> Option<String>| {
        let values: Vec<_> = selection.iter().map(|(batch, report)| value(batch, report)).collect();
        Arc::new(keyed(rows.iter().map(|row| Some(row.report)), &values))
    };
    let label = |value: &dyn Fn(&StoredVerdict) -> Option<&str>| {
        let mut builder = StringDictionaryBuilder::<Int32Type>::new();
        for row in rows {
            builder.append_option(value(row.verdict));
        }
        Arc::new(builder.finish())
    };
    rows_of(
        VERDICTS,
        vec![
            named("project", of_report(&|_, _| Some(project.to_owned()))),
            named("day", Arc::new(rows.iter().map(|row| Some(row.day)).collect::<Date32Array>())),
            named("test", label(&|verdict| Some(verdict.test.as_str()))),
            named("variant", of_report(&|batch, _| Some(batch.run.variant.to_string()))),
            named("run", of_report(&|batch, _| Some(batch.run.id.to_string()))),
            named("report", of_report(&|_, report| Some(report.id.to_string()))),
            named("ordinal", Arc::new(rows.iter().map(|row| Some(row.ordinal)).collect::<Int32Array>())),
            named("finding", label(&|verdict| Some(verdict.finding.as_str()))),
            named("conclusion", label(&|verdict| Some(&verdict.conclusion))),
            named("detail", label(&|verdict| verdict.detail.as_deref())),
            named(
                "probability",
                Arc::new(
                    rows.iter().map(|row| Some(row.verdict.probability.get())).collect::<Float64Array>(),
                ),
            ),
            named("started_at", times(rows.iter().map(|row| row.started))),
            named("commit", of_report(&|batch, _| batch.run.commit.clone())),
            named("dirty", Arc::new(rows.iter().map(|row| Some(row.dirty)).collect::<BooleanArray>())),
            named("branch", of_report(&|batch, _| batch.run.branch.clone())),
            named(
                "evidence",
                Arc::new(StringArray::from_iter_values(rows.iter().map(|row| &row.verdict.evidence))),
            ),
        ],
    )
}
