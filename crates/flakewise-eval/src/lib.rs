//! How good prediction is, measured on public data by three protocols.
//!
//! Every model is measured on the same folds: tests held out at random, by
//! class and by project. Thresholds and calibration come from the part that is
//! learned from, never from the one that is scored. Given a data set and a seed,
//! results are the same on any number of threads.

mod blend;
mod category;
mod corpus;
mod cpu;
mod dataset;
mod error;
mod evaluate;
mod found;
mod front;
mod measures;
mod model;
mod page;
mod plot;
mod protocol;
mod replay;
mod resume;
mod simple;
mod slice;
mod surroundings;
mod text;

pub use blend::{blend_model, blend_models, path_model};
pub use category::{CategoryConfusion, CategoryRecord, CategoryReport, evaluate_categories};
pub use corpus::Corpus;
pub use cpu::CpuClock;
pub use dataset::{Dataset, DatasetIssue, Published, Record};
pub use error::EvalError;
pub use evaluate::{EvalOptions, Evaluation, Progress, ProtocolMeasures, evaluate};
pub use found::Found;
pub use front::{Choice, Front, fronts_over_cost};
pub use measures::{Measures, ProjectMeasures};
pub use model::{FoldScores, Model, Run};
pub use plot::found_over_budget;
pub use protocol::Protocol;
pub use replay::{Replay, ReplayResult, ReplayTest, share_of};
pub use simple::simple_models;
pub use slice::SliceMeasures;
pub use surroundings::SurroundingsLine;
