//! `flakewise run`: run the tests, climb the ladder, say what failures are due
//! to, remember it.

use std::cell::RefCell;
use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use flakewise_model::{
    Attempt, Batch, Foreign, Notice, Phase, ReportBatch, ReportId, Run, RunId, RunReport, StoredVerdict,
};
use flakewise_report::{evidence_json, run_github, run_gitlab, run_json, run_markdown, run_text};
use flakewise_runner::{RunnerCommand, RunnerError, Suite, SuiteOptions};
use flakewise_triage::{Change, Progress, Tolerance, TriageSettings, Triaged, Versions, triage, try_lines};
use indicatif::ProgressBar;

use crate::args::{RunArguments, RunFormat, Tolerated};
use crate::context::{Ci, Context, Git, on_ci, variable};
use crate::delivery::{Delivery, Sender};
use crate::error::ExpectedError;
use crate::interrupts::Interrupts;
use crate::printer::Printer;

/// The most processes for one test when `--confidence` asks for more.
const MOST_PROCESSES: u32 = 50;
/// Further runs of a quick test in the suite's process, to tell kinds apart.
const CONTRAST: u32 = 3;
/// How long one failing test may be run again to find out its kind.
const KIND_TIME: Duration = Duration::from_secs(10);
/// How long failing tests may be run at the base without `--verify-base`.
const BASE_TIME: Duration = Duration::from_secs(30);
/// The share of failing tests from which nothing is run again.
const MAX_FAILURE_RATIO: f64 = 0.01;

pub(crate) fn run(arguments: &RunArguments, printer: &Printer) -> Result<u8, ExpectedError> {
    let command = RunnerCommand::new(&arguments.command)?;
    let ci = Ci::detect(&variable);
    let context = Context::new(&arguments.context, ci.as_ref(), &Git::discover(), on_ci());
    let sender =
        if arguments.no_store { None } else { Some(Sender::new(&arguments.store, &arguments.spool)?) };
    // Before the suite runs: what tests leave behind is not part of the change.
    let (change, change_trouble) = discover_change(arguments)?;
    let seed = arguments.seed.unwrap_or_else(rand::random);
    let options = SuiteOptions {
        test_timeout: arguments.test_timeout,
        hash_seed: hash_seed(seed),
        output_to_stderr: arguments.format != RunFormat::Text,
        collect_only: false,
    };
    let settings = settings(arguments, seed);
    let started = chrono::Utc::now();
    let name = context.run.clone().unwrap_or_else(|| format!("local/{}", uuid::Uuid::new_v4().simple()));
    let make_run = |versions: Option<Versions<'_>>| context.tested(&name, started, versions);
    let bar = RefCell::new(None);
    let progress = |progress: Progress<'_>| show_progress(&bar, progress, printer);
    let mut memory = memory(sender.as_ref(), printer);
    let mut suite = Suite::start(&command, options)?;
    let interrupts = Interrupts::listen(sender.as_ref());
    let triaged = triage(
        &mut suite,
        &mut flakewise_triage::Context {
            settings: &settings,
            change: change.as_ref(),
            run: &make_run,
            command: command.words(),
            memory: memory.as_mut(),
            progress: &progress,
        },
    );
    let internal_errors = suite.internal_errors();
    // Every process of the tests ends here, whatever became of them.
    drop(suite);
    let mut triaged = match triaged {
        Err(error @ RunnerError::NoRunner { .. }) => return Ok(unobserved(&error, printer)),
        triaged => triaged?,
    };
    interrupts.suite_ended();
    triaged.report.notices.extend(internal_errors.map(|text| Notice { text, warning: true }));
    let trying = |name: &str| {
        let mut bar = bar.borrow_mut();
        let bar = bar.get_or_insert_with(|| printer.spinner("flakewise"));
        bar.set_message(format!(
            "checking that the printed command reproduces {}",
            Foreign::new(name).line()
        ));
    };
    let reproducing = tracing::info_span!("reproduce commands").entered();
    try_lines(&mut triaged.report, &triaged.trials, arguments.reproduce_budget, &trying);
    drop(reproducing);
    if let Some(bar) = bar.take() {
        bar.finish_and_clear();
    }
    if let Some(error) = change_trouble.filter(|_| !triaged.report.failures.is_empty()) {
        printer.warning(&format!("failures cannot be compared with the change: {error}"));
        if let Some(hint) = error.hint() {
            printer.hint(&hint);
        }
    }
    let delivery = sender.as_ref().map(|sender| deliver(sender, &triaged, change.as_ref(), printer));
    let written = arguments.write.iter().map(|(format, path)| {
        write_file(path, &rendered(*format, &triaged))
            .map_err(|source| ExpectedError::Write { path: path.clone(), source })
    });
    // Whatever goes wrong here, the answer is told first.
    let written: Vec<_> = written.collect();
    if arguments.format == RunFormat::Text && !triaged.report.failures.is_empty() {
        printer.data("\n")?;
    }
    printer.data(&rendered(arguments.format, &triaged))?;
    github(arguments, &triaged.report, printer)?;
    match delivery {
        None | Some(Ok(Delivery { store_trouble: None, .. })) => {}
        Some(Ok(Delivery { store_trouble: Some(trouble), .. })) => {
            printer.warning(&format!(
                "this run was kept in `{}` instead of the history: {trouble}",
                arguments.spool.folder().display()
            ));
            printer.hint("the next run or ingest sends it; keep that folder between jobs");
        }
        Some(Err(error)) => {
            let reasons = std::iter::once(error.to_string()).chain(error.causes());
            let reasons: Vec<_> = reasons.collect();
            printer.warning(&format!("this run will not be remembered: {}", reasons.join(": ")));
        }
    }
    written.into_iter().collect::<Result<(), _>>()?;
    if let Some(code) = interrupts.exit_code() {
        return Ok(code as u8);
    }
    Ok(triaged.report.exit.code)
}

