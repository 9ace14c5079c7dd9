//! Buckets: S3 and compatible, Google Cloud Storage, Azure.
//!
//! The engine's storage layer speaks to all of them, and its log needs nothing but
//! a write that fails if the file exists. [`History::probe`] finds out whether a
//! store has it: there are some that overwrite, and some that let several writers
//! win. A history is created in such a bucket only if somebody says that it has a
//! single writer, and then written only by those who say so.
//!
//! Credentials come from the environment, by the provider's usual names. What the
//! machine's metadata service would give is not used unless the environment names
//! it: outside of the provider's machines, asking for it takes long and fails.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, LazyLock, Mutex};
use std::time::Duration;

use deltalake::logstore::{
    LogStore, LogStoreFactory, ObjectStoreFactory, ObjectStoreRef, StorageConfig, default_logstore,
    logstore_factories, object_store_factories,
};
use deltalake::{DeltaResult, DeltaTableBuilder};
use object_store::aws::AmazonS3Builder;
use object_store::azure::MicrosoftAzureBuilder;
use object_store::gcp::GoogleCloudStorageBuilder;
use object_store::path::Path;
use object_store::{
    Error, ObjectStore, ObjectStoreExt as _, ObjectStoreScheme, PutMode, PutOptions, RetryConfig,
};
use url::{Position, Url};

use crate::cached::Cached;
use crate::{History, HistoryError};

/// How long a request is repeated, all tries together. Nobody's build waits longer
/// for a store than this: results go to the spool then.
const PATIENCE: Duration = Duration::from_secs(30);
const TRIES: usize = 6;

/// Any of these tells where credentials for S3 come from.
const S3_CREDENTIALS: [&str; 6] = [
    "AWS_ACCESS_KEY_ID",
    "AWS_WEB_IDENTITY_TOKEN_FILE",
    "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
    "AWS_CONTAINER_CREDENTIALS_FULL_URI",
    "AWS_METADATA_ENDPOINT",
    "AWS_SKIP_SIGNATURE",
];

/// Whether URLs of this scheme are buckets.
pub(crate) fn is_scheme(scheme: &str) -> bool {
    matches!(scheme, "s3" | "s3a" | "gs" | "az" | "abfs" | "abfss" | "adl")
}

/// Makes the engine know buckets of a scheme. False if there are no such buckets.
pub(crate) fn register(scheme: &str) -> bool {
    if !is_scheme(scheme) {
        return false;
    }
    let scheme = Url::parse(&format!("{scheme}://")).expect("a scheme is a URL");
    object_store_factories().insert(scheme.clone(), Arc::new(Buckets));
    logstore_factories().insert(scheme, Arc::new(Buckets));
    true
}

/// What is missing to use a bucket, if that is known without a request.
fn missing(scheme: &str, variable: impl Fn(&str) -> bool) -> Option<String> {
    let is_s3 = matches!(scheme, "s3" | "s3a");
    (is_s3 && !S3_CREDENTIALS.into_iter().any(variable)).then(|| {
        "there are no credentials in the environment: set `AWS_ACCESS_KEY_ID` and `AWS_SECRET_ACCESS_KEY`, \
         or use web identity (`AWS_WEB_IDENTITY_TOKEN_FILE`)"
            .to_owned()
    })
}

struct Buckets;

/// The stores of this process by the URL of a bucket, so that tables share connections and what is
/// known of logs.
static OPEN: LazyLock<Mutex<HashMap<String, ObjectStoreRef>>> = LazyLock::new(Mutex::default);

impl ObjectStoreFactory for Buckets {
    fn parse_url_opts(&self, url: &Url, _: &StorageConfig) -> DeltaResult<(ObjectStoreRef, Path)> {
        let (_, path) = ObjectStoreScheme::parse(url).map_err(Error::from)?;
        let bucket = url[..Position::BeforePath].to_owned();
        if let Some(store) = OPEN.lock().expect("nobody panicked").get(&bucket) {
            return Ok((Arc::clone(store), path));
        }
        let store: ObjectStoreRef = Arc::new(Cached::new(connect(url)?));
        OPEN.lock().expect("nobody panicked").insert(bucket, Arc::clone(&store));
        Ok((store, path))
    }
}

/// The bucket of a URL, with credentials from the environment.
pub(crate) fn connect(url: &Url) -> Result<ObjectStoreRef, Error> {
    let is_set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    // Store trouble like any other: a build of a fork has no secrets, and must not fail for it.
    if let Some(reason) = missing(url.scheme(), is_set) {
        return Err(Error::Unauthenticated { path: url.path().to_owned(), source: reason.into() });
    }
    let (scheme, _) = ObjectStoreScheme::parse(url)?;
    let retry = RetryConfig { max_retries: TRIES, retry_timeout: PATIENCE, ..RetryConfig::default() };
    let url = url.as_str();
    Ok(match scheme {
        ObjectStoreScheme::GoogleCloudStorage => {
            Arc::new(GoogleCloudStorageBuilder::from_env().with_url(url).with_retry(retry).build()?)
        }
        ObjectStoreScheme::MicrosoftAzure => {
            Arc::new(MicrosoftAzureBuilder::from_env().with_url(url).with_retry(retry).build()?)
        }
        _ => Arc::new(AmazonS3Builder::from_env().with_url(url).with_retry(retry).build()?),
    })
}

