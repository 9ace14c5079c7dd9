//! What a hunt for flaky tests has to say.

use std::sync::Arc;
use std::time::Duration;

use crate::{Failure, FindingId, FlakeRate, Notice, Probability, Run, Tally, TestId};

/// Everything there is to say about one hunt.
#[derive(Clone, Debug, PartialEq)]
pub struct HuntReport {
    /// The run its attempts belong to.
    pub run: Arc<Run>,
    /// The command that runs the tests, as given.
    pub command: Vec<String>,
    /// The seed all randomness of ours came from.
    pub seed: u64,
    /// Which part of the tests was hunted, if not all.
    pub shard: Option<Shard>,
    /// Tests that were hunted.
    pub tests: u64,
    /// Tests that were skipped in the suite, and so not hunted.
    pub skipped: u64,
    /// Other orders of all tests that were run.
    pub orders: u64,
    /// Executions of single tests in this hunt.
    pub executions: u64,
    /// Executions on the same code that were known before it.
    pub known: u64,
    /// How long it took.
    pub duration: Duration,
    /// How many tests ran in parallel.
    pub jobs: usize,
    /// Why it ended.
    pub end: HuntEnd,
    /// Tests that both passed and failed on the same code with nothing beside
    /// them, the most frequent failure first.
    pub found: Vec<FoundTest>,
    /// Tests that failed while other tests ran beside them, and were not seen to
    /// fail with nothing beside them.
    pub only_beside: Vec<FoundTest>,
    /// Tests that never passed.
    pub always_fail: Vec<TestId>,
    /// What the tests that showed no surprise are cleared of.
    pub cleared: Cleared,
    /// Flaky tests that are probably still hidden; none if it did not come to
    /// that.
    pub hidden: Option<Hidden>,
    /// Things a person should know about how it was done.
    pub notices: Vec<Notice>,
}

/// A part of a hunt that several machines share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    /// Which part, from 1.
    pub number: u32,
    /// Of how many.
    pub of: u32,
}

/// Why a hunt ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HuntEnd {
    /// Its time was over.
    Budget,
    /// No test is likely enough to be flaky any more.
    Confidence,
    /// Few enough flaky tests are probably still hidden.
    Hidden,
    /// There is nothing left to run.
    Exhausted,
    /// Somebody stopped it.
    Interrupted {
        /// With this signal.
        signal: i32,
    },
}

impl HuntEnd {
    /// The name used in machine formats.
    pub fn name(self) -> &'static str {
        match self {
            Self::Budget => "budget",
            Self::Confidence => "confidence",
            Self::Hidden => "hidden",
            Self::Exhausted => "exhausted",
            Self::Interrupted { .. } => "interrupted",
        }
    }
}

/// A test that both passed and failed on the same code.
#[derive(Clone, Debug, PartialEq)]
pub struct FoundTest {
    /// A stable short name.
    pub id: FindingId,
    /// The test.
    pub test: TestId,
    /// The test as its runner names it on a command line.
    pub name: String,
    /// How it showed.
    pub kind: FoundKind,
    /// How often it failed alone, and of how many times.
    pub alone: FlakeRate,
    /// How it ended with nothing beside it, after whatever.
    pub solo: Tally,
    /// How it ended while other tests ran beside it.
    pub beside: Tally,
    /// What decided whether it depends on other tests, if orders were tried.
    pub decision: Option<Decision>,
    /// How it failed; none if it did so before this hunt only.
    pub failure: Option<Failure>,
    /// Where it failed: a file of the project and a line.
    pub place: Option<(String, u32)>,
    /// The chance that it is flaky, before anything ran.
    pub risk: Probability,
    /// Executions of it in this hunt until it was found.
    pub after: u64,
}

/// How a test showed that it is flaky.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FoundKind {
    /// Both passed and failed alone.
    Alone,
    /// Failed only while other tests ran beside it, and passed when that was
    /// repeated with nothing beside it.
    Beside,
    /// Failed while other tests ran beside it, not with nothing beside it, and not
    /// often enough to say that it needs them.
    Unconfirmed,
    /// Both passed and failed with the others, in the same order.
    Together,
    /// Passes with the others and fails alone, every time.
    FailsAlone,
    /// Fails with the others and passes alone, every time.
    PassesAlone,
    /// Both passed and failed in different orders, and it is not known whether
    /// this is random.
    Undecided,
}

