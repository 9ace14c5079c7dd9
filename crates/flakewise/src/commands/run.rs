//! `flakewise run`: run the tests, climb the ladder, say what failures are due
//! to, remember it.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use flakewise_config::Config;
use flakewise_model::{
    Attempt, Batch, Fingerprint, Foreign, Notice, Phase, Renames, ReportBatch, ReportId, Run, RunId,
    RunReport, StoredVerdict, TestFailure, TestId, shell_word,
};
use flakewise_report::{
    Findings, RiskReport, check_markdown, evidence_json, findings_github, findings_gitlab, findings_sarif,
    quarantine_line, risk_text, run_json, run_markdown, run_text,
};
use flakewise_runner::{RunnerCommand, RunnerError, Suite, SuiteOptions};
use flakewise_triage::{
    Change, Progress, ReviewSettings, Tolerance, TriageSettings, Triaged, Versions, triage, try_lines,
};
use indicatif::ProgressBar;

use super::check::Predicted;
use super::side_by_side;
use crate::args::{CheckArguments, RunFormat, SuiteArguments, Tolerated};
use crate::context::{Ci, Context, Git, on_ci, variable};
use crate::delivery::{Delivery, Sender};
use crate::error::ExpectedError;
use crate::interrupts::Interrupts;
use crate::printer::Printer;
use crate::quarantine::{self, QuarantineFile};
use crate::renames::in_change;

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

