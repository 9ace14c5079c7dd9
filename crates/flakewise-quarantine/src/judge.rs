//! Whether a failure is forgiven.

use chrono::NaiveDate;
use flakewise_model::{Fingerprint, Foreign, QuarantineStatus, Quarantined, Renames, TestId, TraceFrames};

use crate::{Accepts, Entry, Limits, Mode, Quarantine, Target};

/// The quarantine as it applies on one day.
#[derive(Clone, Debug)]
pub struct InForce {
    /// The entries.
    pub quarantine: Quarantine,
    /// The day.
    pub today: NaiveDate,
    /// What entries may not exceed.
    pub limits: Limits,
    /// Tests that had another id when they were quarantined.
    pub renames: Renames,
}

/// One failing execution of a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SeenFailure<'a> {
    /// What it has in common with others; none where nothing is known.
    pub fingerprint: Option<&'a Fingerprint>,
    /// To recognise it if the test was renamed; none where that is not possible.
    pub frames: Option<&'a TraceFrames>,
    /// Whether the process died or was stopped.
    pub crashed: bool,
}

impl InForce {
    /// What the quarantine says about a test with these failures, and whether that holds
    /// only because an entry covers any failure. None if no entry is about the test.
    ///
    /// A test is forgiven only if every one of its failures is listed by an entry that has
    /// not expired. Crashes and time-outs are never forgiven.
    pub fn judge(&self, test: &TestId, failures: &[SeenFailure<'_>]) -> Option<(Quarantined, bool)> {
        let has_begun = |entry: &&Entry| entry.since <= self.today;
        let covering: Vec<&Entry> = self.covering(test).filter(has_begun).collect();
        let first = *covering.first()?;
        let live: Vec<&Entry> = covering.iter().copied().filter(|entry| !self.is_expired(entry)).collect();
        if failures.is_empty() || failures.iter().any(|failure| failure.crashed) {
            let entry = live.first().copied().unwrap_or(first);
            let status = if live.is_empty() { QuarantineStatus::Expired } else { QuarantineStatus::Crashed };
            return Some((self.said(entry, status), false));
        }
        let lister =
            |failure: &SeenFailure<'_>| live.iter().copied().find(|entry| lists(entry, test, failure));
        let any = live.iter().copied().find(|entry| entry.accepts == Accepts::AnyFailure);
        if let Some(unlisted) = failures.iter().find(|failure| lister(failure).is_none()) {
            if let Some(entry) = any {
                return Some((self.said(entry, QuarantineStatus::Forgiven), true));
            }
            let covers =
                |entry: &&Entry| lists(entry, test, unlisted) || entry.accepts == Accepts::AnyFailure;
            let expired = covering.iter().copied().filter(|entry| self.is_expired(entry)).find(covers);
            let expired = expired.or(live.is_empty().then_some(first));
            return Some(match expired {
                Some(entry) => (self.said(entry, QuarantineStatus::Expired), false),
                None => (self.said(live[0], QuarantineStatus::OtherFailure), false),
            });
        }
        let entry = lister(&failures[0]).unwrap_or(first);
        Some((self.said(entry, QuarantineStatus::Forgiven), false))
    }

    /// The entries that are about a test, under its present id or a former one. A pattern is
    /// about the tests that match it today.
    pub(crate) fn covering<'a>(&'a self, test: &'a TestId) -> impl Iterator<Item = &'a Entry> {
        let formers = self.renames.formers(test.as_str());
        self.quarantine.entries.iter().filter(move |entry| {
            let is_former = |own: &TestId| formers.iter().any(|former| former == own.as_str());
            entry.covers(test) || matches!(&entry.target, Target::Test(own) if is_former(own))
        })
    }

    /// Why a test is not run, if an entry in force says so.
    pub fn skips(&self, test: &TestId) -> Option<String> {
        let is_in_force =
            |entry: &&Entry| entry.mode == Mode::Skip && entry.since <= self.today && !self.is_expired(entry);
        let entry = self.covering(test).find(is_in_force)?;
        let reason =
            format!("quarantined until {}, owner {}: {}", self.last_day(entry), entry.owner, entry.reason);
        Some(Foreign::new(&reason).line())
    }

    /// Whether any entry asks for tests not to run.
    pub fn any_skips(&self) -> bool {
        self.quarantine.entries.iter().any(|entry| entry.mode == Mode::Skip)
    }

    /// Whether an entry no longer applies.
    pub fn is_expired(&self, entry: &Entry) -> bool {
        self.today > self.last_day(entry)
    }

    /// The last day on which an entry applies: never later than the longest term allows.
    pub fn last_day(&self, entry: &Entry) -> NaiveDate {
        self.limits.last_day(entry.since).min(entry.until)
    }

    fn said(&self, entry: &Entry, status: QuarantineStatus) -> Quarantined {
        Quarantined {
            entry: entry.target.to_string(),
            owner: entry.owner.clone(),
            reason: entry.reason.clone(),
            issue: entry.issue.clone(),
            until: self.last_day(entry),
            status,
        }
    }
}

/// Whether an entry about a test lists a failure. An entry for a former id of the test lists
/// failures as they were under that id: fingerprints contain names of files and functions.
fn lists(entry: &Entry, test: &TestId, failure: &SeenFailure<'_>) -> bool {
    let Accepts::Fingerprints(listed) = &entry.accepts else { return false };
    let former = match &entry.target {
        Target::Test(own) if own != test => {
            failure.frames.and_then(|frames| frames.under_former_id(test, own))
        }
        _ => None,
    };
    failure.fingerprint.into_iter().chain(&former).any(|fingerprint| listed.contains(fingerprint))
}
