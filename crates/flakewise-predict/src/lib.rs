//! Tests to vectors to risk, with reasons.
//!
//! A [`Model`] is trained from [`Example`]s and judges tests by their source
//! alone: it runs nothing. A model file is data; loading one executes nothing,
//! and a damaged or hostile file is refused.

mod category;
mod example;
mod features;
mod model;
mod prediction;

pub use category::Category;
pub use example::Example;
pub use features::{Features, NUMBERS};
pub use model::{Expectation, Model, ModelCard, ModelError, TrainOptions};
pub use prediction::{CategoryGuess, Familiarity, Prediction, Reason};