/// Runs the tests of `run`, or of `check` if that is given.
pub(super) fn run(
    arguments: &SuiteArguments,
    check: Option<&CheckArguments>,
    config: &Config,
    printer: &Printer,
) -> Result<u8, ExpectedError> {
    let command = RunnerCommand::new(&arguments.command)?;
    // Before the suite runs: a quarantine that is not understood must not cost a run.
    let mut quarantine =
        if arguments.no_quarantine { None } else { QuarantineFile::open(&arguments.quarantine)? };
    let ci = Ci::detect(&variable);
    let context = Context::new(&arguments.record.context, ci.as_ref(), &Git::discover(), on_ci());
    let sender = Sender::recording(&arguments.record)?;
    // Before the suite runs: what tests leave behind is not part of the change.
    let (change, change_trouble) = discover_change(arguments, check.is_some(), config)?;
    if let Some(file) = &mut quarantine {
        file.follow(|| known_renames(sender.as_ref(), change.as_ref()));
    }
    let predicted = match (check, &change) {
        (Some(check), Some(change)) => Some(Predicted::new(check, change, printer)?),
        _ => None,
    };
    let risk = |test: &TestId| predicted.as_ref().and_then(|predicted| predicted.risk(test));
    let review = check.map(|check| ReviewSettings {
        share: check.share,
        rate: check.detect,
        jobs: side_by_side(None),
        risk: &risk,
    });
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
    let mut memory = memory(sender.as_ref(), change.as_ref(), printer);
    let mut suite = Suite::start(&command, options)?;
    let interrupts = Interrupts::listen(sender.as_ref());
    let triaged = triage(
        &mut suite,
        &mut flakewise_triage::Context {
            settings: &settings,
            change: change.as_ref(),
            quarantine: quarantine.as_ref().map(|file| &file.in_force),
            review: review.as_ref(),
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
    if let Some(file) = &quarantine {
        triaged.report.notices.extend(quarantine::notices(file, &triaged));
    }
    triaged.report.notices.extend(internal_errors.map(|text| Notice { text, warning: true }));
    let trying = |name: &str| {
        let mut bar = bar.borrow_mut();
        let bar = bar.get_or_insert_with(|| printer.spinner("flakewise"));
        bar.set_message(format!("checking the command that reproduces {}", Foreign::new(name).line()));
    };
    let reproducing = tracing::info_span!("reproduce commands").entered();
    try_lines(&mut triaged.report, &triaged.trials, arguments.reproduce_budget, &trying);
    drop(reproducing);
    if let Some(bar) = bar.take() {
        bar.finish_and_clear();
    }
    if let Some(error) = change_trouble.filter(|_| !triaged.report.failures.is_empty()) {
        printer.warning(&format!("failures are not compared with the change: {error}"));
        if let Some(hint) = error.hint() {
            printer.hint(&hint);
        }
    }
    let delivery = sender.as_ref().map(|sender| deliver(sender, &mut triaged, change.as_ref(), printer));
    let said = Said { triaged: &triaged, risks: predicted.as_ref().map(|predicted| &predicted.report) };
    let written = arguments.write.iter().map(|(format, path)| {
        write_file(path, *format, &said).map_err(|source| ExpectedError::Write { path: path.clone(), source })
    });
    // Whatever goes wrong here, the report is printed first.
    let written: Vec<_> = written.collect();
    if arguments.format == RunFormat::Text && !triaged.report.failures.is_empty() {
        printer.data("\n")?;
    }
    printer.data_from(|out| render(arguments.format, &said, out))?;
    github(arguments, &said, printer)?;
    if arguments.format == RunFormat::Text && triaged.report.exit.code != 0 {
        hint_at_quarantine(&triaged.report, printer);
    }
    match &delivery {
        None | Some(Ok(Delivery { store_trouble: None, .. })) => {}
        Some(Ok(Delivery { store_trouble: Some(trouble), .. })) => {
            printer.warning(&format!(
                "this run is kept in the spool `{}`: {trouble}",
                arguments.record.spool.folder().display()
            ));
            printer.hint("the next run or ingest sends it; keep this directory between jobs");
        }
        Some(Err(error)) => {
            printer.warning(&format!("this run is not recorded in the history: {}", error.with_causes()));
        }
    }
    written.into_iter().collect::<Result<(), _>>()?;
    #[cfg(feature = "history")]
    if let (Some(sender), Some(change), Some(Ok(Delivery { store_trouble: None, reports_landed: 0, .. }))) =
        (&sender, &change, &delivery)
    {
        crate::renames::record(&sender.history, &triaged.report.run, &change.root, config.base(), printer);
    }
    if let Some(code) = interrupts.exit_code() {
        return Ok(code as u8);
    }
    Ok(triaged.report.exit.code)
}

/// The tests that were renamed, by the history and in this change.
fn known_renames(sender: Option<&Sender>, change: Option<&Change>) -> Renames {
    // If the history cannot be read, an entry for a former id forgives nothing.
    #[cfg(feature = "history")]
    let recorded = sender.and_then(|sender| sender.history.renames().ok()).unwrap_or_default();
    #[cfg(not(feature = "history"))]
    let (_, recorded) = (sender, Vec::new());
    let mut renames = Renames::new(&recorded);
    renames.add_all(&change.map(in_change).unwrap_or_default());
    renames
}

/// Says how to quarantine the first flaky test that nothing forgives.
fn hint_at_quarantine(report: &RunReport, printer: &Printer) {
    let is_open = |failure: &&TestFailure| {
        failure.verdict.headline() == "flaky" && failure.quarantine.is_none() && failure.first().is_some()
    };
    let Some(failure) = report.failures.iter().find(is_open) else { return };
    let own = failure.attempts.iter().filter(|attempt| attempt.phase != Phase::Base);
    let fingerprints: BTreeSet<&str> = own
        .filter(|attempt| attempt.outcome.is_failure())
        .filter_map(|attempt| attempt.failure.as_ref()?.fingerprint.as_ref().map(Fingerprint::as_str))
        .collect();
    if fingerprints.is_empty() {
        return;
    }
    let listed: String = fingerprints.iter().map(|one| format!(" --fingerprint {one}")).collect();
    let test = shell_word(failure.test.as_str());
    printer.hint(&format!(
        "to forgive a flaky test until it is fixed: `flakewise quarantine add {test}{listed}`"
    ));
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

fn settings(arguments: &SuiteArguments, seed: u64) -> TriageSettings {
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
            Tolerated::Nothing => Tolerance::Nothing,
            Tolerated::Known => Tolerance::Known,
            Tolerated::Flaky => Tolerance::Flaky,
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
    arguments: &SuiteArguments,
    is_check: bool,
    config: &Config,
) -> Result<(Option<Change>, Option<flakewise_triage::ChangeError>), ExpectedError> {
    let _span = tracing::info_span!("change").entered();
    let option = match arguments {
        SuiteArguments { base: Some(_), .. } => Some("--base"),
        SuiteArguments { verify_base: true, .. } => Some("--verify-base"),
        _ if is_check => Some("check"),
        _ => None,
    };
    match Change::discover(Path::new("."), arguments.base.as_deref(), config.base(), variable) {
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
            let bar = bar.get_or_insert_with(|| printer.progress(selected, "running the suite"));
            bar.set_position(done);
            bar.set_message(format!("{failed} failed"));
        }
        Progress::Separate { phase, name, place, of } => {
            let bar = bar.get_or_insert_with(|| printer.spinner("flakewise"));
            let how = match phase {
                Phase::Fork => "in a fork",
                Phase::Base => "on the base revision",
                _ => "in a new process",
            };
            bar.set_message(format!("{}/{of} alone {how}: {}", place + 1, Foreign::new(name).line()));
        }
        Progress::Review { done, of } => {
            let bar = bar.get_or_insert_with(|| printer.spinner("flakewise"));
            bar.set_message(format!("{done}/{of} reruns of new and changed tests"));
        }
        Progress::History => {
            if let Some(bar) = bar.as_ref() {
                bar.set_message("querying the history");
            }
        }
    }
}

/// All that a run or a check says.
struct Said<'a> {
    triaged: &'a Triaged,
    /// What was predicted of new and changed tests, by a check.
    risks: Option<&'a RiskReport>,
}

impl Said<'_> {
    fn text(&self) -> String {
        let named = self.risks.filter(|risks| !risks.risks.is_empty());
        let predicted = named.map_or_else(String::new, |risks| format!("{}\n", risk_text(risks)));
        format!("{predicted}{}", run_text(&self.triaged.report))
    }

    fn markdown(&self) -> String {
        match self.risks {
            Some(risks) => check_markdown(&self.triaged.report, Some(risks)),
            None => run_markdown(&self.triaged.report),
        }
    }

    fn findings(&self) -> Findings {
        let mut findings = Findings::from(&self.triaged.report);
        if let Some(risks) = self.risks.filter(|risks| !risks.risks.is_empty()) {
            findings.add(risks.into());
        }
        findings
    }
}

