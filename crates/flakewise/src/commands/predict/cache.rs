//! Predictions of files that have not changed.
//!
//! One file below `.flakewise/cache`: a line with a checksum, then a line for
//! each file that was judged, under a hash of all that the answer depends on.
//! It is written whole under a temporary name and renamed. It may be anybody's
//! when it is read: a cache that is damaged, too large or of another version
//! is no cache, and one that cannot be written is not missed.

use std::collections::HashMap;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};

use super::judged::JudgedFile;
use crate::own_folder::keep_out_of_git;

/// Changes when the form of an entry does.
const HEADER: &str = "flakewise-predictions 1 ";
/// What all entries together may take. Five thousand files with ten tests each
/// take about a fifth of it.
const MOST_BYTES: usize = 64 << 20;

/// What an answer depends on, hashed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Key([u8; 32]);

/// Raised when answers change and neither the model nor our version does.
const ANSWERS: u8 = 2;

/// Makes keys for one model and project.
pub(super) struct Keys(blake3::Hasher);

impl Keys {
    /// With surroundings, answers depend on all files that are indexed.
    pub(super) fn new(
        model: &[u8; 32],
        project: &str,
        indexed: Option<&[u8; 32]>,
        explain_from: f64,
    ) -> Self {
        let mut hasher = blake3::Hasher::new();
        hasher.update(env!("CARGO_PKG_VERSION").as_bytes()).update(b"\0").update(&[ANSWERS]);
        hasher.update(model).update(&explain_from.to_bits().to_le_bytes());
        hasher.update(indexed.map_or(&[], |digest| &digest[..])).update(&[u8::from(indexed.is_some())]);
        hasher.update(&(project.len() as u64).to_le_bytes()).update(project.as_bytes());
        Self(hasher)
    }

    /// The key of a file.
    pub(super) fn of(&self, path: &str, bytes: &[u8]) -> Key {
        let mut hasher = self.0.clone();
        hasher.update(&(path.len() as u64).to_le_bytes()).update(path.as_bytes()).update(bytes);
        Key(*hasher.finalize().as_bytes())
    }
}

/// What is remembered.
pub(super) struct Cache {
    path: PathBuf,
    entries: HashMap<Key, Entry>,
    /// Counts the times it was written.
    time: u64,
    changed: bool,
    most_bytes: usize,
}

struct Entry {
    /// When it was last of use.
    used: u64,
    text: String,
}

impl Cache {
    /// Opens the cache of a repository, or an empty one.
    pub(super) fn open(root: &Path) -> Self {
        let path = root.join(".flakewise/cache/predictions");
        let text = load(&path).unwrap_or_default();
        let entries = parse(&text).unwrap_or_default();
        let time = entries.values().map(|entry| entry.used).max().unwrap_or(0).saturating_add(1);
        Self { path, entries, time, changed: false, most_bytes: MOST_BYTES }
    }

    /// What is known of a file.
    pub(super) fn get(&self, key: &Key, path: &str) -> Option<JudgedFile> {
        JudgedFile::from_text(&self.entries.get(key)?.text, path)
    }

    /// Notes that an entry was of use.
    pub(super) fn touch(&mut self, key: &Key) {
        if let Some(entry) = self.entries.get_mut(key) {
            entry.used = self.time;
        }
    }

    /// Remembers a file.
    pub(super) fn put(&mut self, key: Key, file: &JudgedFile) {
        self.entries.insert(key, Entry { used: self.time, text: file.to_text() });
        self.changed = true;
    }

    /// Writes it if there is anything new, without what was of no use for the
    /// longest time if it would be too large.
    pub(super) fn save(self) -> std::io::Result<()> {
        if !self.changed {
            return Ok(());
        }
        let mut entries: Vec<(&Key, &Entry)> = self.entries.iter().collect();
        entries.sort_unstable_by_key(|(key, entry)| (std::cmp::Reverse(entry.used), **key));
        let mut body = String::new();
        for (Key(key), Entry { used, text }) in entries {
            let key = blake3::Hash::from_bytes(*key).to_hex();
            let line = format!("{key} {used} {text}\n");
            if body.len() + line.len() > self.most_bytes {
                break;
            }
            body.push_str(&line);
        }
        let folder = self.path.parent().expect("it is a file in a folder");
        std::fs::create_dir_all(folder)?;
        keep_out_of_git(folder);
        let mut file = tempfile::NamedTempFile::new_in(folder)?;
        writeln!(file, "{HEADER}{}", blake3::hash(body.as_bytes()).to_hex())?;
        file.write_all(body.as_bytes())?;
        // It need not outlive a power cut: the checksum tells.
        file.persist(&self.path).map_err(|error| error.error)?;
        Ok(())
    }
}

