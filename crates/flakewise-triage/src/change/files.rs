//! Which files changed.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io::Read as _;
use std::path::Path;

use super::{ChangeKind, ChangedFile, KeyChanges, LineRange, Shape};
use super::{keys, patch};
use crate::ChangeError;
use crate::git::{Git, path_from};

/// What is said so that a user's settings do not change what `diff` prints.
pub(super) const DIFF: [&str; 8] = [
    "diff",
    "--no-color",
    "--no-ext-diff",
    "--no-textconv",
    "--no-renames",
    "--no-relative",
    "--submodule=short",
    "--ignore-submodules=none",
];

const PATCH: [&str; 5] =
    ["--patch", "--unified=0", "--inter-hunk-context=0", "--src-prefix=a/", "--dst-prefix=b/"];

/// More configuration files than this are not compared by key.
const MOST_KEYED: usize = 64;

/// A changed path, with the bytes git has for its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    path: Vec<u8>,
    kind: ChangeKind,
    shape: Shape,
    /// Whether it has a conflict that is not resolved.
    conflict: bool,
}

/// Tracked files of the work tree that differ from a commit.
pub(super) fn tracked(git: &Git, commit: &str) -> Result<Vec<Entry>, ChangeError> {
    let raw = git.bytes(&[&DIFF[..], &["--raw", "-z", commit, "--"]].concat())?;
    Ok(entries(&raw))
}

/// Files that are neither tracked nor ignored.
pub(super) fn untracked(git: &Git) -> Result<Vec<Entry>, ChangeError> {
    let listed = git.bytes(&["ls-files", "--others", "--exclude-standard", "-z"])?;
    let paths = listed.split(|&byte| byte == 0).filter(|path| !path.is_empty());
    let entry = |path: &[u8]| match path.strip_suffix(b"/") {
        // A repository of its own, which git does not look into.
        Some(folder) => (folder.to_vec(), Shape::Folder),
        None => (path.to_vec(), Shape::File),
    };
    let is_derived = |path: &[u8]| {
        // Python wrote them, from sources that are compared themselves.
        path.ends_with(b".pyc") && path.split(|&byte| byte == b'/').any(|part| part == b"__pycache__")
    };
    Ok(paths
        .filter(|path| !is_ours(path) && !is_derived(path))
        .map(entry)
        .map(|(path, shape)| Entry { path, kind: ChangeKind::Added, shape, conflict: false })
        .collect())
}

/// The paths of ordinary files that are neither tracked nor ignored.
pub(super) fn untracked_paths(git: &Git) -> Result<Vec<String>, ChangeError> {
    let files = untracked(git)?.into_iter().filter(|entry| entry.shape == Shape::File);
    Ok(files.filter_map(|entry| String::from_utf8(entry.path).ok()).collect())
}

