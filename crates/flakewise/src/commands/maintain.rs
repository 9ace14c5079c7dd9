//! `flakewise maintain`.

use std::time::{Duration, Instant};

use flakewise_history::{Expiry, History, HistoryError, MaintainOptions, MaintainSummary};
use flakewise_report::{count, number};

use crate::args::MaintainArguments;
use crate::error::ExpectedError;
use crate::exit_code::ExitCode;
use crate::landing::commit_landed;
use crate::printer::Printer;

/// How often everything else is done beside committing.
const TIDY_INTERVAL: Duration = Duration::from_hours(1);

pub(crate) fn maintain(arguments: &MaintainArguments, printer: &Printer) -> Result<ExitCode, ExpectedError> {
    if let (Some(all), Some(attempts)) = (arguments.expire, arguments.expire_attempts)
        && attempts >= all
    {
        return Err(ExpectedError::ExpiryUnused { all, attempts });
    }
    let history = super::history(&arguments.store)?;
    if arguments.follow {
        return follow(&history, arguments, printer);
    }
    if !arguments.dry_run {
        land(&history, printer)?;
        tidy(&history, arguments, printer)?;
        return Ok(ExitCode::Success);
    }
    let landed = history.landed()?.len() as u64;
    if landed > 0 {
        printer.data(&format!("{:<9} would commit {}\n", "landing", count(landed, "file")))?;
    }
    match tidy(&history, arguments, printer) {
        // The history begins with what has landed.
        Err(ExpectedError::History(HistoryError::NoHistory { .. })) if landed > 0 => {}
        done => done?,
    }
    Ok(ExitCode::Success)
}

/// Commits what lands, until somebody ends the process. That is safe at any time.
fn follow(
    history: &History,
    arguments: &MaintainArguments,
    printer: &Printer,
) -> Result<ExitCode, ExpectedError> {
    let mut tidied = None;
    loop {
        match round(history, arguments, &mut tidied, printer) {
            // The store may be back by the next round.
            Err(error) if matches!(&error, ExpectedError::History(error) if error.is_store_trouble()) => {
                printer.warning(&error.with_causes());
            }
            done => done?,
        }
        std::thread::sleep(Duration::from_secs(arguments.interval));
    }
}

/// Commits what has landed, and does the rest if it is time. `tidied` is when that was done last.
fn round(
    history: &History,
    arguments: &MaintainArguments,
    tidied: &mut Option<Instant>,
    printer: &Printer,
) -> Result<(), ExpectedError> {
    land(history, printer)?;
    if tidied.is_some_and(|at| at.elapsed() < TIDY_INTERVAL) {
        return Ok(());
    }
    match tidy(history, arguments, printer) {
        // Nothing has landed yet.
        Err(ExpectedError::History(HistoryError::NoHistory { .. })) => {}
        done => {
            done?;
            *tidied = Some(Instant::now());
        }
    }
    Ok(())
}

/// Commits what jobs left in the store.
fn land(history: &History, printer: &Printer) -> Result<(), ExpectedError> {
    let bar = printer.progress(0, "committing");
    let committed = commit_landed(history, printer, &|done, all| {
        bar.set_length(all as u64);
        bar.set_position(done as u64);
    })?;
    bar.finish_and_clear();
    if committed.files > 0 {
        let (files, reports) = (committed.files as u64, committed.reports_added as u64);
        let known = committed.reports_known as u64;
        let known = if known > 0 { format!(", {} known before", number(known)) } else { String::new() };
        printer.data(&format!(
            "{:<9} committed {} with {}{known}\n",
            "landing",
            count(files, "file"),
            count(reports, "new report"),
        ))?;
    }
    Ok(())
}

/// Merges, rolls up and removes.
fn tidy(history: &History, arguments: &MaintainArguments, printer: &Printer) -> Result<(), ExpectedError> {
    let today = chrono::Utc::now().date_naive();
    let expiry = |days: Option<u32>| days.map(|days| Expiry { days, today });
    let options = MaintainOptions {
        dry_run: arguments.dry_run,
        keep: Duration::from_secs(arguments.keep.saturating_mul(3600)),
        expire: expiry(arguments.expire),
        expire_attempts: expiry(arguments.expire_attempts),
    };
    let bar = printer.progress(0, "merging");
    let summaries = history.maintain(&options, &|what, done, all| {
        bar.set_length(all as u64);
        bar.set_position(done as u64);
        bar.set_message(what.to_owned());
    })?;
    bar.finish_and_clear();
    for summary in summaries {
        printer.data(&line(&summary, options.dry_run))?;
    }
    Ok(())
}

fn line(summary: &MaintainSummary, dry_run: bool) -> String {
    let [expire, merge, roll_up, remove] = if dry_run {
        ["would expire", "would merge", "would roll up", "would remove"]
    } else {
        ["expired", "merged", "rolled up", "removed"]
    };
    let mut parts = Vec::new();
    if summary.days_expired > 0 {
        parts.push(format!("{expire} {}", count(summary.days_expired as u64, "day")));
    }
    if summary.days_compacted > 0 {
        let bytes = match summary.bytes_after {
            Some(after) => format!(", {} to {}", size(summary.bytes_before), size(after)),
            None => format!(", {}", size(summary.bytes_before)),
        };
        parts.push(format!(
            "{merge} {} of {} into {}{bytes}",
            count(summary.files_before as u64, "file"),
            count(summary.days_compacted as u64, "day"),
            number(summary.files_after as u64),
        ));
    }
    if summary.days_rolled_up > 0 {
        let made = match summary.bytes_after {
            Some(after) => format!(" into {}, {}", count(summary.files_after as u64, "file"), size(after)),
            None => String::new(),
        };
        parts.push(format!("{roll_up} {}{made}", count(summary.days_rolled_up as u64, "day")));
    }
    if summary.doubles_dropped > 0 {
        parts.push(format!("dropped {} ingested twice", count(summary.doubles_dropped, "row")));
    }
    if summary.days_left_to_others > 0 {
        parts.push(format!(
            "skipped {} that another process is working on",
            count(summary.days_left_to_others as u64, "day")
        ));
    }
    if summary.files_removed > 0 {
        parts.push(format!("{remove} {}", count(summary.files_removed as u64, "unused file")));
    }
    if parts.is_empty() {
        parts.push("nothing to do".to_owned());
    }
    format!("{:<9} {}\n", summary.table, parts.join("; "))
}

fn size(bytes: u64) -> String {
    match bytes {
        0..1_000 => format!("{bytes} B"),
        1_000..1_000_000 => format!("{:.1} kB", bytes as f64 / 1e3),
        _ => format!("{:.1} MB", bytes as f64 / 1e6),
    }
}
