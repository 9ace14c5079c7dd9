//! `flakewise hunt`: run single tests again, where it pays, until flaky ones
//! show.

mod features;

use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use flakewise_hunt::{HuntContext, HuntProgress, HuntSettings, Knowledge, Orders};
use flakewise_model::{Attempt, Batch, HuntEnd, PastRuns, ReportBatch, ReportId, Run, TestId};
use flakewise_report::{
    Findings, findings_github, findings_gitlab, findings_markdown, findings_sarif, hunt_json, hunt_text,
    number,
};
use flakewise_runner::{Measured, RunnerCommand, Suite, SuiteOptions, Versions};
use flakewise_spool::Journal;
use indicatif::ProgressBar;

use self::features::FeatureTable;
use super::run::hash_seed;
use super::{predict, side_by_side};
use crate::args::{FindingsFormat, HuntArguments};
use crate::context::{Ci, Context, Git, on_ci, project, variable};
use crate::delivery::{Delivery, Sender};
use crate::error::ExpectedError;
use crate::exit_code::ExitCode;
use crate::interrupts::Interrupts;
use crate::printer::Printer;
use crate::repository::{LoadedModel, Repository};

/// Attempts that are sent together. More would only be a matter of memory.
const ATTEMPTS_AT_ONCE: usize = 20_000;
/// The share of flaky tests in public data, for tests whose source says
/// nothing.
const BASE_RATE: f64 = 0.037;
/// A test that has been flaky on other code probably still is.
const ONCE_FLAKY: f64 = 0.9;
/// One that failed on other code and passed on some may be.
#[cfg(feature = "history")]
const ONCE_FAILED: f64 = 0.3;

pub(crate) fn hunt(arguments: &HuntArguments, printer: &Printer) -> Result<ExitCode, ExpectedError> {
    let began = Instant::now();
    let command = RunnerCommand::new(&arguments.command)?;
    let ci = Ci::detect(&variable);
    let context = Context::new(&arguments.record.context, ci.as_ref(), &Git::discover(), on_ci());
    let sender = Sender::recording(&arguments.record)?;
    let model = LoadedModel::find(arguments.model.as_deref(), &Repository::find(&[])?.root)?;
    let seed = arguments.seed.unwrap_or_else(rand::random);
    let settings = HuntSettings {
        deadline: began + arguments.budget,
        confidence: arguments.confidence,
        hidden: arguments.hidden,
        jobs: side_by_side(arguments.jobs),
        shard: arguments.shard,
        orders: match arguments.orders {
            None => Orders::None,
            Some(0) => Orders::Until(began + arguments.budget / 3),
            Some(count) => Orders::Count(count),
        },
        measured_runs: if arguments.features.is_some() { arguments.measured_runs } else { 0 },
        seed,
    };
    let started = chrono::Utc::now();
    // A hunt is a run of its own, also within a run of a CI system.
    let name = format!(
        "{}/hunt-{}",
        context.run.clone().unwrap_or_else(|| "local".to_owned()),
        uuid::Uuid::new_v4().simple()
    );
    let make_run = |versions: Option<Versions<'_>>| context.tested(&name, started, versions);
    let mut memory = Memory {
        sender: sender.as_ref(),
        project: project(arguments.record.store.project.as_deref()),
        model: Some(model),
        printer,
        report: None,
        features: arguments.features.is_some().then(FeatureTable::default),
        was_flaky: false,
        trouble: None,
    };
    // What a killed hunt left behind is known before this one begins.
    memory.send_waiting();
    let bar = RefCell::new(None);
    let progress = |progress: HuntProgress| show_progress(&bar, progress, printer);
    let options = SuiteOptions {
        test_timeout: arguments.test_timeout,
        hash_seed: hash_seed(seed),
        output_to_stderr: arguments.format != FindingsFormat::Text,
        collect_only: false,
    };
    let mut suite = Suite::start(&command, options)?;
    let interrupts = Interrupts::listen(sender.as_ref());
    let report = flakewise_hunt::hunt(
        &mut suite,
        &mut HuntContext {
            settings: &settings,
            run: &make_run,
            command: command.words(),
            knowledge: &mut memory,
            progress: &progress,
        },
    );
    let internal_errors = suite.internal_errors();
    drop(suite);
    interrupts.suite_ended();
    if let Some(bar) = bar.take() {
        bar.finish_and_clear();
    }
    if let Some(text) = internal_errors {
        printer.warning(&text);
    }
    memory.send();
    let report = report?;
    if let (Some(table), Some(path)) = (&memory.features, &arguments.features) {
        table.write(path).map_err(|source| ExpectedError::Write { path: path.clone(), source })?;
    }
    printer.data(&match arguments.format {
        FindingsFormat::Text => format!("\n{}", hunt_text(&report)),
        FindingsFormat::Json => hunt_json(&report),
        FindingsFormat::Markdown => findings_markdown(&Findings::from(&report)),
        FindingsFormat::Sarif => findings_sarif(&Findings::from(&report)),
        FindingsFormat::Github => findings_github(&Findings::from(&report)),
        FindingsFormat::Gitlab => findings_gitlab(&Findings::from(&report)),
    })?;
    if let Some(trouble) = memory.trouble {
        printer.warning(&format!("this hunt is not fully recorded in the history: {trouble}"));
    }
    Ok(match report.end {
        HuntEnd::Interrupted { signal } => ExitCode::of_signal(signal),
        _ => interrupts.exit_code().unwrap_or(ExitCode::Success),
    })
}

