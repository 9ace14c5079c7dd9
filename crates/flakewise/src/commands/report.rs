//! `flakewise report`.

use flakewise_history::ReportOptions;
use flakewise_report::{report_json, report_markdown, report_text};

use crate::args::{ReportArguments, ReportFormat};
use crate::error::ExpectedError;
use crate::exit_code::ExitCode;
use crate::printer::Printer;

pub(crate) fn report(arguments: &ReportArguments, printer: &Printer) -> Result<ExitCode, ExpectedError> {
    let history = super::history(&arguments.store)?;
    let spinner = printer.spinner("reading the history");
    let report = history.report(&ReportOptions { days: arguments.days })?;
    spinner.finish_and_clear();
    printer.data(&match arguments.format {
        ReportFormat::Text => report_text(&report, arguments.limit),
        ReportFormat::Json => report_json(&report),
        ReportFormat::Markdown => report_markdown(&report, arguments.limit),
    })?;
    Ok(ExitCode::Success)
}
