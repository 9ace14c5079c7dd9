//! The folder that holds everything of ours in a project.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use flakewise_runner::path_in_repository;

/// Its name.
const OWN_FOLDER: &str = ".flakewise";
/// A project's model and its quarantine are its own to commit.
const IGNORED: &str =
    "# Written by flakewise. Ignores everything except what can be committed.\n*\n!model\n!quarantine.toml\n";
/// What earlier versions wrote.
const FORMERLY_IGNORED: &str =
    "# Written by flakewise. Only what can be committed is not ignored.\n*\n!model\n";

/// A path in it, from the current folder. It is at the root of the repository, so
/// that commands in every subfolder find the same; without git, it is here.
pub(crate) fn own_path(name: &str) -> PathBuf {
    let depth = path_in_repository(Path::new(".")).map_or(0, |path| Path::new(&path).components().count());
    std::iter::repeat_n("..", depth).chain([OWN_FOLDER, name]).collect()
}

/// Keeps the folder around a path out of git, if there is such a folder. An
/// existing `.gitignore` is kept, unless an earlier version wrote it, and nothing
/// depends on ours.
pub(crate) fn keep_out_of_git(path: &Path) {
    let own = path.ancestors().find(|folder| folder.file_name().is_some_and(|name| name == OWN_FOLDER));
    let Some(own) = own.filter(|own| own.is_dir()) else { return };
    let ignore = own.join(".gitignore");
    if let Ok(mut file) = std::fs::File::create_new(&ignore) {
        let _ = file.write_all(IGNORED.as_bytes());
    } else if std::fs::read(&ignore).is_ok_and(|text| text == FORMERLY_IGNORED.as_bytes()) {
        let _ = std::fs::write(&ignore, IGNORED);
    }
}
