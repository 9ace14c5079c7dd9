//! `flakewise show`.

use flakewise_history::Matches;
use flakewise_report::{history_json, history_text};

use crate::args::{ShowArguments, SummaryFormat};
use crate::error::ExpectedError;
use crate::exit_code::ExitCode;
use crate::printer::Printer;

pub(crate) fn show(arguments: &ShowArguments, printer: &Printer) -> Result<ExitCode, ExpectedError> {
    let history = super::history(&arguments.store)?;
    let spinner = printer.spinner("reading the history");
    let matches = history.show(&arguments.test, arguments.steps)?;
    spinner.finish_and_clear();
    let name = arguments.test.clone();
    match matches {
        Matches::One(found) => {
            printer.data(&match arguments.format {
                SummaryFormat::Text => history_text(&found),
                SummaryFormat::Json => history_json(&found),
            })?;
            Ok(ExitCode::Success)
        }
        Matches::Several(mut candidates, more) => {
            if more {
                candidates.push("…".to_owned());
            }
            Err(ExpectedError::AmbiguousTest { name, candidates })
        }
        Matches::None => Err(ExpectedError::NoSuchTest { name }),
    }
}
