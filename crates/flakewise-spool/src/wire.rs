//! The file format: a header line, then for each report a line that says how
//! many attempts follow, and the attempts. Verdicts are part of the report's
//! line: a reader that does not know them still finds the attempts.
//!
//! A reader accepts any format up to its own. Fields may be added without
//! raising the number; unknown ones are ignored.

use std::collections::BTreeSet;
use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

use flakewise_model::{
    Attempt, Batch, Failure, FindingId, Fingerprint, Probability, ReportBatch, ReportId, Run, RunId,
    StoredVerdict, Timestamp, Variant,
};
use serde::{Deserialize, Serialize};

use crate::Spooled;

pub(crate) const FORMAT: u32 = 1;

#[derive(Deserialize)]
struct Format {
    format: u32,
}

#[derive(Serialize, Deserialize)]
struct Header {
    format: u32,
    project: String,
    reports: usize,
    run: RunLine,
}

#[derive(Serialize, Deserialize)]
struct RunLine {
    id: String,
    commit: Option<String>,
    dirty: bool,
    branch: Option<String>,
    variant: String,
    provider: Option<String>,
    url: Option<String>,
    started_us: i64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    roots: Option<BTreeSet<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    packages: Option<String>,
}

#[derive(Serialize, Deserialize)]
struct ReportLine {
    report: String,
    source: String,
    complete: bool,
    attempts: usize,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    verdicts: Vec<VerdictLine>,
}

#[derive(Serialize, Deserialize)]
struct VerdictLine {
    test: String,
    finding: String,
    conclusion: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    detail: Option<String>,
    probability: f64,
    /// JSON as text, so that it comes back to the byte.
    evidence: String,
}

#[derive(Serialize, Deserialize)]
struct AttemptLine {
    test: String,
    phase: String,
    attempt: u32,
    outcome: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    duration_us: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    started_us: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    worker: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    position: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    failure: Option<FailureLine>,
}

#[derive(Serialize, Deserialize)]
struct FailureLine {
    kind: Option<String>,
    message: String,
    fingerprint: Option<String>,
}

pub(crate) fn write(out: &mut impl Write, project: &str, batch: &Batch) -> std::io::Result<()> {
    let run = &batch.run;
    let header = Header {
        format: FORMAT,
        project: project.to_owned(),
        reports: batch.reports.len(),
        run: RunLine {
            id: run.id.to_string(),
            commit: run.commit.clone(),
            dirty: run.dirty,
            branch: run.branch.clone(),
            variant: run.variant.to_string(),
            provider: run.provider.clone(),
            url: run.url.clone(),
            started_us: run.started.timestamp_micros(),
            roots: run.roots.clone(),
            packages: run.packages.as_deref().map(str::to_owned),
        },
    };
    line(out, &header)?;
    for report in &batch.reports {
        let head = ReportLine {
            report: report.id.to_string(),
            source: report.source.clone(),
            complete: report.complete,
            attempts: report.attempts.len(),
            verdicts: report.verdicts.iter().map(verdict_line).collect(),
        };
        line(out, &head)?;
        for attempt in &report.attempts {
            line(out, &attempt_line(attempt))?;
        }
    }
    Ok(())
}

fn line(out: &mut impl Write, value: &impl Serialize) -> std::io::Result<()> {
    serde_json::to_writer(&mut *out, value)?;
    out.write_all(b"\n")
}

fn verdict_line(verdict: &StoredVerdict) -> VerdictLine {
    VerdictLine {
        test: verdict.test.to_string(),
        finding: verdict.finding.to_string(),
        conclusion: verdict.conclusion.clone(),
        detail: verdict.detail.clone(),
        probability: verdict.probability.get(),
        evidence: verdict.evidence.clone(),
    }
}

fn attempt_line(attempt: &Attempt) -> AttemptLine {
    AttemptLine {
        test: attempt.test.to_string(),
        phase: attempt.phase.name().to_owned(),
        attempt: attempt.number,
        outcome: attempt.outcome.name().to_owned(),
        duration_us: attempt.duration.and_then(|duration| u64::try_from(duration.as_micros()).ok()),
        started_us: attempt.started.map(|started| started.timestamp_micros()),
        worker: attempt.worker.as_deref().map(str::to_owned),
        position: attempt.position,
        failure: attempt.failure.as_ref().map(|failure| FailureLine {
            kind: failure.kind.clone(),
            message: failure.message.clone(),
            fingerprint: failure.fingerprint.as_ref().map(Fingerprint::to_string),
        }),
    }
}

/// The line of one attempt.
pub(crate) fn attempt_text(attempt: &Attempt) -> String {
    let text = serde_json::to_string(&attempt_line(attempt)).expect("lines have string keys");
    text + "\n"
}

/// Why lines are not a batch.
#[derive(Debug)]
pub(crate) enum Trouble {
    /// They cannot be read now; perhaps later.
    Io(std::io::Error),
    /// A later version wrote them, in this format.
    Newer(u32),
    /// They are something else, for this reason.
    Damaged(String),
}

