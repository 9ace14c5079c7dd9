//! The folder that holds everything of ours in a project.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use flakewise_runner::path_in_repository;

/// Its name.
const OWN_FOLDER: &str = ".flakewise";
/// A project's model is its own to commit.
const IGNORED: &str = "# Written by flakewise. Only what can be committed is not ignored.\n*\n!model\n";

/// A path in it, from the current folder. It is at the root of the repository, so
/// that commands in every subfolder find the same; without git, it is here.
pub(crate) fn own_path(name: &str) -> PathBuf {
    let depth = path_in_repository(Path::new(".")).map_or(0, |path| Path::new(&path).components().count());
    std::iter::repeat_n("..", depth).chain([OWN_FOLDER, name]).collect()
}

/// Keeps the folder around a path out of git, if there is such a folder. An
/// existing `.gitignore` is kept, and nothing depends on ours.
pub(crate) fn keep_out_of_git(path: &Path) {
    let own = path.ancestors().find(|folder| folder.file_name().is_some_and(|name| name == OWN_FOLDER));
    if let Some(own) = own.filter(|own| own.is_dir())
        && let Ok(mut file) = std::fs::File::create_new(own.join(".gitignore"))
    {
        let _ = file.write_all(IGNORED.as_bytes());
    }
}
