//! Arguments of `flakewise train`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::shared::StoreArguments;

#[derive(Debug, Args)]
#[command(
    about = "Train a prediction model on this project",
    long_about = "Train a prediction model on this project.\n\n\
        Without `--labels`, the labels come from the history: tests that were proved flaky,\n\
        and tests that ran often and never failed. The source comes from the work tree.\n\n\
        With `--labels`, they come from a file of JSON lines, optionally compressed with gzip:\n\n  \
        {\"test\": \"tests/test_cart.py::test_total\", \"flaky\": true, \"category\": \"async-wait\"}\n\n\
        `category` is optional; with 20 or more, a category model is trained too. A line may\n\
        carry the source of the test in `source`, with `language` unless it is Java. Public\n\
        data sets with `source`, `label`, `project`, `class` and `method` can be used as they\n\
        are.\n\n\
        Prints the accuracy of the model, measured on held-out tests.",
    after_help = "Examples:\n  \
        flakewise train\n  \
        flakewise train --labels flaky.jsonl\n  \
        flakewise train --model paths --out paths.model\n  \
        flakewise train --labels flakeflagger.jsonl.gz --out public.model"
)]
pub(crate) struct TrainArguments {
    /// File with labels that mark tests as flaky or not [default: the history]
    #[arg(long, value_name = "FILE")]
    pub(crate) labels: Option<PathBuf>,

    /// Directory that the ids of tests are relative to [default: repository root]
    #[arg(long, value_name = "DIR")]
    pub(crate) source: Option<PathBuf>,

    /// Kind of model
    #[arg(long, value_name = "NAME", value_enum, default_value_t = TrainModel::Blend)]
    pub(crate) model: TrainModel,

    /// Pretrained word embeddings, in the text format of code2vec and word2vec; requires
    /// `--model paths`
    #[arg(long, value_name = "FILE")]
    pub(crate) embeddings: Option<PathBuf>,

    /// File to write the model to [default: `.flakewise/model`]
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,

    /// Random seed
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) seed: u64,

    #[command(flatten)]
    pub(crate) store: StoreArguments,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum TrainModel {
    /// Words, similar tests and counts in boosted trees; the most accurate
    Blend,
    /// FLAST: nearest neighbours among known tests
    Flast,
    /// PEELER: a neural network over paths from values to assertions, for Java and Python
    Paths,
}
