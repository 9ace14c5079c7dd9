//! A test beside itself.
//!
//! One that failed once beside others, and never with nothing beside it, fails
//! rarely or shares something with them. If what it shares is fixed, such as a
//! port, two runs of it at the same time meet.

use std::time::Instant;

use flakewise_model::{Outcome, Surroundings};
use flakewise_runner::{Execution, Forks, RunnerError, Suite, TestKey};

use super::hunted_test::HuntedTest;
use super::{Hunter, MOST_BESIDE, SURPRISE_SHARE};

/// Runs of a test beside itself.
const RUNS: u32 = 10;

impl Hunter<'_, '_> {
    /// The test to run beside itself next.
    pub(super) fn next_double(&self) -> Option<usize> {
        let settings = self.context.settings;
        if settings.jobs == 1 || !self.forks || self.doubled >= MOST_BESIDE {
            return None;
        }
        self.hunted.iter().position(HuntedTest::wants_double)
    }

    /// Runs a test beside itself a few times.
    pub(super) fn double(&mut self, suite: &mut Suite, place: usize) -> Result<(), RunnerError> {
        self.is_solo = false;
        self.doubled += 1;
        self.hunted[place].is_doubled = true;
        let left = self.context.settings.deadline.saturating_duration_since(Instant::now());
        let limit = Instant::now() + left.div_f64(SURPRISE_SHARE);
        let jobs = self.context.settings.jobs;
        suite.fork_many(jobs, &mut Double { hunter: self, place, left: RUNS, limit })
    }
}

struct Double<'t, 'a, 'b> {
    hunter: &'t mut Hunter<'a, 'b>,
    place: usize,
    left: u32,
    limit: Instant,
}

impl Forks for Double<'_, '_, '_> {
    fn next(&mut self) -> Option<Vec<TestKey>> {
        if self.left == 0 || Instant::now() >= self.limit || !self.hunter.goes_on() {
            return None;
        }
        self.left -= 1;
        Some(vec![self.hunter.hunted[self.place].key])
    }

    fn ended(&mut self, _: &[TestKey], result: Result<Execution, String>) {
        let Ok(execution) = result else { return };
        self.hunter.remember(self.place, &execution);
        if execution.outcome != Outcome::Skipped {
            self.hunter.count(self.place, Surroundings::Alone, execution.outcome.is_failure());
        }
    }

    fn deadline(&self) -> Option<Instant> {
        Some(self.limit)
    }
}
