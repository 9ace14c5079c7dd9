//! What git says of the folder we are in.

use std::path::{Path, PathBuf};

/// What git says; all of it may be missing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Git {
    pub(crate) commit: Option<String>,
    pub(crate) branch: Option<String>,
    pub(crate) dirty: bool,
    pub(crate) project: Option<String>,
}

impl Git {
    /// Asks git about the current folder.
    pub(crate) fn discover() -> Self {
        let here = Path::new(".");
        let Some(commit) = git(here, &["rev-parse", "--verify", "--quiet", "HEAD"]) else {
            return Self {
                project: git(here, &["remote", "get-url", "origin"])
                    .as_deref()
                    .and_then(project)
                    .or_else(folder),
                ..Self::default()
            };
        };
        Self {
            commit: Some(commit),
            branch: git(here, &["symbolic-ref", "--short", "--quiet", "HEAD"]),
            // Untracked files are often the very reports we read.
            dirty: git(here, &["status", "--porcelain", "--untracked-files=no"]).is_some(),
            project: git(here, &["remote", "get-url", "origin"]).as_deref().and_then(project).or_else(folder),
        }
    }
}

/// What one git command prints; none if that is nothing, it fails or there is
/// no git.
fn git(folder: &Path, arguments: &[&str]) -> Option<String> {
    flakewise_triage::Git::at(folder).line(arguments).ok().flatten()
}

/// `acme/shop` from any form of remote address.
fn project(remote: &str) -> Option<String> {
    let path = remote.trim_end_matches('/').trim_end_matches(".git");
    let path = path.split_once("://").map_or(path, |(_, rest)| rest);
    let mut parts = path.rsplit(['/', ':']).filter(|part| !part.is_empty());
    let name = parts.next()?;
    Some(parts.next().map_or_else(|| name.to_owned(), |owner| format!("{owner}/{name}")))
}

/// The top of the work tree around a folder.
pub(crate) fn top_folder(folder: &Path) -> Option<PathBuf> {
    git(folder, &["rev-parse", "--show-toplevel"]).map(PathBuf::from)
}

/// The files of the repository around a folder, from there, ignored ones left
/// out; none if git cannot say.
#[cfg(feature = "history")]
pub(crate) fn files(folder: &Path) -> Option<Vec<String>> {
    list(folder, &["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
}

/// The files below a folder that git tracks, from there; none if git cannot say.
pub(crate) fn tracked_files(folder: &Path) -> Option<Vec<String>> {
    list(folder, &["ls-files", "-z", "--cached"])
}

fn list(folder: &Path, arguments: &[&str]) -> Option<Vec<String>> {
    let listed = git(folder, arguments)?;
    Some(listed.split('\0').filter(|path| !path.is_empty()).map(str::to_owned).collect())
}

/// The name of the work tree's folder, or of the current one.
fn folder() -> Option<String> {
    let top = top_folder(Path::new("."));
    let top = top.or_else(|| std::env::current_dir().ok())?;
    Some(top.file_name()?.to_string_lossy().into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn projects_are_named_alike_in_every_form_of_remote() {
        for remote in [
            "https://github.com/acme/shop.git",
            "https://user:secret@github.com/acme/shop",
            "git@github.com:acme/shop.git",
            "ssh://git@gitlab.example:2222/acme/shop/",
        ] {
            assert_eq!(project(remote).as_deref(), Some("acme/shop"), "{remote}");
        }
        assert_eq!(project("shop.git").as_deref(), Some("shop"));
    }
}
