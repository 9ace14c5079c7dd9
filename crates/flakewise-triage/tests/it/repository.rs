//! Repositories in temporary folders.

use std::path::{Path, PathBuf};
use std::process::Command;

use flakewise_triage::{Change, ChangeError, ChangeKind, ChangedFile};
use tempfile::TempDir;

/// A repository with a work tree, which goes away with the value.
pub(crate) struct Repository {
    folder: TempDir,
    root: PathBuf,
}

impl Repository {
    /// A repository without commits, on the branch `main`.
    pub(crate) fn empty() -> Self {
        let folder = tempfile::tempdir().expect("made");
        let root = folder.path().canonicalize().expect("it exists").join("shop");
        std::fs::create_dir(&root).expect("made");
        let repository = Self { folder, root };
        repository.git(&["init", "--quiet", "--initial-branch=main"]);
        repository.git(&["config", "core.excludesFile", "/dev/null"]);
        repository
    }

    /// A repository with one commit on `main`.
    pub(crate) fn new() -> Self {
        let repository = Self::empty();
        repository.write("src/shop/__init__.py", "");
        repository.write("src/shop/cart.py", "one = 1\ntwo = 2\nthree = 3\nfour = 4\nfive = 5\nsix = 6\n");
        repository.write("src/shop/tax.py", "rate = 19\n");
        repository.write("tests/test_cart.py", "from shop import cart\n");
        repository.write("data/prices.json", "{}\n");
        repository.write(".gitignore", "build/\n");
        repository.commit("first");
        repository
    }

    /// A repository with one commit on `main` and a branch `work` checked out.
    pub(crate) fn on_branch() -> Self {
        let repository = Self::new();
        repository.git(&["checkout", "--quiet", "-b", "work"]);
        repository
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// A folder beside the repository.
    pub(crate) fn beside(&self, name: &str) -> PathBuf {
        self.folder.path().canonicalize().expect("it exists").join(name)
    }

    pub(crate) fn write(&self, path: &str, content: impl AsRef<[u8]>) {
        let path = self.root.join(path);
        std::fs::create_dir_all(path.parent().expect("it is in a folder")).expect("made");
        std::fs::write(path, content).expect("written");
    }

    pub(crate) fn remove(&self, path: &str) {
        let path = self.root.join(path);
        std::fs::remove_file(&path).expect("removed");
        // As git does it.
        let _ = std::fs::remove_dir(path.parent().expect("it is in a folder"));
    }

    pub(crate) fn commit(&self, message: &str) -> String {
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "--allow-empty", "--message", message]);
        self.head()
    }

    pub(crate) fn head(&self) -> String {
        self.git(&["rev-parse", "HEAD"])
    }

    pub(crate) fn git(&self, arguments: &[&str]) -> String {
        git(&self.root, arguments)
    }

    pub(crate) fn change(&self) -> Change {
        self.discover(None, &[]).expect("asked").expect("there is a commit")
    }

    pub(crate) fn against(&self, base: &str) -> Change {
        self.discover(Some(base), &[]).expect("asked").expect("there is a commit")
    }

    pub(crate) fn discover(
        &self,
        base: Option<&str>,
        variables: &[(&str, &str)],
    ) -> Result<Option<Change>, ChangeError> {
        discover(&self.root, base, variables)
    }
}

pub(crate) fn discover(
    folder: &Path,
    base: Option<&str>,
    variables: &[(&str, &str)],
) -> Result<Option<Change>, ChangeError> {
    discover_with(folder, base, None, variables)
}

pub(crate) fn discover_with(
    folder: &Path,
    base: Option<&str>,
    main_branch: Option<&str>,
    variables: &[(&str, &str)],
) -> Result<Option<Change>, ChangeError> {
    Change::discover(folder, base, main_branch, |name| {
        variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
    })
}

pub(crate) fn git(folder: &Path, arguments: &[&str]) -> String {
    let output = Command::new("git")
        .current_dir(folder)
        .args(["-c", "protocol.file.allow=always", "-c", "commit.gpgSign=false"])
        .args(arguments)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_AUTHOR_NAME", "a")
        .env("GIT_AUTHOR_EMAIL", "a@example.org")
        .env("GIT_AUTHOR_DATE", "2024-01-01T00:00:00Z")
        .env("GIT_COMMITTER_NAME", "a")
        .env("GIT_COMMITTER_EMAIL", "a@example.org")
        .env("GIT_COMMITTER_DATE", "2024-01-01T00:00:00Z")
        .env_remove("GIT_DIR")
        .env_remove("GIT_INDEX_FILE")
        .env_remove("GIT_WORK_TREE")
        .output()
        .expect("git is installed");
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "git {arguments:?}: {complaint}");
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

/// Paths with kinds: `A new.py`, `M cart.py`.
pub(crate) fn kinds(change: &Change) -> Vec<String> {
    let letter = |file: &ChangedFile| match file.kind {
        ChangeKind::Added => 'A',
        ChangeKind::Modified => 'M',
        ChangeKind::Deleted => 'D',
        ChangeKind::TypeChanged => 'T',
    };
    change.files.iter().map(|file| format!("{} {}", letter(file), file.path)).collect()
}

pub(crate) fn file<'a>(change: &'a Change, path: &str) -> &'a ChangedFile {
    change.files.iter().find(|file| file.path == path).expect("it changed")
}

pub(crate) fn lines(change: &Change, path: &str) -> Vec<(u32, u32)> {
    file(change, path).lines.iter().map(|range| (range.first, range.last)).collect()
}