impl FoundKind {
    /// The name used in machine formats.
    pub fn name(self) -> &'static str {
        match self {
            Self::Alone => "alone",
            Self::Beside => "beside",
            Self::Unconfirmed => "unconfirmed",
            Self::Together => "together",
            Self::FailsAlone => "fails-alone",
            Self::PassesAlone => "passes-alone",
            Self::Undecided => "undecided",
        }
    }
}

/// In which surroundings a test fails and in which it does not.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Decision {
    /// Where it failed.
    pub fails: (Surroundings, Tally),
    /// Where it passed.
    pub passes: (Surroundings, Tally),
    /// The chance that it fails more often in the first than in the second.
    pub confidence: Probability,
}

/// What ran before a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Surroundings {
    /// Nothing.
    Alone,
    /// All tests that come before it in an order.
    After(Order),
}

impl Surroundings {
    /// The name used in machine formats; the seed stands beside it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Alone => "alone",
            Self::After(order) => order.name(),
        }
    }

    /// The seed, if there is chance in it.
    pub fn seed(self) -> Option<u64> {
        match self {
            Self::After(Order::Shuffled { seed } | Order::ModulesShuffled { seed }) => Some(seed),
            Self::Alone | Self::After(Order::Original | Order::Reversed) => None,
        }
    }
}

/// An order of all tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Order {
    /// As the runner has it.
    Original,
    /// The last test first.
    Reversed,
    /// At random.
    Shuffled {
        /// Where randomness came from.
        seed: u64,
    },
    /// Modules at random, and within each its tests, so that what is set up for
    /// a module is set up once.
    ModulesShuffled {
        /// Where randomness came from.
        seed: u64,
    },
}

impl Order {
    /// The name used in machine formats.
    pub fn name(self) -> &'static str {
        match self {
            Self::Original => "original",
            Self::Reversed => "reversed",
            Self::Shuffled { .. } => "shuffled",
            Self::ModulesShuffled { .. } => "modules-shuffled",
        }
    }
}

/// Tests that showed no surprise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cleared {
    /// How many.
    pub tests: u64,
    /// How often they ran, all together.
    pub runs: u64,
    /// How often the one with the fewest runs was run.
    pub fewest_runs: u64,
    /// How often half of them were run at least.
    pub median_runs: u64,
}

/// How many flaky tests are probably still hidden that fail in
/// [`Hidden::LEAST_RATE`] of their runs or more.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hidden {
    /// Expected.
    pub expected: f64,
    /// With a chance of 90 %, no fewer than this.
    pub low: u32,
    /// And no more than this.
    pub high: u32,
}

impl Hidden {
    /// Tests that fail more rarely are not counted. No hunt of ordinary length says
    /// anything about them: where nothing is known of them but that hundreds of
    /// runs were clean, any number is as good as another.
    pub const LEAST_RATE: f64 = 0.01;

    /// Of draws from what is believed.
    pub fn of(draws: &mut [u32]) -> Self {
        draws.sort_unstable();
        let at = |share: usize| draws.get(draws.len() * share / 100).copied().unwrap_or(0);
        let expected = draws.iter().copied().map(f64::from).sum::<f64>() / draws.len().max(1) as f64;
        Self { expected, low: at(5), high: at(95) }
    }
}

/// The share of failing runs that a test without a surprise in this many runs
/// does not exceed, with a chance of 95 %.
pub fn highest_rate(runs: u64) -> Probability {
    Probability::clamped(if runs == 0 { 1.0 } else { 1.0 - 0.05_f64.powf(1.0 / runs as f64) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_hundred_clean_runs_rule_out_one_percent() {
        // The rule of three: 3 / n.
        assert!((highest_rate(300).get() - 0.00994).abs() < 1e-4);
        assert!((highest_rate(0).get() - 1.0).abs() < f64::EPSILON);
        assert!(highest_rate(10).get() > highest_rate(11).get());
    }
}
