//! `flakewise culprit`: which tests another test depends on.

use flakewise_report::{culprit_json, culprit_text};

use super::search::search;
use crate::args::{CulpritArguments, SummaryFormat};
use crate::error::ExpectedError;
use crate::exit_code::ExitCode;
use crate::printer::Printer;

pub(crate) fn culprit(arguments: &CulpritArguments, printer: &Printer) -> Result<ExitCode, ExpectedError> {
    let report = search(&arguments.search, arguments.all, printer, flakewise_hunt::culprit)?;
    printer.data(&match arguments.search.format {
        SummaryFormat::Text => format!("\n{}", culprit_text(&report)),
        SummaryFormat::Json => culprit_json(&report),
    })?;
    Ok(ExitCode::Success)
}
