//! Tests that were renamed or moved: what was decided about them.
//!
//! A decision is a row, and rows are only added: who undoes a rename adds a row
//! that says so. What holds follows from all rows in the order of time
//! ([`flakewise_model::Renames`]).

use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};

use deltalake::arrow::array::{
    Array as _, AsArray as _, Date32Array, Float64Array, RecordBatch, StringDictionaryBuilder,
};
use deltalake::arrow::datatypes::{DataType, Float64Type, Int32Type};
use deltalake::parquet::errors::ParquetError;
use flakewise_model::{Rename, RenameAction, RenameDecision, Renames, TestId};

use crate::columns::{RENAMES, named, rows_of};
use crate::files::{DataFile, day_number, encode, times};
use crate::report::{Columns, collect, literal, texts};
use crate::session::Reading;
use crate::table::TableKind;
use crate::{History, HistoryError};

/// How many commits of a branch are named.
const COMMITS: usize = 50;

impl History {
    /// All decisions about renames, in the order of time.
    pub fn renames(&self) -> Result<Vec<RenameDecision>, HistoryError> {
        self.block_on("renames", self.decisions())
    }

    /// Records decisions, and returns how many are new. What is in force is not
    /// found again, and neither is what was undone.
    pub fn decide_renames(&self, decisions: &[RenameDecision]) -> Result<usize, HistoryError> {
        self.block_on("decide renames", async {
            let known = self.decisions().await?;
            let renames = Renames::new(&known);
            let is_known = |decision: &RenameDecision| {
                let Rename { former, current, .. } = &decision.rename;
                let is_same = |other: &&RenameDecision| {
                    other.rename.former == *former && other.rename.current == *current
                };
                let last = known.iter().rev().find(is_same).map(|other| other.action);
                decision.action == RenameAction::Found
                    && (last == Some(RenameAction::Undone) || renames.next(former).as_ref() == Some(current))
            };
            let fresh: Vec<(String, &RenameDecision)> = decisions
                .iter()
                .filter(|decision| !is_known(decision))
                .map(|decision| (id(decision), decision))
                .collect();
            if fresh.is_empty() {
                return Ok(0);
            }
            let fresh: Vec<(&str, &RenameDecision)> =
                fresh.iter().map(|(id, decision)| (id.as_str(), *decision)).collect();
            let encode = |fresh: &Vec<(&str, &RenameDecision)>| {
                rename_files(&self.project, fresh.iter().map(|(_, decision)| *decision).collect())
            };
            self.announce_renames().await?;
            let added = self.append_once(TableKind::Renames, &fresh, |(id, _)| id, encode).await?;
            Ok(added.len())
        })
    }

    /// Takes these renames for granted, without recording them: those of a
    /// change that may never be merged.
    pub fn assume_renames(&self, renames: &[Rename]) {
        let mut assumed = self.assumed_renames.lock().unwrap_or_else(PoisonError::into_inner);
        assumed.extend_from_slice(renames);
    }

    /// The commits of a branch of which there are runs, the latest first.
    pub fn commits(&self, branch: &str) -> Result<Vec<String>, HistoryError> {
        let query = format!(
            "SELECT commit, max(started_at) AS latest FROM runs
             WHERE branch = {} AND commit IS NOT NULL AND NOT dirty
             GROUP BY commit ORDER BY latest DESC, commit LIMIT {COMMITS}",
            literal(branch)
        );
        self.block_on("commits", async {
            match self.session(Reading::Few).await {
                Err(HistoryError::NoHistory { .. }) => Ok(Vec::new()),
                session => texts(&session?, &query, "commit").await,
            }
        })
    }

    /// The renames that hold, for a session: the table of runs was opened for it.
    pub(crate) async fn current_renames(&self) -> Result<Renames, HistoryError> {
        let has_none = self.has_no_renames.load(Ordering::Relaxed);
        let decisions = if has_none { Vec::new() } else { self.decisions().await? };
        let mut renames = Renames::new(&decisions);
        renames.add_all(&self.assumed_renames.lock().unwrap_or_else(PoisonError::into_inner));
        Ok(renames)
    }