fn render(format: RunFormat, said: &Said<'_>, mut out: impl Write) -> io::Result<()> {
    let triaged = said.triaged;
    let report = &triaged.report;
    let text = match format {
        RunFormat::Json => return run_json(report, out),
        RunFormat::Junit => {
            let all: Vec<Attempt> = triaged.attempts.iter().chain(&triaged.base_attempts).cloned().collect();
            let quarantined = report.failures.iter();
            let quarantined = quarantined
                .filter_map(|failure| Some((failure.test.clone(), quarantine_line(failure)?)))
                .collect();
            return flakewise_junit::write_with_quarantine(out, &all, &quarantined);
        }
        RunFormat::Text => said.text(),
        RunFormat::Markdown => said.markdown(),
        RunFormat::Sarif => findings_sarif(&said.findings()),
        RunFormat::Github => findings_github(&said.findings()),
        RunFormat::Gitlab => findings_gitlab(&said.findings()),
    };
    out.write_all(text.as_bytes())
}

fn write_file(path: &Path, format: RunFormat, said: &Said<'_>) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    let mut plain = io::BufWriter::new(anstream::StripStream::new(std::fs::File::create(path)?));
    render(format, said, &mut plain)?;
    plain.flush()
}

/// On GitHub, annotations beside the code and a summary of the job.
fn github(arguments: &SuiteArguments, said: &Said<'_>, printer: &Printer) -> Result<(), ExpectedError> {
    if variable("GITHUB_ACTIONS").as_deref() != Some("true") {
        return Ok(());
    }
    if arguments.format == RunFormat::Text {
        printer.data(&findings_github(&said.findings()))?;
    }
    let Some(path) = variable("GITHUB_STEP_SUMMARY") else { return Ok(()) };
    let append = |path: &str| {
        let mut file = std::fs::OpenOptions::new().append(true).create(true).open(path)?;
        file.write_all(said.markdown().as_bytes())
    };
    if let Err(error) = append(&path) {
        printer.warning(&format!("failed to write the job summary: {error}"));
    }
    Ok(())
}

