//! What changed: the work tree that ran, compared with a base revision.
//!
//! Staged, unstaged and untracked work is part of the change, as it is part of
//! what ran. Ignored files are not: nobody can say what they were before. Call
//! [`Change::discover`] before the suite runs, so that files which tests leave
//! behind are not taken for work.
//!
//! Nothing here writes to the repository, its index included.

mod files;
pub(crate) mod keys;
pub(crate) mod patch;
mod sides;
mod target;
mod without;

use std::path::{Path, PathBuf};

use flakewise_model::ChangeSummary;

use crate::ChangeError;
use crate::git::{Git, path_line};
pub use keys::{ChangedKey, KeyChanges, KeyEffect};
pub use sides::Sides;
pub use target::main_branch;
use target::{Base, Named, Work};

/// What changed since a base revision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The top folder of the work tree, absolute and without symbolic links.
    pub root: PathBuf,
    /// The commit that is checked out.
    pub head: String,
    /// The commit it is compared with.
    pub base: String,
    /// How the base was found, for people: `merge base with origin/main`.
    pub found: String,
    /// The branch the change is to go to, if the base is where it parted from
    /// one: `main`, without the name of a remote.
    pub target: Option<String>,
    /// What changed, by path; each path is there once.
    pub files: Vec<ChangedFile>,
    /// Whether uncommitted work is part of it, untracked files included.
    pub uncommitted: bool,
}

/// A file that changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangedFile {
    /// The path, relative to the root, with forward slashes.
    pub path: String,
    /// Whether the name is not UTF-8, so that `path` is only like it.
    pub lossy: bool,
    /// What happened to it.
    pub kind: ChangeKind,
    /// What it is, or was.
    pub shape: Shape,
    /// The lines that changed, counted in the new version, in order and apart
    /// from each other. Where lines were only removed, these are the lines
    /// around. None for binary and removed files.
    pub lines: Vec<LineRange>,
    /// Those of them that replace nothing: what is defined there is new.
    pub inserted: Vec<LineRange>,
    /// Whether it is Python source.
    pub source: bool,
    /// The topmost folder that came or went with it, if one did.
    pub folder: Option<String>,
    /// Which keys changed, if it is a configuration file that was modified and
    /// can be read in both versions.
    pub keys: Option<KeyChanges>,
}

/// What happened to a file. A rename is a removal and an addition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ChangeKind {
    /// It was not there before.
    Added,
    /// It has other content, or other permissions.
    Modified,
    /// It is gone.
    Deleted,
    /// It was a file and is a symbolic link, or the like.
    TypeChanged,
}

/// What a changed path is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Shape {
    /// An ordinary file.
    File,
    /// A symbolic link, now or before.
    Symlink,
    /// A repository of its own inside of ours, such as a submodule. Anything
    /// below may have changed.
    Folder,
}

/// Consecutive lines, both ends included, counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LineRange {
    /// The first line.
    pub first: u32,
    /// The last line.
    pub last: u32,
}

impl LineRange {
    /// Every line a file may have.
    pub const ALL: Self = Self { first: 1, last: u32::MAX };
}

impl Change {
    /// Finds out what changed in the repository that holds `folder`.
    ///
    /// `base` is what the user named for this change, `main_branch` the branch that
    /// changes go to where CI does not say; `ci` reads an environment variable.
    /// None if there is no work tree of git or no commit in it.
    pub fn discover(
        folder: &Path,
        base: Option<&str>,
        main_branch: Option<&str>,
        ci: impl Fn(&str) -> Option<String>,
    ) -> Result<Option<Self>, ChangeError> {
        let Some(root) = root(folder)? else {
            return Ok(None);
        };
        let git = Git::at(&root);
        let Some(head) = git.commit("HEAD")? else {
            return Ok(None);
        };
        let modified = files::tracked(&git, &head)?;
        let untracked = files::untracked(&git)?;
        let work = Work { tracked: !modified.is_empty(), untracked: !untracked.is_empty() };
        let Base { commit, found, target } =
            target::find(&git, &head, Named { base, main_branch }, &ci, work)?;
        let tracked = if commit == head { modified } else { files::tracked(&git, &commit)? };
        let uncommitted = work.tracked || work.untracked;
        let files = files::collect(&git, &root, &commit, tracked, untracked)?;
        Ok(Some(Self { root, head, base: commit, found, target, files, uncommitted }))
    }

    /// Whether nothing changed.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// The entry of a file, which may be absolute or relative to the root; none
    /// if it did not change.
    pub fn file(&self, path: &Path) -> Option<&ChangedFile> {
        let relative = |path: &Path| {
            let inside = if path.is_absolute() { path.strip_prefix(&self.root).ok()? } else { path };
            let text = inside.to_str()?;
            let text = if cfg!(windows) { text.replace('\\', "/") } else { text.to_owned() };
            self.files.iter().find(|file| file.path == text)
        };
        // It may be named through a symbolic link.
        relative(path).or_else(|| relative(&self.root.join(path).canonicalize().ok()?))
    }

    /// Whether a test is new or changed: its file was added, or any of its
    /// lines (both ends included) changed. Without lines, any change of the
    /// file counts, and so it does where the lines that changed are not known.
    pub fn changes_test(&self, file: &Path, lines: Option<(u32, u32)>) -> bool {
        let Some(file) = self.file(file) else { return false };
        let Some((first, last)) = lines else { return true };
        file.kind != ChangeKind::Modified
            || file.shape != Shape::File
            || file.lines.is_empty()
            || file.lines.iter().any(|range| range.first <= last && first <= range.last)
    }

    /// How many files have names that are not UTF-8.
    pub fn lossy_names(&self) -> usize {
        self.files.iter().filter(|file| file.lossy).count()
    }

    /// What is reported about it.
    pub fn summary(&self) -> ChangeSummary {
        ChangeSummary {
            base: self.base.clone(),
            found: self.found.clone(),
            files: u32::try_from(self.files.len()).unwrap_or(u32::MAX),
            uncommitted: self.uncommitted,
        }
    }
}

impl ChangedFile {
    /// Whether a line of the new version changed.
    pub fn is_changed(&self, line: u32) -> bool {
        let after = self.lines.partition_point(|range| range.first <= line);
        after > 0 && line <= self.lines[after - 1].last
    }
}

/// The top of the work tree around a folder.
pub(crate) fn root(folder: &Path) -> Result<Option<PathBuf>, ChangeError> {
    let git = Git::at(folder);
    let asked = git.output(&["rev-parse", "--is-inside-work-tree", "--show-toplevel"])?;
    // Elsewhere in a repository there is no top, which is the second question.
    if asked.stdout.starts_with(b"false") {
        return Ok(None);
    }
    let Some(top) = asked.stdout.strip_prefix(b"true\n").filter(|_| asked.status.success()) else {
        let complaint = String::from_utf8_lossy(&asked.stderr);
        if complaint.contains("not a git repository") {
            return Ok(None);
        }
        // Such as a repository that belongs to somebody else: git knows what
        // changed, but will not say.
        let message = complaint.lines().next().unwrap_or_default().trim_start_matches("fatal: ").to_owned();
        return Err(ChangeError::Git { command: "rev-parse".to_owned(), message });
    };
    let root = path_line(top);
    // Windows would answer in a form that no other program uses.
    let real = if cfg!(windows) { Ok(root.clone()) } else { root.canonicalize() };
    real.map(Some).map_err(|source| ChangeError::Io { path: root, source })
}
