//! Which file configures a folder.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use crate::config::Config;
use crate::error::ConfigError;

/// The name of our own file.
pub const FILE: &str = "flakewise.toml";
/// The file of Python projects that may hold our table.
pub const PYPROJECT: &str = "pyproject.toml";
/// The name of our table below `tool` in [`PYPROJECT`].
pub const TABLE: &str = "flakewise";

/// A larger file is refused.
const MOST_BYTES: u64 = 1_000_000;

/// Finds and reads the configuration of a folder: its own, or that of the nearest
/// folder above, up to `root`. Without a root only the folder itself is looked at.
///
/// Both paths are absolute and without symbolic links. Paths that people are shown
/// begin at `folder`.
pub fn discover(folder: &Path, root: Option<&Path>) -> Result<Config, ConfigError> {
    let depth =
        root.and_then(|root| folder.strip_prefix(root).ok()).map_or(0, |path| path.components().count());
    for (up, candidate) in folder.ancestors().take(depth + 1).enumerate() {
        let shown: PathBuf = std::iter::repeat_n("..", up).collect();
        if let Some(config) = read(candidate, &shown)? {
            return Ok(config);
        }
    }
    Ok(Config::default())
}

/// Reads the configuration that is in one folder, which people are shown as `shown`.
pub fn read(folder: &Path, shown: &Path) -> Result<Option<Config>, ConfigError> {
    let (file, pyproject) = (shown.join(FILE), shown.join(PYPROJECT));
    let own = match text(&folder.join(FILE), &file)? {
        Some(text) => Some(Config::parse(&file, &text)?),
        None => None,
    };
    let table = match text(&folder.join(PYPROJECT), &pyproject)? {
        Some(text) => Config::parse_pyproject(&pyproject, &text),
        None => Ok(None),
    };
    match (own, table) {
        (Some(_), Ok(Some(_))) => Err(ConfigError::Both { file, pyproject }),
        // What is wrong with the other file is not ours to say.
        (Some(own), _) => Ok(Some(own)),
        (None, table) => table,
    }
}

/// The text of a file; none if there is no such file.
fn text(path: &Path, shown: &Path) -> Result<Option<String>, ConfigError> {
    let failed = |source| ConfigError::Read { path: shown.to_owned(), source };
    match std::fs::metadata(path) {
        // Reading a pipe would wait for its writer.
        Ok(found) if !found.is_file() => return Ok(None),
        Ok(_) => {}
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(failed(error)),
    }
    let mut bytes = Vec::new();
    let file = std::fs::File::open(path).map_err(failed)?;
    file.take(MOST_BYTES + 1).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() as u64 > MOST_BYTES {
        return Err(ConfigError::TooLarge { path: shown.to_owned() });
    }
    String::from_utf8(bytes).map(Some).map_err(|_| ConfigError::NotText { path: shown.to_owned() })
}
