//! Plain SQL on the open tables.

use deltalake::arrow::array::{Array, ArrayRef, AsArray as _};
use deltalake::arrow::datatypes::{DataType, Float64Type, Int64Type};
use deltalake::arrow::util::display::{ArrayFormatter, FormatOptions};
use deltalake::arrow::{compute, error::ArrowError};
use deltalake::datafusion::execution::context::SQLOptions;
use flakewise_model::{Rows, Value};
use futures::TryStreamExt as _;

use crate::session::Reading;
use crate::{History, HistoryError};

impl History {
    /// Answers one read-only query, with at most `limit` rows.
    pub fn sql(&self, query: &str, limit: usize) -> Result<Rows, HistoryError> {
        self.block_on("sql", async {
            let session = self.full_session(Reading::Few).await?;
            // Only questions: nothing a query says may change a table or a file.
            let options =
                SQLOptions::new().with_allow_ddl(false).with_allow_dml(false).with_allow_statements(false);
            let frame = session.sql_with_options(query, options).await.map_err(HistoryError::query)?;
            let columns = frame.schema().fields().iter().map(|field| field.name().clone()).collect();
            let mut stream = frame.execute_stream().await.map_err(HistoryError::query)?;
            let mut answer = Rows { columns, rows: Vec::new(), truncated: false };
            while let Some(batch) = stream.try_next().await.map_err(HistoryError::query)? {
                let wanted = batch.num_rows().min(limit - answer.rows.len());
                answer.truncated = wanted < batch.num_rows();
                let start = answer.rows.len();
                answer.rows.resize_with(start + wanted, Vec::new);
                for column in batch.columns() {
                    let values = values(&column.slice(0, wanted)).map_err(HistoryError::query)?;
                    for (row, value) in answer.rows[start..].iter_mut().zip(values) {
                        row.push(value);
                    }
                }
                if answer.truncated {
                    break;
                }
            }
            Ok(answer)
        })
    }
}

fn values(column: &ArrayRef) -> Result<Vec<Value>, ArrowError> {
    let present = |row: usize, value: &dyn Fn(usize) -> Value| {
        if column.is_null(row) { Value::Null } else { value(row) }
    };
    let rows = 0..column.len();
    Ok(match column.data_type() {
        DataType::Null => rows.map(|_| Value::Null).collect(),
        DataType::Boolean => {
            let array = column.as_boolean();
            rows.map(|row| present(row, &|row| Value::Boolean(array.value(row)))).collect()
        }
        kind if kind.is_integer() && *kind != DataType::UInt64 => {
            let array = compute::cast(column, &DataType::Int64)?;
            let array = array.as_primitive::<Int64Type>();
            rows.map(|row| present(row, &|row| Value::Integer(array.value(row)))).collect()
        }
        kind if kind.is_floating() => {
            let array = compute::cast(column, &DataType::Float64)?;
            let array = array.as_primitive::<Float64Type>();
            rows.map(|row| present(row, &|row| Value::Float(array.value(row)))).collect()
        }
        _ => {
            let options = FormatOptions::default();
            let formatter = ArrayFormatter::try_new(column, &options)?;
            rows.map(|row| present(row, &|row| Value::Text(formatter.value(row).to_string()))).collect()
        }
    })
}