fn load(path: &Path) -> Option<String> {
    let limit = (MOST_BYTES + 1024) as u64;
    let file = std::fs::File::open(path).ok()?;
    let metadata = file.metadata().ok()?;
    if !metadata.is_file() || metadata.len() > limit {
        return None;
    }
    let mut text = String::new();
    file.take(limit).read_to_string(&mut text).ok()?;
    Some(text)
}

fn parse(text: &str) -> Option<HashMap<Key, Entry>> {
    let (header, body) = text.split_once('\n')?;
    let checksum = blake3::Hash::from_hex(header.strip_prefix(HEADER)?).ok()?;
    if blake3::hash(body.as_bytes()) != checksum {
        return None;
    }
    body.lines()
        .map(|line| {
            let (key, rest) = line.split_once(' ')?;
            let (used, text) = rest.split_once(' ')?;
            let key = Key(*blake3::Hash::from_hex(key).ok()?.as_bytes());
            Some((key, Entry { used: used.parse().ok()?, text: text.to_owned() }))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::judged::tests::file;
    use super::*;

    fn keys() -> Keys {
        Keys::new(&[7; 32], "acme/shop", None, 0.1)
    }

    fn saved(paths: &[&str]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().expect("made");
        let mut cache = Cache::open(folder.path());
        for path in paths {
            cache.put(keys().of(path, b"x"), &file(path));
        }
        cache.save().expect("saved");
        folder
    }

    fn knows(folder: &Path, path: &str) -> bool {
        Cache::open(folder).get(&keys().of(path, b"x"), path).is_some()
    }

    #[test]
    fn what_is_put_is_found_again() {
        let folder = saved(&["a.py", "b.py"]);
        let cache = Cache::open(folder.path());
        assert_eq!(cache.get(&keys().of("b.py", b"x"), "b.py"), Some(file("b.py")));
        assert!(std::fs::read_to_string(folder.path().join(".flakewise/.gitignore")).is_ok());
    }

    #[test]
    fn another_content_path_model_project_or_level_is_another_key() {
        let key = keys().of("a.py", b"x");
        assert!(key != keys().of("a.py", b"y") && key != keys().of("b.py", b"x"));
        assert_ne!(key, Keys::new(&[8; 32], "acme/shop", None, 0.1).of("a.py", b"x"));
        assert_ne!(key, Keys::new(&[7; 32], "acme/sho", None, 0.1).of("pa.py", b"x"));
        assert_ne!(key, Keys::new(&[7; 32], "acme/shop", None, 0.0).of("a.py", b"x"));
        let indexed = |digest| Keys::new(&[7; 32], "acme/shop", Some(&[digest; 32]), 0.1).of("a.py", b"x");
        assert_ne!(key, indexed(0));
        assert_ne!(indexed(0), indexed(1));
    }

    #[test]
    fn a_flipped_bit_or_a_cut_anywhere_makes_it_empty() {
        let folder = saved(&["a.py"]);
        let path = folder.path().join(".flakewise/cache/predictions");
        let whole = std::fs::read(&path).expect("read");
        for place in (0..whole.len()).step_by(7) {
            let mut flipped = whole.clone();
            flipped[place] ^= 0x04;
            std::fs::write(&path, &flipped).expect("written");
            assert!(!knows(folder.path(), "a.py"), "byte {place}");
            std::fs::write(&path, &whole[..place]).expect("written");
            assert!(!knows(folder.path(), "a.py"), "cut at {place}");
        }
        std::fs::write(&path, &whole).expect("written");
        assert!(knows(folder.path(), "a.py"));
    }

    #[test]
    fn a_damaged_cache_is_written_anew() {
        let folder = saved(&["a.py"]);
        std::fs::write(folder.path().join(".flakewise/cache/predictions"), b"\xff\xfe").expect("written");
        let mut cache = Cache::open(folder.path());
        cache.put(keys().of("c.py", b"x"), &file("c.py"));
        cache.save().expect("saved");
        assert!(knows(folder.path(), "c.py"));
    }

    #[test]
    fn what_was_of_no_use_goes_first() {
        let folder = saved(&["old.py", "kept.py"]);
        let mut cache = Cache::open(folder.path());
        let size = cache.entries.values().map(|entry| entry.text.len()).max().expect("two") + 80;
        cache.touch(&keys().of("kept.py", b"x"));
        cache.put(keys().of("new.py", b"x"), &file("new.py"));
        cache.most_bytes = 2 * size;
        cache.save().expect("saved");
        assert!(knows(folder.path(), "kept.py") && knows(folder.path(), "new.py"));
        assert!(!knows(folder.path(), "old.py"));
    }

    #[test]
    fn nothing_new_writes_nothing() {
        let folder = tempfile::tempdir().expect("made");
        Cache::open(folder.path()).save().expect("nothing to do");
        assert!(!folder.path().join(".flakewise").exists());
    }
}
