//! The columns of all tables, once, for writing, reading and the docs.

use std::collections::HashMap;
use std::sync::Arc;

use deltalake::arrow::array::{ArrayRef, RecordBatch};
use deltalake::arrow::datatypes::{DataType, Field, Schema, SchemaRef, TimeUnit};
use deltalake::kernel::{DataType as DeltaType, PrimitiveType, StructField};

/// The format of each table. Columns may be added without raising it; a reader
/// refuses a table with a higher number.
pub(crate) const FORMAT: u32 = 1;
/// The format of `test_days` from when attempts expire before their roll-ups. It is the highest there is.
pub(crate) const SEALING_FORMAT: u32 = 2;

/// One column.
pub(crate) struct Column {
    pub(crate) name: &'static str,
    pub(crate) kind: Kind,
    pub(crate) nullable: bool,
}

/// What a column holds.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Text with few distinct values, compared to the rows of a file.
    Label,
    /// Text.
    Text,
    Integer,
    Long,
    Double,
    Boolean,
    Date,
    /// A point in time in UTC, to the microsecond.
    Time,
    /// Bytes.
    Binary,
}

const fn column(name: &'static str, kind: Kind) -> Column {
    Column { name, kind, nullable: false }
}

const fn optional(name: &'static str, kind: Kind) -> Column {
    Column { name, kind, nullable: true }
}

/// `attempts`: one row per attempt.
pub(crate) const ATTEMPTS: &[Column] = &[
    column("project", Kind::Label),
    column("day", Kind::Date),
    column("test", Kind::Label),
    column("variant", Kind::Label),
    column("run", Kind::Label),
    column("report", Kind::Label),
    column("ordinal", Kind::Integer),
    column("phase", Kind::Label),
    column("attempt", Kind::Integer),
    column("outcome", Kind::Label),
    column("started_at", Kind::Time),
    optional("duration_us", Kind::Long),
    optional("commit", Kind::Label),
    column("dirty", Kind::Boolean),
    optional("branch", Kind::Label),
    optional("worker", Kind::Label),
    optional("position", Kind::Integer),
    optional("failure_kind", Kind::Label),
    optional("failure_message", Kind::Text),
    optional("fingerprint", Kind::Label),
];

/// `runs`: one row per report of a run.
pub(crate) const RUNS: &[Column] = &[
    column("project", Kind::Label),
    column("day", Kind::Date),
    column("run", Kind::Text),
    column("report", Kind::Text),
    column("source", Kind::Text),
    column("complete", Kind::Boolean),
    column("tests", Kind::Long),
    column("tests_failed", Kind::Long),
    column("attempts", Kind::Long),
    column("variant", Kind::Label),
    column("started_at", Kind::Time),
    optional("commit", Kind::Label),
    column("dirty", Kind::Boolean),
    optional("branch", Kind::Label),
    optional("provider", Kind::Label),
    optional("url", Kind::Text),
    column("ingested_at", Kind::Time),
    optional("roots", Kind::Text),
    optional("packages", Kind::Label),
];

/// `verdicts`: one row per failure of a run that somebody judged.
pub(crate) const VERDICTS: &[Column] = &[
    column("project", Kind::Label),
    column("day", Kind::Date),
    column("test", Kind::Label),
    column("variant", Kind::Label),
    column("run", Kind::Label),
    column("report", Kind::Label),
    column("ordinal", Kind::Integer),
    column("finding", Kind::Label),
    column("conclusion", Kind::Label),
    optional("detail", Kind::Label),
    column("probability", Kind::Double),
    column("started_at", Kind::Time),
    optional("commit", Kind::Label),
    column("dirty", Kind::Boolean),
    optional("branch", Kind::Label),
    column("evidence", Kind::Text),
];

/// `renames`: one row per decision about a test that was renamed or moved.
pub(crate) const RENAMES: &[Column] = &[
    column("project", Kind::Label),
    column("day", Kind::Date),
    column("former", Kind::Label),
    column("test", Kind::Label),
    column("action", Kind::Label),
    optional("similarity", Kind::Double),
    optional("commit", Kind::Label),
    column("decided_at", Kind::Time),
];

/// `test_days`: what each test did on each day, see `rollup`.
pub(crate) const TEST_DAYS: &[Column] = &[
    column("project", Kind::Label),
    column("day", Kind::Date),
    column("record", Kind::Label),
    optional("test", Kind::Label),
    column("variant", Kind::Label),
    optional("run", Kind::Label),
    optional("number", Kind::Integer),
    optional("commit", Kind::Label),
    optional("dirty", Kind::Boolean),
    optional("branch", Kind::Label),
    optional("phase", Kind::Label),
    optional("outcome", Kind::Label),
    optional("fingerprint", Kind::Label),
    optional("failure_kind", Kind::Label),
    optional("failure_message", Kind::Text),
    optional("attempts", Kind::Long),
    optional("runs", Kind::Long),
    optional("spent_us", Kind::Long),
    optional("first_at", Kind::Time),
    optional("last_at", Kind::Time),
    optional("passes", Kind::Binary),
    column("rolled_from", Kind::Label),
];

