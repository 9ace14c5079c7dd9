//! Arguments that several commands take.

use std::path::PathBuf;

use clap::Args;

use super::values::key_value;
use crate::own_folder::own_path;

/// Where the history is.
#[derive(Debug, Args)]
pub(crate) struct StoreArguments {
    /// Directory or bucket of the history [default: `.flakewise/history` in the repository root]
    #[arg(long, value_name = "URL", env = "FLAKEWISE_STORE")]
    store: Option<String>,

    /// Project name, e.g. `acme/shop` [default: from CI or git]
    #[arg(long, value_name = "NAME", env = "FLAKEWISE_PROJECT")]
    pub(crate) project: Option<String>,
}

impl StoreArguments {
    /// The store to use.
    pub(crate) fn url(&self) -> String {
        self.store.clone().unwrap_or_else(|| own_path("history").to_string_lossy().into_owned())
    }
}

/// Where results wait for the history.
#[derive(Debug, Args)]
pub(crate) struct SpoolArguments {
    /// Directory for results that could not be sent [default: `.flakewise/spool` in the repository root]
    #[arg(long, value_name = "DIR", env = "FLAKEWISE_SPOOL")]
    spool: Option<PathBuf>,
}

impl SpoolArguments {
    /// The folder to use.
    pub(crate) fn folder(&self) -> PathBuf {
        self.spool.clone().unwrap_or_else(|| own_path("spool"))
    }
}

/// Who commits results.
#[derive(Debug, Args)]
pub(crate) struct LandingArguments {
    /// Leave the results in the store for `flakewise maintain` to commit: for many jobs a second
    #[arg(long, env = "FLAKEWISE_LAND", value_parser = clap::builder::FalseyValueParser::new())]
    pub(crate) land: bool,
}

/// What is known of a run, where the environment does not say it.
#[derive(Debug, Default, Args)]
pub(crate) struct ContextArguments {
    /// Tested commit [default: from CI or git]
    #[arg(long, value_name = "SHA", help_heading = "Context")]
    pub(crate) commit: Option<String>,

    /// Tested branch [default: from CI or git]
    #[arg(long, value_name = "NAME", help_heading = "Context")]
    pub(crate) branch: Option<String>,

    /// Run id, unique within the project [default: from CI or random]
    #[arg(long, value_name = "ID", help_heading = "Context")]
    pub(crate) run: Option<String>,

    /// Property of the environment that may affect outcomes, e.g. `python=3.11`; may be repeated
    #[arg(long, value_name = "KEY=VALUE", value_parser = key_value, help_heading = "Context")]
    pub(crate) variant: Vec<(String, String)>,
}

/// Where a run is recorded, and what is known of it.
#[derive(Debug, Args)]
pub(crate) struct RecordArguments {
    #[command(flatten)]
    pub(crate) store: StoreArguments,

    /// Do not record anything in the history
    #[arg(long)]
    pub(crate) no_store: bool,

    #[command(flatten)]
    pub(crate) landing: LandingArguments,

    #[command(flatten)]
    pub(crate) context: ContextArguments,

    #[command(flatten)]
    pub(crate) spool: SpoolArguments,
}
