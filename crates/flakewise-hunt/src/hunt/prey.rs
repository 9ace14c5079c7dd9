//! What is known of one test of a hunt.

use flakewise_model::{Decision, Failure, FoundKind, PastRuns, Tally, TestId};
use flakewise_runner::TestKey;

/// A surprise is tried so often at least on its own.
const LEAST_CONFIRMATIONS: u64 = 10;
/// And so often at most.
const MOST_CONFIRMATIONS: u64 = 200;
/// A test that could not be run so often is left alone.
pub(super) const MOST_TROUBLE: u32 = 3;

pub(super) struct Prey {
    pub(super) key: TestKey,
    pub(super) id: TestId,
    pub(super) name: String,
    pub(super) risk: f64,
    pub(super) seconds: Option<f64>,
    /// In the suite.
    pub(super) together: Tally,
    /// With the others, in another order.
    pub(super) ordered: Tally,
    /// In a process of its own, with nothing beside it that is known of.
    pub(super) solo: Tally,
    /// In a process of its own, with others beside it.
    pub(super) beside: Tally,
    pub(super) skipped: bool,
    pub(super) attempts: u32,
    pub(super) trouble: u32,
    pub(super) failure: Option<Failure>,
    pub(super) place: Option<(String, u32)>,
    pub(super) found_after: Option<u64>,
    /// What kind it is, where orders have told.
    pub(super) told: Option<FoundKind>,
    pub(super) decision: Option<Decision>,
}

impl Prey {
    pub(super) fn new(key: TestKey, id: TestId, name: &str, risk: f64, past: &PastRuns) -> Self {
        Self {
            key,
            id,
            name: name.to_owned(),
            risk,
            seconds: past.seconds,
            together: past.together,
            ordered: past.ordered,
            solo: past.alone,
            beside: Tally::default(),
            skipped: false,
            attempts: 0,
            trouble: 0,
            failure: None,
            place: None,
            found_after: None,
            told: None,
            decision: None,
        }
    }

    pub(super) fn alone(&self) -> Tally {
        Tally { passed: self.solo.passed + self.beside.passed, failed: self.solo.failed + self.beside.failed }
    }

    pub(super) fn is_found(&self) -> bool {
        let alone = self.alone();
        self.together.passed + self.ordered.passed + alone.passed > 0
            && self.together.failed + self.ordered.failed + alone.failed > 0
    }

    /// How often a surprise is tried on its own before it is said to need other
    /// tests: so often that a failure at the rate seen would show, with a chance
    /// of 95 %.
    pub(super) fn confirmations(&self) -> u64 {
        if !self.beside.is_mixed() {
            return LEAST_CONFIRMATIONS;
        }
        let rarer = self.beside.passed.min(self.beside.failed) as f64;
        let rate = rarer / self.beside.runs() as f64;
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "within the limits")]
        let runs = (0.05_f64.ln() / (-rate).ln_1p()).ceil() as u64;
        runs.clamp(LEAST_CONFIRMATIONS, MOST_CONFIRMATIONS)
    }

    /// Whether it is found, and not yet known what it needs to fail.
    pub(super) fn is_open(&self) -> bool {
        self.is_found()
            && self.told.is_none()
            && !self.solo.is_mixed()
            && !self.together.is_mixed()
            && self.trouble < MOST_TROUBLE
            && self.solo.runs() < self.confirmations()
    }

    pub(super) fn kind(&self) -> FoundKind {
        if let Some(kind) = self.told {
            kind
        } else if self.solo.is_mixed() {
            FoundKind::Alone
        } else if self.together.is_mixed() {
            FoundKind::Together
        } else if self.beside.is_mixed() || (self.solo.failed == 0 && self.beside.failed > 0) {
            FoundKind::Beside
        } else if self.together.failed + self.ordered.failed > 0 && self.solo.failed == 0 {
            FoundKind::PassesAlone
        } else {
            FoundKind::FailsAlone
        }
    }
}
