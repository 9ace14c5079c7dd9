//! The code before the change, in a folder of its own.
//!
//! It is a linked work tree in a private temporary folder: the user's files,
//! index and branches stay as they are. The entry it needs inside the
//! repository goes away with it. If our process is killed, the next
//! [`BaseTree::create`] clears up behind it.
//!
//! Only what is tracked is in it. Whatever a build leaves beside the sources,
//! such as compiled extensions or `.egg-info`, is not, and submodules are not
//! initialised: a test that needs those fails at the base for a reason that has
//! nothing to do with the change. Filters such as those of Git LFS run as they
//! do for any checkout; hooks do not.

use std::fs::File;
use std::path::{Component, Path, PathBuf};

use flakewise_model::Failure;
use tempfile::TempDir;

use crate::git::{Git, path_line};
use crate::{Change, ChangeError};

/// How our temporary folders are named.
const PREFIX: &str = "flakewise-base-";

/// The file in such a folder that is locked while somebody uses it.
const LOCK: &str = "lock";

/// Hooks and watchers are for the folders people work in.
/// The notes that we look for name a work tree by its absolute path.
const SETTINGS: [&str; 3] =
    ["core.hooksPath=/dev/null", "core.fsmonitor=false", "worktree.useRelativePaths=false"];

/// A scratch work tree at the base of a change, removed when dropped.
#[derive(Debug)]
pub struct BaseTree {
    root: PathBuf,
    path: PathBuf,
    /// Git's notes about the work tree, inside of the repository.
    entry: Option<PathBuf>,
    submodules: Vec<String>,
    _lock: File,
    _folder: TempDir,
}

impl BaseTree {
    /// Checks the base out.
    pub fn create(change: &Change) -> Result<Self, ChangeError> {
        let _span = tracing::info_span!("base tree", commit = %change.base).entered();
        let git = Git::at(&change.root).with(&SETTINGS);
        let common = path_line(&git.bytes(&["rev-parse", "--path-format=absolute", "--git-common-dir"])?);
        sweep(&common);

        let io = |path: &Path| {
            let path = path.to_owned();
            |source| ChangeError::Io { path, source }
        };
        let temporary = std::env::temp_dir();
        let mut builder = tempfile::Builder::new();
        builder.prefix(PREFIX);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            builder.permissions(std::fs::Permissions::from_mode(0o700));
        }
        let folder = builder.tempdir().map_err(io(&temporary))?;
        // Locked before git knows of the work tree: whoever finds it there
        // finds it in use.
        let lock_path = folder.path().join(LOCK);
        let lock = File::create(&lock_path).map_err(io(&lock_path))?;
        lock.lock().map_err(io(&lock_path))?;
        // The name of the folder stays, as tests may look at it.
        let name = change.root.file_name().filter(|name| *name != LOCK).unwrap_or("tree".as_ref());
        let real = if cfg!(windows) { Ok(folder.path().to_owned()) } else { folder.path().canonicalize() };
        let path = real.map_err(io(folder.path()))?.join(name);

        // From here on, dropping it clears up whatever is there.
        let mut tree = Self {
            root: change.root.clone(),
            path,
            entry: None,
            submodules: Vec::new(),
            _lock: lock,
            _folder: folder,
        };
        let add = ["worktree", "add", "--quiet", "--detach", "--no-checkout"];
        let mut arguments: Vec<_> = add.iter().map(AsRef::as_ref).collect();
        arguments.extend([tree.path.as_os_str(), change.base.as_ref()]);
        git.bytes(&arguments)?;
        let inside = Git::at(&tree.path).with(&SETTINGS);
        tree.entry = Some(path_line(&inside.bytes(&["rev-parse", "--absolute-git-dir"])?));
        inside.bytes(&["reset", "--quiet", "--hard", "--no-recurse-submodules"])?;
        tree.submodules = submodules(&inside)?;
        Ok(tree)
    }

    /// Where the base is checked out.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Submodules of the base, which are empty folders in it.
    pub fn submodules(&self) -> &[String] {
        &self.submodules
    }

    /// Where a file or folder of the user's work tree is at the base. Paths
    /// outside of it stay, and so does what git ignores, such as a virtual
    /// environment: there is only one of those.
    pub fn map(&self, path: &Path) -> PathBuf {
        let lexical = normalise(path);
        let inside = lexical.strip_prefix(&self.root).map(Path::to_owned).or_else(|_| {
            // It may be there by another name.
            path.canonicalize().map_err(|_| ())?.strip_prefix(&self.root).map(Path::to_owned).map_err(|_| ())
        });
        let Ok(inside) = inside else {
            return path.to_owned();
        };
        let mapped = self.path.join(&inside);
        if mapped.symlink_metadata().is_ok() || !self.is_only_here(&inside) {
            mapped
        } else {
            path.to_owned()
        }
    }

    /// Whether something missing at the base is no part of the code at all.
    fn is_only_here(&self, inside: &Path) -> bool {
        let is_environment = |folder: &Path| self.root.join(folder).join("pyvenv.cfg").is_file();
        let ignored = ["check-ignore", "--quiet", "--"].map(std::ffi::OsStr::new);
        inside.ancestors().any(is_environment)
            || Git::at(&self.root)
                .output(&[&ignored[..], &[inside.as_os_str()]].concat())
                .is_ok_and(|output| output.status.success())
    }
}