/// Nothing is known of the tests: the exit code of the command is all there is.
fn unobserved(error: &RunnerError, printer: &Printer) -> u8 {
    printer.warning(&error.to_string());
    if let Some(hint) = error.hint() {
        printer.hint(hint);
    }
    let code = match error {
        RunnerError::NoRunner { status, .. } => status.code(),
        _ => None,
    };
    // A signal has no code, and is never green.
    code.and_then(|code| u8::try_from(code).ok()).unwrap_or(1)
}

fn settings(arguments: &RunArguments, seed: u64) -> TriageSettings {
    TriageSettings {
        immediate: arguments.rerun,
        postponed: arguments.postpone,
        separate: arguments.separate,
        max_failure_ratio: MAX_FAILURE_RATIO,
        max_failures: arguments.max_failures,
        confidence: arguments.confidence,
        most_processes: MOST_PROCESSES,
        verify_base: arguments.verify_base,
        tolerance: match arguments.tolerate {
            None => Tolerance::Nothing,
            Some(Tolerated::Known) => Tolerance::Known,
            Some(Tolerated::Flaky) => Tolerance::Flaky,
        },
        contrast: if arguments.postpone > 0 { CONTRAST } else { 0 },
        kind_time: KIND_TIME,
        base_time: BASE_TIME,
        seed,
    }
}

/// A hash seed that Python takes, from ours. Nought would switch hashing by
/// seed off.
pub(super) fn hash_seed(seed: u64) -> u32 {
    u32::try_from(seed % u64::from(u32::MAX)).unwrap_or_default().max(1)
}

/// What changed. That it cannot be found out is an error only if the user said
/// where to look; else it matters once something fails.
fn discover_change(
    arguments: &RunArguments,
) -> Result<(Option<Change>, Option<flakewise_triage::ChangeError>), ExpectedError> {
    let _span = tracing::info_span!("change").entered();
    let option = match arguments {
        RunArguments { base: Some(_), .. } => Some("--base"),
        RunArguments { verify_base: true, .. } => Some("--verify-base"),
        _ => None,
    };
    match Change::discover(Path::new("."), arguments.base.as_deref(), variable) {
        Ok(None) => option.map_or(Ok((None, None)), |option| Err(ExpectedError::NoRepository { option })),
        Ok(change) => Ok((change, None)),
        Err(error) if option.is_some() => Err(error.into()),
        Err(error) => Ok((None, Some(error))),
    }
}

