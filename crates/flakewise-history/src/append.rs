//! Taking in reports, exactly once.
//!
//! Every report has an id ([`flakewise_model::ReportId`]). A commit carries the
//! ids of its reports as Delta *application transactions*, and two rules
//! together make "once" hold:
//!
//! 1. ids that are in the log at some version are left out;
//! 2. the commit is the version after that one, and is refused if that exists;
//!    then we look again from rule 1.
//!
//! So a client that is killed between commit and acknowledgement, or that
//! simply asks twice, adds nothing the second time. The log keeps an id for
//! seven days (`delta.setTransactionRetentionDuration`); a report that comes
//! again after that is taken in again, and `maintain` drops the double by
//! report and ordinal.
//!
//! `runs` is committed before `attempts`: attempts never exist without what is
//! known of their run. `verdicts` comes last, and only if there are any: a
//! conclusion never exists without the facts it was drawn from, and facts are
//! not held up by a conclusion that cannot be written. Each table is
//! exactly-once by its own log, so an ingest that died in between is completed
//! by the next try.
//!
//! A commit that fails may have been applied all the same: a store may answer
//! with an error after it has written, and its client may then try again and
//! get a conflict. So files that were offered to a commit are never deleted here.
//! If no commit names them, `maintain` removes them in time.

use std::collections::HashSet;
use std::time::Duration;

use deltalake::DeltaTableError;
use deltalake::kernel::transaction::TransactionError;
use deltalake::logstore::ObjectStoreRef;
use deltalake::logstore::object_store::ObjectStoreExt as _;
use deltalake::parquet::errors::ParquetError;
use flakewise_model::Batch;

use crate::files::{DataFile, Selection, attempt_files, run_files};
use crate::table::TableKind;
use crate::verdicts::verdict_files;
use crate::{History, HistoryError};

/// How often a commit is tried, each time after reading what others have committed.
pub(crate) const TRIES: usize = 200;
/// The longest pause after the first try, and of all.
const FIRST_PAUSE: Duration = Duration::from_millis(10);
const LONGEST_PAUSE: Duration = Duration::from_millis(800);

/// What an append did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Appended {
    /// Reports that are in the history now and were not before.
    pub reports_added: usize,
    /// Reports that were there already.
    pub reports_known: usize,
    /// Attempts that came with the new reports.
    pub attempts_added: usize,
    /// Verdicts that are in the history now and were not before.
    pub verdicts_added: usize,
}

impl History {
    /// Takes in the reports that are not there yet. When this returns `Ok`,
    /// every report given is in the history, once, and on disk.
    pub fn append(&self, batches: &[Batch]) -> Result<Appended, HistoryError> {
        let mut seen = HashSet::new();
        let selection: Selection<'_> = batches
            .iter()
            .flat_map(|batch| batch.reports.iter().map(move |report| (batch, report)))
            .filter(|(_, report)| seen.insert(&report.id))
            .collect();
        if selection.is_empty() {
            return Ok(Appended::default());
        }
        self.block_on("append", async {
            self.append_to(TableKind::Runs, &selection).await?;
            let added = self.append_to(TableKind::Attempts, &selection).await?;
            // Most reports have no verdicts. Then the table is not even looked at.
            let judged: Selection<'_> =
                selection.iter().copied().filter(|(_, report)| !report.verdicts.is_empty()).collect();
            let judged =
                if judged.is_empty() { judged } else { self.append_to(TableKind::Verdicts, &judged).await? };
            Ok(Appended {
                reports_added: added.len(),
                reports_known: selection.len() - added.len(),
                attempts_added: added.iter().map(|(_, report)| report.attempts.len()).sum(),
                verdicts_added: judged.iter().map(|(_, report)| report.verdicts.len()).sum(),
            })
        })
    }

    /// Takes in verdicts on tests of earlier runs, and returns how many are new. A store
    /// without a history of the project stays without.
    pub fn append_verdicts(&self, batch: &Batch) -> Result<usize, HistoryError> {
        let selection: Selection<'_> = batch.reports.iter().map(|report| (batch, report)).collect();
        self.block_on("append verdicts", async {
            if self.open(TableKind::Attempts).await?.is_none() {
                return Ok(0);
            }
            let added = self.append_to(TableKind::Verdicts, &selection).await?;
            Ok(added.iter().map(|(_, report)| report.verdicts.len()).sum())
        })
    }