impl From<String> for Trouble {
    fn from(reason: String) -> Self {
        Self::Damaged(reason)
    }
}

impl From<&str> for Trouble {
    fn from(reason: &str) -> Self {
        Self::Damaged(reason.to_owned())
    }
}

/// Reads the lines of a journal: a batch of one report, and after it as many
/// attempts as were written whole.
pub(crate) fn read_journal(
    mut lines: impl Iterator<Item = std::io::Result<String>>,
) -> Result<Spooled, Trouble> {
    let mut spooled = read(lines.by_ref().take(2))?;
    let run = Arc::clone(&spooled.batch.run);
    let report = spooled.batch.reports.first_mut().ok_or("it has no report")?;
    for text in lines {
        let Some(attempt) = text
            .ok()
            .and_then(|text| parse::<AttemptLine>(0, &text).ok())
            .and_then(|line| attempt(line, &run).ok())
        else {
            break;
        };
        report.attempts.push(attempt);
    }
    Ok(spooled)
}

/// Reads a file's lines. The error does not name the file.
pub(crate) fn read(lines: impl Iterator<Item = std::io::Result<String>>) -> Result<Spooled, Trouble> {
    let mut lines = lines.zip(1..).map(|(line, number)| match line {
        Ok(line) => Ok((number, line)),
        // Bytes that are no text will not become one.
        Err(error) if error.kind() == std::io::ErrorKind::InvalidData => {
            Err(Trouble::Damaged(format!("line {number}: {error}")))
        }
        Err(error) => Err(Trouble::Io(error)),
    });
    let (_, first) = lines.next().ok_or("it is empty")??;
    // A later header may have other fields, but it says its format.
    let Format { format } = parse(1, &first)?;
    if format > FORMAT {
        return Err(Trouble::Newer(format));
    }
    let header: Header = parse(1, &first)?;
    let run = Arc::new(run(header.run)?);
    let mut reports = Vec::new();
    for _ in 0..header.reports {
        let (number, text) = lines.next().ok_or("it ends early")??;
        let head: ReportLine = parse(number, &text)?;
        let verdicts: Result<_, _> = head.verdicts.into_iter().map(verdict).collect();
        let verdicts = verdicts.map_err(|reason: String| format!("line {number}: {reason}"))?;
        let mut attempts = Vec::new();
        for _ in 0..head.attempts {
            let (number, text) = lines.next().ok_or("it ends early")??;
            let attempt =
                attempt(parse(number, &text)?, &run).map_err(|reason| format!("line {number}: {reason}"))?;
            attempts.push(attempt);
        }
        reports.push(ReportBatch {
            id: ReportId::from_text(head.report),
            source: head.source,
            complete: head.complete,
            attempts,
            verdicts,
        });
    }
    Ok(Spooled { project: header.project, batch: Batch { run, reports } })
}

fn parse<'a, T: Deserialize<'a>>(number: usize, text: &'a str) -> Result<T, String> {
    serde_json::from_str(text).map_err(|error| format!("line {number}: {error}"))
}

fn time(micros: i64) -> Result<Timestamp, String> {
    Timestamp::from_timestamp_micros(micros).ok_or_else(|| format!("{micros} is not a time"))
}

fn run(line: RunLine) -> Result<Run, String> {
    Ok(Run {
        id: RunId::new(line.id),
        commit: line.commit,
        dirty: line.dirty,
        branch: line.branch,
        variant: Variant::parse(&line.variant),
        provider: line.provider,
        url: line.url,
        started: time(line.started_us)?,
        roots: line.roots,
        packages: line.packages.map(Arc::from),
    })
}

fn verdict(line: VerdictLine) -> Result<StoredVerdict, String> {
    Ok(StoredVerdict {
        test: line.test.parse().map_err(|error| format!("{error}"))?,
        finding: FindingId::from_text(line.finding),
        conclusion: line.conclusion,
        detail: line.detail,
        probability: Probability::clamped(line.probability),
        evidence: line.evidence,
    })
}

fn attempt(line: AttemptLine, run: &Arc<Run>) -> Result<Attempt, String> {
    Ok(Attempt {
        test: line.test.parse().map_err(|error| format!("{error}"))?,
        run: Arc::clone(run),
        phase: line.phase.parse().map_err(|error| format!("{error}"))?,
        number: line.attempt,
        outcome: line.outcome.parse().map_err(|error| format!("{error}"))?,
        duration: line.duration_us.map(Duration::from_micros),
        started: line.started_us.map(time).transpose()?,
        worker: line.worker.map(Into::into),
        position: line.position,
        failure: line.failure.map(|failure| {
            Box::new(Failure {
                kind: failure.kind,
                message: failure.message,
                fingerprint: failure.fingerprint.as_deref().map(Fingerprint::from_text),
            })
        }),
    })
}
