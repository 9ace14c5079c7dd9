//! What is known of one test of a hunt.

use flakewise_model::{Attempt, Decision, Failure, FoundKind, PastRuns, Tally, TestId};
use flakewise_runner::TestKey;

use crate::decide::{LIKELY, odds_of_difference};

/// A surprise is repeated at least this often on its own.
const LEAST_CONFIRMATIONS: u64 = 10;
/// And at most this often: what fails in one of a hundred runs shows with a
/// chance of 98 %.
const MOST_CONFIRMATIONS: u64 = 400;
/// A test that could not be run this often is left alone.
pub(super) const MOST_TROUBLE: u32 = 3;

/// How a test ended, by what had run before it in its process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Seen {
    /// The others, in the suite's own order.
    pub(super) suite: Tally,
    /// The others, in another order.
    pub(super) ordered: Tally,
    /// Nothing.
    pub(super) alone: Tally,
}

impl Seen {
    pub(super) fn all(&self) -> Tally {
        let mut all = self.suite;
        all += self.ordered;
        all += self.alone;
        all
    }
}

pub(super) struct HuntedTest {
    pub(super) key: TestKey,
    pub(super) id: TestId,
    pub(super) name: String,
    pub(super) risk: f64,
    pub(super) seconds: Option<f64>,
    /// With nothing beside it that is known of.
    pub(super) solo: Seen,
    /// While other tests ran beside it, in other processes. A failure seen only
    /// here proves that they share something, and nothing else.
    pub(super) beside: Seen,
    pub(super) skipped: bool,
    pub(super) attempts: u32,
    pub(super) trouble: u32,
    /// How often a surprise is repeated at most, and how many seconds that may
    /// take, with those it took.
    patience: u64,
    allowance: f64,
    pub(super) spent: f64,
    /// Whether it has been run beside itself.
    pub(super) is_doubled: bool,
    /// Failures beside other tests, until the test is confirmed: they say nothing
    /// about a test that nobody runs beside others.
    pub(super) held: Vec<Attempt>,
    pub(super) failure: Option<Failure>,
    pub(super) place: Option<(String, u32)>,
    pub(super) found_after: Option<u64>,
    /// Its kind, if shuffled orders have shown it.
    pub(super) kind_by_orders: Option<FoundKind>,
    pub(super) decision: Option<Decision>,
}

impl HuntedTest {
    pub(super) fn new(key: TestKey, id: TestId, name: &str, risk: f64, past: &PastRuns) -> Self {
        Self {
            key,
            id,
            name: name.to_owned(),
            risk,
            seconds: past.seconds,
            // Hunts leave no failure in the history that needs others beside it.
            solo: Seen { suite: past.together, ordered: past.ordered, alone: past.alone },
            beside: Seen::default(),
            skipped: false,
            attempts: 0,
            trouble: 0,
            patience: MOST_CONFIRMATIONS,
            allowance: f64::INFINITY,
            spent: 0.0,
            is_doubled: false,
            held: Vec::new(),
            failure: None,
            place: None,
            found_after: None,
            kind_by_orders: None,
            decision: None,
        }
    }

    /// Everything it showed.
    pub(super) fn all(&self) -> Tally {
        let mut all = self.solo.all();
        all += self.beside.all();
        all
    }

    pub(super) fn alone(&self) -> Tally {
        let mut alone = self.solo.alone;
        alone += self.beside.alone;
        alone
    }

    /// Whether it both passed and failed.
    pub(super) fn is_found(&self) -> bool {
        self.all().is_mixed()
    }

    /// Whether it both passed and failed with nothing beside it.
    pub(super) fn is_confirmed(&self) -> bool {
        self.solo.all().is_mixed()
    }

    /// Repeating a surprise may take this many seconds more.
    pub(super) fn allow(&mut self, allowance: f64) {
        self.allowance = self.spent + allowance;
        self.patience = self.solo.alone.runs() + MOST_CONFIRMATIONS;
    }

    /// Whether to run it beside itself: it failed beside others, and not with
    /// nothing beside it. What uses a fixed port or file fails again then.
    pub(super) fn wants_double(&self) -> bool {
        self.is_found()
            && !self.is_doubled
            && !self.is_confirmed()
            && self.trouble < MOST_TROUBLE
            && self.solo.alone.runs() >= LEAST_CONFIRMATIONS
            && (self.kind_by_orders.is_some() || self.beside.alone.failed > 0)
            && self.odds_of_beside() < LIKELY
    }

