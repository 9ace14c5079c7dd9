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
        // Untracked files are often the very reports we read.
        let status = ["status", "--porcelain=v2", "--branch", "--no-ahead-behind", "--untracked-files=no"];
        let said = git(here, &status).map(|status| Self::parse(&status));
        Self { project: Self::project(), ..said.unwrap_or_else(|| Self::without_work_tree(here)) }
    }

    /// The name of the project in the current folder.
    pub(crate) fn project() -> Option<String> {
        let remote = git(Path::new("."), &["remote", "get-url", "origin"]);
        remote.as_deref().and_then(project_of).or_else(folder)
    }

    /// In a repository without one, such as that of a server, or in none.
    fn without_work_tree(folder: &Path) -> Self {
        let commit = git(folder, &["rev-parse", "--verify", "--quiet", "HEAD"]);
        let branch = || git(folder, &["symbolic-ref", "--short", "--quiet", "HEAD"]);
        Self { branch: commit.as_ref().and_then(|_| branch()), commit, ..Self::default() }
    }

    /// What `git status --porcelain=v2 --branch` says.
    fn parse(status: &str) -> Self {
        let mut said = Self::default();
        for line in status.lines() {
            match line.strip_prefix("# ").map(|header| header.split_once(' ')) {
                // Before the first commit it says `(initial)`.
                Some(Some(("branch.oid", commit))) if !commit.starts_with('(') => {
                    said.commit = Some(commit.to_owned());
                }
                Some(Some(("branch.head", branch))) if branch != "(detached)" => {
                    said.branch = Some(branch.to_owned());
                }
                Some(_) => {}
                None => said.dirty = true,
            }
        }
        // Without a commit there is nothing to be on, or to differ from.
        if said.commit.is_none() { Self::default() } else { said }
    }
}

/// What one git command prints; none if that is nothing, it fails or there is
/// no git.
fn git(folder: &Path, arguments: &[&str]) -> Option<String> {
    flakewise_triage::Git::at(folder).line(arguments).ok().flatten()
}

/// `acme/shop` from any form of remote address.
fn project_of(remote: &str) -> Option<String> {
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
    fn a_status_says_which_code_it_is() {
        let clean = "# branch.oid 1f2e\n# branch.head main\n# branch.upstream origin/main\n";
        let said = |commit: &str, branch: Option<&str>, dirty| Git {
            commit: Some(commit.to_owned()),
            branch: branch.map(str::to_owned),
            dirty,
            project: None,
        };
        assert_eq!(Git::parse(clean), said("1f2e", Some("main"), false));
        let changed = format!("{clean}1 .M N... 100644 100644 100644 1f2e 1f2e # branch.head x\n");
        assert_eq!(Git::parse(&changed), said("1f2e", Some("main"), true));
        assert_eq!(Git::parse("# branch.oid 1f2e\n# branch.head (detached)\n"), said("1f2e", None, false));
        let new = "# branch.oid (initial)\n# branch.head main\n1 A. N... 000000 100644 100644 0 1 a\n";
        assert_eq!(Git::parse(new), Git::default());
    }

    #[test]
    fn projects_are_named_alike_in_every_form_of_remote() {
        for remote in [
            "https://github.com/acme/shop.git",
            "https://user:secret@github.com/acme/shop",
            "git@github.com:acme/shop.git",
            "ssh://git@gitlab.example:2222/acme/shop/",
        ] {
            assert_eq!(project_of(remote).as_deref(), Some("acme/shop"), "{remote}");
        }
        assert_eq!(project_of("shop.git").as_deref(), Some("shop"));
    }
}