fn show_progress(bar: &RefCell<Option<ProgressBar>>, progress: HuntProgress, printer: &Printer) {
    let mut bar = bar.borrow_mut();
    match progress {
        HuntProgress::Suite { done, tests } => {
            bar.get_or_insert_with(|| printer.progress(tests, "running the suite")).set_position(done);
        }
        HuntProgress::Measuring { done, tests } => {
            if done == 1
                && let Some(bar) = bar.take()
            {
                bar.finish_and_clear();
            }
            bar.get_or_insert_with(|| printer.progress(tests, "measuring")).set_position(done);
        }
        HuntProgress::Orders { executions, found } => {
            let message =
                format!("{} runs in shuffled orders, outcomes of {found} tests changed", number(executions));
            spin(&mut bar, printer, message);
        }
        HuntProgress::Hunting { executions, found, hidden } => {
            let runs = number(executions);
            let message = format!("{runs} runs, {found} flaky, {hidden:.1} expected to be hidden");
            spin(&mut bar, printer, message);
        }
    }
}

/// Says something beside a spinner, in place of what is shown.
fn spin(bar: &mut Option<ProgressBar>, printer: &Printer, message: String) {
    if bar.as_ref().is_some_and(|bar| bar.length() != Some(0))
        && let Some(bar) = bar.take()
    {
        bar.finish_and_clear();
    }
    bar.get_or_insert_with(|| printer.spinner("hunting")).set_message(message);
}

/// What is known of the tests, and where attempts go.
struct Memory<'a> {
    sender: Option<&'a Sender>,
    project: String,
    /// Until it was asked.
    model: Option<LoadedModel>,
    printer: &'a Printer,
    report: Option<Report>,
    /// How the tests behave, if that is wanted.
    features: Option<FeatureTable>,
    /// Whether a test is known to have been flaky on other code.
    was_flaky: bool,
    /// Why something is not remembered.
    trouble: Option<String>,
}

/// Attempts on their way to the history.
struct Report {
    batch: Batch,
    /// The same on disk, in case we are killed.
    journal: Option<Journal>,
}

impl Memory<'_> {
    fn send_waiting(&mut self) {
        let Some(sender) = self.sender else { return };
        sender.send_waiting(&mut Delivery::default(), self.printer);
    }

    /// Sends what has gathered. A store that fails never ends a hunt.
    fn send(&mut self) {
        let (Some(sender), Some(report)) = (self.sender, self.report.take()) else { return };
        let mut delivery = Delivery::default();
        match sender.send(&report.batch, &mut delivery) {
            Ok(()) => {
                if let Some(trouble) = delivery.store_trouble {
                    let folder = sender.spool.folder().display();
                    self.trouble =
                        Some(format!("results are kept in `{folder}` until the next hunt: {trouble}"));
                }
                if let Some(journal) = report.journal
                    && let Err(error) = journal.remove()
                {
                    self.trouble = Some(error.to_string());
                }
            }
            Err(error) => self.trouble = Some(error.to_string()),
        }
    }

    fn begin_report(&mut self, run: &Arc<Run>) {
        let Some(sender) = self.sender else { return };
        let id = ReportId::of(Some(&run.id), uuid::Uuid::new_v4().as_bytes());
        let source = "flakewise hunt";
        let journal = sender.spool.journal(&self.project, run, &id, source);
        if let Err(error) = &journal {
            self.trouble = Some(error.to_string());
        }
        let report = ReportBatch {
            id,
            source: source.to_owned(),
            complete: true,
            attempts: Vec::new(),
            verdicts: Vec::new(),
        };
        let batch = Batch { run: Arc::clone(run), reports: vec![report] };
        self.report = Some(Report { batch, journal: journal.ok() });
    }
}