    /// The odds that it fails more often beside other tests. That it failed there
    /// once is why one asks, and proves nothing.
    fn odds_of_beside(&self) -> f64 {
        let mut beside = self.beside.all();
        beside.failed = beside.failed.saturating_sub(1);
        odds_of_difference(beside, self.solo.all())
    }

    /// Whether it is found, and not yet known what it needs to fail: one that
    /// failed beside other tests is repeated with nothing beside it until it
    /// fails there too, or the two differ beyond doubt.
    pub(super) fn is_open(&self) -> bool {
        let runs = self.solo.alone.runs();
        let is_enough = if self.is_confirmed() || self.beside.alone.failed == 0 {
            true
        } else {
            runs >= self.patience || self.spent >= self.allowance || self.odds_of_beside() >= LIKELY
        };
        self.is_found()
            && self.kind_by_orders.is_none()
            && !self.solo.alone.is_mixed()
            && !self.solo.suite.is_mixed()
            && self.trouble < MOST_TROUBLE
            && !(is_enough && runs >= LEAST_CONFIRMATIONS)
    }

    /// Whether it fails only beside other tests, beyond doubt: what failed was
    /// repeated with nothing beside it, alone if it failed alone, and in the same
    /// order if it failed in one.
    fn is_only_beside(&self) -> bool {
        (self.kind_by_orders.is_some() || self.beside.alone.failed > 0) && self.odds_of_beside() >= LIKELY
    }

    pub(super) fn kind(&self) -> FoundKind {
        let Seen { suite, ordered, alone } = self.solo;
        if !self.is_confirmed() {
            if self.is_only_beside() { FoundKind::Beside } else { FoundKind::Unconfirmed }
        } else if let Some(kind) = self.kind_by_orders {
            kind
        } else if alone.is_mixed() {
            FoundKind::Alone
        } else if suite.is_mixed() {
            FoundKind::Together
        } else if suite.failed + ordered.failed > 0 && alone.failed == 0 {
            FoundKind::PassesAlone
        } else {
            FoundKind::FailsAlone
        }
    }

