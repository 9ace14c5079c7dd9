//! The values that are rendered.

use flakewise_model::{FindingId, Probability, TestId};
use flakewise_predict::{CategoryGuess, Expectation, Familiarity, ModelCard, Reason};

use crate::finding::Kind;

/// What a model says of the tests that were looked at.
#[derive(Clone, Debug)]
pub struct RiskReport {
    /// Where the model comes from.
    pub origin: ModelOrigin,
    /// What it says about itself.
    pub card: ModelCard,
    /// What was looked at.
    pub scope: RiskScope,
    /// From which risk a test is named, by how well the model knows its
    /// surroundings. Familiarities that no test has are not there.
    pub thresholds: Vec<(Familiarity, Threshold)>,
    /// Tests that are named, the riskiest first.
    pub risks: Vec<Risk>,
    /// The few riskiest, if no test is named.
    pub most_likely: Vec<Risk>,
}

impl RiskReport {
    /// How little to expect of the pretrained model, in one line; none if the
    /// model is the user's own.
    pub fn how_little_to_expect(&self) -> Option<String> {
        super::words::honesty(self)
    }
}

/// Where a model comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ModelOrigin {
    /// A file, by its path.
    File(String),
    /// The project's own, found in its usual place.
    Own(String),
    /// The one that ships with the program.
    Pretrained,
}

/// What was looked at.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RiskScope {
    /// Files that hold tests.
    pub files: u64,
    /// Tests in them that were examined.
    pub tests: u64,
    /// The base and how it was found, if only changed tests were asked about.
    pub base: Option<(String, String)>,
    /// Files that could not be fully understood.
    pub unclear: u64,
}

/// From which risk a test is named.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Threshold {
    /// The user said so.
    Given(f64),
    /// The usual one.
    Usual(f64),
    /// The lowest that was precise enough on held-out tests.
    Measured(Expectation),
    /// No threshold was precise enough; this one came nearest, if any was
    /// measured to find anything.
    Imprecise(Option<Expectation>),
    /// Every test is named.
    All,
}

impl Threshold {
    /// Whether a test of this risk is named.
    pub fn names(self, risk: Probability) -> bool {
        match self {
            Self::Given(threshold) | Self::Usual(threshold) => risk.get() >= threshold,
            Self::Measured(expectation) => risk.get() >= expectation.threshold,
            Self::Imprecise(_) => false,
            Self::All => true,
        }
    }
}

/// What is predicted of one test, and where it stands.
#[derive(Clone, Debug, PartialEq)]
pub struct Risk {
    /// The test.
    pub test: TestId,
    /// Its file, from the root of the repository, with forward slashes.
    pub path: String,
    /// Its first line.
    pub line: u32,
    /// Its last line.
    pub end_line: u32,
    /// The chance that it is flaky.
    pub risk: Probability,
    /// How well the model knows its surroundings.
    pub familiarity: Familiarity,
    /// The likely kind of flakiness.
    pub category: Option<CategoryGuess>,
    /// What speaks for it, strongest first.
    pub reasons: Vec<RiskReason>,
}

impl Risk {
    /// Its stable short name.
    pub fn id(&self) -> FindingId {
        FindingId::of(&self.test)
    }

    /// The likely kind of flakiness.
    pub(super) fn kind(&self) -> Kind {
        self.category.map_or(Kind::FlakyRisk, |guess| guess.category.into())
    }
}

/// A [`Reason`] that may have been written down in between.
#[derive(Clone, Debug, PartialEq)]
pub enum RiskReason {
    /// A known flaky test looks much the same.
    LooksLike {
        /// Its name.
        test: String,
        /// The cosine of the two, up to 1.
        similarity: f64,
        /// Lines that stand in both, counted in the file of the test at hand.
        lines: Vec<u32>,
    },
    /// It uses something that flaky tests use.
    Uses {
        /// The stable name of the family, such as `sleep`.
        family: String,
        /// What that means, for people.
        text: String,
        /// The first line it stands on, in the file.
        line: u32,
        /// How much it adds, in log-odds.
        weight: f64,
    },
    /// Its words are those of flaky tests.
    Word {
        /// The word, as it stands in the source.
        text: String,
        /// Where it stands, if in the test itself.
        line: Option<u32>,
        /// How much it adds, in log-odds.
        weight: f64,
    },
    /// A value takes a path to an assertion whose lines speak for flakiness.
    Path {
        /// The values and calls on it, in order.
        steps: Vec<String>,
        /// Their lines in the file, rising.
        lines: Vec<u32>,
        /// How much it adds, in log-odds.
        weight: f64,
    },
    /// The code around the test or under it uses something that flaky tests use.
    Around {
        /// The stable name of the family, such as `net`.
        family: String,
        /// What that means, for people.
        text: String,
        /// 0 for set-up, superclasses and helpers; else how many calls away the
        /// code under test uses it.
        calls: u32,
        /// How much it adds, in log-odds.
        weight: f64,
    },
    /// Tests of the same class or file are flaky.
    Siblings {
        /// How many are known to be.
        flaky: u32,
        /// Of how many whose label is known.
        known: u32,
    },
}

impl From<Reason> for RiskReason {
    fn from(reason: Reason) -> Self {
        match reason {
            Reason::LooksLike { test, similarity, lines } => Self::LooksLike { test, similarity, lines },
            Reason::Uses { family, text, line, weight } => {
                Self::Uses { family: family.to_owned(), text: text.to_owned(), line, weight }
            }
            Reason::Word { text, line, weight } => Self::Word { text, line, weight },
            Reason::Path { steps, lines, weight } => Self::Path { steps, lines, weight },
            Reason::Around { family, text, calls, weight } => {
                Self::Around { family: family.to_owned(), text: text.to_owned(), calls, weight }
            }
            Reason::Siblings { flaky, known } => Self::Siblings { flaky, known },
        }
    }
}