impl Drop for BaseTree {
    fn drop(&mut self) {
        let mut remove: Vec<&std::ffi::OsStr> =
            ["worktree", "remove", "--force", "--force"].map(AsRef::as_ref).into();
        remove.push(self.path.as_os_str());
        // Whether it worked is seen below; git refuses where submodules were
        // initialised or the repository has moved.
        let _ = Git::at(&self.root).with(&SETTINGS).output(&remove);
        if self.path.exists() {
            remove_all(&self.path);
        }
        if let Some(entry) = &self.entry {
            forget(entry, &self.path);
        }
    }
}

/// Whether a test failed at the base as it fails here: by the same kind of error
/// in the same place. A failure of another kind says nothing about the change;
/// the base may merely lack what a build leaves beside the sources.
pub fn same_failure(here: &Failure, base: &Failure) -> bool {
    // A fingerprint names the place by files and functions, not by lines or
    // folders; a failure without one is a skip.
    here.kind == base.kind && here.fingerprint.is_some() && here.fingerprint == base.fingerprint
}

/// Submodules in the index, by path.
fn submodules(git: &Git) -> Result<Vec<String>, ChangeError> {
    let listed = git.bytes(&["ls-files", "--stage", "-z"])?;
    let entries = listed.split(|&byte| byte == 0).filter(|entry| entry.starts_with(b"160000 "));
    let paths = entries.filter_map(|entry| entry.splitn(2, |&byte| byte == b'\t').nth(1));
    Ok(paths.map(|path| String::from_utf8_lossy(path).into_owned()).collect())
}

/// Removes work trees of ours whose process is gone.
fn sweep(common: &Path) {
    let Ok(entries) = std::fs::read_dir(common.join("worktrees")) else {
        return;
    };
    for entry in entries.flatten().map(|entry| entry.path()) {
        let Ok(link) = std::fs::read(entry.join("gitdir")) else {
            continue;
        };
        let path = path_line(&link).parent().map(Path::to_owned).unwrap_or_default();
        let Some(folder) = path.parent().filter(|folder| is_ours(folder)) else {
            continue;
        };
        if folder.exists() {
            let lock = File::open(folder.join(LOCK));
            if !lock.is_ok_and(|lock| lock.try_lock().is_ok()) {
                continue;
            }
            remove_all(folder);
        }
        forget(&entry, &path);
    }
}

fn is_ours(folder: &Path) -> bool {
    folder.file_name().is_some_and(|name| name.to_string_lossy().starts_with(PREFIX))
}

/// Removes git's notes about one work tree, if they are about that one.
fn forget(entry: &Path, path: &Path) {
    let is_entry = entry.parent().and_then(Path::file_name).is_some_and(|name| name == "worktrees");
    let is_it = std::fs::read(entry.join("gitdir")).is_ok_and(|link| path_line(&link) == path.join(".git"));
    if is_entry && is_it && std::fs::remove_dir_all(entry).is_ok() {
        // Git does the same: the folder goes with the last entry, and stays
        // while there are others.
        let _ = entry.parent().map(std::fs::remove_dir);
    }
}

/// Removes a folder, also if a test has taken the right to do so away.
fn remove_all(folder: &Path) {
    if std::fs::remove_dir_all(folder).is_ok() {
        return;
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mut waiting = vec![folder.to_owned()];
        while let Some(folder) = waiting.pop() {
            let _ = std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(0o700));
            let entries = std::fs::read_dir(&folder).into_iter().flatten().flatten();
            let is_folder = |entry: &std::fs::DirEntry| entry.file_type().is_ok_and(|kind| kind.is_dir());
            waiting.extend(entries.filter(is_folder).map(|entry| entry.path()));
        }
    }
    let _ = std::fs::remove_dir_all(folder);
}

/// A path without `.` and `..`, as far as that can be said from its text.
fn normalise(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                normal.pop();
            }
            other => normal.push(other),
        }
    }
    normal
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_is_the_same_by_kind_and_place() {
        let failing = |kind: &str, line: u32, message: &str| {
            let trace = format!("E   {kind}: {message}\n\ntests/test_cart.py:{line}: {kind}");
            Failure::new(Some(kind), message, &trace)
        };
        let here = failing("AssertionError", 12, "assert 4 == 3");
        assert!(same_failure(&here, &here));
        assert!(
            same_failure(&here, &failing("AssertionError", 9, "assert 5 == 3")),
            "lines and values shift"
        );
        let lacks = failing("ImportError", 1, "no module named shop._fast");
        assert!(!same_failure(&here, &lacks) && !same_failure(&lacks, &here));
        let elsewhere =
            Failure::new(Some("AssertionError"), "assert 4 == 3", "tests/conftest.py:3: AssertionError");
        assert!(!same_failure(&here, &elsewhere));
        let skip = Failure::skip("no network");
        assert!(!same_failure(&skip, &skip), "a skip is no failure");
    }

    #[test]
    fn paths_are_compared_by_what_they_mean() {
        assert_eq!(normalise(Path::new("/a/./b/../c")), Path::new("/a/c"));
        assert_eq!(normalise(Path::new("/../a")), Path::new("/a"));
    }
}
