//! `flakewise culprit`: which tests another test depends on.

use std::cell::RefCell;

use flakewise_hunt::{CulpritContext, CulpritProgress, CulpritSettings};
use flakewise_report::{culprit_json, culprit_text, number};
use flakewise_runner::{RunnerCommand, Suite, SuiteOptions, Versions};
use indicatif::ProgressBar;

use super::run::hash_seed;
use super::side_by_side;
use crate::args::{ContextArguments, CulpritArguments, SummaryFormat};
use crate::context::{Ci, Context, Git, on_ci, variable};
use crate::error::ExpectedError;
use crate::exit_code::ExitCode;
use crate::printer::Printer;

pub(crate) fn culprit(arguments: &CulpritArguments, printer: &Printer) -> Result<ExitCode, ExpectedError> {
    let Some(command) = RunnerCommand::new(&arguments.command)? else {
        unreachable!("the argument parser requires a command");
    };
    let ci = Ci::detect(&variable);
    let context = Context::new(&ContextArguments::default(), ci.as_ref(), &Git::discover(), on_ci());
    let seed = arguments.seed.unwrap_or_else(rand::random);
    let settings = CulpritSettings {
        test: arguments.test.clone(),
        exhaustive: arguments.all,
        jobs: side_by_side(arguments.jobs),
        seed,
    };
    let started = chrono::Utc::now();
    let name = format!("local/culprit-{}", uuid::Uuid::new_v4().simple());
    let make_run = |versions: Option<Versions<'_>>| context.tested(&name, started, versions);
    let options = SuiteOptions {
        test_timeout: arguments.test_timeout,
        hash_seed: hash_seed(seed),
        output_to_stderr: arguments.format != SummaryFormat::Text,
        collect_only: false,
    };
    let bar = RefCell::new(None);
    let progress = |progress: CulpritProgress| show_progress(&bar, progress, printer);
    let mut suite = Suite::start(&command, options)?;
    let report = flakewise_hunt::culprit(
        &mut suite,
        &mut CulpritContext {
            settings: &settings,
            run: &make_run,
            command: command.words(),
            progress: &progress,
        },
    );
    drop(suite);
    if let Some(bar) = bar.take() {
        bar.finish_and_clear();
    }
    let report = report?;
    printer.data(&match arguments.format {
        SummaryFormat::Text => format!("\n{}", culprit_text(&report)),
        SummaryFormat::Json => culprit_json(&report),
    })?;
    Ok(ExitCode::Success)
}

fn show_progress(bar: &RefCell<Option<ProgressBar>>, progress: CulpritProgress, printer: &Printer) {
    let mut bar = bar.borrow_mut();
    let bar = bar.get_or_insert_with(|| printer.spinner("searching"));
    bar.set_message(match progress {
        CulpritProgress::Alone => "the test alone".to_owned(),
        CulpritProgress::Orders { tried } => format!("order {tried} of all tests"),
        CulpritProgress::Reducing { left } => format!("{} tests left that may matter", number(left as u64)),
        CulpritProgress::Trying { done, all } => format!("{} of {} tries", number(done), number(all)),
        CulpritProgress::Confirming => "what was found, in new processes".to_owned(),
    });
}
