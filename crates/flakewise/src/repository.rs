//! Where the code is, and the model that belongs to it.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use flakewise_predict::Model;
use flakewise_report::ModelOrigin;

use crate::context::top_folder;
use crate::declarations::Declarations;
use crate::error::ExpectedError;
use crate::printer::Printer;

/// A project's own model, from the root of its repository.
pub(crate) const MODEL: &str = ".flakewise/model";
/// A longer file is no model.
const MODEL_BYTES: u64 = 1 << 30;

/// The folder that ids of tests are relative to, and what was asked about.
pub(crate) struct Repository {
    /// Absolute and without symbolic links.
    pub(crate) root: PathBuf,
    /// From the root.
    pub(crate) paths: Vec<PathBuf>,
}

impl Repository {
    /// Finds the repository around paths that the user named, or around the
    /// current folder. Without git, the current folder is the root, or, if it
    /// is elsewhere, the folder that was named.
    pub(crate) fn find(named: &[PathBuf]) -> Result<Self, ExpectedError> {
        let here = [PathBuf::from(".")];
        let named = if named.is_empty() { &here } else { named };
        let real = |path: &PathBuf| {
            path.canonicalize().map_err(|_| ExpectedError::NoSuchSource { path: path.display().to_string() })
        };
        let paths = named.iter().map(real).collect::<Result<Vec<_>, _>>()?;
        let first = &paths[0];
        let folder = if first.is_dir() { first } else { first.parent().unwrap_or(first) };
        let root = match top_folder(folder).and_then(|top| top.canonicalize().ok()) {
            Some(top) => top,
            None => match real(&here[0])? {
                current if first.starts_with(&current) => current,
                _ => folder.to_owned(),
            },
        };
        let relative = |(path, name): (&PathBuf, &PathBuf)| {
            let outside = || ExpectedError::NoSuchSource { path: name.display().to_string() };
            path.strip_prefix(&root).map(Path::to_owned).map_err(|_| outside())
        };
        let paths = paths.iter().zip(named).map(relative).collect::<Result<_, _>>()?;
        Ok(Self { root, paths })
    }
}

/// The first bytes of an ordinary file, at most `most`. Reading a pipe would wait for
/// its writer.
pub(crate) fn read_file(path: &Path, most: u64) -> std::io::Result<Vec<u8>> {
    if !std::fs::metadata(path)?.is_file() {
        return Err(std::io::Error::other("it is not a file"));
    }
    let mut bytes = Vec::new();
    std::fs::File::open(path)?.take(most).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// A model that is ready to predict.
pub(crate) struct LoadedModel {
    pub(crate) model: Model,
    pub(crate) origin: ModelOrigin,
    /// Names exactly this model.
    pub(crate) checksum: [u8; 32],
}

impl LoadedModel {
    /// The declarations below a root, if the model looks beyond the file of a
    /// test.
    pub(crate) fn declarations(&self, root: &Path, printer: &Printer) -> Option<Declarations> {
        self.model.groups().needs_surroundings().then(|| Declarations::read(root, printer))
    }

    /// The model the user names, else the project's own, else the pretrained.
    pub(crate) fn find(named: Option<&Path>, root: &Path) -> Result<Self, ExpectedError> {
        if let Some(path) = named {
            return Self::read(path, ModelOrigin::File(path.display().to_string()));
        }
        let own = root.join(MODEL);
        if own.is_file() {
            return Self::read(&own, ModelOrigin::Own(MODEL.to_owned()));
        }
        let model = Model::pretrained();
        Ok(Self { checksum: model.checksum(), model, origin: ModelOrigin::Pretrained })
    }

    fn read(path: &Path, origin: ModelOrigin) -> Result<Self, ExpectedError> {
        let read = || {
            let mut bytes = Vec::new();
            std::fs::File::open(path)?.take(MODEL_BYTES).read_to_end(&mut bytes).map(|_| bytes)
        };
        let bytes = read().map_err(|source| ExpectedError::Read { path: path.to_owned(), source })?;
        let model = Model::from_bytes(&bytes)
            .map_err(|source| ExpectedError::Model { path: path.to_owned(), source })?;
        Ok(Self { checksum: model.checksum(), model, origin })
    }
}

/// Writes a file so that it is there whole or not at all.
pub(crate) fn write_whole(path: &Path, bytes: &[u8]) -> Result<(), ExpectedError> {
    let write = || {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        std::fs::create_dir_all(folder)?;
        #[cfg_attr(not(unix), expect(unused_mut, reason = "files have no such permissions"))]
        let mut builder = tempfile::Builder::new();
        // A temporary file is its owner's alone; this one is for the team.
        #[cfg(unix)]
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
        let mut file = builder.tempfile_in(folder)?;
        std::io::Write::write_all(&mut file, bytes)?;
        file.as_file().sync_all()?;
        file.persist(path).map_err(|error| error.error)?;
        Ok(())
    };
    write().map_err(|source| ExpectedError::Write { path: path.to_owned(), source })
}
