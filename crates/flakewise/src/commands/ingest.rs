//! `flakewise ingest`: find, read, send or spool, sum up.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{BufReader, Read as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use flakewise_config::Config;
use flakewise_junit::{Issue, IssueLevel, Limits};
use flakewise_model::{Batch, Foreign, Outcome, ReportBatch, ReportId, Run, RunId, TestIds, Timestamp};
use flakewise_report::{count, json_document};
#[cfg(feature = "history")]
use flakewise_runner::repository_root;
use rayon::prelude::*;
use serde::Serialize;

use crate::args::{IngestArguments, SummaryFormat};
use crate::context::{Ci, Context, Git, on_ci, variable};
use crate::delivery::{Delivery, Sender};
use crate::error::ExpectedError;
use crate::exit_code::ExitCode;
use crate::find_reports::find_reports;
use crate::identity::Surroundings;
use crate::printer::Printer;

/// Files up to this size are read at once, larger ones are streamed.
const READ_AT_ONCE: u64 = 64 << 20;
/// A batch is closed when it holds this many bytes of reports: what is in memory
/// at a time.
const BATCH_BYTES: u64 = 256 << 20;
/// Issues shown per report.
const SHOWN_ISSUES: usize = 5;

pub(crate) fn ingest(
    arguments: &IngestArguments,
    #[cfg_attr(not(feature = "history"), expect(unused_variables, reason = "only a history asks"))]
    config: &Config,
    printer: &Printer,
) -> Result<ExitCode, ExpectedError> {
    let context = Context::new(&arguments.context, Ci::detect(&variable).as_ref(), &Git::discover(), on_ci());
    let paths = find_reports(&arguments.paths)?;
    let bar = printer.progress(paths.len() as u64, "reading");
    let sources = identify(&paths, context.run.as_deref())?;
    let run = Arc::new(describe_run(&context, &sources));
    let sender = Sender::new(&arguments.store, &arguments.spool, &arguments.landing)?;
    let surroundings = Surroundings::discover();
    let mut summary = Summary::new(&run, sources.len());
    let mut delivery = Delivery::default();
    sender.send_waiting(&mut delivery, printer);
    for group in groups(&sources) {
        let read: Vec<_> = group
            .par_iter()
            .map_init(Reading::default, |reading, source| {
                let read = source.read(&run, surroundings.as_ref(), reading);
                bar.inc(1);
                read
            })
            .collect::<Result<_, _>>()?;
        let mut reports = Vec::new();
        let mut roots = BTreeSet::new();
        for (report, rootdir, issues) in read {
            summary.take_in(&report, &issues);
            show_issues(&report.source, &issues, printer);
            reports.push(report);
            roots.extend(rootdir);
        }
        let mut run = Arc::clone(&run);
        if !roots.is_empty() {
            run = Arc::new(Run { roots: Some(roots), ..Run::clone(&run) });
            for attempt in reports.iter_mut().flat_map(|report| &mut report.attempts) {
                attempt.run = Arc::clone(&run);
            }
        }
        sender.send(&Batch { run, reports }, &mut delivery)?;
    }
    summary.delivered(&delivery);
    bar.finish_and_clear();
    printer.data(&match arguments.format {
        SummaryFormat::Text => summary.text(&sender),
        SummaryFormat::Json => json_document(&summary),
    })?;
    #[cfg(feature = "history")]
    if let (None, 0, Some(root)) =
        (&summary.store_trouble, summary.reports_landed, repository_root(Path::new(".")))
    {
        crate::renames::record(&sender.history, &run, &root, config.base(), printer);
    }
    finish(arguments, &context, &summary, printer)
}

/// What the exit code is, and the loud word about anything that went wrong.
fn finish(
    arguments: &IngestArguments,
    context: &Context,
    summary: &Summary,
    printer: &Printer,
) -> Result<ExitCode, ExpectedError> {
    let mut code = ExitCode::Success;
    if let Some(trouble) = &summary.store_trouble {
        printer.warning(&format!(
            "{} kept in the spool `{}`: {trouble}",
            count(summary.reports_spooled as u64, "report"),
            arguments.spool.folder().display(),
        ));
        printer.hint("the next ingest sends them; keep this directory between jobs");
        if arguments.strict || !(context.on_ci || summary.no_engine) {
            code = ExitCode::Store;
        }
    }
    let nothing_understood = summary.reports_damaged == summary.reports && summary.attempts == 0;
    if nothing_understood || (arguments.strict && summary.reports_damaged > 0) {
        return Err(ExpectedError::Reports { unreadable: summary.reports_damaged, reports: summary.reports });
    }
    Ok(code)
}

