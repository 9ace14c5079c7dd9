//! `flakewise reproduce`: the shortest command that makes a test fail.

use flakewise_report::{reproduce_json, reproduce_text};

use super::search::search;
use crate::args::{ReproduceArguments, SummaryFormat};
use crate::error::ExpectedError;
use crate::exit_code::ExitCode;
use crate::printer::Printer;

pub(crate) fn reproduce(
    arguments: &ReproduceArguments,
    printer: &Printer,
) -> Result<ExitCode, ExpectedError> {
    let report = search(&arguments.search, false, printer, flakewise_hunt::reproduce)?;
    printer.data(&match arguments.search.format {
        SummaryFormat::Text => format!("\n{}", reproduce_text(&report)),
        SummaryFormat::Json => reproduce_json(&report),
    })?;
    Ok(ExitCode::Success)
}
