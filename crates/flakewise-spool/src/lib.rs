//! Batches on disk that could not be handed to the history yet.
//!
//! When a store is out of reach, or the build has no history engine, an ingest
//! leaves its batch here and the next one sends it. A spooled batch is one file
//! of JSON lines, written whole under a temporary name, synced and renamed, so
//! that a file with the right name is complete. Its name is made of the ids of
//! its reports: spooling the same batch twice leaves one file.
//!
//! Sending is at least once from here; the history makes it exactly once.

mod journal;
mod wire;

use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use flakewise_model::Batch;

use crate::wire::Trouble;
pub use journal::Journal;

/// How batches that wait are named.
const EXTENSION: &str = "batch.jsonl";
/// And files that were set aside.
const BAD: &str = ".bad";

/// The name of a batch's file, made of the ids of its reports.
pub fn file_name(project: &str, batch: &Batch) -> String {
    let mut hasher = blake3::Hasher::new();
    hasher.update(project.as_bytes());
    for report in &batch.reports {
        hasher.update(b"\0");
        hasher.update(report.id.as_str().as_bytes());
    }
    format!("{}.{EXTENSION}", &hasher.finalize().to_hex()[..16])
}

/// Writes a batch as a spool does.
pub fn write_batch(out: &mut impl Write, project: &str, batch: &Batch) -> std::io::Result<()> {
    wire::write(out, project, batch)
}

/// Reads such a batch. `path` is for messages.
pub fn read_batch(input: impl BufRead, path: &Path) -> Result<Spooled, SpoolError> {
    wire::read(input.lines()).map_err(|trouble| match trouble {
        Trouble::Io(source) => SpoolError::Io { path: path.to_owned(), source },
        Trouble::Newer(found) => SpoolError::Newer { path: path.to_owned(), found, known: wire::FORMAT },
        Trouble::Damaged(reason) => SpoolError::NotABatch { path: path.to_owned(), reason },
    })
}

/// A folder of batches that wait.
#[derive(Clone, Debug)]
pub struct Spool {
    folder: PathBuf,
}

/// A batch that waits, and the project it is for.
#[derive(Clone, Debug, PartialEq)]
pub struct Spooled {
    /// The project.
    pub project: String,
    /// The batch.
    pub batch: Batch,
}

/// What a spool holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Usage {
    /// Files.
    pub files: usize,
    /// Their bytes.
    pub bytes: u64,
    /// When the oldest was written.
    pub oldest: Option<SystemTime>,
}

/// How much a spool may hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// Bytes of all files.
    pub bytes: u64,
    /// The age of a file.
    pub age: Duration,
}

/// A file of a spool. By age first.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct KeptFile {
    written: SystemTime,
    path: PathBuf,
    bytes: u64,
}

/// Why a batch could not be kept or read back.
#[derive(Debug, thiserror::Error)]
pub enum SpoolError {
    /// The folder or a file in it cannot be used.
    #[error("failed to use the spool at `{}`", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// A later version wrote a file.
    #[error("`{}` has format {found}, and this version reads up to format {known}", path.display())]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its format.
        found: u32,
        /// The newest one known here.
        known: u32,
    },
    /// A file is not a batch.
    #[error("`{}` is not a spooled batch: {reason}", path.display())]
    NotABatch {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
}

