//! What the history knows about tests that are, or should be, quarantined.

use flakewise_history::{HistoryError, Matches, ReportOptions};
use flakewise_model::{Fingerprint, Renames, TestId};
use flakewise_quarantine::{ReleaseEvidence, Target, additions};
use flakewise_report::{Suggestions, suggestions_json, suggestions_text};

use crate::args::{QuarantineAddArguments, QuarantineSuggestArguments, SummaryFormat};
use crate::error::ExpectedError;
use crate::exit_code::ExitCode;
use crate::printer::Printer;
use crate::quarantine::{Owners, QuarantineFile};

/// How many attempts of a test are looked at for its clean runs.
const STEPS: usize = 10_000;
/// The most failures of a test that `add` lists, the most frequent first.
const FINGERPRINTS: usize = 10;

pub(super) fn suggest(
    arguments: &QuarantineSuggestArguments,
    printer: &Printer,
) -> Result<ExitCode, ExpectedError> {
    let mut file = QuarantineFile::open_or_empty(&arguments.file)?;
    let history = super::super::history(&arguments.store)?;
    file.in_force.renames = Renames::new(&history.renames()?);
    let spinner = printer.spinner("reading the history");
    let report = history.report(&ReportOptions { days: Some(arguments.days) })?;
    let additions = additions(&report, &file.in_force);
    let owners = Owners::read(&arguments.owners)?;
    let mut suggestions = Suggestions {
        additions: additions.into_iter().map(|finding| (finding, owners.of(&finding.test))).collect(),
        quarantined: Vec::new(),
    };
    for entry in &file.in_force.quarantine.entries {
        let Target::Test(test) = &entry.target else { continue };
        if let Matches::One(found) = history.show(test.as_str(), STEPS)?
            && found.test.as_str() == file.in_force.renames.current(test.as_str())
        {
            suggestions.quarantined.push((entry, ReleaseEvidence::of(&found)));
        }
    }
    spinner.finish_and_clear();
    printer.data(&match arguments.format {
        SummaryFormat::Text => suggestions_text(&suggestions),
        SummaryFormat::Json => suggestions_json(&suggestions),
    })?;
    Ok(ExitCode::Success)
}

/// The only test of the history that a name or the id of a finding stands for.
pub(super) fn known(arguments: &QuarantineAddArguments) -> Option<TestId> {
    let history = super::super::history(&arguments.store).ok()?;
    match history.show(&arguments.test, 1) {
        Ok(Matches::One(found)) => Some(found.test),
        _ => None,
    }
}

/// How a test is known to fail, the most frequent first. Without a history nothing is known.
pub(super) fn fingerprints(
    arguments: &QuarantineAddArguments,
    test: &TestId,
) -> Result<Vec<Fingerprint>, ExpectedError> {
    let history = super::super::history(&arguments.store)?;
    let found = match history.show(test.as_str(), 1) {
        Ok(Matches::One(found)) if found.test == *test => found,
        Ok(_) | Err(HistoryError::NoHistory { .. }) => return Ok(Vec::new()),
        Err(error) => return Err(error.into()),
    };
    let known = found.failures.into_iter().filter_map(|group| group.fingerprint);
    Ok(known.take(FINGERPRINTS).collect())
}
