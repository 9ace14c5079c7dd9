//! Attempts that are written down as they happen.
//!
//! A journal is a batch under way: the same lines, with as many attempts as
//! there came to be. Whoever writes it holds a lock on it, so that one without
//! was left by a process that was killed. Its report has an id from the
//! beginning: what was sent and then found again is known to the history.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use flakewise_model::{Attempt, Batch, ReportBatch, ReportId, Run};

use crate::wire::Trouble;
use crate::{Spool, SpoolError, wire};

/// How journals are named.
const EXTENSION: &str = "journal.jsonl";

/// A journal being written.
#[derive(Debug)]
pub struct Journal {
    file: File,
    path: PathBuf,
}

impl Journal {
    /// Writes an attempt down. When this returns, it outlives this process.
    pub fn add(&mut self, attempt: &Attempt) -> Result<(), SpoolError> {
        let line = wire::attempt_text(attempt);
        self.file.write_all(line.as_bytes()).map_err(|source| self.trouble(source))
    }

    /// Forgets it: what stands there has reached its goal.
    pub fn remove(self) -> Result<(), SpoolError> {
        std::fs::remove_file(&self.path).map_err(|source| self.trouble(source))
    }

    fn trouble(&self, source: std::io::Error) -> SpoolError {
        SpoolError::Io { path: self.path.clone(), source }
    }
}

impl Spool {
    /// Begins a journal for the one report of this name.
    pub fn journal(
        &self,
        project: &str,
        run: &Arc<Run>,
        id: &ReportId,
        source: &str,
    ) -> Result<Journal, SpoolError> {
        // It is not complete unless it is sent by the process that writes it.
        let report = ReportBatch {
            id: id.clone(),
            source: source.to_owned(),
            complete: false,
            attempts: Vec::new(),
            verdicts: Vec::new(),
        };
        let batch = Batch { run: Arc::clone(run), reports: vec![report] };
        let name = blake3::hash(id.as_str().as_bytes()).to_hex();
        let path = self.folder.join(format!("{}.{EXTENSION}", &name[..16]));
        let begin = || {
            std::fs::create_dir_all(&self.folder)?;
            let mut file = OpenOptions::new().write(true).create_new(true).open(&path)?;
            file.lock()?;
            let mut head = Vec::new();
            wire::write(&mut head, project, &batch)?;
            file.write_all(&head)?;
            Ok(file)
        };
        match begin() {
            Ok(file) => Ok(Journal { file, path }),
            Err(source) => Err(SpoolError::Io { path, source }),
        }
    }

    /// Makes batches that wait of journals whose writer is gone. One that cannot
    /// be read does not hold up the others; the first such error is returned.
    pub fn recover(&self) -> Result<(), SpoolError> {
        let mut result = Ok(());
        for path in self.files(EXTENSION)? {
            result = result.and(self.recover_one(&path));
        }
        result
    }

    fn recover_one(&self, path: &Path) -> Result<(), SpoolError> {
        let failed = |source| SpoolError::Io { path: path.to_owned(), source };
        let file = match File::open(path) {
            Ok(file) => file,
            // Somebody else was quicker.
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(failed(error)),
        };
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Ok(()),
            Err(TryLockError::Error(error)) => return Err(failed(error)),
        }
        // It may have been dealt with between our opening and locking it.
        if !path.exists() {
            return Ok(());
        }
        match wire::read_journal(BufReader::new(&file).lines()) {
            Ok(spooled) => {
                if spooled.batch.reports.iter().any(|report| !report.attempts.is_empty()) {
                    self.put(&spooled.project, &spooled.batch)?;
                }
                self.remove(path)
            }
            Err(Trouble::Io(source)) => Err(failed(source)),
            Err(Trouble::Newer(found)) => {
                Err(SpoolError::Newer { path: path.to_owned(), found, known: wire::FORMAT })
            }
            // Nothing of it was written but, at most, a part of its head.
            Err(Trouble::Damaged(_)) => self.set_aside(path).map(drop),
        }
    }
}

#[cfg(test)]
mod tests {
    use flakewise_model::Outcome::{Failed, Passed};
    use flakewise_testkit::BatchBuilder;

    use super::*;

    fn written(spool: &Spool) -> (Journal, Batch) {
        let batch =
            BatchBuilder::new("r1", "c1", 0).attempt("test_a", Failed).attempt("test_a", Passed).build();
        let id = &batch.reports[0].id;
        let mut journal = spool.journal("acme/shop", &batch.run, id, "a hunt").expect("begun");
        for attempt in &batch.reports[0].attempts {
            journal.add(attempt).expect("written");
        }
        (journal, batch)
    }

    #[test]
    fn what_a_killed_process_wrote_becomes_a_batch_that_waits() {
        let folder = tempfile::tempdir().expect("made");
        let spool = Spool::new(folder.path());
        let (journal, batch) = written(&spool);
        spool.recover().expect("nothing to do");
        assert_eq!(spool.waiting().expect("listed").len(), 0, "its writer is alive");
        drop(journal);
        spool.recover().expect("recovered");
        spool.recover().expect("once");
        let waiting = spool.waiting().expect("listed");
        let read = spool.read(&waiting[0]).expect("read");
        assert_eq!((waiting.len(), read.project.as_str()), (1, "acme/shop"));
        assert_eq!(read.batch.reports[0].id, batch.reports[0].id);
        assert_eq!(read.batch.reports[0].attempts, batch.reports[0].attempts);
        assert!(!read.batch.reports[0].complete);
    }

    #[test]
    fn a_line_cut_short_costs_only_itself() {
        let folder = tempfile::tempdir().expect("made");
        let spool = Spool::new(folder.path());
        let (journal, batch) = written(&spool);
        let path = journal.path.clone();
        drop(journal);
        let text = std::fs::read(&path).expect("read");
        std::fs::write(&path, &text[..text.len() - 9]).expect("written");
        spool.recover().expect("recovered");
        let waiting = spool.waiting().expect("listed");
        let read = spool.read(&waiting[0]).expect("read");
        assert_eq!(read.batch.reports[0].attempts, batch.reports[0].attempts[..1]);
    }

    #[test]
    fn one_that_is_removed_leaves_nothing() {
        let folder = tempfile::tempdir().expect("made");
        let spool = Spool::new(folder.path());
        let (journal, _) = written(&spool);
        journal.remove().expect("removed");
        spool.recover().expect("nothing to do");
        assert_eq!(std::fs::read_dir(folder.path()).expect("listed").count(), 0);
    }

    #[test]
    fn nonsense_is_set_aside() {
        let folder = tempfile::tempdir().expect("made");
        let spool = Spool::new(folder.path());
        std::fs::write(folder.path().join("x.journal.jsonl"), b"\xff\xfe{").expect("written");
        spool.recover().expect("set aside");
        assert!(folder.path().join("x.journal.jsonl.bad").exists());
    }
}
