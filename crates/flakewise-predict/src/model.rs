//! The predictor: what the command line and others use.

use flakewise_model::Probability;
use flakewise_paths::Surroundings;
use flakewise_source::SourceTest;
use rayon::prelude::*;

use crate::blend::{Blend, BlendOptions, HeldOut, Row};
use crate::category::CategoryJudge;
use crate::families::{FamilyHit, hits};
use crate::features::Features;
use crate::file::Contents;
use crate::flast_judge::FlastJudge;
use crate::past::{Keys, Past};
use crate::path_judge::PathJudge;
use crate::path_model::Embeddings;
use crate::reasons::{around, line_weights, reasons};
use crate::{Category, CategoryGuess, Example, Familiarity, FeatureGroups, Prediction, file};

/// A trained predictor.
#[derive(Clone, Debug)]
pub struct Model {
    card: ModelCard,
    judge: Judge,
    /// Predicts categories; a rule does so otherwise.
    categories: Option<CategoryJudge>,
    checksum: [u8; 32],
}

/// What judges tests.
#[derive(Clone, Debug)]
pub(crate) enum Judge {
    Blend(Box<Blend>),
    Flast(Box<FlastJudge>),
    Paths(Box<PathJudge>),
}

/// A technique that a model uses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ModelKind {
    /// Words, neighbours and counts in boosted trees: the best of them.
    #[default]
    Blend,
    /// FLAST: the known tests that look alike.
    Flast,
    /// PEELER's: a network over the paths of values to assertions, for Java
    /// and Python.
    Paths,
}

impl ModelKind {
    /// The name people choose it by.
    pub fn name(self) -> &'static str {
        match self {
            Self::Blend => "blend",
            Self::Flast => "flast",
            Self::Paths => "paths",
        }
    }
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
#[derive(Clone, Debug)]
pub struct TrainOptions {
    /// What the examples are, for people.
    pub trained_on: String,
    /// The questions the model is to answer.
    pub familiarities: Vec<Familiarity>,
    /// The surroundings it looks at; none where tests come without them.
    pub groups: FeatureGroups,
    /// The technique.
    pub kind: ModelKind,
    /// Embeddings that the network over paths begins with.
    pub embeddings: Option<Embeddings>,
    /// For everything random.
    pub seed: u64,
}

impl Default for TrainOptions {
    fn default() -> Self {
        let familiarities = vec![Familiarity::NewProject, Familiarity::KnownProject, Familiarity::KnownClass];
        Self {
            trained_on: String::new(),
            familiarities,
            groups: FeatureGroups::NONE,
            kind: ModelKind::Blend,
            embeddings: None,
            seed: 0,
        }
    }
}

/// Why a model file cannot be used.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum ModelError {
    /// It is something else.
    #[error("not a Flakewise model")]
    NotAModel,
    /// It was made by another version.
    #[error("the model has format {found}, and this version reads format {known}")]
    Newer {
        /// Its format.
        found: u32,
        /// The one known here.
        known: u32,
    },
    /// It was damaged: the checksum, or what is inside, is wrong.
    #[error("the model is damaged: {0}")]
    Damaged(&'static str),
    /// There is nothing to learn from.
    #[error("the examples have {flaky} flaky and {other} non-flaky tests")]
    TooFewExamples {
        /// Flaky tests among them.
        flaky: usize,
        /// Others.
        other: usize,
    },
}

/// How often the rule that tells the kind of a flaky test is right: of 280 in
/// `FlakyLens`' data, measured by the example `category` of `flakewise-eval`.
const RULE_ACCURACY: f64 = 0.59;

impl Model {
    /// Learns from examples.
    pub fn train(examples: &[Example], options: &TrainOptions) -> Result<Self, ModelError> {
        let features = |example: &Example| {
            Features::with_groups(&example.test, example.surroundings.as_deref(), options.groups)
        };
        let features: Vec<Features> = examples.par_iter().map(features).collect();
        let rows: Vec<Row<'_>> = examples
            .iter()
            .zip(&features)
            .map(|(example, features)| Row {
                features,
                keys: Keys::new(&example.project, &example.test.id, features),
                flaky: example.flaky,
                name: example.test.id.as_str(),
                weight: 1.0,
            })
            .collect();
        let categories = CategoryJudge::train(examples, &rows, options.seed);
        let categories = categories.as_ref();
        match options.kind {
            ModelKind::Blend => Self::learn_with(&rows, options, categories),
            ModelKind::Flast => {
                let (flast, held_out) = FlastJudge::train(examples, &rows, options);
                let card = card(&rows, &held_out, options)?;
                Self::from_bytes(&file::write_flast(&card, &flast, categories))
            }
            ModelKind::Paths => {
                let trained = PathJudge::train(examples, &rows, options);
                let card = card(&rows, trained.as_ref().map_or(&[], |(_, held_out)| held_out), options)?;
                let (paths, _) = trained.ok_or(too_few(&rows))?;
                Self::from_bytes(&paths.write(&card, categories))
            }
        }
    }