/// Remembers the run. A store that fails never changes the answer.
fn deliver(
    sender: &Sender,
    triaged: &mut Triaged,
    change: Option<&Change>,
    printer: &Printer,
) -> Result<Delivery, ExpectedError> {
    if triaged.attempts.is_empty() {
        return Ok(Delivery::default());
    }
    let report = &triaged.report;
    let verdicts = report.failures.iter().map(|failure| StoredVerdict::of(failure, evidence_json(failure)));
    // Lent rather than copied: there may be very many.
    let attempts = std::mem::take(&mut triaged.attempts);
    let mut batches = vec![batch(&report.run, attempts, verdicts.collect(), report.is_complete())];
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
    let mut delivery = Delivery::default();
    sender.send_waiting(&mut delivery, printer);
    let sent = batches.iter().try_for_each(|batch| sender.send(batch, &mut delivery));
    triaged.attempts = std::mem::take(&mut batches[0].reports[0].attempts);
    sent.map(|()| delivery)
}

fn batch(run: &Arc<Run>, attempts: Vec<Attempt>, verdicts: Vec<StoredVerdict>, complete: bool) -> Batch {
    // Every call is a report of its own, even of the same CI run.
    let id = ReportId::of(Some(&run.id), uuid::Uuid::new_v4().as_bytes());
    let report = ReportBatch { id, source: "flakewise run".to_owned(), complete, attempts, verdicts };
    Batch { run: Arc::clone(run), reports: vec![report] }
}

#[cfg(not(feature = "history"))]
fn memory<'a>(
    _: Option<&'a Sender>,
    _: Option<&'a Change>,
    _: &'a Printer,
) -> Box<dyn flakewise_triage::Memory + 'a> {
    Box::new(flakewise_triage::NoMemory)
}

#[cfg(feature = "history")]
fn memory<'a>(
    sender: Option<&'a Sender>,
    change: Option<&'a Change>,
    printer: &'a Printer,
) -> Box<dyn flakewise_triage::Memory + 'a> {
    match sender {
        Some(sender) => Box::new(FromHistory { history: &sender.history, change, printer }),
        None => Box::new(flakewise_triage::NoMemory),
    }
}

/// What the history remembers. Of what it cannot read, it remembers nothing, and
/// says so: what is not known is never tolerated.
#[cfg(feature = "history")]
struct FromHistory<'a> {
    history: &'a flakewise_history::History,
    /// Until it was searched for renamed tests.
    change: Option<&'a Change>,
    printer: &'a Printer,
}

/// How many runs in which a test passed are compared with this one.
#[cfg(feature = "history")]
const PASSED_RUNS: usize = 1;

#[cfg(feature = "history")]
impl FromHistory<'_> {
    /// Lets tests that this change renames have the past of their former ids.
    fn follow_renames(&mut self) {
        if let Some(change) = self.change.take() {
            self.history.assume_renames(&in_change(change));
        }
    }

    fn answer<T: Default>(&self, answer: Result<T, flakewise_history::HistoryError>) -> T {
        answer.unwrap_or_else(|error| {
            self.printer.warning(&format!("failed to read the history; earlier runs are ignored: {error}"));
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
        self.follow_renames();
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
        self.follow_renames();
        crate::identity::recall_former(self.history, tests.iter().map(|(test, _)| test), run);
        let known = self.answer(self.history.outcomes_at(tests, commit, Some(&run.variant)));
        let mut known: Vec<_> = known.iter().map(|at| (count(at.passed), count(at.alike))).collect();
        known.resize(tests.len(), (0, 0));
        known
    }
}