/// All that changed, with lines and folders.
pub(super) fn collect(
    git: &Git,
    root: &Path,
    base: &str,
    tracked: Vec<Entry>,
    untracked: Vec<Entry>,
) -> Result<Vec<ChangedFile>, ChangeError> {
    let mut whole: BTreeSet<Vec<u8>> = untracked.iter().map(|entry| entry.path.clone()).collect();
    let mut all: BTreeMap<Vec<u8>, Entry> = BTreeMap::new();
    for mut entry in tracked.into_iter().chain(untracked) {
        if entry.shape == Shape::File && root.join(path_from(&entry.path)).is_symlink() {
            entry.shape = Shape::Symlink;
        }
        if entry.conflict {
            whole.insert(entry.path.clone());
        }
        // A file that is no longer tracked but still there is gone for one
        // command and new for the other.
        all.entry(entry.path.clone())
            .and_modify(|other| {
                if other.kind != entry.kind {
                    other.kind = ChangeKind::Modified;
                }
                other.shape = other.shape.max(entry.shape);
            })
            .or_insert(entry);
    }
    let mut lines = lines(git, base, &all)?;
    let folders = Folders::read(git, root, base, &all)?;
    let mut keyed = 0;
    let files = all.into_values().map(|entry| {
        let path = String::from_utf8_lossy(&entry.path).into_owned();
        let extension = Path::new(&path).extension();
        let Lines { changed, inserted } = match entry.shape {
            Shape::File if entry.kind == ChangeKind::Deleted => Lines::default(),
            Shape::File if whole.contains(&entry.path) => {
                Lines { changed: vec![LineRange::ALL], inserted: vec![LineRange::ALL] }
            }
            Shape::File => lines.remove(&entry.path).unwrap_or_default(),
            Shape::Symlink | Shape::Folder => Lines::default(),
        };
        ChangedFile {
            lossy: std::str::from_utf8(&entry.path).is_err(),
            kind: entry.kind,
            shape: entry.shape,
            lines: changed,
            inserted,
            source: entry.shape != Shape::Folder && extension.is_some_and(|extension| extension == "py"),
            folder: folders.moved(&entry).map(|folder| String::from_utf8_lossy(folder).into_owned()),
            keys: if is_compared(&entry, &path) && keyed < MOST_KEYED {
                keyed += 1;
                changed_keys(git, root, base, &path)
            } else {
                None
            },
            path,
        }
    });
    Ok(files.collect())
}

/// Whether a file has two versions that can be compared by key.
fn is_compared(entry: &Entry, path: &str) -> bool {
    entry.kind == ChangeKind::Modified
        && entry.shape == Shape::File
        && !entry.conflict
        && std::str::from_utf8(&entry.path).is_ok()
        && keys::is_keyed(path)
}

/// Which keys of a configuration file changed; none if that cannot be determined.
fn changed_keys(git: &Git, root: &Path, base: &str, path: &str) -> Option<KeyChanges> {
    let most = keys::MOST_BYTES + 1;
    let mut before = Vec::new();
    // One that is too large ends in an error: git cannot print all of it.
    git.stream(&["cat-file", "blob", &format!("{base}:{path}")], |input| {
        input.take(most).read_to_end(&mut before)
    })
    .ok()?;
    let mut after = Vec::new();
    let file = std::fs::File::open(root.join(path)).ok()?;
    file.take(most).read_to_end(&mut after).ok()?;
    keys::compare(path, &before, &after)
}

/// `:100644 100644 1234567 89abcde M`, a zero byte, a path, a zero byte.
fn entries(raw: &[u8]) -> Vec<Entry> {
    let mut fields = raw.split(|&byte| byte == 0);
    let mut entries = Vec::new();
    while let (Some(meta), Some(path)) = (fields.next(), fields.next()) {
        let Some(meta) = meta.strip_prefix(b":") else {
            continue;
        };
        let mut words = meta.split(|&byte| byte == b' ');
        let modes = [words.next().unwrap_or_default(), words.next().unwrap_or_default()];
        let status = words.nth(2).and_then(<[u8]>::first).copied();
        let shape = if modes.contains(&b"160000".as_slice()) {
            Shape::Folder
        } else if modes.contains(&b"120000".as_slice()) {
            Shape::Symlink
        } else {
            Shape::File
        };
        let kind = match status {
            // Anything may have happened below.
            _ if shape == Shape::Folder => ChangeKind::Modified,
            Some(b'A') => ChangeKind::Added,
            Some(b'D') => ChangeKind::Deleted,
            Some(b'T') => ChangeKind::TypeChanged,
            _ => ChangeKind::Modified,
        };
        if !path.is_empty() && !is_ours(path) {
            entries.push(Entry { path: path.to_vec(), kind, shape, conflict: status == Some(b'U') });
        }
    }
    entries
}

/// Whether a path is something we keep for ourselves.
fn is_ours(path: &[u8]) -> bool {
    path.split(|&byte| byte == b'/').any(|part| part == b".flakewise")
}

/// The lines of one file.
#[derive(Default)]
struct Lines {
    changed: Vec<LineRange>,
    inserted: Vec<LineRange>,
}

