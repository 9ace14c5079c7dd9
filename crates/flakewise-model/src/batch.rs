//! What one ingest hands to the history.

use std::sync::Arc;

use crate::{Attempt, FindingId, Probability, ReportId, Run, TestFailure, TestId};

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

    /// How many verdicts it holds.
    pub fn verdict_count(&self) -> usize {
        self.reports.iter().map(|report| report.verdicts.len()).sum()
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
    /// What was concluded about its failures, if anybody did. A verdict's place
    /// in this list is part of its identity.
    pub verdicts: Vec<StoredVerdict>,
}

/// What was concluded about a failing test of a run, in the form in which it is
/// kept. Names are text here: a later version may have conclusions that this one
/// does not know.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredVerdict {
    /// The test.
    pub test: TestId,
    /// The reported finding.
    pub finding: FindingId,
    /// What was concluded, such as `flaky`; see [`crate::Blame::name`].
    pub conclusion: String,
    /// The finer name, such as `state-dependent`; see [`crate::Blame::detail`].
    pub detail: Option<String>,
    /// The probability that the test is flaky.
    pub probability: Probability,
    /// All that carries it, as JSON. Whoever makes it says what is in it.
    pub evidence: String,
}

impl StoredVerdict {
    /// The verdict about this failure, with its evidence already written out.
    pub fn of(failure: &TestFailure, evidence: String) -> Self {
        let blame = &failure.verdict.blame;
        Self {
            test: failure.test.clone(),
            finding: failure.id.clone(),
            conclusion: blame.name().to_owned(),
            detail: blame.detail().map(str::to_owned),
            probability: failure.verdict.flaky,
            evidence,
        }
    }
}
