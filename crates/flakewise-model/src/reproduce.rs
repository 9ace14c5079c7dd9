//! Ways to make a test fail.

use std::time::Duration;

use crate::{CulpritReport, NamedTest, Probability, Tally, tries};

/// How a test can be made to fail.
#[derive(Clone, Debug, PartialEq)]
pub struct ReproduceReport {
    /// What it depends on.
    pub search: CulpritReport,
    /// Ways that were tried, the best first.
    pub ways: Vec<Way>,
    /// Hash seeds that were tried; none if there was no need.
    pub hash_seeds: u32,
}

impl ReproduceReport {
    /// The best way that works.
    pub fn best(&self) -> Option<&Way> {
        self.ways.first().filter(|way| way.chance().get() > 0.0)
    }
}

/// Something to run, and how often the test fails there.
#[derive(Clone, Debug, PartialEq)]
pub struct Way {
    /// Tests to run before it, in this order.
    pub before: Vec<NamedTest>,
    /// The hash seed it takes, if it takes one.
    pub hash_seed: Option<u32>,
    /// How the test ended in forks of one process.
    pub forks: Tally,
    /// And in new processes.
    pub fresh: Tally,
    /// What a new process takes.
    pub seconds: Duration,
}

impl Way {
    /// The chance that the test fails, going by new processes if it failed in
    /// some.
    pub fn chance(&self) -> Probability {
        let tally = self.counted();
        Probability::clamped(tally.failed as f64 / tally.runs().max(1) as f64)
    }

    /// The runs that the chance is taken from.
    pub fn counted(&self) -> Tally {
        if self.fresh.failed > 0 || self.forks.runs() == 0 { self.fresh } else { self.forks }
    }

    /// How often to run it so that it fails with a chance of 95 %; none if it
    /// never does, or would take too long.
    pub fn repeats(&self) -> Option<u32> {
        let chance = self.chance().get();
        if chance >= 1.0 {
            return Some(1);
        }
        let repeats = tries(chance, 0.05);
        (chance > 0.0 && repeats <= 1000).then_some(repeats)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn way(failed: u64, passed: u64) -> Way {
        Way {
            before: Vec::new(),
            hash_seed: None,
            forks: Tally { passed: 98, failed: 2 },
            fresh: Tally { passed, failed },
            seconds: Duration::from_secs(1),
        }
    }

    #[test]
    fn rare_failures_take_many_runs_to_see_one() {
        assert_eq!(way(10, 0).repeats(), Some(1));
        assert_eq!(way(3, 7).repeats(), Some(9));
        // Of two in a hundred forks, if no new process showed it.
        assert_eq!(way(0, 10).repeats(), Some(149));
        let never = Way { forks: Tally::default(), ..way(0, 10) };
        assert_eq!(never.repeats(), None);
    }
}
