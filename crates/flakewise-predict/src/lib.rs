//! Tests to vectors to risk, with reasons.
//!
//! A [`Model`] is trained from [`Example`]s and judges tests by their source
//! alone: it runs nothing. A model file is data; loading one executes nothing,
//! and a damaged or hostile file is refused.

mod blend;
mod category;
mod codec;
mod example;
mod families;
mod features;
mod file;
mod flast;
mod flast_judge;
mod model;
mod neighbours;
mod odds;
mod past;
mod path_judge;
mod path_model;
mod prediction;
mod reasons;
mod surroundings;
mod words;

pub use blend::{Blend, BlendOptions, HeldOut, Judgement, Row};
pub use category::{Category, CategoryExample, CategoryModel, CategoryTransfer};
pub use example::Example;
pub use families::{Family, FamilyHit, families, hits};
pub use features::{Features, NUMBERS};
pub use flast::{Flast, FlastNeighbour, FlastOptions, FlastPrediction, FlastTokens};
pub use model::{Expectation, Model, ModelCard, ModelError, ModelKind, TrainOptions};
pub use past::Keys;
pub use path_model::{Embeddings, EmbeddingsError, PathJudgement, PathModel, PathOptions, PathRow};
pub use prediction::{CategoryGuess, Familiarity, Prediction, Reason};
pub use reasons::heaviest_path;
pub use surroundings::FeatureGroups;