fn lines(
    git: &Git,
    base: &str,
    all: &BTreeMap<Vec<u8>, Entry>,
) -> Result<HashMap<Vec<u8>, Lines>, ChangeError> {
    let mut lines: HashMap<Vec<u8>, Lines> = HashMap::new();
    if all.is_empty() {
        return Ok(lines);
    }
    git.stream(&[&DIFF[..], &PATCH, &[base, "--"]].concat(), |input| {
        patch::read(input, |path, range, is_inserted| {
            if all.contains_key(path) {
                let lines = lines.entry(path.to_vec()).or_default();
                patch::push(&mut lines.changed, range);
                if is_inserted && lines.inserted.len() < patch::MOST_RANGES {
                    lines.inserted.push(range);
                }
            }
        })
    })?;
    Ok(lines)
}

/// Which folders there were at the base, and which of them are gone.
struct Folders {
    /// Folders at the base; empty if nothing was added.
    before: BTreeSet<Vec<u8>>,
    /// Folders of removed files that are gone.
    gone: BTreeSet<Vec<u8>>,
}

impl Folders {
    fn read(git: &Git, root: &Path, base: &str, all: &BTreeMap<Vec<u8>, Entry>) -> Result<Self, ChangeError> {
        let mut before = BTreeSet::new();
        if all.values().any(|entry| entry.kind == ChangeKind::Added) {
            let listed = git.bytes(&["ls-tree", "-r", "-d", "-z", "--name-only", "--full-tree", base])?;
            before.extend(listed.split(|&byte| byte == 0).map(<[u8]>::to_vec));
        }
        let removed = all.values().filter(|entry| entry.kind == ChangeKind::Deleted);
        let parents: BTreeSet<&[u8]> = removed.flat_map(|entry| parents(&entry.path)).collect();
        let gone = parents.into_iter().filter(|folder| !root.join(path_from(folder)).is_dir());
        Ok(Self { before, gone: gone.map(<[u8]>::to_vec).collect() })
    }

    /// The topmost folder that came or went with a file.
    fn moved<'a>(&self, entry: &'a Entry) -> Option<&'a [u8]> {
        let mut parents = parents(&entry.path);
        match entry.kind {
            ChangeKind::Added => parents.find(|folder| !self.before.contains(*folder)),
            ChangeKind::Deleted => parents.find(|folder| self.gone.contains(*folder)),
            ChangeKind::Modified | ChangeKind::TypeChanged => None,
        }
    }
}

/// The folders above a path, from the top.
fn parents(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    path.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(place, _)| &path[..place])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn raw_entries_are_read_whatever_their_names() {
        let raw = b":100644 100644 1111111 0000000 M\0a\nb\0:000000 160000 0000000 2222222 A\0sub\0\
            :120000 000000 1111111 0000000 D\0-x\0:100644 120000 1 2 T\0t\0:100644 000000 1 2 U\0u\0\
            :100644 100644 1 2 M\0.flakewise/x\0";
        let entries = entries(raw);
        let facts: Vec<_> =
            entries.iter().map(|entry| (entry.path.as_slice(), entry.kind, entry.shape)).collect();
        let expected: [(&[u8], _, _); 5] = [
            (b"a\nb", ChangeKind::Modified, Shape::File),
            (b"sub", ChangeKind::Modified, Shape::Folder),
            (b"-x", ChangeKind::Deleted, Shape::Symlink),
            (b"t", ChangeKind::TypeChanged, Shape::Symlink),
            (b"u", ChangeKind::Modified, Shape::File),
        ];
        assert_eq!(facts, expected);
        assert!(entries[4].conflict);
    }

    #[test]
    fn folders_above_come_from_the_top() {
        assert_eq!(parents(b"a/b/c.py").collect::<Vec<_>>(), [b"a".as_slice(), b"a/b"]);
        assert_eq!(parents(b"c.py").count(), 0);
    }
}
