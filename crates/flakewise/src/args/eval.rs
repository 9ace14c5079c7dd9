//! Arguments of `flakewise eval`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

#[derive(Debug, Args)]
#[command(
    about = "Measure the accuracy of predictions on labelled tests",
    long_about = "Measure the accuracy of predictions on labelled tests.\n\n\
        Every model is evaluated on the same folds, under three protocols:\n\n  \
        random    tests are held out randomly, as in most papers\n  \
        class     whole classes are held out: accuracy on new classes\n  \
        project   whole projects are held out: accuracy on a new project\n\n\
        The data set has one JSON object per line with `source`, `label`, `project`, `class`\n\
        and `method`, uncompressed or compressed with gzip or xz, as public data sets do.",
    after_help = "Examples:\n  \
        flakewise eval flakeflagger.jsonl.gz\n  \
        flakewise eval flakeflagger.jsonl.gz --protocol class --out eval/flakeflagger"
)]
pub(crate) struct EvalArguments {
    /// File with labelled tests
    #[arg(value_name = "DATASET")]
    pub(crate) dataset: PathBuf,

    /// Directory for the results and a page of plots
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,

    /// Evaluate under this protocol only; may be repeated [default: all]
    #[arg(long, value_name = "NAME")]
    pub(crate) protocol: Vec<EvalProtocol>,

    /// Random seed
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum EvalProtocol {
    /// Tests are held out randomly
    Random,
    /// Whole classes are held out
    Class,
    /// Whole projects are held out
    Project,
}
