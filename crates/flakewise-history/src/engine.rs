//! Statements that run elsewhere.
//!
//! The engine of this crate runs in this process. A cluster of the same engine may run the
//! statements that read many attempts instead: see [`History::on`]. It gets the same statements
//! and the files of the same snapshot, so its answers are the same.
//!
//! Types of DataFusion leave the crate only here.
//!
//! [`History::on`]: crate::History::on

use std::sync::Arc;

pub use deltalake::datafusion;
use deltalake::datafusion::error::DataFusionError;
use deltalake::datafusion::execution::object_store::{DefaultObjectStoreRegistry, ObjectStoreRegistry};
use deltalake::datafusion::prelude::{SessionConfig, SessionContext};
use object_store::ObjectStore;
use url::Url;

use crate::bucket::{connect, is_scheme};

/// An engine elsewhere.
pub trait Engine: Send + Sync {
    /// A session with these settings, whose statements run there. It need not know tables that are
    /// only in the memory of this process.
    fn session(&self, config: SessionConfig) -> Result<SessionContext, DataFusionError>;
}

/// The stores that histories may live in, by their URLs. Credentials for buckets come from the
/// environment of the process that reads, as for a [`History`](crate::History).
#[derive(Debug, Default)]
pub struct Stores(DefaultObjectStoreRegistry);

impl ObjectStoreRegistry for Stores {
    fn register_store(&self, url: &Url, store: Arc<dyn ObjectStore>) -> Option<Arc<dyn ObjectStore>> {
        self.0.register_store(url, store)
    }

    fn get_store(&self, url: &Url) -> Result<Arc<dyn ObjectStore>, DataFusionError> {
        let known = self.0.get_store(url);
        if known.is_ok() || !is_scheme(url.scheme()) {
            return known;
        }
        let store = connect(url).map_err(|error| DataFusionError::External(Box::new(error)))?;
        self.0.register_store(url, Arc::clone(&store));
        Ok(store)
    }
}