    /// Learns from tests that have been read.
    pub fn learn(rows: &[Row<'_>], options: &TrainOptions) -> Result<Self, ModelError> {
        Self::learn_with(rows, options, None)
    }

    fn learn_with(
        rows: &[Row<'_>],
        options: &TrainOptions,
        categories: Option<&CategoryJudge>,
    ) -> Result<Self, ModelError> {
        card(rows, &[], options)?;
        let (mut blend, held_out) = Blend::train(
            &sample(rows),
            &BlendOptions {
                familiarities: &options.familiarities,
                groups: options.groups,
                seed: options.seed,
            },
        );
        blend.base.past = Past::count(rows.iter().map(|row| (row.keys, row.flaky)));
        if blend.experts.is_empty() {
            return Err(too_few(rows));
        }
        // A model file rounds numbers: what is used is always what was read.
        Self::from_bytes(&file::write(&card(rows, &held_out, options)?, &blend, categories))
    }

    /// The model that ships with the binary, trained across projects.
    pub fn pretrained() -> Self {
        Self::from_bytes(include_bytes!("../pretrained.model")).expect("the model that ships is whole")
    }

    /// Reads a model file.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, ModelError> {
        let (Contents { card, judge, categories }, checksum) = file::read(bytes)?;
        Ok(Self { card, judge, categories, checksum })
    }

    /// The model file: small, versioned and checksummed.
    pub fn to_bytes(&self) -> Vec<u8> {
        let categories = self.categories.as_ref();
        match &self.judge {
            Judge::Blend(blend) => file::write(&self.card, blend, categories),
            Judge::Flast(flast) => file::write_flast(&self.card, flast, categories),
            Judge::Paths(paths) => paths.write(&self.card, categories),
        }
    }

    /// Tells models apart: two with one checksum say the same of every test.
    pub fn checksum(&self) -> [u8; 32] {
        self.checksum
    }

    /// The technique it uses.
    pub fn kind(&self) -> ModelKind {
        match &self.judge {
            Judge::Blend(_) => ModelKind::Blend,
            Judge::Flast(_) => ModelKind::Flast,
            Judge::Paths(_) => ModelKind::Paths,
        }
    }

    /// What it says about itself.
    pub fn card(&self) -> &ModelCard {
        &self.card
    }

    /// What it looks at beside the test and its file.
    pub fn groups(&self) -> FeatureGroups {
        match &self.judge {
            Judge::Blend(blend) => blend.columns.groups,
            Judge::Flast(_) | Judge::Paths(_) => FeatureGroups::NONE,
        }
    }

    /// Judges tests of a project that come without their repository.
    pub fn predict(&self, project: &str, tests: &[SourceTest], explain_from: f64) -> Vec<Prediction> {
        self.predict_within(project, tests, &vec![None; tests.len()], explain_from)
    }

    /// Judges tests of a project with their surroundings, all of them together:
    /// the tests of a class speak for each other. Reasons are given for risks
    /// from `explain_from`.
    pub fn predict_within(
        &self,
        project: &str,
        tests: &[SourceTest],
        surroundings: &[Option<Surroundings>],
        explain_from: f64,
    ) -> Vec<Prediction> {
        assert_eq!(tests.len(), surroundings.len(), "each test comes with its surroundings, if any");
        let groups = self.groups();
        let features: Vec<Features> = tests
            .par_iter()
            .zip(surroundings)
            .map(|(test, around)| Features::with_groups(test, around.as_ref(), groups))
            .collect();
        let pairs: Vec<(&Features, Keys)> = tests
            .iter()
            .zip(&features)
            .map(|(test, features)| (features, Keys::new(project, &test.id, features)))
            .collect();
        let mut predictions = match &self.judge {
            Judge::Blend(blend) => predict(blend, tests, surroundings, &pairs, explain_from),
            Judge::Flast(flast) => flast.predict(tests, &pairs, explain_from),
            Judge::Paths(paths) => paths.predict(tests, &pairs, explain_from),
        };
        predictions.par_iter_mut().zip(tests).for_each(|(prediction, test)| {
            prediction.category = match &self.categories {
                Some(categories) => Some(categories.guess(test)),
                None => category_guess(&hits(&test.body)),
            };
        });
        predictions
    }

    /// How much the words on each line of a test speak for flakiness, or
    /// against it if negative: log-odds of the linear part of the model, by
    /// line of the file. Lines without words it knows are left out.
    pub fn line_weights(&self, project: &str, test: &SourceTest) -> Vec<(u32, f64)> {
        // The others have no linear part.
        let Judge::Blend(blend) = &self.judge else { return Vec::new() };
        let features = Features::of(test);
        let keys = Keys::new(project, &test.id, &features);
        let expert = blend.expert_for(&keys).map(|expert| &blend.experts[expert]);
        expert.map(|expert| line_weights(blend, expert, test, &features)).unwrap_or_default()
    }
}

/// Predictions of a blend, without categories.
fn predict(
    blend: &Blend,
    tests: &[SourceTest],
    surroundings: &[Option<Surroundings>],
    pairs: &[(&Features, Keys)],
    explain_from: f64,
) -> Vec<Prediction> {
    let judgements = blend.judge(pairs);
    (0..tests.len())
        .into_par_iter()
        .map(|place| {
            let (features, keys) = &pairs[place];
            let judgement = judgements[place];
            let expert = blend.expert_for(keys).filter(|_| judgement.risk >= explain_from);
            let reasons = expert.map(|expert| {
                let hits = hits(&tests[place].body);
                let mut reasons =
                    reasons(blend, &blend.experts[expert], &tests[place], features, keys, &hits);
                if let Some(surroundings) = &surroundings[place] {
                    reasons.extend(around(blend, features, keys, surroundings));
                }
                reasons
            });
            Prediction {
                risk: Probability::clamped(judgement.risk),
                familiarity: blend.base.past.familiarity(keys),
                category: None,
                reasons: reasons.unwrap_or_default(),
            }
        })
        .collect()
}

/// The kind of flakiness that the interfaces a test uses speak for.
fn category_guess(hits: &[FamilyHit]) -> Option<CategoryGuess> {
    let probability = Probability::clamped(RULE_ACCURACY);
    Category::guess(hits).map(|category| CategoryGuess { category, probability })
}

fn too_few(rows: &[Row<'_>]) -> ModelError {
    let flaky = rows.iter().filter(|row| row.flaky).count();
    ModelError::TooFewExamples { flaky, other: rows.len() - flaky }
}

/// What a model says about itself, if there are tests of both kinds.
fn card(rows: &[Row<'_>], held_out: &[HeldOut], options: &TrainOptions) -> Result<ModelCard, ModelError> {
    let flaky = rows.iter().filter(|row| row.flaky).count();
    if flaky == 0 || flaky == rows.len() {
        return Err(too_few(rows));
    }
    let mut projects: Vec<u64> = rows.iter().map(|row| row.keys.project).collect();
    projects.sort_unstable();
    projects.dedup();
    Ok(ModelCard {
        trained_on: options.trained_on.clone(),
        tests: rows.len() as u64,
        flaky: flaky as u64,
        projects: projects.len() as u64,
        expectations: expectations(held_out),
    })
}

/// At most this many tests that are not flaky are trained on: more cost time and
/// teach nothing new.
const MOST_OTHERS: usize = 60_000;

/// All flaky tests, and others evenly, each standing for as many as are left out.
fn sample<'a>(rows: &[Row<'a>]) -> Vec<Row<'a>> {
    let others = rows.iter().filter(|row| !row.flaky).count();
    let step = others.div_ceil(MOST_OTHERS).max(1);
    let mut seen = 0;
    let kept = rows.iter().filter(|row| {
        seen += usize::from(!row.flaky);
        row.flaky || seen % step == 0
    });
    let weight = |row: &Row<'_>| if row.flaky { 1.0 } else { step as f32 };
    kept.map(|row| Row { weight: weight(row), ..*row }).collect()
}

/// Precision and recall on what was held out, at thresholds people may choose.
fn expectations(held_out: &[HeldOut]) -> Vec<Expectation> {
    let mut familiarities: Vec<Familiarity> = held_out.iter().map(|test| test.familiarity).collect();
    familiarities.sort_unstable();
    familiarities.dedup();
    let mut expectations = Vec::new();
    for familiarity in familiarities {
        for threshold in [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95] {
            let (mut named, mut named_flaky, mut flaky) = (0.0, 0.0, 0.0);
            for test in held_out.iter().filter(|test| test.familiarity == familiarity) {
                let is_named = test.risk >= threshold;
                named += if is_named { test.weight } else { 0.0 };
                named_flaky += if is_named && test.flaky { test.weight } else { 0.0 };
                flaky += if test.flaky { test.weight } else { 0.0 };
            }
            // Nothing to expect is no expectation.
            if named_flaky > 0.0 {
                let (precision, recall) = (named_flaky / named, named_flaky / flaky);
                expectations.push(Expectation { familiarity, threshold, precision, recall });
            }
        }
    }
    expectations
}
