//! Local folders, with logs that are listed quickly.
//!
//! Opening a table lists its log from the last checkpoint on. Log entries stay for a day, so a busy
//! history has thousands of them, and the engine's store makes a URL of the name of each one before it
//! compares it. Everything but that is the engine's.

use std::fmt;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::{Arc, Once};

use bytes::Bytes;
use deltalake::DeltaResult;
use deltalake::logstore::{ObjectStoreFactory, ObjectStoreRef, StorageConfig, object_store_factories};
use futures::stream::BoxStream;
use futures::{StreamExt as _, TryStreamExt as _};
use object_store::local::LocalFileSystem;
use object_store::path::Path;
use object_store::{
    CopyOptions, Error, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta, ObjectStore,
    PutMultipartOptions, PutOptions, PutPayload, PutResult, RenameOptions, Result,
};
use url::Url;

use crate::cached::last_checkpoint;

/// Makes the engine use this store.
pub(crate) fn register() {
    static REGISTERED: Once = Once::new();
    REGISTERED.call_once(|| {
        let scheme = Url::parse("file://").expect("a scheme is a URL");
        object_store_factories().insert(scheme, Arc::new(Folders));
    });
}

struct Folders;

impl ObjectStoreFactory for Folders {
    fn parse_url_opts(&self, url: &Url, _: &StorageConfig) -> DeltaResult<(ObjectStoreRef, Path)> {
        Ok((Arc::new(Local(LocalFileSystem::new())), Path::from_url_path(url.path()).map_err(Error::from)?))
    }
}

/// All files of this machine.
#[derive(Debug)]
struct Local(LocalFileSystem);

impl fmt::Display for Local {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

/// The files of a log after one of them, in order.
fn list_log(folder: PathBuf, path: &Path, after: &Path) -> Result<Vec<ObjectMeta>> {
    let failed = |source: std::io::Error| Error::Generic { store: "local", source: source.into() };
    let entries = match std::fs::read_dir(folder) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.map_err(failed)?,
    };
    let after = after.filename().unwrap_or_default();
    let mut files = Vec::new();
    for entry in entries {
        let entry = entry.map_err(failed)?;
        // Files that are being written have a `#` in their names.
        let Ok(name) = entry.file_name().into_string() else { continue };
        if name.as_str() <= after || name.contains('#') {
            continue;
        }
        let metadata = match entry.metadata() {
            // It is old, and somebody removed it.
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
            metadata => metadata.map_err(failed)?,
        };
        if metadata.is_file() {
            files.push(ObjectMeta {
                location: path.clone().join(name),
                last_modified: metadata.modified().map_err(failed)?.into(),
                size: metadata.len(),
                e_tag: None,
                version: None,
            });
        }
    }
    files.sort_unstable_by(|left, right| left.location.cmp(&right.location));
    Ok(files)
}

#[async_trait::async_trait]
impl ObjectStore for Local {
    async fn get_opts(&self, location: &Path, options: GetOptions) -> Result<GetResult> {
        match (self.0.get_opts(location, options.clone()).await, last_checkpoint(location)?) {
            (Err(Error::NotFound { .. }), Some(location)) => self.0.get_opts(&location, options).await,
            (result, _) => result,
        }
    }

    async fn get_ranges(&self, location: &Path, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        self.0.get_ranges(location, ranges).await
    }

    async fn put_opts(&self, location: &Path, payload: PutPayload, options: PutOptions) -> Result<PutResult> {
        self.0.put_opts(location, payload, options).await
    }

    async fn put_multipart_opts(
        &self,
        location: &Path,
        options: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        self.0.put_multipart_opts(location, options).await
    }