/// A report that was found, with its identity.
struct Source {
    path: PathBuf,
    size: u64,
    modified: SystemTime,
    id: ReportId,
}

/// What a thread uses again for its next report: to get fresh memory from the system costs as
/// much as to read the file.
#[derive(Default)]
struct Reading {
    buffer: Vec<u8>,
    ids: TestIds,
}

/// Reads every file once to learn who it is: the names of the run and of the
/// reports must be known before the first attempt is.
fn identify(paths: &[PathBuf], run: Option<&str>) -> Result<Vec<Source>, ExpectedError> {
    let run = run.map(RunId::new);
    paths
        .par_iter()
        .map(|path| {
            let identify = || {
                let file = File::open(path)?;
                let metadata = file.metadata()?;
                let modified = metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH);
                let id = ReportId::of_reader(run.as_ref(), file)?;
                Ok(Source { path: path.clone(), size: metadata.len(), modified, id })
            };
            identify().map_err(|source| ExpectedError::Read { path: path.clone(), source })
        })
        .collect()
}

fn describe_run(context: &Context, sources: &[Source]) -> Run {
    // Without a name from CI, the reports of one call are one run, named by
    // what they hold: the same call again is the same run.
    let id = context.run.clone().unwrap_or_else(|| {
        let mut ids: Vec<_> = sources.iter().map(|source| source.id.as_str()).collect();
        ids.sort_unstable();
        ids.dedup();
        format!("local/{}", &blake3::hash(ids.concat().as_bytes()).to_hex()[..16])
    });
    let oldest = sources.iter().map(|source| source.modified).min().unwrap_or(SystemTime::UNIX_EPOCH);
    Run {
        id: RunId::new(id),
        commit: context.commit.clone(),
        dirty: context.dirty,
        branch: context.branch.clone(),
        variant: context.variant.clone(),
        provider: context.provider.map(str::to_owned),
        url: context.url.clone(),
        started: Timestamp::from(oldest),
        roots: None,
        packages: None,
    }
}

/// Splits the reports so that one batch fits in memory.
fn groups(sources: &[Source]) -> Vec<&[Source]> {
    let mut groups = Vec::new();
    let mut start = 0;
    let mut bytes = 0;
    for (place, source) in sources.iter().enumerate() {
        if bytes > 0 && bytes + source.size > BATCH_BYTES {
            groups.push(&sources[start..place]);
            (start, bytes) = (place, 0);
        }
        bytes += source.size;
    }
    groups.push(&sources[start..]);
    groups
}

impl Source {
    /// Reads the report, and says from which folder of the repository its ids
    /// were told, where it matters.
    fn read(
        &self,
        run: &Arc<Run>,
        surroundings: Option<&Surroundings>,
        Reading { buffer, ids }: &mut Reading,
    ) -> Result<(ReportBatch, Option<String>, Vec<Issue>), ExpectedError> {
        let failed = |source| ExpectedError::Read { path: self.path.clone(), source };
        let mut file = File::open(&self.path).map_err(failed)?;
        let limits = Limits::default();
        let (mut report, issues) = if self.size <= READ_AT_ONCE {
            buffer.clear();
            buffer.reserve(usize::try_from(self.size).unwrap_or(0));
            file.read_to_end(buffer).map_err(failed)?;
            flakewise_junit::read_bytes(buffer, run, &limits, ids)
        } else {
            flakewise_junit::read(BufReader::with_capacity(1 << 16, file), run, &limits, ids)
        };
        let rootdir = surroundings
            .and_then(|surroundings| surroundings.settle(&self.path, report.dialect, &mut report.attempts));
        let batch = ReportBatch {
            id: self.id.clone(),
            source: shown_path(&self.path),
            complete: report.complete,
            attempts: report.attempts,
            verdicts: Vec::new(),
        };
        Ok((batch, rootdir, issues))
    }
}

/// Forward slashes everywhere.
fn shown_path(path: &Path) -> String {
    path.to_string_lossy().replace('\\', "/")
}

fn show_issues(source: &str, issues: &[Issue], printer: &Printer) {
    let serious: Vec<_> = issues.iter().filter(|issue| issue.level == IssueLevel::Invalid).collect();
    for issue in serious.iter().take(SHOWN_ISSUES) {
        printer.warning(&format!("{source}:{}: {}", issue.place.line, issue.kind));
    }
    let more = serious.len().saturating_sub(SHOWN_ISSUES);
    if more > 0 {
        printer.warning(&format!("{source}: and {} more", count(more as u64, "problem")));
    }
}

