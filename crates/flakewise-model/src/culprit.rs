//! What is said about a test that depends on others.

use std::sync::Arc;
use std::time::Duration;

use crate::{Notice, PlainCommand, Probability, Run, SharedState, Tally, TestId};

/// What makes a test have another outcome than alone.
#[derive(Clone, Debug, PartialEq)]
pub struct CulpritReport {
    /// The run its attempts belong to.
    pub run: Arc<Run>,
    /// The command that runs the tests, as given.
    pub command: Vec<String>,
    /// The same without what it names to be run, so that tests can be added.
    pub plain: PlainCommand,
    /// The seed all randomness of ours came from.
    pub seed: u64,
    /// The test in question.
    pub test: NamedTest,
    /// How it ended in processes of its own.
    pub alone: Tally,
    /// What was found.
    pub answer: CulpritAnswer,
    /// Tests that undo what the first culprit does; none unless all were looked
    /// for.
    pub cleaners: Vec<NamedTest>,
    /// Whether every other test was tried before it.
    pub exhaustive: bool,
    /// Forks that were run.
    pub forks: u64,
    /// Answers that an earlier search had found.
    pub known: u64,
    /// How many other tests were run before it one by one, and how long that took.
    pub pairs: Option<(u64, Duration)>,
    /// When the first culprit was proved, from the beginning.
    pub first_proof: Option<Duration>,
    /// The budget, if it was exhausted before all was tried.
    pub spent: Option<Duration>,
    /// How long it took.
    pub duration: Duration,
    /// Things a person should know about how it was done.
    pub notices: Vec<Notice>,
}

impl CulpritReport {
    /// Whether a culprit did in a new process what it does in forks.
    pub fn is_proved(&self, culprit: &Culprit) -> bool {
        match self.answer {
            CulpritAnswer::Victim(_) => culprit.fresh.failed > 0,
            CulpritAnswer::Brittle(_) => culprit.fresh.passed > 0,
            CulpritAnswer::FlakyAlone
            | CulpritAnswer::NoDifference { .. }
            | CulpritAnswer::Undecided { .. } => false,
        }
    }
}

/// A test and its runner's name for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedTest {
    /// The test.
    pub test: TestId,
    /// Its runner's name for it.
    pub name: String,
    /// That name as it is typed in the folder the command was given in.
    pub argument: String,
}

/// What a search for culprits ended with.
#[derive(Clone, Debug, PartialEq)]
pub enum CulpritAnswer {
    /// It both passes and fails alone: no other test is needed.
    FlakyAlone,
    /// It ended as alone in all orders that were tried.
    NoDifference {
        /// How many those were.
        orders: u32,
    },
    /// It ended as alone so far, when the budget was exhausted.
    Undecided {
        /// In this many orders.
        orders: u32,
    },
    /// It passes alone and fails after polluters.
    Victim(Vec<Culprit>),
    /// It fails alone and passes after state-setters.
    Brittle(Vec<Culprit>),
}

impl CulpritAnswer {
    /// The name used in machine formats.
    pub fn name(&self) -> &'static str {
        match self {
            Self::FlakyAlone => "flaky-alone",
            Self::NoDifference { .. } => "no-difference",
            Self::Undecided { .. } => "undecided",
            Self::Victim(_) => "victim",
            Self::Brittle(_) => "brittle",
        }
    }

    /// Those that were found.
    pub fn culprits(&self) -> &[Culprit] {
        match self {
            Self::FlakyAlone | Self::NoDifference { .. } | Self::Undecided { .. } => &[],
            Self::Victim(culprits) | Self::Brittle(culprits) => culprits,
        }
    }
}

/// Tests after which a test has another outcome than alone; none of them can be left
/// out.
#[derive(Clone, Debug, PartialEq)]
pub struct Culprit {
    /// In the order they must run in.
    pub tests: Vec<NamedTest>,
    /// How the test ended after them, in forks of one process.
    pub forks: Tally,
    /// And in new processes.
    pub fresh: Tally,
    /// The chance that the test ends otherwise after them than alone, by what
    /// was seen in forks.
    pub confidence: Probability,
    /// What they leave that makes the difference, if that was looked for and seen.
    pub shared: Vec<SharedState>,
}