    fn delete_stream(&self, locations: BoxStream<'static, Result<Path>>) -> BoxStream<'static, Result<Path>> {
        self.0.delete_stream(locations)
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        self.0.list(prefix)
    }

    fn list_with_offset(
        &self,
        prefix: Option<&Path>,
        offset: &Path,
    ) -> BoxStream<'static, Result<ObjectMeta>> {
        let is_log = |path: &&Path| path.filename() == Some("_delta_log") && offset.prefix_matches(path);
        let log = prefix
            .filter(is_log)
            .and_then(|path| Some((path.clone(), self.0.path_to_filesystem(path).ok()?)));
        let Some((path, folder)) = log else { return self.0.list_with_offset(prefix, offset) };
        let offset = offset.clone();
        let listed = tokio::task::spawn_blocking(move || list_log(folder, &path, &offset));
        futures::stream::once(async { listed.await.map_err(|source| Error::JoinError { source })? })
            .map_ok(|files| futures::stream::iter(files.into_iter().map(Ok)))
            .try_flatten()
            .boxed()
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        self.0.list_with_delimiter(prefix).await
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
        self.0.copy_opts(from, to, options).await
    }

    async fn rename_opts(&self, from: &Path, to: &Path, options: RenameOptions) -> Result<()> {
        self.0.rename_opts(from, to, options).await
    }
}

#[cfg(test)]
mod tests {
    use object_store::ObjectStoreExt as _;

    use super::*;

    async fn names(store: &dyn ObjectStore, log: &Path, after: &str) -> Vec<String> {
        let files = store.list_with_offset(Some(log), &log.clone().join(after));
        let names = files.map_ok(|file| file.location.filename().unwrap_or_default().to_owned());
        let mut names: Vec<String> = names.try_collect().await.expect("listed");
        names.sort_unstable();
        names
    }

    #[tokio::test]
    async fn logs_are_listed_as_the_engine_lists_them() {
        let folder = tempfile::tempdir().expect("made");
        let table = folder.path().join("acme~shop/runs");
        let log = table.join("_delta_log");
        std::fs::create_dir_all(log.join("_sidecars")).expect("made");
        for name in [
            "00000000000000000007.json",
            "00000000000000000008.json",
            "00000000000000000009.json",
            "_last_checkpoint",
            "00000000000000000009.json#1",
        ] {
            std::fs::write(log.join(name), "{}").expect("written");
        }
        let store = Local(LocalFileSystem::new());
        let path = Path::from_absolute_path(&log).expect("a path");
        for after in ["00000000000000000000", "00000000000000000007.json", "00000000000000000008", "z"] {
            assert_eq!(names(&store, &path, after).await, names(&store.0, &path, after).await, "{after}");
        }
        let file =
            store.list_with_offset(Some(&path), &path.clone().join("00000000000000000008.json")).next().await;
        let file = file.expect("a file").expect("listed");
        let known = store.0.head(&file.location).await.expect("there");
        assert_eq!((file.size, file.last_modified), (known.size, known.last_modified));
        // A table that is not there yet.
        let missing =
            Path::from_absolute_path(folder.path()).expect("a path").join("other").join("_delta_log");
        assert_eq!(names(&store, &missing, "0").await, [""; 0]);
    }

    /// The engine asks for the name of a project that is encoded once too often.
    #[tokio::test]
    async fn the_last_checkpoint_of_a_project_with_a_slash_is_found() {
        let folder = tempfile::tempdir().expect("made");
        let log = folder.path().join("acme~shop/runs/_delta_log");
        std::fs::create_dir_all(&log).expect("made");
        std::fs::write(log.join("_last_checkpoint"), "7").expect("written");
        let store = Local(LocalFileSystem::new());
        let written = Path::from_absolute_path(log.join("_last_checkpoint")).expect("a path");
        let asked = Path::from(log.join("_last_checkpoint").to_str().expect("UTF-8"));
        assert_ne!(asked, written, "a path made of a text is encoded");
        for path in [asked, written] {
            assert_eq!(store.get(&path).await.expect("there").bytes().await.expect("read"), "7");
        }
    }
}
