//! Where a history lives, and the handle to it.

use std::collections::HashMap;
use std::fmt;
use std::future::Future;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use flakewise_model::{Rename, without_credentials};
use futures::future::{Either, select};
use tokio::sync::watch;
use url::Url;

use crate::engine::Engine;
use crate::{HistoryError, bucket, local};

/// Where histories live: a folder, or a bucket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoreUrl {
    url: Url,
    /// The folder, for local stores.
    folder: Option<PathBuf>,
    /// As the user wrote it, for messages, without credentials.
    shown: String,
}

impl StoreUrl {
    /// Understands a path, or the URL of a bucket.
    pub fn parse(text: &str) -> Result<Self, HistoryError> {
        let invalid = |reason: &str| HistoryError::InvalidStore {
            text: without_credentials(text),
            reason: reason.to_owned(),
        };
        if text.is_empty() {
            return Err(invalid("it is empty"));
        }
        // A single letter in front of a colon is a drive, not a scheme.
        let scheme = text.split_once("://").map(|(scheme, _)| scheme).filter(|scheme| scheme.len() > 1);
        match scheme {
            None => Self::folder(Path::new(text), text),
            Some("file") => {
                let path = Url::parse(text).ok().and_then(|url| url.to_file_path().ok());
                Self::folder(&path.ok_or_else(|| invalid("it is not an absolute file URL"))?, text)
            }
            Some(scheme) => {
                if !bucket::register(scheme) {
                    return Err(invalid("supported stores are a path, file://, s3://, gs:// and az://"));
                }
                let mut url = Url::parse(text).map_err(|error| invalid(&error.to_string()))?;
                let shown = without_credentials(text);
                if !url.path().ends_with('/') {
                    url.set_path(&format!("{}/", url.path()));
                }
                Ok(Self { url, folder: None, shown })
            }
        }
    }

    /// A store of a kind that the engine was taught elsewhere: for tests.
    #[doc(hidden)]
    pub fn of_engine(url: Url) -> Self {
        Self { shown: url.to_string(), url, folder: None }
    }

    fn folder(path: &Path, text: &str) -> Result<Self, HistoryError> {
        let invalid = |reason: String| HistoryError::InvalidStore { text: text.to_owned(), reason };
        let path = std::path::absolute(path).map_err(|error| invalid(error.to_string()))?;
        let url = Url::from_directory_path(&path).map_err(|()| invalid("it is not a path".to_owned()))?;
        local::register();
        Ok(Self { url, folder: Some(path), shown: text.to_owned() })
    }

    /// Whether it is a bucket.
    pub(crate) fn is_bucket(&self) -> bool {
        bucket::is_scheme(self.url.scheme())
    }

    /// The URL of one of a project's tables, with a slash at its end.
    pub(crate) fn table(&self, project: &str, table: &str) -> Url {
        let mut url = self.url.clone();
        url.path_segments_mut()
            .expect("stores have hierarchical URLs")
            .pop_if_empty()
            .push(&folder_name(project))
            .push(table)
            .push("");
        url
    }

    /// The folder of one of a project's tables, for local stores.
    pub(crate) fn table_folder(&self, project: &str, table: &str) -> Option<PathBuf> {
        Some(self.folder.as_ref()?.join(folder_name(project)).join(table))
    }
}

impl fmt::Display for StoreUrl {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.shown)
    }
}

/// A project's name as one folder name: `acme/shop` is `acme~shop`. Anything
/// else but letters, digits, `.`, `_` and `-` becomes `-`, and a hash keeps
/// such names apart.
fn folder_name(project: &str) -> String {
    let plain = |character: char| character.is_ascii_alphanumeric() || "._-".contains(character);
    let name: String = project
        .chars()
        .map(|character| match character {
            '/' => '~',
            _ if plain(character) => character,
            _ => '-',
        })
        .collect();
    let faithful = project.chars().all(|character| plain(character) || character == '/');
    if faithful && !matches!(name.as_str(), "" | "." | "..") {
        return name;
    }
    let hash = blake3::hash(project.as_bytes()).to_hex();
    format!("{name}-{}", &hash[..8])
}

/// One project's history in one store.
pub struct History {
    pub(crate) store: StoreUrl,
    pub(crate) project: String,
    /// What runs statements, if not this process.
    pub(crate) engine: Option<Arc<dyn Engine>>,
    /// Former ids that somebody vouches for, by present ones.
    pub(crate) assumed: Mutex<HashMap<String, String>>,
    /// Renames of a change that is not merged yet.
    pub(crate) assumed_renames: Mutex<Vec<Rename>>,
    /// Whether the table of runs, when it was last opened, said that no test was renamed.
    pub(crate) has_no_renames: AtomicBool,
    interrupt: Interrupt,
    /// Whether a task was cut off.
    is_cut_off: AtomicBool,
    /// Until it is dropped.
    runtime: Option<tokio::runtime::Runtime>,
}

