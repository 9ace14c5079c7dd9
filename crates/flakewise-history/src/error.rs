//! What can go wrong with a history, as facts.

use std::error::Error;

type Source = Box<dyn Error + Send + Sync>;

/// Why the history could not do what was requested.
#[derive(Debug, thiserror::Error)]
pub enum HistoryError {
    /// The text is not a store this build can use.
    #[error("`{text}` is not a store: {reason}")]
    InvalidStore {
        /// What was given.
        text: String,
        /// What is wrong with it.
        reason: String,
    },
    /// There is nothing there yet.
    #[error("no history of project `{project}` at `{store}`")]
    NoHistory {
        /// The store.
        store: String,
        /// The project requested.
        project: String,
    },
    /// The store cannot be reached or read.
    #[error("failed to open the history at `{store}`")]
    Unreachable {
        /// The store.
        store: String,
        /// Why.
        #[source]
        source: Source,
    },
    /// The store cannot be written to.
    #[error("failed to write to the history at `{store}`")]
    Unwritable {
        /// The store.
        store: String,
        /// Why.
        #[source]
        source: Source,
    },
    /// The store does not keep several writers apart.
    #[error(
        "`{store}` {does}, so jobs that record at the same time would lose results; use another store, or set \
         FLAKEWISE_SINGLE_WRITER=1 if only one job at a time records"
    )]
    Unshareable {
        /// The store.
        store: String,
        /// What it does instead, see [`Guarantee`](crate::Guarantee).
        does: String,
    },
    /// Other writers were faster for too long.
    #[error("failed to commit to `{store}` after {tries} attempts: other writers were always faster")]
    Contended {
        /// The store.
        store: String,
        /// How often it was tried.
        tries: usize,
    },
    /// The table was written by a later version.
    #[error("the history at `{store}` has format {found}, and this version reads up to {known}")]
    NewerFormat {
        /// The store.
        store: String,
        /// The format of the table.
        found: u32,
        /// The newest format this version knows.
        known: u32,
    },
    /// It was stopped, see [`Interrupt`](crate::Interrupt).
    #[error("interrupted")]
    Interrupted,
    /// A query failed.
    #[error("query failed: {message}")]
    Query {
        /// What the engine said.
        message: String,
    },
}

impl HistoryError {
    /// A failed query. The engine's chains of causes are one line each already.
    pub(crate) fn query(error: impl std::fmt::Display) -> Self {
        Self::Query { message: error.to_string() }
    }

    /// Whether the same request may succeed later: the store itself is at fault, or
    /// somebody interrupted.
    pub fn is_store_trouble(&self) -> bool {
        match self {
            Self::Unreachable { .. }
            | Self::Unwritable { .. }
            | Self::Contended { .. }
            | Self::Unshareable { .. }
            | Self::Interrupted => true,
            Self::InvalidStore { .. }
            | Self::NoHistory { .. }
            | Self::NewerFormat { .. }
            | Self::Query { .. } => false,
        }
    }
}
