//! `flakewise sql`.

use flakewise_report::{rows_csv, rows_json, rows_text};

use crate::args::{RowsFormat, SqlArguments};
use crate::error::ExpectedError;
use crate::exit_code::ExitCode;
use crate::printer::Printer;

pub(crate) fn sql(arguments: &SqlArguments, printer: &Printer) -> Result<ExitCode, ExpectedError> {
    let history = super::history(&arguments.store)?;
    let spinner = printer.spinner("asking");
    let rows = history.sql(&arguments.query, arguments.limit)?;
    spinner.finish_and_clear();
    printer.data(&match arguments.format {
        RowsFormat::Text => rows_text(&rows),
        RowsFormat::Csv => rows_csv(&rows),
        RowsFormat::Json => rows_json(&rows),
    })?;
    if rows.truncated {
        printer.warning(&format!("output limited to {} rows; pass `--limit` for more", arguments.limit));
    }
    Ok(ExitCode::Success)
}