impl Spool {
    /// A spool in this folder, which is made when the first batch comes.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into() }
    }

    /// Where it is.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Keeps a batch. When this returns, it is on disk.
    pub fn put(&self, project: &str, batch: &Batch) -> Result<PathBuf, SpoolError> {
        let path = self.folder.join(file_name(project, batch));
        let write = || {
            std::fs::create_dir_all(&self.folder)?;
            let temporary = tempfile::NamedTempFile::new_in(&self.folder)?;
            let mut out = BufWriter::new(temporary);
            write_batch(&mut out, project, batch)?;
            let temporary = out.into_inner().map_err(std::io::IntoInnerError::into_error)?;
            temporary.as_file().sync_all()?;
            temporary.persist(&path).map_err(|error| error.error)?;
            File::open(&self.folder)?.sync_all()
        };
        write().map_err(|source| SpoolError::Io { path: path.clone(), source })?;
        Ok(path)
    }

    /// The files of all batches that wait, in a stable order.
    pub fn waiting(&self) -> Result<Vec<PathBuf>, SpoolError> {
        self.files(EXTENSION)
    }

    fn files(&self, extension: &str) -> Result<Vec<PathBuf>, SpoolError> {
        let failed = |source| SpoolError::Io { path: self.folder.clone(), source };
        let entries = match std::fs::read_dir(&self.folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(failed(error)),
        };
        let mut paths = Vec::new();
        for entry in entries {
            let path = entry.map_err(failed)?.path();
            if path.to_string_lossy().ends_with(extension) {
                paths.push(path);
            }
        }
        paths.sort();
        Ok(paths)
    }

    /// Reads one batch back.
    pub fn read(&self, path: &Path) -> Result<Spooled, SpoolError> {
        let failed = |source| SpoolError::Io { path: path.to_owned(), source };
        let file = File::open(path).map_err(failed)?;
        read_batch(BufReader::new(file), path)
    }

    /// What the spool holds, files that were set aside included.
    pub fn usage(&self) -> Result<Usage, SpoolError> {
        let files = self.kept()?;
        Ok(Usage {
            files: files.len(),
            bytes: files.iter().map(|file| file.bytes).sum(),
            oldest: files.first().map(|file| file.written),
        })
    }

    /// Drops the oldest files until the rest is within bounds, and returns how
    /// many were dropped.
    pub fn trim(&self, bounds: &Bounds, now: SystemTime) -> Result<usize, SpoolError> {
        let files = self.kept()?;
        let mut bytes: u64 = files.iter().map(|file| file.bytes).sum();
        let mut dropped = 0;
        for file in files {
            let age = now.duration_since(file.written).unwrap_or_default();
            if bytes <= bounds.bytes && age <= bounds.age {
                break;
            }
            self.remove(&file.path)?;
            bytes -= file.bytes;
            dropped += 1;
        }
        Ok(dropped)
    }

    /// All files but journals, which belong to running processes, oldest first.
    fn kept(&self) -> Result<Vec<KeptFile>, SpoolError> {
        let mut files = Vec::new();
        for path in self.files(EXTENSION)?.into_iter().chain(self.files(BAD)?) {
            let found = std::fs::metadata(&path).and_then(|found| Ok((found.len(), found.modified()?)));
            match found {
                Ok((bytes, written)) => files.push(KeptFile { written, path, bytes }),
                // Another process sent it at the same time.
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                Err(source) => return Err(SpoolError::Io { path, source }),
            }
        }
        files.sort();
        Ok(files)
    }

    /// Forgets a batch that has been sent.
    pub fn remove(&self, path: &Path) -> Result<(), SpoolError> {
        match std::fs::remove_file(path) {
            // Another process sent it at the same time.
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
            other => other.map_err(|source| SpoolError::Io { path: path.to_owned(), source }),
        }
    }

    /// Puts a file that is not a batch aside, so that it is not tried for ever.
    pub fn set_aside(&self, path: &Path) -> Result<PathBuf, SpoolError> {
        let aside = path.with_added_extension("bad");
        std::fs::rename(path, &aside).map_err(|source| SpoolError::Io { path: path.to_owned(), source })?;
        Ok(aside)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flakewise_model::Outcome::{Failed, Passed, Skipped};
    use flakewise_testkit::BatchBuilder;

    fn batch() -> Batch {
        BatchBuilder::new("r1", "c1", 0)
            .run(|run| run.url = Some("https://ci.example/1".into()))
            .attempt("test_a", Failed)
            .attempt("test_a", Passed)
            .attempt("test_b", Skipped)
            .build()
    }

    #[test]
    fn a_batch_comes_back_as_it_was() {
        let folder = tempfile::tempdir().expect("made");
        let spool = Spool::new(folder.path().join("spool"));
        assert_eq!(spool.waiting().expect("empty").len(), 0);
        let path = spool.put("acme/shop", &batch()).expect("kept");
        assert_eq!(spool.put("acme/shop", &batch()).expect("kept"), path, "the same batch is one file");
        assert_eq!(spool.waiting().expect("listed"), std::slice::from_ref(&path));
        assert_eq!(spool.read(&path).expect("read"), Spooled { project: "acme/shop".into(), batch: batch() });
        spool.remove(&path).expect("removed");
        spool.remove(&path).expect("removing twice is fine");
        assert_eq!(spool.waiting().expect("empty").len(), 0);
    }

    fn judged() -> Batch {
        BatchBuilder::new("r1", "c1", 0)
            .attempt("test_a", Failed)
            .attempt("test_a", Passed)
            .verdict("test_a", "flaky", Some("transient"), 1.0)
            .attempt("test_b", Failed)
            .verdict("test_b", "regression", None, 0.03)
            .build()
    }

    #[test]
    fn verdicts_come_back_as_they_were() {
        let folder = tempfile::tempdir().expect("made");
        let spool = Spool::new(folder.path());
        let mut batch = judged();
        batch.reports[0].verdicts[0].evidence = "[ {\"b\":1e0,\n\"a\":\"\\u00e9\"} ]".to_owned();
        let path = spool.put("p", &batch).expect("kept");
        assert_eq!(spool.read(&path).expect("read").batch, batch);
    }

    #[test]
    fn what_a_run_says_of_roots_and_packages_comes_back() {
        let folder = tempfile::tempdir().expect("made");
        let spool = Spool::new(folder.path());
        let told = BatchBuilder::new("r1", "c1", 0).rootdir("svc-a").rootdir("").attempt("test_a", Passed);
        let told = told.run(|run| run.packages = Some("httpx==0.28.1".into())).build();
        let path = spool.put("acme/shop", &told).expect("kept");
        let back = spool.read(&path).expect("readable").batch;
        assert_eq!(back, told);
        assert_eq!(back.run.roots.as_ref().map(std::collections::BTreeSet::len), Some(2));
    }

    #[test]
    fn a_batch_without_verdicts_is_written_as_before_there_were_any() {
        let folder = tempfile::tempdir().expect("made");
        let path = Spool::new(folder.path()).put("acme/shop", &batch()).expect("kept");
        let frozen = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/format-1.batch.jsonl");
        let text = |path: &Path| std::fs::read_to_string(path).expect("read");
        assert_eq!(text(&path), text(&frozen));
    }

    #[test]
    fn a_reader_that_knows_no_verdicts_finds_the_attempts() {
        let folder = tempfile::tempdir().expect("made");
        let path = Spool::new(folder.path()).put("p", &judged()).expect("kept");
        let text = std::fs::read_to_string(&path).expect("read");
        assert_eq!(text.lines().count(), 1 + 1 + 3, "a header, a report, and a line for each attempt");
    }

    #[test]
    fn the_first_format_with_verdicts_is_still_read() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata");
        let path = folder.join("format-1-verdicts.batch.jsonl");
        assert_eq!(Spool::new(&folder).read(&path).expect("read").batch, judged());
    }

    #[test]
    fn a_damaged_file_is_refused_with_a_reason_and_can_be_set_aside() {
        let folder = tempfile::tempdir().expect("made");
        let spool = Spool::new(folder.path());
        let path = spool.put("p", &batch()).expect("kept");
        let text = std::fs::read_to_string(&path).expect("read");
        let check = |content: &str, reason: &str| {
            std::fs::write(&path, content).expect("written");
            let error = spool.read(&path).expect_err("damaged").to_string();
            assert!(error.contains(reason), "{error}");
        };
        check("", "it is empty");
        check("{}", "line 1");
        check("{\"format\":99}", "has format 99, and this version reads up to format 1");
        assert!(matches!(spool.read(&path), Err(SpoolError::Newer { found: 99, .. })));
        let cut: Vec<_> = text.lines().take(3).collect();
        check(&cut.join("\n"), "it ends early");
        spool.set_aside(&path).expect("renamed");
        assert_eq!(spool.waiting().expect("empty").len(), 0);
    }

    #[test]
    fn a_spool_is_trimmed_to_its_bounds_oldest_first() {
        let folder = tempfile::tempdir().expect("made");
        let spool = Spool::new(folder.path());
        let day = Duration::from_hours(24);
        let now = SystemTime::UNIX_EPOCH + day * 20_000;
        let mut paths = Vec::new();
        for (number, age) in [40, 10, 2, 1].into_iter().enumerate() {
            let batch = BatchBuilder::new(&format!("r{number}"), "c1", 0).attempt("test_a", Passed).build();
            let mut path = spool.put("p", &batch).expect("kept");
            if number == 1 {
                path = spool.set_aside(&path).expect("renamed");
            }
            let file = File::options().write(true).open(&path).expect("opened");
            file.set_modified(now - day * age).expect("a time can be set");
            paths.push(path);
        }
        let bytes = std::fs::metadata(&paths[2]).expect("it is there").len();
        let usage = spool.usage().expect("counted");
        assert_eq!((usage.files, usage.oldest), (4, Some(now - day * 40)));
        let there = || paths.iter().map(|path| path.exists()).collect::<Vec<_>>();
        let trim =
            |bytes: u64, days: u32| spool.trim(&Bounds { bytes, age: day * days }, now).expect("trimmed");
        assert_eq!(trim(usage.bytes, 50), 0);
        assert_eq!((trim(usage.bytes, 30), there()), (1, vec![false, true, true, true]));
        assert_eq!((trim(2 * bytes, 30), there()), (1, vec![false, false, true, true]));
        assert_eq!((trim(bytes, 30), there()), (1, vec![false, false, false, true]));
        assert_eq!(trim(bytes, 30), 0);
    }

    #[test]
    fn the_first_format_is_still_read() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata");
        let spooled = Spool::new(&folder).read(&folder.join("format-1.batch.jsonl")).expect("read");
        let outcomes: Vec<_> =
            spooled.batch.reports[0].attempts.iter().map(|attempt| attempt.outcome).collect();
        assert_eq!(outcomes, [Failed, Passed, Skipped]);
        assert_eq!(spooled.project, "acme/shop");
        assert_eq!(spooled.batch.run, batch().run);
    }
}
