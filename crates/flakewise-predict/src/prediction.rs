//! What is predicted of a test, and why.

use flakewise_model::Probability;

use crate::Category;

/// How likely a test is flaky, judged by its source alone.
#[derive(Clone, Debug, PartialEq)]
pub struct Prediction {
    /// The chance that it is flaky, calibrated.
    pub risk: Probability,
    /// How much of its surroundings the model was trained on. Predictions far
    /// from what is known are worth less.
    pub familiarity: Familiarity,
    /// The likely kind of flakiness, if it is flaky and anything speaks for one.
    pub category: Option<CategoryGuess>,
    /// What speaks for it, strongest first. Filled only when requested.
    pub reasons: Vec<Reason>,
}

/// How much a model knows of a test's surroundings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Familiarity {
    /// Other tests of the project were never seen.
    NewProject,
    /// Other classes or files of the project were.
    KnownProject,
    /// Other tests of the class or file were.
    KnownClass,
}

impl Familiarity {
    /// Which of several answers suits a test of this familiarity: the one for
    /// tests that are as familiar, or a little less, or whichever there is.
    pub(crate) fn nearest(self, known: impl Iterator<Item = Self> + Clone) -> Option<usize> {
        let known = known.enumerate();
        let below = known.clone().filter(|(_, other)| *other <= self).max_by_key(|(_, other)| *other);
        below.or_else(|| known.min_by_key(|(_, other)| *other)).map(|(place, _)| place)
    }
}

/// A kind of flakiness with its chance, given that the test is flaky.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CategoryGuess {
    /// Which.
    pub category: Category,
    /// How likely, among all kinds.
    pub probability: Probability,
}

/// Something that speaks for a test being flaky.
#[derive(Clone, Debug, PartialEq)]
pub enum Reason {
    /// A known flaky test looks much the same.
    LooksLike {
        /// Its name.
        test: String,
        /// The cosine of the two, up to 1.
        similarity: f64,
        /// Lines of the test at hand, counted in its file, that stand in the
        /// other too.
        lines: Vec<u32>,
    },
    /// It uses something that flaky tests use.
    Uses {
        /// The stable name of the family, such as `sleep`.
        family: &'static str,
        /// What that means, for people.
        text: &'static str,
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
        family: &'static str,
        /// What that means, for people.
        text: &'static str,
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
