//! Where a folder is in its repository.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// The top of the work tree around a folder, without symbolic links; none if it
/// is in no repository.
///
/// Git is not run for it: in a container it refuses repositories of other users,
/// and ids of tests must not depend on that. As git does, it looks no further up
/// than the folders of `GIT_CEILING_DIRECTORIES`.
pub fn repository_root(folder: &Path) -> Option<PathBuf> {
    find_root(folder, &std::env::var_os("GIT_CEILING_DIRECTORIES").unwrap_or_default())
}

fn find_root(folder: &Path, ceilings: &OsStr) -> Option<PathBuf> {
    let ceilings: Vec<PathBuf> =
        std::env::split_paths(ceilings).filter_map(|ceiling| ceiling.canonicalize().ok()).collect();
    let folder = folder.canonicalize().ok()?;
    let is_top = |folder: &&Path| {
        let git = folder.join(".git");
        // A file in work trees and submodules.
        git.is_file() || git.join("HEAD").is_file()
    };
    let is_below = |above: &&Path| **above == *folder || !ceilings.iter().any(|ceiling| ceiling == above);
    folder.ancestors().take_while(is_below).find(is_top).map(Path::to_owned)
}

/// The path of a folder below the top of its repository, with forward slashes:
/// empty for the top itself, none if it is in no repository.
pub fn path_in_repository(folder: &Path) -> Option<String> {
    let root = repository_root(folder)?;
    let path = folder.canonicalize().ok()?.strip_prefix(root).ok()?.to_str()?.to_owned();
    Some(if cfg!(windows) { path.replace('\\', "/") } else { path })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_named_from_the_top_of_its_repository() {
        let scratch = tempfile::tempdir().expect("made");
        let top = scratch.path().join("repository");
        let service = top.join("services/svc-a");
        std::fs::create_dir_all(&service).expect("made");
        assert_eq!(path_in_repository(&service), None, "there is no repository");
        std::fs::create_dir_all(top.join(".git")).expect("made");
        assert_eq!(path_in_repository(&service), None, "an empty folder is no repository");
        std::fs::write(top.join(".git/HEAD"), "ref: refs/heads/main\n").expect("written");
        assert_eq!(path_in_repository(&service).as_deref(), Some("services/svc-a"));
        assert_eq!(path_in_repository(&top).as_deref(), Some(""));
        let link = scratch.path().join("link");
        std::os::unix::fs::symlink(&service, &link).expect("linked");
        assert_eq!(path_in_repository(&link).as_deref(), Some("services/svc-a"));
        assert_eq!(find_root(&service, top.as_os_str()), None, "it is at a ceiling");
        assert_eq!(find_root(&top, top.as_os_str()), find_root(&top, OsStr::new("")));
        // A submodule or a linked work tree.
        std::fs::write(service.join(".git"), "gitdir: elsewhere\n").expect("written");
        assert_eq!(path_in_repository(&service).as_deref(), Some(""));
        assert_eq!(path_in_repository(&top.join("missing")), None);
    }
}
