//! `flakewise report`.

use std::path::Path;

use flakewise_history::{History, ReportOptions};
use flakewise_html::{Page, report_html};
use flakewise_model::{Foreign, QuarantineNote, TestId};
use flakewise_quarantine::InForce;
use flakewise_report::{
    Findings, count, findings_github, findings_gitlab, findings_sarif, report_json, report_markdown,
    report_text,
};

use crate::args::{FindingsFormat, ReportArguments};
use crate::error::ExpectedError;
use crate::exit_code::ExitCode;
use crate::printer::Printer;
use crate::quarantine::{Owners, QuarantineFile};
use crate::repository::write_whole;

pub(crate) fn report(arguments: &ReportArguments, printer: &Printer) -> Result<ExitCode, ExpectedError> {
    let history = super::history(&arguments.store)?;
    let options = ReportOptions { days: arguments.days };
    if let Some(path) = &arguments.html {
        return page(&history, &options, path, arguments, printer);
    }
    let spinner = printer.spinner("reading the history");
    let report = history.report(&options)?;
    spinner.finish_and_clear();
    printer.data(&match arguments.format {
        FindingsFormat::Text => report_text(&report, arguments.limit),
        FindingsFormat::Json => report_json(&report),
        FindingsFormat::Markdown => report_markdown(&report, arguments.limit),
        FindingsFormat::Sarif => findings_sarif(&Findings::from(&report)),
        FindingsFormat::Github => findings_github(&Findings::from(&report)),
        FindingsFormat::Gitlab => findings_gitlab(&Findings::from(&report)),
    })?;
    Ok(ExitCode::Success)
}

/// Writes the page and says so.
fn page(
    history: &History,
    options: &ReportOptions,
    path: &Path,
    arguments: &ReportArguments,
    printer: &Printer,
) -> Result<ExitCode, ExpectedError> {
    let quarantine = QuarantineFile::open(&arguments.quarantine)?;
    let owners = Owners::read(&arguments.owners)?;
    let spinner = printer.spinner("reading the history");
    let mut overview = history.overview(options)?;
    spinner.finish_and_clear();
    for test in &mut overview.tests {
        test.owner = owners.of(&test.test);
        test.quarantine = quarantine.as_ref().and_then(|file| note(&file.in_force, &test.test));
    }
    let page = Page { generated_at: chrono::Utc::now(), version: env!("CARGO_PKG_VERSION") };
    write_whole(path, report_html(&overview, &page).as_bytes())?;
    let tests = count(overview.tests.len() as u64, "failing test");
    let name = Foreign::new(&path.to_string_lossy()).line();
    printer.data(&format!("wrote {name}: {tests} in {}\n", count(overview.runs, "run")))?;
    Ok(ExitCode::Success)
}

/// The entry of a test in the quarantine that lasts longest.
fn note(in_force: &InForce, test: &TestId) -> Option<QuarantineNote> {
    let entries = in_force.quarantine.entries.iter().filter(|entry| entry.covers(test));
    let entry = entries.max_by_key(|entry| in_force.last_day(entry))?;
    Some(QuarantineNote {
        owner: Some(entry.owner.clone()),
        reason: Some(entry.reason.clone()),
        expires: Some(in_force.last_day(entry)),
    })
}