/// Shows how far we are. While the suite's own process runs, the runner itself
/// does.
fn show_progress(bar: &RefCell<Option<ProgressBar>>, progress: Progress<'_>, printer: &Printer) {
    let mut bar = bar.borrow_mut();
    match progress {
        Progress::Suite { worker: "main", .. } => {}
        Progress::Suite { done, selected, failed, .. } => {
            let bar = bar.get_or_insert_with(|| printer.progress(selected, "the suite goes on"));
            bar.set_position(done);
            bar.set_message(format!("{failed} failed"));
        }
        Progress::Separate { phase, name, place, of } => {
            let bar = bar.get_or_insert_with(|| printer.spinner("flakewise"));
            let how = match phase {
                Phase::Fork => "in a fork",
                Phase::Base => "at the base",
                _ => "in a new process",
            };
            bar.set_message(format!("{}/{of} alone {how}: {}", place + 1, Foreign::new(name).line()));
        }
        Progress::History => {
            if let Some(bar) = bar.as_ref() {
                bar.set_message("asking the history");
            }
        }
    }
}

fn rendered(format: RunFormat, triaged: &Triaged) -> String {
    let report = &triaged.report;
    match format {
        RunFormat::Text => run_text(report),
        RunFormat::Json => run_json(report),
        RunFormat::Markdown => run_markdown(report),
        RunFormat::Github => run_github(report),
        RunFormat::Gitlab => run_gitlab(report),
        RunFormat::Junit => {
            let all: Vec<Attempt> = triaged.attempts.iter().chain(&triaged.base_attempts).cloned().collect();
            let mut bytes = Vec::new();
            flakewise_junit::write(&mut bytes, &all).expect("writing to memory does not fail");
            String::from_utf8(bytes).expect("XML is written as UTF-8")
        }
    }
}

fn write_file(path: &Path, text: &str) -> std::io::Result<()> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    std::fs::write(path, anstream::adapter::strip_str(text).to_string())
}

/// On GitHub, annotations beside the code and a summary of the job.
fn github(arguments: &RunArguments, report: &RunReport, printer: &Printer) -> Result<(), ExpectedError> {
    if variable("GITHUB_ACTIONS").as_deref() != Some("true") {
        return Ok(());
    }
    if arguments.format == RunFormat::Text {
        printer.data(&run_github(report))?;
    }
    let Some(path) = variable("GITHUB_STEP_SUMMARY") else { return Ok(()) };
    let append = |path: &str| {
        let mut file = std::fs::OpenOptions::new().append(true).create(true).open(path)?;
        file.write_all(run_markdown(report).as_bytes())
    };
    if let Err(error) = append(&path) {
        printer.warning(&format!("the job summary could not be written: {error}"));
    }
    Ok(())
}

/// Remembers the run. A store that fails never changes the answer.
fn deliver(
    sender: &Sender,
    triaged: &Triaged,
    change: Option<&Change>,
    printer: &Printer,
) -> Result<Delivery, ExpectedError> {
    let mut delivery = Delivery::default();
    if triaged.attempts.is_empty() {
        return Ok(delivery);
    }
    let report = &triaged.report;
    let verdicts = report.failures.iter().map(|failure| StoredVerdict::of(failure, evidence_json(failure)));
    let mut batches =
        vec![batch(&report.run, triaged.attempts.clone(), verdicts.collect(), report.is_complete())];
    if let (Some(change), false) = (change, triaged.base_attempts.is_empty()) {
        let run = Arc::new(Run {
            id: RunId::new(format!("{}/base", report.run.id)),
            commit: Some(change.base.clone()),
            dirty: false,
            branch: None,
            ..Run::clone(&report.run)
        });
        let own = |attempt: &Attempt| Attempt { run: Arc::clone(&run), ..attempt.clone() };
        batches.push(batch(&run, triaged.base_attempts.iter().map(own).collect(), Vec::new(), true));
    }
    sender.send_waiting(&mut delivery, printer);
    for batch in &batches {
        sender.send(batch, &mut delivery)?;
    }
    Ok(delivery)
}

