//! Log entries of a bucket, requested once.
//!
//! The engine replays the log of a table several times for one append, and each
//! replay requests every entry. Entries and checkpoints never change once they are
//! written, so this store keeps them while the process lives. Everything else goes
//! to the store behind it.

use std::collections::HashMap;
use std::fmt;
use std::sync::Mutex;

use bytes::Bytes;
use futures::StreamExt as _;
use futures::stream::BoxStream;
use object_store::path::Path;
use object_store::{
    CopyOptions, GetOptions, GetResult, GetResultPayload, ListResult, MultipartUpload, ObjectMeta,
    ObjectStore, PutMultipartOptions, PutOptions, PutPayload, PutResult, Result,
};

/// The largest file that is kept.
const LARGEST: u64 = 4_000_000;
/// How much is kept, in bytes.
const MOST: u64 = 64_000_000;

/// A store that requests each log entry once.
#[derive(Debug)]
pub(crate) struct LogCache<S> {
    store: S,
    kept: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    files: HashMap<Path, (ObjectMeta, Bytes)>,
    bytes: u64,
}

impl<S: ObjectStore> LogCache<S> {
    pub(crate) fn new(store: S) -> Self {
        Self { store, kept: Mutex::default() }
    }

    fn known(&self, path: &Path) -> Option<(ObjectMeta, Bytes)> {
        self.kept.lock().expect("nobody panicked").files.get(path).cloned()
    }

    /// Requests the whole of a file and keeps it, unless it is too large.
    async fn request(&self, path: &Path) -> Result<Option<(ObjectMeta, Bytes)>> {
        let result = self.store.get_opts(path, GetOptions::default()).await?;
        if result.meta.size > LARGEST {
            return Ok(None);
        }
        let meta = result.meta.clone();
        let bytes = result.bytes().await?;
        let mut kept = self.kept.lock().expect("nobody panicked");
        if kept.bytes + meta.size <= MOST {
            kept.bytes += meta.size;
            kept.files.insert(path.clone(), (meta.clone(), bytes.clone()));
        }
        drop(kept);
        Ok(Some((meta, bytes)))
    }
}

/// Whether a file never changes once it is written: `00000000000000000042.json` and checkpoints.
/// `_last_checkpoint` does.
fn is_log_entry(path: &Path) -> bool {
    let Some((folder, name)) = path.as_ref().rsplit_once('/') else { return false };
    let Some((version, kind)) = name.split_once('.') else { return false };
    (folder == "_delta_log" || folder.ends_with("/_delta_log"))
        && version.len() == 20
        && version.bytes().all(|byte| byte.is_ascii_digit())
        && (kind == "json" || kind.ends_with("parquet"))
}

/// Whether a request asks for bytes and nothing besides.
fn is_plain(options: &GetOptions) -> bool {
    let GetOptions { if_match, if_none_match, if_modified_since, if_unmodified_since, version, head, .. } =
        options;
    if_match.is_none()
        && if_none_match.is_none()
        && if_modified_since.is_none()
        && if_unmodified_since.is_none()
        && version.is_none()
        && !head
}

impl<S: fmt::Display> fmt::Display for LogCache<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.store.fmt(f)
    }
}

#[async_trait::async_trait]
impl<S: ObjectStore> ObjectStore for LogCache<S> {
    async fn get_opts(&self, location: &Path, options: GetOptions) -> Result<GetResult> {
        if !is_log_entry(location) || !is_plain(&options) {
            return self.store.get_opts(location, options).await;
        }
        let file = match self.known(location) {
            Some(file) => Some(file),
            None => self.request(location).await?,
        };
        let Some((meta, bytes)) = file else { return self.store.get_opts(location, options).await };
        let wanted = options.range.as_ref().map(|range| range.as_range(meta.size)).transpose();
        let Ok(wanted) = wanted else {
            // The store's own error says it best.
            return self.store.get_opts(location, options).await;
        };
        let range = wanted.unwrap_or(0..meta.size);
        let place = |position: u64| usize::try_from(position).unwrap_or(usize::MAX).min(bytes.len());
        let part = bytes.slice(place(range.start)..place(range.end));
        let payload = GetResultPayload::Stream(futures::stream::iter([Ok(part)]).boxed());
        Ok(GetResult { payload, meta, range, attributes: object_store::Attributes::default() })
    }

    async fn put_opts(&self, location: &Path, payload: PutPayload, options: PutOptions) -> Result<PutResult> {
        self.store.put_opts(location, payload, options).await
    }

    async fn put_multipart_opts(
        &self,
        location: &Path,
        options: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        self.store.put_multipart_opts(location, options).await
    }

    fn delete_stream(&self, locations: BoxStream<'static, Result<Path>>) -> BoxStream<'static, Result<Path>> {
        self.store.delete_stream(locations)
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        self.store.list(prefix)
    }

    fn list_with_offset(
        &self,
        prefix: Option<&Path>,
        offset: &Path,
    ) -> BoxStream<'static, Result<ObjectMeta>> {
        self.store.list_with_offset(prefix, offset)
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        self.store.list_with_delimiter(prefix).await
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
        self.store.copy_opts(from, to, options).await
    }
}

#[cfg(test)]
mod tests {
    use object_store::ObjectStoreExt as _;
    use object_store::memory::InMemory;

    use super::*;

    const ENTRY: &str = "history/shop/attempts/_delta_log/00000000000000000007.json";

    #[test]
    fn entries_and_checkpoints_never_change() {
        let is = |path: &str| is_log_entry(&Path::from(path));
        assert!(is(ENTRY) && is("_delta_log/00000000000000000010.checkpoint.parquet"));
        assert!(!is("a/_delta_log/_last_checkpoint") && !is("a/_delta_log/7.json"));
        assert!(!is("a/part-00000000000000000007.parquet") && !is("a/00000000000000000007.json"));
    }

    #[tokio::test]
    async fn what_is_kept_is_not_requested_again() {
        let store = LogCache::new(InMemory::new());
        let (entry, last) = (Path::from(ENTRY), Path::from("_delta_log/_last_checkpoint"));
        for path in [&entry, &last] {
            store.put(path, "0123456789".into()).await.expect("written");
            store.get(path).await.expect("there").bytes().await.expect("read");
        }
        // Behind its back: whoever asks again gets what was there.
        store.store.delete(&entry).await.expect("deleted");
        store.store.put(&last, "changed".into()).await.expect("written");
        let read = |path: Path| {
            let store = &store;
            async move { store.get(&path).await.expect("there").bytes().await.expect("read") }
        };
        assert_eq!(read(entry.clone()).await, "0123456789");
        assert_eq!(store.get_range(&entry, 2..5).await.expect("read"), "234");
        assert_eq!(store.get_range(&entry, 8..50).await.expect("read"), "89");
        assert_eq!(read(last).await, "changed");
    }

    #[tokio::test]
    async fn an_entry_that_is_not_there_yet_is_looked_for_again() {
        let store = LogCache::new(InMemory::new());
        let entry = Path::from(ENTRY);
        assert!(matches!(store.get(&entry).await, Err(object_store::Error::NotFound { .. })));
        store.put(&entry, "now".into()).await.expect("written");
        assert_eq!(store.get(&entry).await.expect("there").bytes().await.expect("read"), "now");
    }
}
