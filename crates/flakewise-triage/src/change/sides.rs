//! Both versions of the files that changed.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use super::files::{DIFF, untracked_paths};
use crate::ChangeError;
use crate::git::Git;

/// How long git may take to read files.
const PATIENCE: Duration = Duration::from_secs(20);
/// How many files are read at once.
const AT_ONCE: usize = 256;
/// More files than this are not compared with each other by git.
const MOST_COMPARED: &str = "-l2000";
/// No file of source is longer.
const MOST_BYTES: u64 = 10 << 20;

/// The files that differ between two versions of a repository, as they are in
/// each. Paths are relative to the top of the work tree, with forward slashes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sides {
    /// The files before, by path.
    pub before: BTreeMap<String, Vec<u8>>,
    /// The files after, by path.
    pub after: BTreeMap<String, Vec<u8>>,
    /// Files that git takes for the same under another path: before and after.
    pub moved: Vec<(String, String)>,
}

impl Sides {
    /// Reads the files that are `wanted`, by path. `to` is a commit; without it, the work
    /// tree is read, untracked files included.
    ///
    /// A file that cannot be read, such as one that a partial clone left with its
    /// remote, is left out.
    pub fn read(
        root: &Path,
        from: &str,
        to: Option<&str>,
        wanted: impl Fn(&str) -> bool,
    ) -> Result<Self, ChangeError> {
        let git = Git::at(root);
        let mut arguments: Vec<&str> =
            DIFF.iter().copied().filter(|option| *option != "--no-renames").collect();
        arguments.extend(["-M", MOST_COMPARED, "--raw", "--no-abbrev", "-z", from]);
        arguments.extend(to);
        arguments.push("--");
        let mut sides = Self::default();
        let (mut before, mut after) = (Vec::new(), Vec::new());
        for entry in entries(&git.bytes(&arguments)?) {
            if entry.old != entry.new {
                sides.moved.extend(entry.old.clone().zip(entry.new.clone()));
            }
            before.extend(entry.old.filter(|path| wanted(path)).map(|path| (path, entry.old_blob)));
            after.extend(entry.new.filter(|path| wanted(path)).map(|path| (path, entry.new_blob)));
        }
        sides.before = blobs(&git, &before);
        sides.after = if to.is_some() {
            blobs(&git, &after)
        } else {
            let untracked = untracked_paths(&git)?.into_iter().filter(|path| wanted(path));
            let paths = after.into_iter().map(|(path, _)| path).chain(untracked);
            paths.filter_map(|path| read(root, &path).map(|bytes| (path, bytes))).collect()
        };
        Ok(sides)
    }
}

/// A file of the work tree, but for links and what is too long.
fn read(root: &Path, path: &str) -> Option<Vec<u8>> {
    let path = root.join(path);
    let known = path.symlink_metadata().ok()?;
    (known.is_file() && known.len() <= MOST_BYTES).then(|| std::fs::read(path).ok())?
}

/// A file that differs.
struct Entry {
    old: Option<String>,
    new: Option<String>,
    old_blob: String,
    new_blob: String,
}

/// `:100644 100644 <blob> <blob> R086`, a zero byte, a path, a zero byte, and for renames
/// another path and zero byte.
fn entries(raw: &[u8]) -> Vec<Entry> {
    let mut fields = raw.split(|&byte| byte == 0);
    let mut entries = Vec::new();
    while let (Some(meta), Some(path)) = (fields.next(), fields.next()) {
        let meta = String::from_utf8_lossy(meta);
        let words: Vec<&str> = meta.trim_start_matches(':').split(' ').collect();
        let [old_mode, new_mode, old_blob, new_blob, status] = words[..] else { continue };
        let moved = matches!(status.as_bytes().first(), Some(b'R' | b'C'));
        let second = if moved { fields.next() } else { None };
        // Only ordinary files have tests. One whose name is not UTF-8 has no id.
        let side = |mode: &str, path: &[u8]| {
            mode.starts_with("100").then(|| String::from_utf8(path.to_vec()).ok()).flatten()
        };
        entries.push(Entry {
            old: side(old_mode, path),
            new: side(new_mode, second.unwrap_or(path)),
            old_blob: old_blob.to_owned(),
            new_blob: new_blob.to_owned(),
        });
    }
    entries
}

/// The contents of blobs, by the paths they are asked for.
fn blobs(git: &Git, wanted: &[(String, String)]) -> BTreeMap<String, Vec<u8>> {
    let mut contents = BTreeMap::new();
    for wanted in wanted.chunks(AT_ONCE) {
        let input: String = wanted.iter().map(|(_, blob)| format!("{blob}\n")).collect();
        let printed = git.ask(&["cat-file", "--batch"], input.as_bytes(), PATIENCE).unwrap_or_default();
        let mut rest = printed.as_slice();
        for (path, _) in wanted {
            // `<blob> blob <size>`, or `<blob> missing`.
            let Some(end) = rest.iter().position(|&byte| byte == b'\n') else { break };
            let head = String::from_utf8_lossy(&rest[..end]).into_owned();
            rest = &rest[end + 1..];
            let Some(size) = head.rsplit(' ').next().and_then(|size| size.parse::<usize>().ok()) else {
                continue;
            };
            let Some(content) = rest.get(..size) else { break };
            contents.insert(path.clone(), content.to_vec());
            rest = rest.get(size + 1..).unwrap_or_default();
        }
    }
    contents
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rename_has_two_paths() {
        let raw = b":100644 100644 1 2 R086\0a.py\0b.py\0:100644 000000 3 0 D\0gone.py\0:000000 120000 0 4 A\0link\0";
        let paths: Vec<_> = entries(raw).into_iter().map(|entry| (entry.old, entry.new)).collect();
        let path = |text: &str| Some(text.to_owned());
        assert_eq!(paths, [(path("a.py"), path("b.py")), (path("gone.py"), None), (None, None)]);
    }
}
