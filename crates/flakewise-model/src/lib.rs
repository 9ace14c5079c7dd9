//! The words of Flakewise as types: tests, attempts, runs, verdicts, evidence
//! and findings.
//!
//! Everything else is built on this crate, so it stays small. It does no I/O,
//! reads no clock and serialises nothing: crates that put these values on a
//! wire or in a table convert them to a form of their own.

mod attempt;
mod batch;
mod behaviour;
mod credentials;
mod culprit;
mod escape;
mod finding;
mod fingerprint;
mod foreign;
mod hunt;
mod outcome;
mod overview;
mod packages;
mod past;
mod plain_command;
mod probability;
mod quarantine;
mod rate_change;
mod rename;
mod reproduce;
mod rows;
mod run;
mod state;
mod test_id;
mod triage;
mod variant;

pub use attempt::{Attempt, Failure, MESSAGE_LIMIT, Phase};
pub use batch::{Batch, ReportBatch, StoredVerdict};
pub use behaviour::BehaviourFeatures;
pub use credentials::without_credentials;
pub use culprit::{Culprit, CulpritAnswer, CulpritReport, NamedTest};
pub use escape::shell_word;
pub use finding::{
    Conclusion, Cost, Evidence, FailureGroup, FindingId, FindingKind, FlakeRate, FlakyTest, HistoryReport,
    OutcomeStep, Revision, SharedFailure, TestHistory, Transitions, Verdict,
};
pub use fingerprint::{Fingerprint, TraceFrames, normalise};
pub use foreign::Foreign;
pub use hunt::{
    Cleared, Decision, FoundKind, FoundTest, Hidden, HuntEnd, HuntReport, Order, Shard, Surroundings,
    highest_rate,
};
pub use outcome::{Outcome, UnknownName};
pub use overview::{CulpritNote, DayTotals, ProjectOverview, QuarantineNote, TestDetails, TestOverview};
pub use packages::{PACKAGES_LIMIT, PackageChange, differences, packages_text};
pub use past::{OutcomesAt, PassedRun, PastFailures, PastRuns, SeenOn, Tally};
pub use plain_command::{PlainCommand, Reproduction};
pub use probability::{Interval, Probability, tries};
pub use quarantine::{QuarantineStatus, Quarantined};
pub use rate_change::{Commit, RateChange};
pub use rename::{Rename, RenameAction, RenameDecision, Renames};
pub use reproduce::{ReproduceReport, Way};
pub use rows::{Rows, Value};
pub use run::{ReportId, Run, RunId};
pub use state::{SharedState, StateChange, StateKind};
pub use test_id::{TestId, TestIdBuilder, TestIdError, TestIds};
pub use triage::{
    AttemptCost, BaseSource, Blame, BuildExit, ChangeSummary, Counts, ExitReason, FailureVerdict, FlakyKind,
    Incident, Notice, Novelty, OpenQuestion, Proof, Refusal, Review, RunReport, TestFailure, Touch,
    TouchedFile,
};
pub use variant::Variant;

/// A point in time, in UTC.
pub type Timestamp = chrono::DateTime<chrono::Utc>;
