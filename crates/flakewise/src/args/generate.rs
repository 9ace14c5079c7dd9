//! Arguments of `flakewise completions` and `flakewise man`.

use std::path::PathBuf;

use clap::Args;
use clap_complete::Shell;

#[derive(Debug, Args)]
#[command(
    about = "Print shell completions",
    long_about = "Print shell completions.",
    after_help = "Examples:\n  \
        flakewise completions bash > ~/.local/share/bash-completion/completions/flakewise\n  \
        flakewise completions zsh > ~/.zfunc/_flakewise\n  \
        flakewise completions fish > ~/.config/fish/completions/flakewise.fish"
)]
pub(crate) struct CompletionsArguments {
    /// Shell to complete in
    #[arg(value_name = "SHELL")]
    pub(crate) shell: Shell,
}

#[derive(Debug, Args)]
#[command(
    about = "Write man pages",
    long_about = "Write one man page per command into a directory.",
    after_help = "Examples:\n  flakewise man ~/.local/share/man/man1"
)]
pub(crate) struct ManArguments {
    /// Directory to write to; it is created if it does not exist
    #[arg(value_name = "DIRECTORY")]
    pub(crate) directory: PathBuf,
}
