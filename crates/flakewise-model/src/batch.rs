//! What one ingest hands to the history.

use std::sync::Arc;

use crate::{Attempt, ReportId, Run};

/// The reports of one run, as read.
#[derive(Clone, Debug, PartialEq)]
pub struct Batch {
    /// The run they belong to.
    pub run: Arc<Run>,
    /// The reports.
    pub reports: Vec<ReportBatch>,
}

impl Batch {
    /// How many attempts it holds.
    pub fn attempt_count(&self) -> usize {
        self.reports.iter().map(|report| report.attempts.len()).sum()
    }
}

/// What was read from one report.
#[derive(Clone, Debug, PartialEq)]
pub struct ReportBatch {
    /// Its identity: a report is taken in once.
    pub id: ReportId,
    /// Where it came from, for people.
    pub source: String,
    /// Whether it was read to its end; a report that was cut off has lost
    /// tests.
    pub complete: bool,
    /// Its attempts, in the order of the report. An attempt's place in this
    /// list is part of its identity.
    pub attempts: Vec<Attempt>,
}
