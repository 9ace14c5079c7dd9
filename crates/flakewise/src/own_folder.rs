//! The folder that holds everything of ours in a project.

use std::io::Write as _;
use std::path::Path;

/// Its name.
const OWN_FOLDER: &str = ".flakewise";
/// A project's model is its own to commit.
const IGNORED: &str = "# Written by flakewise. Only what can be committed is not ignored.\n*\n!model\n";

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