/// What an ingest did. Its JSON form is a promise.
#[derive(Debug, Default, Serialize)]
struct Summary {
    format: u32,
    run: String,
    commit: Option<String>,
    branch: Option<String>,
    reports: usize,
    reports_added: usize,
    reports_known: usize,
    reports_spooled: usize,
    reports_landed: usize,
    reports_from_spool: usize,
    reports_damaged: usize,
    attempts: usize,
    passed: usize,
    failed: usize,
    errored: usize,
    skipped: usize,
    timed_out: usize,
    crashed: usize,
    issues: Vec<IssueSummary>,
    store_trouble: Option<String>,
    #[serde(skip)]
    no_engine: bool,
}

#[derive(Debug, Serialize)]
struct IssueSummary {
    report: String,
    line: u64,
    offset: u64,
    level: &'static str,
    message: String,
}

impl Summary {
    fn new(run: &Run, reports: usize) -> Self {
        Self {
            format: 1,
            run: run.id.to_string(),
            commit: run.commit.clone(),
            branch: run.branch.clone(),
            reports,
            ..Self::default()
        }
    }

    fn delivered(&mut self, delivery: &Delivery) {
        self.reports_added = delivery.reports_added;
        self.reports_known = delivery.reports_known;
        self.reports_spooled = delivery.reports_spooled;
        self.reports_landed = delivery.reports_landed;
        self.reports_from_spool = delivery.reports_from_spool;
        self.store_trouble.clone_from(&delivery.store_trouble);
        self.no_engine = delivery.no_engine;
    }

    fn take_in(&mut self, report: &ReportBatch, issues: &[Issue]) {
        self.attempts += report.attempts.len();
        for attempt in &report.attempts {
            let count = match attempt.outcome {
                Outcome::Passed => &mut self.passed,
                Outcome::Failed => &mut self.failed,
                Outcome::Errored => &mut self.errored,
                Outcome::Skipped => &mut self.skipped,
                Outcome::TimedOut => &mut self.timed_out,
                Outcome::Crashed => &mut self.crashed,
            };
            *count += 1;
        }
        let invalid = issues.iter().any(|issue| issue.level == IssueLevel::Invalid);
        self.reports_damaged += usize::from(invalid || !report.complete);
        self.issues.extend(issues.iter().map(|issue| IssueSummary {
            report: report.source.clone(),
            line: issue.place.line,
            offset: issue.place.offset,
            level: match issue.level {
                IssueLevel::Suboptimal => "suboptimal",
                IssueLevel::Invalid => "invalid",
            },
            message: issue.kind.to_string(),
        }));
    }

    fn text(&self, sender: &Sender) -> String {
        let mut text = format!(
            "Ingested {}: {}",
            count(self.reports as u64, "report"),
            count(self.attempts as u64, "attempt")
        );
        let outcomes: Vec<_> = [
            (self.passed, "passed"),
            (self.failed, "failed"),
            (self.errored, "errored"),
            (self.skipped, "skipped"),
            (self.timed_out, "timed out"),
            (self.crashed, "crashed"),
        ]
        .into_iter()
        .filter(|(number, _)| *number > 0)
        .map(|(number, name)| format!("{} {name}", flakewise_report::number(number as u64)))
        .collect();
        if !outcomes.is_empty() {
            text.push_str(&format!(", {}", outcomes.join(", ")));
        }
        text.push_str(&format!("\nrun {}", Foreign::new(&self.run).line()));
        if let Some(commit) = &self.commit {
            let short = commit.get(..9).unwrap_or(commit);
            text.push_str(&format!(", commit {}", Foreign::new(short).line()));
        }
        if let Some(branch) = &self.branch {
            text.push_str(&format!(", branch {}", Foreign::new(branch).line()));
        }
        let mut did = Vec::new();
        if self.reports_added > 0 || (self.store_trouble.is_none() && self.reports_landed == 0) {
            did.push(format!("{} added", flakewise_report::number(self.reports_added as u64)));
        }
        if self.reports_known > 0 {
            did.push(format!("{} already known", flakewise_report::number(self.reports_known as u64)));
        }
        if self.reports_from_spool > 0 {
            did.push(format!(
                "{} sent from the spool",
                flakewise_report::number(self.reports_from_spool as u64)
            ));
        }
        if self.reports_landed > 0 {
            let landed = flakewise_report::number(self.reports_landed as u64);
            did.push(format!("{landed} left for `flakewise maintain`"));
        }
        if self.reports_spooled > 0 {
            did.push(format!("{} kept in the spool", flakewise_report::number(self.reports_spooled as u64)));
        }
        let (store, project) = (Foreign::new(&sender.store).line(), Foreign::new(&sender.project).line());
        text.push_str(&format!("\n{store}: {} (project {project})\n", did.join(", ")));
        text
    }
}
