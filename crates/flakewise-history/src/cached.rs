//! What is requested of a bucket once.
//!
//! The engine replays the log of a table several times for one append, and each
//! replay requests every entry. Of a data file it requests the last eight bytes,
//! then the footer, then pages, for each statement again. Neither log entries nor
//! data files change once they are written, so this store keeps log entries and the
//! ends of data files while the process lives; small files are kept as a whole.
//! Everything else goes to the store behind it.
//!
//! To open a table, the engine requests `_last_checkpoint` and then lists the log from there. Where all
//! of the log fits into one page of a listing, as it does unless commits are frequent, that listing is
//! enough: it is requested first, and the engine finds the checkpoint in it.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use deltalake::logstore::ObjectStoreRef;
use futures::stream::BoxStream;
use futures::{StreamExt as _, TryStreamExt as _};
use object_store::path::Path;
use object_store::{
    Attributes, CopyOptions, Error, GetOptions, GetRange, GetResult, GetResultPayload, ListResult,
    MultipartUpload, ObjectMeta, ObjectStore, PutMultipartOptions, PutOptions, PutPayload, PutResult, Result,
};

/// How much of a checkpoint is requested and kept.
const CHECKPOINT: u64 = 4_000_000;
/// How much of the end of a data file is requested and kept. Footers of our files fit.
const END: u64 = 256 << 10;
/// A data file of this size is requested as a whole. The pages that a reader wants of it are so close to
/// each other that they would be requested with what is between them anyway.
const WHOLE: u64 = 8 << 20;
/// Once this much is kept, in bytes, nothing else is.
const MOST: u64 = 64_000_000;
/// How many files a store lists in one answer.
const PAGE: usize = 1000;

/// A store that requests log entries and ends of data files once.
#[derive(Debug)]
pub(crate) struct Cached {
    store: ObjectStoreRef,
    kept: Mutex<Kept>,
    /// Files that are requested at this moment: other tasks that need one wait for it.
    requested: Mutex<HashMap<Path, Arc<tokio::sync::Mutex<()>>>>,
    /// Logs by their folders, each for the next time the engine lists it.
    listed: Mutex<HashMap<Path, Vec<ObjectMeta>>>,
}

#[derive(Debug, Default)]
struct Kept {
    files: HashMap<Path, End>,
    bytes: u64,
}

/// The end of a file, or all of it.
#[derive(Clone, Debug)]
struct End {
    meta: ObjectMeta,
    start: u64,
    bytes: Bytes,
}

impl End {
    async fn of(result: GetResult) -> Result<Self> {
        let (meta, start) = (result.meta.clone(), result.range.start);
        Ok(Self { meta, start, bytes: result.bytes().await? })
    }

    /// The answer to a request, if it is in here.
    fn answer(&self, range: Option<&GetRange>) -> Option<GetResult> {
        let size = self.meta.size;
        let range = range.map_or(Ok(0..size), |range| range.as_range(size)).ok()?;
        let place = |position: u64| usize::try_from(position.checked_sub(self.start)?).ok();
        let (start, end) = (place(range.start)?, place(range.end)?);
        let part = (start <= end && end <= self.bytes.len()).then(|| self.bytes.slice(start..end))?;
        let payload = GetResultPayload::Stream(futures::stream::iter([Ok(part)]).boxed());
        Some(GetResult { payload, meta: self.meta.clone(), range, attributes: Attributes::default() })
    }
}

impl Cached {
    pub(crate) fn new(store: ObjectStoreRef) -> Self {
        Self { store, kept: Mutex::default(), requested: Mutex::default(), listed: Mutex::default() }
    }

    /// Lists a log and keeps the answer for the next listing. False if it has more files than a store
    /// lists at once.
    async fn list_log(&self, folder: &Path) -> Result<bool> {
        let entries: Vec<_> = self.store.list(Some(folder)).take(PAGE).try_collect().await?;
        let is_whole = entries.len() < PAGE;
        if is_whole {
            self.listed.lock().expect("nobody panicked").insert(folder.clone(), entries);
        }
        Ok(is_whole)
    }

    /// What was listed of a folder, once.
    fn take_listed(&self, folder: &Path) -> Option<Vec<ObjectMeta>> {
        self.listed.lock().expect("nobody panicked").remove(folder)
    }

    fn known(&self, path: &Path) -> Option<End> {
        self.kept.lock().expect("nobody panicked").files.get(path).cloned()
    }

    /// A log entry, or the end of a data file, requested unless it is known. None as for `request`.
    async fn end(&self, path: &Path, is_entry: bool, range: Option<&GetRange>) -> Result<Option<End>> {
        if let Some(end) = self.known(path) {
            return Ok(Some(end));
        }
        let turn =
            Arc::clone(self.requested.lock().expect("nobody panicked").entry(path.clone()).or_default());
        let _turn = turn.lock().await;
        let end = match self.known(path) {
            Some(end) => Ok(Some(end)),
            None => self.request(path, is_entry, range).await,
        };
        self.requested.lock().expect("nobody panicked").remove(path);
        end
    }

