//! Arguments of `flakewise init`.

use clap::Args;

#[derive(Debug, Args)]
#[command(
    about = "Set up a repository: write a configuration file and a CI snippet",
    long_about = "Set up a repository: write a configuration file and a CI snippet.\n\n\
        Looks at the working directory for pytest, tox, nox, a Makefile, Maven, Gradle, Node,\n\
        Go and Rust, and for the CI system of the repository. Writes a commented\n\
        `flakewise.toml` and prints what to add to CI. Runs nothing, and never overwrites a\n\
        file without `--force`.",
    after_help = "Examples:\n  \
        flakewise init\n  \
        flakewise init --dry-run\n  \
        flakewise init --write-ci"
)]
pub(crate) struct InitArguments {
    /// Overwrite an existing `flakewise.toml`
    #[arg(long)]
    pub(crate) force: bool,

    /// Create `.github/workflows/flakewise.yml` unless it exists
    #[arg(long)]
    pub(crate) write_ci: bool,

    /// Print what would be written, and write nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
}
