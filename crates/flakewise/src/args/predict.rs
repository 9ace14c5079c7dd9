//! Arguments of `flakewise predict`.

use std::path::PathBuf;

use clap::Args;

use super::formats::FindingsFormat;
use super::values::share;

#[derive(Debug, Args)]
#[command(
    about = "Predict which tests are flaky from their source",
    long_about = "Predict which tests are flaky from their source.\n\n\
        Reads the source of tests and runs nothing. Every listed test has its risk, the likely\n\
        kind of flakiness and the reasons: similar tests that are known to be flaky, what it\n\
        uses, and the flakiness of the tests around it.\n\n\
        Uses the project's model if `flakewise train` has written one, or else the pretrained\n\
        model, and prints its measured accuracy. In text, tests are listed from the risk that\n\
        reached 95 % precision; if no risk did, the highest-risk tests are listed with their\n\
        probability. JSON lists all tests from a risk of 0.5.\n\n\
        The exit code is 0 even if flaky tests are predicted; see `--fail-above`. Results for\n\
        unchanged files are cached.",
    after_help = "Examples:\n  \
        flakewise predict\n  \
        flakewise predict --changed\n  \
        flakewise predict tests/api --threshold 0.3\n  \
        flakewise predict --format sarif > flaky.sarif\n  \
        flakewise predict --changed --format github --fail-above 0.95"
)]
pub(crate) struct PredictArguments {
    /// Files or directories [default: working directory]
    #[arg(value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,

    /// Only tests whose own lines changed, or lines of their file that they depend on
    #[arg(long, help_heading = "Change")]
    pub(crate) changed: bool,

    /// Revision to compare with [default: merge base with the main branch]
    #[arg(long, value_name = "REF", requires = "changed", help_heading = "Change")]
    pub(crate) base: Option<String>,

    /// Model to use [default: `.flakewise/model` or the pretrained model]
    #[arg(long, value_name = "FILE")]
    pub(crate) model: Option<PathBuf>,

    /// Project name, e.g. `acme/shop` [default: from CI or git]
    #[arg(long, value_name = "NAME", env = "FLAKEWISE_PROJECT")]
    pub(crate) project: Option<String>,

    /// List tests from this risk, e.g. 0.8 [default: the risk that reached 95 % precision]
    #[arg(long, value_name = "P", value_parser = share, conflicts_with = "all")]
    pub(crate) threshold: Option<f64>,

    /// List all tests, regardless of risk
    #[arg(long)]
    pub(crate) all: bool,

    /// Exit with code 11 if any test has a higher risk than this
    #[arg(long, value_name = "P", value_parser = share)]
    pub(crate) fail_above: Option<f64>,

    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub(crate) format: FindingsFormat,
}
