//! The landing: where writers leave results that another process commits.
//!
//! Every commit is a race for the next entry of a log, so a table takes a few commits a second.
//! Beyond that, writers leave one file each in the folder `landing` of a project, which needs
//! one request and no race, and `maintain` appends many of them with one commit. What is in a file is
//! the caller's matter.
//!
//! Appending is exactly once, and a file is removed only after it was appended. So any
//! number of processes may do that at the same time, and each may be killed at any time.

use std::sync::Arc;

use deltalake::DeltaTableBuilder;
use deltalake::logstore::ObjectStoreRef;
use futures::{StreamExt as _, TryStreamExt as _, stream};
use object_store::path::Path;
use object_store::{Error, ObjectMeta, ObjectStoreExt as _};

use crate::table::sync;
use crate::{History, HistoryError};

const FOLDER: &str = "landing";
/// Added to the names of files that nobody can read.
const BAD: &str = ".bad";
/// How many files are requested at the same time.
const READS: usize = 16;

/// A file that waits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Landed {
    /// Its name.
    pub name: String,
    /// Its bytes.
    pub size: u64,
}

impl History {
    /// Leaves a file. When this returns, it is on disk. A file of the same name is replaced.
    pub fn land(&self, name: &str, bytes: Vec<u8>) -> Result<(), HistoryError> {
        self.block_on("land", async {
            let path = Path::from(name);
            self.landing()?.put(&path, bytes.into()).await.map_err(|error| self.unwritable(error))?;
            if let Some(folder) = self.store.table_folder(&self.project, FOLDER) {
                // The file, its folder, and those of the project and the store.
                let folders = folder.ancestors().take(3).map(std::path::Path::to_owned);
                std::iter::once(folder.join(name))
                    .chain(folders)
                    .try_for_each(|path| sync(&path))
                    .map_err(|error| self.unwritable(error))?;
            }
            Ok(())
        })
    }

    /// The files that wait, the oldest first.
    pub fn landed(&self) -> Result<Vec<Landed>, HistoryError> {
        self.block_on("list the landing", async {
            let listed: Result<Vec<ObjectMeta>, Error> = self.landing()?.list(None).try_collect().await;
            let mut files = match listed {
                Ok(files) => files,
                Err(Error::NotFound { .. }) => Vec::new(),
                Err(error) => return Err(self.unreachable(error.into())),
            };
            files.sort_by(|left, right| {
                (left.last_modified, &left.location).cmp(&(right.last_modified, &right.location))
            });
            let named = |file: ObjectMeta| {
                Some(Landed { name: file.location.filename()?.to_owned(), size: file.size })
            };
            Ok(files.into_iter().filter_map(named).filter(|file| !file.name.ends_with(BAD)).collect())
        })
    }

    /// What is in these files. Those that are gone, because another process was quicker, are left out.
    pub fn read_landed(&self, files: &[Landed]) -> Result<Vec<(String, Vec<u8>)>, HistoryError> {
        self.block_on("read the landing", async {
            let landing = self.landing()?;
            let read = |file: &Landed| {
                let (landing, name) = (Arc::clone(&landing), file.name.clone());
                async move {
                    let bytes = landing.get(&Path::from(name.as_str())).await?.bytes().await?;
                    Ok::<_, Error>((name, Vec::from(bytes)))
                }
            };
            let mut reads = stream::iter(files.iter().map(read)).buffered(READS);
            let mut contents = Vec::new();
            while let Some(result) = reads.next().await {
                match result {
                    Ok(content) => contents.push(content),
                    Err(Error::NotFound { .. }) => {}
                    Err(error) => return Err(self.unreachable(error.into())),
                }
            }
            Ok(contents)
        })
    }

    /// Removes files whose results are in the history.
    pub fn remove_landed(&self, names: &[String]) -> Result<(), HistoryError> {
        self.block_on("clear the landing", async {
            let paths: Vec<_> = names.iter().map(|name| Ok(Path::from(name.as_str()))).collect();
            let mut removed = self.landing()?.delete_stream(stream::iter(paths).boxed());
            while let Some(result) = removed.next().await {
                match result {
                    Ok(_) | Err(Error::NotFound { .. }) => {}
                    Err(error) => return Err(self.unwritable(error)),
                }
            }
            Ok(())
        })
    }

    /// Renames a file that nobody can read, so that it is not tried for ever.
    pub fn set_aside_landed(&self, name: &str) -> Result<String, HistoryError> {
        self.block_on("set a landed file aside", async {
            let aside = format!("{name}{BAD}");
            match self.landing()?.rename(&Path::from(name), &Path::from(aside.as_str())).await {
                Ok(()) | Err(Error::NotFound { .. }) => Ok(aside),
                Err(error) => Err(self.unwritable(error)),
            }
        })
    }

    fn landing(&self) -> Result<ObjectStoreRef, HistoryError> {
        let unreachable = |error: deltalake::DeltaTableError| self.unreachable(error.into());
        let builder =
            DeltaTableBuilder::from_url(self.store.table(&self.project, FOLDER)).map_err(unreachable)?;
        Ok(builder.build_storage().map_err(unreachable)?.object_store(None))
    }
}
