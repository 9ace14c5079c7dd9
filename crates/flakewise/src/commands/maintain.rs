//! `flakewise maintain`.

use std::time::Duration;

use flakewise_history::{MaintainOptions, MaintainSummary};
use flakewise_report::{count, number};

use crate::args::MaintainArguments;
use crate::error::ExpectedError;
use crate::exit_code::ExitCode;
use crate::printer::Printer;

pub(crate) fn maintain(arguments: &MaintainArguments, printer: &Printer) -> Result<ExitCode, ExpectedError> {
    let history = super::history(&arguments.store)?;
    let keep = Duration::from_secs(arguments.keep.saturating_mul(3600));
    let options = MaintainOptions { dry_run: arguments.dry_run, keep };
    let bar = printer.progress(0, "merging");
    let summaries = history.maintain(&options, &|what, done, all| {
        bar.set_length(all as u64);
        bar.set_position(done as u64);
        bar.set_message(what.to_owned());
    })?;
    bar.finish_and_clear();
    for summary in summaries {
        printer.data(&line(&summary, arguments.dry_run))?;
    }
    Ok(ExitCode::Success)
}

fn line(summary: &MaintainSummary, dry_run: bool) -> String {
    let [merge, roll_up, remove] = if dry_run {
        ["would merge", "would roll up", "would remove"]
    } else {
        ["merged", "rolled up", "removed"]
    };
    let mut parts = Vec::new();
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
