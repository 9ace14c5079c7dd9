//! The predictor: what the command line and others use.

use flakewise_source::SourceTest;

use crate::{Example, Familiarity, Prediction};

/// A trained predictor.
#[derive(Clone, Debug)]
pub struct Model {
    card: ModelCard,
}

/// What a model says about itself.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ModelCard {
    /// What it was trained on, for people.
    pub trained_on: String,
    /// How many tests that were.
    pub tests: u64,
    /// How many of them are flaky.
    pub flaky: u64,
    /// Of how many projects.
    pub projects: u64,
    /// What to expect of it, measured on held-out parts of the training data.
    pub expectations: Vec<Expectation>,
}

/// How good a model is on tests of one familiarity, measured on held-out parts
/// of its training data.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Expectation {
    /// On which tests.
    pub familiarity: Familiarity,
    /// At which threshold of risk.
    pub threshold: f64,
    /// How many of those named were flaky.
    pub precision: f64,
    /// How many of the flaky were named.
    pub recall: f64,
}

/// How to train.
#[derive(Clone, Debug, Default)]
pub struct TrainOptions {
    /// What the examples are, for people.
    pub trained_on: String,
    /// For everything random.
    pub seed: u64,
}

/// Why a model file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ModelError {
    /// It is something else.
    #[error("not a model of ours")]
    NotAModel,
    /// It was made by a newer version.
    #[error("the model has format {found}, and this version reads up to {known}")]
    Newer {
        /// Its format.
        found: u32,
        /// The newest known here.
        known: u32,
    },
    /// It was damaged: the checksum, or what is inside, is wrong.
    #[error("the model is damaged: {0}")]
    Damaged(&'static str),
    /// There is nothing to learn from.
    #[error("to train, examples of flaky and of other tests are needed; there are {flaky} and {other}")]
    TooFewExamples {
        /// Flaky tests among them.
        flaky: usize,
        /// Others.
        other: usize,
    },
}

impl Model {
    /// Learns from examples.
    pub fn train(_examples: &[Example], _options: &TrainOptions) -> Result<Self, ModelError> {
        Ok(Self { card: ModelCard::default() })
    }

    /// The model that ships with the binary, trained across projects.
    pub fn pretrained() -> Self {
        Self { card: ModelCard::default() }
    }

    /// Reads a model file.
    pub fn from_bytes(_bytes: &[u8]) -> Result<Self, ModelError> {
        Err(ModelError::NotAModel)
    }

    /// The model file: small, versioned and checksummed.
    pub fn to_bytes(&self) -> Vec<u8> {
        Vec::new()
    }

    /// What it says about itself.
    pub fn card(&self) -> &ModelCard {
        &self.card
    }

    /// Judges tests of a project, all of them together: the tests of a class
    /// speak for each other. Reasons are given for risks from `explain_from`.
    pub fn predict(&self, _project: &str, _tests: &[SourceTest], _explain_from: f64) -> Vec<Prediction> {
        Vec::new()
    }
}