/// Stops what a [`History`] does, from another thread: what is under way then,
/// and what begins until it is cleared, fails with
/// [`HistoryError::Interrupted`].
#[derive(Clone, Debug)]
pub struct Interrupt(watch::Sender<bool>);

impl Interrupt {
    /// Stops the history.
    pub fn raise(&self) {
        self.0.send_replace(true);
    }

    /// Lets the history work again.
    pub fn clear(&self) {
        self.0.send_replace(false);
    }
}

impl History {
    /// A handle; nothing is touched yet.
    pub fn new(store: StoreUrl, project: &str) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .enable_all()
            // The engine's planner recurses deeply on wide queries.
            .thread_stack_size(8 << 20)
            .build()
            .expect("threads can be started");
        Self {
            store,
            project: project.to_owned(),
            engine: None,
            assumed: Mutex::default(),
            assumed_renames: Mutex::default(),
            has_no_renames: AtomicBool::new(false),
            interrupt: Interrupt(watch::Sender::new(false)),
            is_cut_off: AtomicBool::new(false),
            runtime: Some(runtime),
        }
    }

    /// Lets an engine elsewhere run the statements that read many attempts.
    #[must_use]
    pub fn on(mut self, engine: Arc<dyn Engine>) -> Self {
        self.engine = Some(engine);
        self
    }

    /// What stops it.
    pub fn interrupt(&self) -> Interrupt {
        self.interrupt.clone()
    }

    /// Where it lives.
    pub fn store(&self) -> &StoreUrl {
        &self.store
    }

    /// Whose history it is.
    pub fn project(&self) -> &str {
        &self.project
    }

    /// Runs a task to its end, in a span of its name, unless somebody interrupts. A
    /// commit that is cut off may have succeeded; sending its reports again adds
    /// nothing twice.
    pub(crate) fn block_on<T>(
        &self,
        task: &'static str,
        future: impl Future<Output = Result<T, HistoryError>>,
    ) -> Result<T, HistoryError> {
        let _span = tracing::info_span!("history", task, store = %self.store).entered();
        let mut raised = self.interrupt.0.subscribe();
        let runtime = self.runtime.as_ref().expect("it is there until it is dropped");
        let result = runtime.block_on(async {
            let interrupted = pin!(raised.wait_for(|raised| *raised));
            match select(interrupted, pin!(future)).await {
                Either::Left(_) => {
                    self.is_cut_off.store(true, Ordering::Relaxed);
                    Err(HistoryError::Interrupted)
                }
                Either::Right((result, _)) => result,
            }
        });
        if let Err(error) = &result {
            tracing::info!(%error, "history task failed");
        }
        result
    }
}

impl Drop for History {
    fn drop(&mut self) {
        // What a task that was cut off had begun may never end, such as reading from
        // a disk whose server is gone, and the engine panics if its runtime ends
        // before. The end of the process ends both.
        if *self.is_cut_off.get_mut()
            && let Some(runtime) = self.runtime.take()
        {
            std::mem::forget(runtime);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn projects_become_one_folder_each() {
        assert_eq!(folder_name("acme/shop"), "acme~shop");
        assert_ne!(folder_name("acme shop"), folder_name("acme-shop"));
        assert_ne!(folder_name("acme~shop"), folder_name("acme/shop"));
        assert!(folder_name("..").starts_with("..-"));
        let store = StoreUrl::parse("/data/history").expect("a path is a store");
        assert_eq!(store.table("../../etc", "runs").path(), "/data/history/..~..~etc/runs/");
    }

    #[test]
    fn messages_show_no_credentials() {
        let error = StoreUrl::parse("ftp://me:secret@host/x").expect_err("not supported").to_string();
        assert!(error.starts_with("`ftp://…@host/x` is not a store"), "{error}");
    }

    #[test]
    fn unsupported_stores_are_refused_with_a_reason() {
        let reason = |text: &str| StoreUrl::parse(text).expect_err("not supported").to_string();
        assert_eq!(reason(""), "`` is not a store: it is empty");
        assert_eq!(
            reason("ftp://host/x"),
            "`ftp://host/x` is not a store: supported stores are a path, file://, s3://, gs:// and az://"
        );
    }
}
