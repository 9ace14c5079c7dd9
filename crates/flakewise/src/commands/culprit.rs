//! `flakewise culprit`: which tests another test depends on.

#[cfg(feature = "history")]
use std::sync::Arc;

#[cfg(feature = "history")]
use flakewise_model::{
    Batch, CulpritReport, FindingId, FlakyKind, Probability, ReportBatch, ReportId, StoredVerdict,
};
#[cfg(feature = "history")]
use flakewise_report::culprit_evidence;
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
    #[cfg(feature = "history")]
    record(&report, arguments, printer);
    Ok(ExitCode::Success)
}

/// Records the culprits that were proved, so that reports can name them. Nothing that fails
/// here fails the search.
#[cfg(feature = "history")]
fn record(report: &CulpritReport, arguments: &CulpritArguments, printer: &Printer) {
    let Some(evidence) = culprit_evidence(report) else { return };
    let verdict = StoredVerdict {
        test: report.test.test.clone(),
        finding: FindingId::of(&report.test.test),
        conclusion: "flaky".to_owned(),
        detail: Some(FlakyKind::StateDependent.name().to_owned()),
        probability: Probability::ONE,
        evidence,
    };
    let batch = Batch {
        run: Arc::clone(&report.run),
        reports: vec![ReportBatch {
            id: ReportId::of(Some(&report.run.id), b"culprit"),
            source: "flakewise culprit".to_owned(),
            complete: true,
            attempts: Vec::new(),
            verdicts: vec![verdict],
        }],
    };
    let recorded = super::history(&arguments.search.store)
        .and_then(|history| history.append_verdicts(&batch).map_err(ExpectedError::from));
    if let Err(error) = recorded {
        printer.warning(&format!("failed to record the culprits in the history: {error}"));
    }
}