    /// Requests a log entry, or the end of a data file, and keeps it. None if there is no room,
    /// or the store cannot tell what the end is, as Azure.
    async fn request(&self, path: &Path, is_entry: bool, range: Option<&GetRange>) -> Result<Option<End>> {
        if self.kept.lock().expect("nobody panicked").bytes >= MOST {
            return Ok(None);
        }
        // Of an entry in JSON, everything is read.
        let is_whole = is_entry && path.extension() == Some("json");
        // Readers begin at the end of a file, and so say how long it is.
        let is_small = matches!(range, Some(GetRange::Bounded(range)) if range.end <= WHOLE);
        let length = match (is_entry, is_small) {
            (true, _) => CHECKPOINT,
            (false, true) => WHOLE,
            (false, false) => END,
        };
        let range = (!is_whole).then_some(GetRange::Suffix(length));
        let result = match self.store.get_opts(path, GetOptions { range, ..GetOptions::default() }).await {
            Err(Error::NotSupported { .. }) => return Ok(None),
            result => result?,
        };
        let end = End::of(result).await?;
        self.keep(path, &end);
        Ok(Some(end))
    }

    fn keep(&self, path: &Path, end: &End) {
        let mut kept = self.kept.lock().expect("nobody panicked");
        let before = kept.files.insert(path.clone(), end.clone());
        kept.bytes += end.bytes.len() as u64;
        kept.bytes -= before.map_or(0, |before| before.bytes.len() as u64);
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

/// Where the last checkpoint is, if that is asked for. The engine takes the path of a URL for one that is not
/// encoded yet, and looks for `acme%7Eshop` instead of `acme~shop`. Then it lists the whole log.
pub(crate) fn last_checkpoint(asked: &Path) -> Result<Option<Path>> {
    let is_asked = asked.filename() == Some("_last_checkpoint");
    Ok(if is_asked { Some(Path::from_url_path(asked)?) } else { None })
}

/// The folder a file is in.
fn folder(file: &Path) -> Path {
    let mut parts: Vec<_> = file.parts().collect();
    parts.pop();
    parts.into_iter().collect()
}

/// Whether it is a file that Flakewise wrote rows to, which has a name of its own.
fn is_data_file(path: &Path) -> bool {
    !path.as_ref().contains("_delta_log/") && path.extension() == Some("parquet")
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

impl fmt::Display for Cached {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.store.fmt(f)
    }
}

#[async_trait::async_trait]
impl ObjectStore for Cached {
    async fn get_opts(&self, location: &Path, options: GetOptions) -> Result<GetResult> {
        if let Some(location) = last_checkpoint(location)? {
            if self.list_log(&folder(&location)).await? {
                let source = "its log is listed instead".into();
                return Err(Error::NotFound { path: location.to_string(), source });
            }
            return self.store.get_opts(&location, options).await;
        }
        let is_entry = is_log_entry(location);
        if !is_plain(&options) || !(is_entry || is_data_file(location)) {
            return self.store.get_opts(location, options).await;
        }
        let end = self.end(location, is_entry, options.range.as_ref()).await?;
        match end.and_then(|end| end.answer(options.range.as_ref())) {
            Some(answer) => Ok(answer),
            None => self.store.get_opts(location, options).await,
        }
    }

    async fn put_opts(&self, location: &Path, payload: PutPayload, options: PutOptions) -> Result<PutResult> {
        // A listing from before would lack it.
        self.take_listed(&folder(location));
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
        let Some(mut entries) = prefix.and_then(|folder| self.take_listed(folder)) else {
            return self.store.list_with_offset(prefix, offset);
        };
        entries.retain(|entry| entry.location > *offset);
        futures::stream::iter(entries.into_iter().map(Ok)).boxed()
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
        let store = Cached::new(Arc::new(InMemory::new()));
        let (entry, other) = (Path::from(ENTRY), Path::from("_delta_log/other"));
        for path in [&entry, &other] {
            store.put(path, "0123456789".into()).await.expect("written");
            store.get(path).await.expect("there").bytes().await.expect("read");
        }
        // Not through the cache, which must still return what it has read.
        store.store.delete(&entry).await.expect("deleted");
        store.store.put(&other, "changed".into()).await.expect("written");
        let read = |path: Path| {
            let store = &store;
            async move { store.get(&path).await.expect("there").bytes().await.expect("read") }
        };
        assert_eq!(read(entry.clone()).await, "0123456789");
        assert_eq!(store.get_range(&entry, 2..5).await.expect("read"), "234");
        assert_eq!(store.get_range(&entry, 8..50).await.expect("read"), "89");
        assert_eq!(read(other).await, "changed");
    }

    #[tokio::test]
    async fn the_end_of_a_data_file_is_requested_once() {
        let store = Cached::new(Arc::new(InMemory::new()));
        let small = Path::from("history/shop/attempts/small.parquet");
        let large = Path::from("history/shop/attempts/large.parquet");
        store.put(&small, "0123456789".into()).await.expect("written");
        let medium = Path::from("history/shop/attempts/medium.parquet");
        store.put(&medium, vec![7; 2 << 20].into()).await.expect("written");
        assert_eq!(store.get_range(&medium, (2 << 20) - 8..2 << 20).await.expect("read"), [7; 8][..]);
        store.store.delete(&medium).await.expect("deleted");
        assert_eq!(store.get_range(&medium, 0..1).await.expect("kept as a whole"), [7][..]);
        let bytes: Vec<u8> = (0..=u8::MAX).cycle().take(9 << 20).collect();
        store.put(&large, bytes.clone().into()).await.expect("written");
        // As a reader of Parquet begins.
        assert_eq!(store.get_range(&small, 8..10).await.expect("read"), "89");
        let size = bytes.len() as u64;
        assert_eq!(store.get_range(&large, size - 2..size).await.expect("read"), [254, 255][..]);
        assert_eq!(store.get_range(&large, 1..3).await.expect("requested"), [1, 2][..]);
        store.store.delete(&small).await.expect("deleted");
        store.store.delete(&large).await.expect("deleted");
        assert_eq!(store.get_range(&small, 0..3).await.expect("kept"), "012");
        assert_eq!(store.get_range(&large, size - 60_000..size - 59_999).await.expect("kept"), [160][..]);
        let error = store.get_range(&large, 1..3).await.expect_err("only the end is kept");
        assert!(matches!(error, Error::NotFound { .. }), "{error}");
    }

    fn entry(version: usize) -> Path {
        Path::parse(format!("acme~shop/runs/_delta_log/{version:020}.json")).expect("a path")
    }

    /// The engine asks for the name of a project that is encoded once too often.
    fn last_checkpoint() -> [Path; 2] {
        let written = Path::parse("acme~shop/runs/_delta_log/_last_checkpoint").expect("a path");
        let asked = Path::from("acme~shop/runs/_delta_log/_last_checkpoint");
        assert_ne!(asked, written, "a path made of a text is encoded");
        [asked, written]
    }

    async fn list(store: &Cached, after: &Path) -> Vec<Path> {
        let entries = store.list_with_offset(Some(&folder(after)), after);
        entries.map_ok(|entry| entry.location).try_collect().await.expect("listed")
    }

    #[tokio::test]
    async fn the_last_checkpoint_of_a_long_log_is_found() {
        let store = Cached::new(Arc::new(InMemory::new()));
        let paths = last_checkpoint();
        for version in 0..PAGE - 1 {
            store.put(&entry(version), "{}".into()).await.expect("written");
        }
        store.put(&paths[1], "7".into()).await.expect("written");
        for path in &paths {
            assert_eq!(store.get(path).await.expect("there").bytes().await.expect("read"), "7");
        }
        assert_eq!(list(&store, &entry(PAGE - 3)).await.len(), 2, "the whole log was not kept");
    }

    #[tokio::test]
    async fn a_short_log_is_listed_once_instead() {
        let store = Cached::new(Arc::new(InMemory::new()));
        let [asked, written] = last_checkpoint();
        for path in [entry(0), entry(1), entry(2), written] {
            store.put(&path, "7".into()).await.expect("written");
        }
        let is_missing = || async { matches!(store.get(&asked).await, Err(Error::NotFound { .. })) };
        assert!(is_missing().await);
        // What comes then is not in that listing, and in the next.
        store.store.put(&entry(3), "7".into()).await.expect("written");
        assert_eq!(list(&store, &entry(0)).await[..2], [entry(1), entry(2)]);
        assert_eq!(list(&store, &entry(0)).await[..3], [entry(1), entry(2), entry(3)]);
        // What this process writes is in every listing after it.
        assert!(is_missing().await);
        store.put(&entry(4), "7".into()).await.expect("written");
        assert_eq!(list(&store, &entry(2)).await[..2], [entry(3), entry(4)]);
    }

    #[tokio::test]
    async fn an_entry_that_is_not_there_yet_is_looked_for_again() {
        let store = Cached::new(Arc::new(InMemory::new()));
        let entry = Path::from(ENTRY);
        assert!(matches!(store.get(&entry).await, Err(Error::NotFound { .. })));
        store.put(&entry, "now".into()).await.expect("written");
        assert_eq!(store.get(&entry).await.expect("there").bytes().await.expect("read"), "now");
    }
}