impl LogStoreFactory for Buckets {
    fn with_options(
        &self,
        prefixed: ObjectStoreRef,
        root: ObjectStoreRef,
        location: &Url,
        options: &StorageConfig,
    ) -> DeltaResult<Arc<dyn LogStore>> {
        Ok(default_logstore(prefixed, root, location, options))
    }
}

/// What a store guarantees to several writers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Guarantee {
    /// Of several writers that create one file, one succeeds and the others get an error.
    OneWins,
    /// A file that exists is overwritten without an error.
    Overwrites,
    /// This number of writers created the same file without an error.
    SeveralWin(usize),
}

impl fmt::Display for Guarantee {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OneWins => formatter.write_str("lets one writer create a file"),
            Self::Overwrites => formatter.write_str("overwrites files that exist"),
            Self::SeveralWin(winners) => write!(formatter, "let {winners} writers create the same file"),
        }
    }
}

/// Says that nobody else writes at the same time.
const SINGLE_WRITER: &str = "FLAKEWISE_SINGLE_WRITER";

/// Whether somebody says so.
pub(crate) fn has_single_writer() -> bool {
    std::env::var_os(SINGLE_WRITER).is_some_and(|value| !value.is_empty() && value != "0")
}

/// How often writers race for one file, when somebody asks and when a history is created.
const RACES: usize = 20;
const RACES_AT_CREATION: usize = 5;
/// How many there are.
const RACERS: usize = 8;

impl History {
    /// Writes and deletes small files in the store to find out what it guarantees. Histories in it
    /// are not touched.
    pub fn probe(&self) -> Result<Guarantee, HistoryError> {
        self.block_on("probe", self.guarantee(RACES))
    }

    /// What the store guarantees, for a history that is about to be created.
    pub(crate) async fn guarantee_at_creation(&self) -> Result<Guarantee, HistoryError> {
        self.guarantee(RACES_AT_CREATION).await
    }

    async fn guarantee(&self, races: usize) -> Result<Guarantee, HistoryError> {
        let name = format!("probe-{}", uuid::Uuid::new_v4());
        let builder = DeltaTableBuilder::from_url(self.store.table(&name, "probe"))
            .map_err(|error| self.unreachable(error.into()))?;
        let log = builder.build_storage().map_err(|error| self.unreachable(error.into()))?;
        let store = log.object_store(None);
        let (guarantee, written) = race(&store, races).await;
        for path in written {
            // Who may write may not be allowed to delete; the files are small.
            let _ = store.delete(&path).await;
        }
        guarantee.map_err(|error| self.unwritable(error))
    }
}

/// What the store guarantees, and what was written to learn it.
async fn race(store: &ObjectStoreRef, races: usize) -> (Result<Guarantee, Error>, Vec<Path>) {
    let mut written = vec![Path::from("once")];
    let create = || PutOptions { mode: PutMode::Create, ..PutOptions::default() };
    let put = |path: Path| {
        let store = Arc::clone(store);
        async move { store.put_opts(&path, "probe".into(), create()).await }
    };
    match put(written[0].clone()).await {
        // Nobody else knows its name: it is there because the answer of the first try was lost.
        Ok(_) | Err(Error::AlreadyExists { .. }) => {}
        Err(error) => return (Err(error), written),
    }
    match put(written[0].clone()).await {
        Err(Error::AlreadyExists { .. }) => {}
        Ok(_) => return (Ok(Guarantee::Overwrites), written),
        Err(error) => return (Err(error), written),
    }
    let mut most = 1;
    for number in 0..races {
        let path = Path::from(format!("race-{number}"));
        written.push(path.clone());
        let racers = (0..RACERS).map(|_| tokio::spawn(put(path.clone())));
        let results = futures::future::join_all(racers).await;
        let winners = results.iter().filter(|result| matches!(result, Ok(Ok(_)))).count();
        most = most.max(winners);
    }
    (Ok(if most > 1 { Guarantee::SeveralWin(most) } else { Guarantee::OneWins }), written)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_without_credentials_is_refused_at_once() {
        assert!(missing("s3", |_| false).is_some_and(|reason| reason.contains("AWS_ACCESS_KEY_ID")));
        assert_eq!(missing("s3", |name| name == "AWS_WEB_IDENTITY_TOKEN_FILE"), None);
        assert_eq!(missing("gs", |_| false), None);
    }

    #[test]
    fn other_schemes_are_no_buckets() {
        assert!(register("s3") && register("gs") && register("abfss"));
        assert!(!register("https") && !register("ftp"));
    }
}
