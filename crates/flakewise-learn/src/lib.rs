//! Learning from numbers. Nothing here knows what a test is.
//!
//! Everything that draws at random takes a seed, and gives the same result on
//! any number of threads.

mod bins;
mod boosting;
mod calibration;
mod classify;
mod forest;
mod grow;
mod histogram;
mod linear;
mod matrix;
mod metrics;
mod neighbours;
mod network;
mod projected;
mod projection;
mod random;
mod resample;
mod shap;
mod splits;
mod tfidf;
mod tree;
mod walk;

pub use bins::Table;
pub use boosting::{Booster, BoostingOptions};
pub use calibration::{Isotonic, Platt, logistic};
pub use forest::{ColumnShare, Forest, ForestOptions, Splits, balanced_weights};
pub use linear::{LinearModel, LinearOptions};
pub use matrix::{DenseMatrix, SparseMatrix, SparseRow};
pub use metrics::{
    Bins, Confusion, ReliabilityBin, average_precision, best_threshold, brier, log_loss, reliability, roc_auc,
};
pub use neighbours::{InvertedIndex, Neighbour};
pub use network::{
    Bag, Epoch, Network, NetworkData, NetworkOptions, NetworkScore, NetworkShape, Part as NetworkPart,
};
pub use projected::ProjectedIndex;
pub use projection::{Projection, johnson_lindenstrauss_dimension};
pub use resample::{edited_neighbours, smote, without_tomek_links};
pub use shap::Explanation;
pub use splits::{Fold, leave_one_group_out, stratified_folds, stratified_group_folds};
pub use tfidf::{Idf, TermWeight};
pub use tree::{Node, Tree, TreeError};