impl Knowledge for Memory<'_> {
    fn risks(&mut self, tests: &[TestId], root: &Path) -> Vec<f64> {
        let files: BTreeSet<String> = tests.iter().map(TestId::module).collect();
        if let Some(table) = &mut self.features {
            table.prepare(tests, root, &files);
        }
        let risks = match self.model.take() {
            Some(model) => predict::risks(root, &files, &self.project, model, self.printer),
            None => HashMap::new(),
        };
        let past = self.flaky_elsewhere(tests);
        self.was_flaky = past.iter().any(|risk| *risk >= ONCE_FLAKY);
        let by_source = |test: &TestId| risks.get(&test.without_parameters()).copied().unwrap_or(BASE_RATE);
        tests.iter().zip(past).map(|(test, past)| by_source(test).max(past)).collect()
    }

    fn was_flaky(&mut self) -> bool {
        self.was_flaky
    }

    fn past(&mut self, tests: &[TestId], run: &Run) -> Vec<PastRuns> {
        // What work in progress did yesterday says nothing about it today.
        match (&run.commit, run.dirty) {
            (Some(commit), false) => self.runs_at(tests, commit, run),
            _ => vec![PastRuns::default(); tests.len()],
        }
    }

    fn measured(&mut self, test: &TestId, runs: &[Measured]) {
        if let Some(table) = &mut self.features {
            table.measured(test, runs);
        }
    }

    fn remember(&mut self, attempt: Attempt) {
        if let Some(table) = &mut self.features {
            table.count(&attempt);
        }
        if self.report.is_none() {
            self.begin_report(&attempt.run);
        }
        let Some(report) = &mut self.report else { return };
        if let Some(journal) = &mut report.journal
            && let Err(error) = journal.add(&attempt)
        {
            self.trouble = Some(error.to_string());
            report.journal = None;
        }
        let attempts = &mut report.batch.reports[0].attempts;
        attempts.push(attempt);
        if attempts.len() >= ATTEMPTS_AT_ONCE {
            self.send();
        }
    }
}

#[cfg(feature = "history")]
impl Memory<'_> {
    fn runs_at(&self, tests: &[TestId], commit: &str, run: &Run) -> Vec<PastRuns> {
        let nothing = || vec![PastRuns::default(); tests.len()];
        let Some(sender) = self.sender else { return nothing() };
        crate::identity::recall_former(&sender.history, tests.iter(), run);
        sender.history.runs_at(tests, commit, &run.variant).unwrap_or_else(|error| {
            self.printer.warning(&format!("earlier runs of this commit are ignored: {error}"));
            nothing()
        })
    }

    /// The risk that comes from what tests did on any code.
    fn flaky_elsewhere(&self, tests: &[TestId]) -> Vec<f64> {
        let asked: Vec<_> = tests.iter().map(|test| (test.clone(), None)).collect();
        let known = self.sender.map(|sender| sender.history.failures_elsewhere(&asked, None));
        let known = known.and_then(|known| {
            known
                .map_err(|error| {
                    self.printer.warning(&format!("failures on other commits are ignored: {error}"));
                })
                .ok()
        });
        let risk = |past: &flakewise_model::PastFailures| match past {
            past if past.mixed_revisions > 0 => ONCE_FLAKY,
            past if past.failures > 0 && past.failures < past.attempts => ONCE_FAILED,
            _ => 0.0,
        };
        known.map_or_else(|| vec![0.0; tests.len()], |known| known.iter().map(risk).collect())
    }
}

#[cfg(not(feature = "history"))]
#[expect(clippy::unused_self, reason = "same interface as with the engine")]
impl Memory<'_> {
    fn runs_at(&self, tests: &[TestId], _: &str, _: &Run) -> Vec<PastRuns> {
        vec![PastRuns::default(); tests.len()]
    }

    fn flaky_elsewhere(&self, tests: &[TestId]) -> Vec<f64> {
        vec![0.0; tests.len()]
    }
}
