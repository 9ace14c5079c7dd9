//! Results that writers leave in the store for one process to commit: compressed files as in the
//! spool.

use std::io::{BufReader, Read as _};
use std::path::Path;

use flakewise_history::{History, HistoryError, Landed};
use flakewise_model::Batch;
use flakewise_spool::{SpoolError, file_name, read_batch, write_batch};
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;

use crate::printer::Printer;

/// How much is committed at once: files, and bytes of them. In memory they are some thirty times as long.
const FILES: usize = 1000;
const BYTES: u64 = 8 << 20;
/// A file that holds more is not believed.
const MOST_BYTES: u64 = 1 << 30;

/// Leaves a batch in the store.
pub(crate) fn land(history: &History, project: &str, batch: &Batch) -> Result<(), HistoryError> {
    let mut out = GzEncoder::new(Vec::new(), Compression::fast());
    let written = write_batch(&mut out, project, batch).and_then(|()| out.finish());
    let bytes = written.expect("writing to memory does not fail");
    history.land(&format!("{}.gz", file_name(project, batch)), bytes)
}

/// What was committed.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Committed {
    pub(crate) files: usize,
    pub(crate) reports_added: usize,
    pub(crate) reports_known: usize,
}

/// Appends all that waits to the history, much of it with one commit. A file that is damaged is set
/// aside, with a warning, and does not block the rest.
pub(crate) fn commit_landed(
    history: &History,
    printer: &Printer,
    progress: &dyn Fn(usize, usize),
) -> Result<Committed, HistoryError> {
    let mut committed = Committed::default();
    let landed = history.landed()?;
    let mut rest = landed.as_slice();
    while !rest.is_empty() {
        progress(landed.len() - rest.len(), landed.len());
        let (group, later) = rest.split_at(fitting(rest));
        rest = later;
        let mut batches = Vec::new();
        let mut names = Vec::new();
        for (name, bytes) in history.read_landed(group)? {
            match read(&name, &bytes, history.project()) {
                Ok(batch) => {
                    batches.push(batch);
                    names.push(name);
                }
                // Another version may read it.
                Err(error @ SpoolError::Newer { .. }) => {
                    printer.warning(&error.to_string());
                }
                Err(error) => {
                    let aside = history.set_aside_landed(&name)?;
                    printer.warning(&format!("{error}; it is now `{aside}`"));
                }
            }
        }
        let appended = history.append(&batches)?;
        committed.reports_added += appended.reports_added;
        committed.reports_known += appended.reports_known;
        committed.files += names.len();
        // If they stay, they are appended again and found to be known.
        history.remove_landed(&names)?;
    }
    Ok(committed)
}

/// How many of these files are committed at once.
fn fitting(files: &[Landed]) -> usize {
    let mut bytes = 0;
    let fits = |file: &&Landed| {
        bytes += file.size;
        bytes <= BYTES
    };
    files.iter().take(FILES).take_while(fits).count().max(1)
}

fn read(name: &str, bytes: &[u8], project: &str) -> Result<Batch, SpoolError> {
    let path = Path::new(name);
    let damaged = |reason: String| SpoolError::NotABatch { path: path.to_owned(), reason };
    let text = BufReader::new(GzDecoder::new(bytes).take(MOST_BYTES));
    let spooled = read_batch(text, path).map_err(|error| match error {
        SpoolError::Io { source, .. } => damaged(source.to_string()),
        error => error,
    })?;
    if spooled.project != project {
        return Err(damaged(format!("it belongs to the project `{}`", spooled.project)));
    }
    Ok(spooled.batch)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_commit_is_bounded() {
        let files = |size: u64, count: usize| vec![Landed { name: "a".to_owned(), size }; count];
        assert_eq!(fitting(&files(10, 3)), 3);
        assert_eq!(fitting(&files(10, 5000)), FILES);
        assert_eq!(fitting(&files(BYTES / 2, 5)), 2);
        assert_eq!(fitting(&files(BYTES + 1, 5)), 1);
    }
}