    /// What it showed that speaks of chance. None for one that ended differently
    /// because of other tests: that says nothing about its neighbours, and there
    /// is nothing to find by running it alone.
    pub(super) fn random_outcomes(&self) -> Option<Tally> {
        let is_dependent = self.is_found()
            && !self.is_open()
            && match self.kind() {
                FoundKind::Beside | FoundKind::Unconfirmed | FoundKind::FailsAlone => true,
                FoundKind::PassesAlone => self.kind_by_orders.is_some(),
                FoundKind::Alone | FoundKind::Together | FoundKind::Undecided => false,
            };
        (!is_dependent).then(|| self.all())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn hunted() -> HuntedTest {
        let id = TestId::builder("pytest", "test_a.py").finish("test_it", None);
        HuntedTest::new(
            TestKey { session: 0, number: 0 },
            id,
            "test_a.py::test_it",
            0.1,
            &PastRuns::default(),
        )
    }

    fn tally(passed: u64, failed: u64) -> Tally {
        Tally { passed, failed }
    }

    fn seen() -> impl Strategy<Value = Seen> {
        let tally = || (0..3_u64, 0..3_u64).prop_map(|(passed, failed)| tally(passed, failed));
        (tally(), tally(), tally()).prop_map(|(suite, ordered, alone)| Seen { suite, ordered, alone })
    }

    proptest! {
        /// Whatever was seen beside other tests, and whatever orders have shown:
        /// only what both passed and failed with nothing beside it is called
        /// flaky or order-dependent.
        #[test]
        fn nothing_but_runs_with_nothing_beside_them_name_a_kind(
            solo in seen(),
            beside in seen(),
            kind_by_orders in prop::option::of(prop::sample::select(vec![
                FoundKind::Alone, FoundKind::Together, FoundKind::FailsAlone, FoundKind::PassesAlone,
                FoundKind::Undecided,
            ])),
        ) {
            let hunted = HuntedTest { solo, beside, kind_by_orders, ..hunted() };
            if hunted.is_found() {
                let is_beside = matches!(hunted.kind(), FoundKind::Beside | FoundKind::Unconfirmed);
                prop_assert_eq!(is_beside, !solo.all().is_mixed());
            }
            let without = HuntedTest { solo, kind_by_orders, ..self::hunted() };
            if without.is_found() {
                prop_assert_eq!(hunted.kind(), without.kind(), "others beside it change nothing");
            }
        }
    }

    #[test]
    fn a_failure_beside_others_is_repeated_until_it_shows_alone_or_the_two_differ() {
        let of = |beside: Tally, solo: Tally| {
            let seen = |alone| Seen { alone, ..Seen::default() };
            let hunted = HuntedTest { beside: seen(beside), solo: seen(solo), ..hunted() };
            (hunted.is_open(), hunted.kind())
        };
        assert_eq!(of(tally(0, 1), tally(100, 0)), (true, FoundKind::Unconfirmed), "it may fail rarely");
        assert_eq!(of(tally(4, 1), tally(400, 0)), (false, FoundKind::Unconfirmed), "patience has an end");
        assert_eq!(of(tally(4, 1), tally(99, 1)), (false, FoundKind::Alone));
        assert!(of(tally(2, 8), tally(9, 0)).0);
        assert_eq!(of(tally(2, 8), tally(10, 0)), (false, FoundKind::Beside), "a clear difference");
    }

    #[test]
    fn a_failure_in_an_order_is_not_repeated_by_running_alone() {
        let beside = Seen { ordered: tally(3, 8), ..Seen::default() };
        let solo = Seen { alone: tally(10, 0), ..Seen::default() };
        let hunted = HuntedTest { solo, beside, ..hunted() };
        assert_eq!(hunted.kind(), FoundKind::Unconfirmed);
        assert_eq!(
            HuntedTest { kind_by_orders: Some(FoundKind::Together), ..hunted }.kind(),
            FoundKind::Beside
        );
    }

    #[test]
    fn slow_tests_are_repeated_less_often() {
        let seen = |alone| Seen { alone, ..Seen::default() };
        let mut hunted = HuntedTest { beside: seen(tally(4, 1)), solo: seen(tally(10, 0)), ..hunted() };
        hunted.allow(3.0);
        assert!(hunted.is_open());
        hunted.spent = 3.0;
        assert!(!hunted.is_open());
        hunted.allow(1.0);
        assert!(hunted.is_open(), "there is time again");
    }

    /// A test that fails randomly is not said to fail only beside others more
    /// often than the odds have it, though one asks because it failed there.
    #[test]
    fn a_rare_failure_is_seldom_blamed_on_others() {
        use rand::{Rng as _, SeedableRng as _};
        let mut random = rand::rngs::StdRng::seed_from_u64(1);
        for rate in [0.02, 0.05, 0.2, 0.5] {
            let blamed = (0..1000).filter(|_| {
                let mut hunted = hunted();
                hunted.solo.suite = tally(1, 0);
                while !hunted.is_found() {
                    hunted.beside.alone.add(random.random_bool(rate));
                }
                while hunted.is_open() {
                    hunted.solo.alone.add(random.random_bool(rate));
                }
                hunted.kind() == FoundKind::Beside
            });
            let blamed = blamed.count();
            assert!(blamed < 50, "{blamed} of 1000 at {rate}");
        }
    }

    #[test]
    fn what_needs_other_tests_says_nothing_of_chance() {
        let needs = Seen { suite: tally(1, 0), alone: tally(0, 10), ..Seen::default() };
        let disturbed = Seen { suite: tally(0, 1), alone: tally(10, 0), ..Seen::default() };
        let rare = Seen { alone: tally(10, 1), ..Seen::default() };
        let of =
            |solo: Seen, kind_by_orders| HuntedTest { solo, kind_by_orders, ..hunted() }.random_outcomes();
        assert_eq!(of(needs, None), None);
        assert_eq!(of(disturbed, Some(FoundKind::PassesAlone)), None);
        assert_eq!(of(disturbed, None), Some(tally(10, 1)), "it may also fail rarely");
        assert_eq!(of(rare, None), Some(tally(10, 1)));
        let often = Seen { alone: tally(2, 8), ..Seen::default() };
        let beside =
            HuntedTest { beside: often, solo: Seen { alone: tally(10, 0), ..Seen::default() }, ..hunted() };
        assert_eq!(beside.random_outcomes(), None);
    }
}