    /// Commits what this table does not have yet, and returns it.
    async fn append_to<'a>(
        &self,
        kind: TableKind,
        selection: &Selection<'a>,
    ) -> Result<Selection<'a>, HistoryError> {
        let encode = |fresh: &Selection<'a>| match kind {
            TableKind::Attempts => attempt_files(&self.project, fresh),
            TableKind::Runs => run_files(&self.project, fresh, chrono::Utc::now()),
            TableKind::Verdicts => verdict_files(&self.project, fresh),
            TableKind::Renames | TableKind::TestDays => unreachable!("no part of a report"),
        };
        self.append_once(kind, selection, |(_, report)| report.id.as_str(), encode).await
    }

    /// Commits those rows that this table does not have yet, and returns what they are of.
    /// `id` tells whether it has them.
    pub(crate) async fn append_once<T: Copy>(
        &self,
        kind: TableKind,
        wanted: &[T],
        id: impl Fn(&T) -> &str,
        encode: impl Fn(&Vec<T>) -> Result<Vec<DataFile>, ParquetError>,
    ) -> Result<Vec<T>, HistoryError> {
        let mut written: Option<(Vec<String>, Vec<DataFile>)> = None;
        // What was not there when we came, whether our commit added it or,
        // since then, somebody else's.
        let mut added: Option<Vec<T>> = None;
        let ids_of = |items: &[T]| items.iter().map(|item| id(item).to_owned()).collect::<Vec<_>>();
        let look = async || {
            let head = self.log_head(kind).await?;
            let known = head.known(self, ids_of(wanted).into_iter().collect()).await?;
            Ok::<_, HistoryError>((head, known))
        };
        let (mut head, mut known) = look().await?;
        for number in 0..TRIES {
            let fresh: Vec<T> = wanted.iter().copied().filter(|item| !known.contains(id(item))).collect();
            let added = added.get_or_insert_with(|| fresh.clone());
            if fresh.is_empty() {
                self.sync_log(kind, head.version())?;
                return Ok(std::mem::take(added));
            }
            let ids = ids_of(&fresh);
            // Files are written once and survive a lost race; only if others
            // took in some of the same reports must they be made again.
            let files = match written.take() {
                Some((old, files)) if old == ids => files,
                _ => {
                    let files = encode(&fresh).map_err(|error| self.unwritable(error))?;
                    self.write_files(&head.store(), kind, &files).await?;
                    files
                }
            };
            match head.commit(&ids, &files).await {
                Ok(Some(version)) => {
                    tracing::debug!(table = ?kind, version, files = files.len(), "committed");
                    self.sync_log(kind, version)?;
                    self.tidy_log(kind, &head, version).await;
                    return Ok(std::mem::take(added));
                }
                Ok(None) => {
                    tracing::debug!(table = ?kind, number, "another writer committed first");
                    written = Some((ids, files));
                    tokio::time::sleep(pause(number)).await;
                    let more = head.advance().await.map_err(|error| self.unreachable(error.into()))?;
                    if let Some(more) = more {
                        known.extend(more);
                    } else {
                        (head, known) = look().await?;
                    }
                }
                Err(error) => return Err(self.unwritable(error)),
            }
        }
        Err(HistoryError::Contended { store: self.store.to_string(), tries: TRIES })
    }

    async fn write_files(
        &self,
        store: &ObjectStoreRef,
        kind: TableKind,
        files: &[DataFile],
    ) -> Result<(), HistoryError> {
        for file in files {
            self.put(store, file).await?;
        }
        self.sync_data(kind, files)
    }

    /// Writes one data file. It is invisible until a commit names it.
    pub(crate) async fn put(&self, store: &ObjectStoreRef, file: &DataFile) -> Result<(), HistoryError> {
        store
            .put(&file.add.path.as_str().into(), file.bytes.clone().into())
            .await
            .map_err(|error| self.unwritable(error))?;
        Ok(())
    }
}

/// Whether a commit failed only because another one came first.
pub(crate) fn is_lost_race(error: &DeltaTableError) -> bool {
    matches!(
        error,
        DeltaTableError::VersionAlreadyExists(_)
            | DeltaTableError::Transaction {
                source: TransactionError::CommitConflict(_)
                    | TransactionError::MaxCommitAttempts(_)
                    | TransactionError::VersionAlreadyExists(_),
            }
    )
}

/// How long to wait before the next try: random, so that writers who collided
/// once do not collide again, and longer each time.
pub(crate) fn pause(number: usize) -> Duration {
    let tries = u32::try_from(number).unwrap_or(u32::MAX).saturating_add(1);
    let longest = LONGEST_PAUSE.min(FIRST_PAUSE.saturating_mul(tries));
    longest.mul_f64(rand::random::<f64>())
}