/// A column of rows by its name, for [`rows_of`].
pub(crate) fn named(name: &'static str, values: ArrayRef) -> (&'static str, ArrayRef) {
    (name, values)
}

/// Rows of a table. Columns may come in any order: each is taken by its name.
pub(crate) fn rows_of(columns: &[Column], values: Vec<(&'static str, ArrayRef)>) -> RecordBatch {
    let mut values: HashMap<&str, ArrayRef> = values.into_iter().collect();
    let ordered = columns.iter().map(|column| values.remove(column.name).expect("every column has values"));
    let batch = RecordBatch::try_new(written_schema(columns), ordered.collect());
    assert!(values.is_empty(), "all values belong to a column");
    batch.expect("values have the types of their columns")
}

impl Kind {
    /// The type used to hand rows to the Parquet writer. Labels go in as
    /// dictionaries, which are small in memory. The writer makes one of its own: it hashes the
    /// text of every row.
    fn written(self) -> DataType {
        match self {
            Self::Label => DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8)),
            Self::Text => DataType::Utf8,
            Self::Integer => DataType::Int32,
            Self::Long => DataType::Int64,
            Self::Double => DataType::Float64,
            Self::Boolean => DataType::Boolean,
            Self::Date => DataType::Date32,
            Self::Time => DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())),
            Self::Binary => DataType::Binary,
        }
    }

    fn delta(self) -> PrimitiveType {
        match self {
            Self::Label | Self::Text => PrimitiveType::String,
            Self::Integer => PrimitiveType::Integer,
            Self::Long => PrimitiveType::Long,
            Self::Double => PrimitiveType::Double,
            Self::Boolean => PrimitiveType::Boolean,
            Self::Date => PrimitiveType::Date,
            Self::Time => PrimitiveType::Timestamp,
            Self::Binary => PrimitiveType::Binary,
        }
    }

    /// The type as SQL, for columns an old table does not have.
    pub(crate) fn sql(self) -> &'static str {
        match self {
            Self::Label | Self::Text => "VARCHAR",
            Self::Integer => "INT",
            Self::Long => "BIGINT",
            Self::Double => "DOUBLE",
            Self::Boolean => "BOOLEAN",
            Self::Date => "DATE",
            Self::Time => "TIMESTAMP WITH TIME ZONE",
            Self::Binary => "BYTEA",
        }
    }
}

/// The schema of the rows handed to the Parquet writer.
pub(crate) fn written_schema(columns: &[Column]) -> SchemaRef {
    let fields: Vec<_> = columns
        .iter()
        .map(|column| Field::new(column.name, column.kind.written(), column.nullable))
        .collect();
    Arc::new(Schema::new(fields))
}

/// The columns as the Delta table declares them. All are nullable there: a
/// later version may leave one out without breaking this one.
pub(crate) fn delta_fields(columns: &[Column]) -> Vec<StructField> {
    columns
        .iter()
        .map(|column| StructField::new(column.name, DeltaType::Primitive(column.kind.delta()), true))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The page lists the columns of each table in order, with their types.
    #[test]
    fn the_docs_list_every_column_in_order() {
        let described = |column: &Column| {
            let kind = match column.kind {
                Kind::Label | Kind::Text => "text",
                Kind::Integer => "integer",
                Kind::Long => "big integer",
                Kind::Double => "double",
                Kind::Boolean => "boolean",
                Kind::Date => "date",
                Kind::Time => "time, UTC",
                Kind::Binary => "bytes",
            };
            format!("`{}` | {kind}{}", column.name, if column.nullable { "?" } else { "" })
        };
        let page = include_str!("../../../docs/src/reference/sql.md");
        for (heading, columns) in [
            ("attempts", ATTEMPTS),
            ("reports", RUNS),
            ("verdicts", VERDICTS),
            ("renames", RENAMES),
            ("test_days", TEST_DAYS),
        ] {
            let section = page.split("\n## ").find(|section| section.starts_with(&format!("`{heading}`")));
            let section = section.expect("the table has a section");
            let listed: Vec<&str> = section
                .lines()
                .filter(|line| line.starts_with("| `"))
                .map(|line| line[2..].rsplit_once(" | ").expect("a row has three cells").0)
                .collect();
            let expected: Vec<String> = columns.iter().map(described).collect();
            assert_eq!(listed, expected, "{heading}");
        }
    }
}