fn batch(run: &Arc<Run>, attempts: Vec<Attempt>, verdicts: Vec<StoredVerdict>, complete: bool) -> Batch {
    // Every call is a report of its own, even of the same CI run.
    let id = ReportId::of(Some(&run.id), uuid::Uuid::new_v4().as_bytes());
    let report = ReportBatch { id, source: "flakewise run".to_owned(), complete, attempts, verdicts };
    Batch { run: Arc::clone(run), reports: vec![report] }
}

#[cfg(not(feature = "history"))]
fn memory<'a>(_: Option<&'a Sender>, _: &'a Printer) -> Box<dyn flakewise_triage::Memory + 'a> {
    Box::new(flakewise_triage::NoMemory)
}

#[cfg(feature = "history")]
fn memory<'a>(sender: Option<&'a Sender>, printer: &'a Printer) -> Box<dyn flakewise_triage::Memory + 'a> {
    match sender {
        Some(sender) => Box::new(FromHistory { history: &sender.history, printer }),
        None => Box::new(flakewise_triage::NoMemory),
    }
}

/// What the history remembers. Of what it cannot read, it remembers nothing, and
/// says so: what is not known is never tolerated.
#[cfg(feature = "history")]
struct FromHistory<'a> {
    history: &'a flakewise_history::History,
    printer: &'a Printer,
}

/// How many runs in which a test passed are compared with this one.
#[cfg(feature = "history")]
const PASSED_RUNS: usize = 1;

#[cfg(feature = "history")]
impl FromHistory<'_> {
    fn answer<T: Default>(&self, answer: Result<T, flakewise_history::HistoryError>) -> T {
        answer.unwrap_or_else(|error| {
            self.printer
                .warning(&format!("could not read the history, so nothing is known from it: {error}"));
            T::default()
        })
    }
}

#[cfg(feature = "history")]
impl flakewise_triage::Memory for FromHistory<'_> {
    fn past(
        &mut self,
        tests: &[(flakewise_model::TestId, Option<flakewise_model::Fingerprint>)],
        run: &Run,
    ) -> Vec<flakewise_triage::Past> {
        crate::identity::recall_former(self.history, tests.iter().map(|(test, _)| test), run);
        let known = self.answer(self.history.failures_elsewhere(tests, run.commit.as_deref()));
        let seen = self.answer(self.history.seen_on(tests));
        let names: Vec<_> = tests.iter().map(|(test, _)| test.clone()).collect();
        let passed = self.answer(self.history.passed_runs(&names, Some(&run.variant), PASSED_RUNS));
        let mut past: Vec<_> = known
            .iter()
            .map(|past| flakewise_triage::Past {
                failures: past.alike,
                revisions: past.alike_revisions,
                mixed: past.mixed_revisions,
                ..flakewise_triage::Past::default()
            })
            .collect();
        past.resize(tests.len(), flakewise_triage::Past::default());
        for (past, seen) in past.iter_mut().zip(seen) {
            past.seen = seen;
        }
        for (past, runs) in past.iter_mut().zip(passed) {
            let (Some(then), Some(now)) = (runs.first(), &run.packages) else { continue };
            let changes = flakewise_model::differences(&then.packages, now);
            past.installed_since = changes.iter().map(ToString::to_string).collect();
        }
        past
    }

    fn at(
        &mut self,
        tests: &[(flakewise_model::TestId, Option<flakewise_model::Fingerprint>)],
        commit: &str,
        run: &Run,
    ) -> Vec<(u32, u32)> {
        let count = |number| u32::try_from(number).unwrap_or(u32::MAX);
        crate::identity::recall_former(self.history, tests.iter().map(|(test, _)| test), run);
        let known = self.answer(self.history.outcomes_at(tests, commit, Some(&run.variant)));
        let mut known: Vec<_> = known.iter().map(|at| (count(at.passed), count(at.alike))).collect();
        known.resize(tests.len(), (0, 0));
        known
    }
}