    async fn decisions(&self) -> Result<Vec<RenameDecision>, HistoryError> {
        let Some(table) = self.open(TableKind::Renames).await? else { return Ok(Vec::new()) };
        let session = self.empty_session(Reading::Most)?;
        self.register(&session, "renames", &table, RENAMES, None, Reading::Most)
            .await
            .map_err(HistoryError::query)?;
        let mut decisions = Vec::new();
        for batch in collect(&session, "SELECT * FROM renames ORDER BY decided_at, former").await? {
            let columns = Columns(&batch);
            let (formers, tests) = (columns.texts("former")?, columns.texts("test")?);
            let (actions, commits) = (columns.texts("action")?, columns.texts("commit")?);
            let decided = columns.times("decided_at")?;
            let similarity = columns.get("similarity", &DataType::Float64)?;
            let similarity = similarity.as_primitive::<Float64Type>();
            for row in 0..batch.num_rows() {
                let id = |text: &Option<String>| text.as_deref()?.parse::<TestId>().ok();
                let (Some(former), Some(current)) = (id(&formers[row]), id(&tests[row])) else { continue };
                // An action that a later version invented is not ours to judge.
                let is_named = |action: &RenameAction| Some(action.as_str()) == actions[row].as_deref();
                let Some(action) = RenameAction::ALL.into_iter().find(is_named) else { continue };
                let similarity = similarity.is_valid(row).then(|| similarity.value(row));
                decisions.push(RenameDecision {
                    rename: Rename { former, current, similarity },
                    action,
                    commit: commits[row].clone(),
                    decided: decided[row],
                });
            }
        }
        Ok(decisions)
    }
}

/// The id of a decision. Jobs that compare the same commits find the same; what
/// a person says counts each time.
fn id(decision: &RenameDecision) -> String {
    let RenameDecision { rename, action, commit, decided } = decision;
    let moment = match action {
        RenameAction::Found => commit.clone().unwrap_or_default(),
        RenameAction::Added | RenameAction::Undone => decided.timestamp_micros().to_string(),
    };
    let mut hasher = blake3::Hasher::new();
    for part in ["rename", action.as_str(), rename.former.as_str(), rename.current.as_str(), &moment] {
        hasher.update(part.as_bytes()).update(&[0]);
    }
    hasher.finalize().to_hex()[..32].to_owned()
}

/// One file per day, each sorted by test.
fn rename_files(project: &str, mut decisions: Vec<&RenameDecision>) -> Result<Vec<DataFile>, ParquetError> {
    let day = |decision: &RenameDecision| day_number(decision.decided);
    decisions.sort_by(|left, right| {
        let key = |decision: &RenameDecision| (day(decision), decision.rename.current.to_string());
        key(left).cmp(&key(right))
    });
    let days = decisions.chunk_by(|left, right| day(left) == day(right));
    days.map(|decisions| encode(&[rename_rows(project, decisions)])).collect()
}

fn rename_rows(project: &str, decisions: &[&RenameDecision]) -> RecordBatch {
    let label = |value: &dyn Fn(&RenameDecision) -> Option<String>| {
        let mut builder = StringDictionaryBuilder::<Int32Type>::new();
        for decision in decisions {
            builder.append_option(value(decision));
        }
        Arc::new(builder.finish())
    };
    let days = decisions.iter().map(|decision| Some(day_number(decision.decided)));
    let similarity = decisions.iter().map(|decision| decision.rename.similarity);
    rows_of(
        RENAMES,
        vec![
            named("project", label(&|_| Some(project.to_owned()))),
            named("day", Arc::new(days.collect::<Date32Array>())),
            named("former", label(&|decision| Some(decision.rename.former.to_string()))),
            named("test", label(&|decision| Some(decision.rename.current.to_string()))),
            named("action", label(&|decision| Some(decision.action.as_str().to_owned()))),
            named("similarity", Arc::new(similarity.collect::<Float64Array>())),
            named("commit", label(&|decision| decision.commit.clone())),
            named("decided_at", times(decisions.iter().map(|decision| decision.decided.timestamp_micros()))),
        ],
    )
}
