//! Arguments of `flakewise config`.

use clap::Args;

use super::formats::SummaryFormat;

#[derive(Debug, Args)]
#[command(
    about = "Print the configuration in force and where each value comes from",
    long_about = "Print the configuration in force and where each value comes from.\n\n\
        The file is `flakewise.toml`, or `[tool.flakewise]` in `pyproject.toml`, in the\n\
        working directory or the nearest folder above it, up to the root of the git\n\
        repository. A flag overrides an environment variable, an environment variable\n\
        overrides the file, and the file overrides the default.",
    after_help = "Examples:\n  \
        flakewise config\n  \
        flakewise config --format json\n  \
        flakewise config --schema > flakewise.schema.json"
)]
pub(crate) struct ConfigArguments {
    /// Print the JSON schema of the configuration file instead
    #[arg(long)]
    pub(crate) schema: bool,

    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "text", conflicts_with = "schema")]
    pub(crate) format: SummaryFormat,
}
