//! Declarations of files that have not changed.
//!
//! One file: a line with a checksum, then an entry for each file, under a hash
//! of its content. It is written whole under a temporary name and renamed. It
//! may be anybody's when it is read: a cache that is damaged, too large or of
//! another version is no cache.

use std::collections::HashMap;
use std::io::{Read as _, Write as _};
use std::path::Path;

use flakewise_source::Language;

use super::codec::{decode, encode};
use crate::outline::Outline;

/// Changes with the form of an entry and with what declarations are read.
const HEADER: &str = "flakewise-declarations 1 ";
/// What all entries together may take; ten thousand files take a tenth of it.
const MOST_BYTES: usize = 256 << 20;
const KEY_BYTES: usize = 32;

pub(super) type Key = [u8; KEY_BYTES];

/// The key of a file: its declarations depend on nothing else.
pub(super) fn key(language: Language, bytes: &[u8]) -> Key {
    let mut hasher = blake3::Hasher::new();
    hasher.update(env!("CARGO_PKG_VERSION").as_bytes()).update(&[0, language as u8]).update(bytes);
    *hasher.finalize().as_bytes()
}

#[derive(Default)]
pub(super) struct Cache {
    bytes: Vec<u8>,
    /// Where each entry is.
    entries: HashMap<Key, std::ops::Range<usize>>,
}

impl Cache {
    /// Reads a cache, or an empty one.
    pub(super) fn load(path: &Path) -> Self {
        read(path).and_then(Self::parse).unwrap_or_default()
    }

    fn parse(bytes: Vec<u8>) -> Option<Self> {
        let end = bytes.iter().take(HEADER.len() + 65).position(|byte| *byte == b'\n')?;
        let header = std::str::from_utf8(&bytes[..end]).ok()?;
        let checksum = blake3::Hash::from_hex(header.strip_prefix(HEADER)?).ok()?;
        if blake3::hash(&bytes[end + 1..]) != checksum {
            return None;
        }
        let mut entries = HashMap::new();
        let mut at = end + 1;
        while at < bytes.len() {
            let key: Key = bytes.get(at..at + KEY_BYTES)?.try_into().ok()?;
            at += KEY_BYTES;
            let length = u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?) as usize;
            at += 4;
            bytes.get(at..at + length)?;
            entries.insert(key, at..at + length);
            at += length;
        }
        Some(Self { bytes, entries })
    }

    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(super) fn get(&self, key: &Key) -> Option<Outline> {
        decode(&self.bytes[self.entries.get(key)?.clone()])
    }

    /// Keeps these entries alone.
    pub(super) fn replace<'o>(&mut self, outlines: impl Iterator<Item = (Key, &'o Outline)>) {
        let mut bytes = Vec::new();
        let mut entries = HashMap::new();
        let mut entry = Vec::new();
        for (key, outline) in outlines {
            entry.clear();
            encode(outline, &mut entry);
            let Ok(length) = u32::try_from(entry.len()) else { continue };
            if bytes.len() + entry.len() + KEY_BYTES + 4 > MOST_BYTES || entries.contains_key(&key) {
                continue;
            }
            bytes.extend_from_slice(&key);
            bytes.extend_from_slice(&length.to_le_bytes());
            entries.insert(key, bytes.len()..bytes.len() + entry.len());
            bytes.extend_from_slice(&entry);
        }
        *self = Self { bytes, entries };
    }

    /// Writes what [`replace`](Self::replace) kept.
    pub(super) fn save(&self, path: &Path) -> std::io::Result<()> {
        let folder = path.parent().unwrap_or(Path::new("."));
        std::fs::create_dir_all(folder)?;
        // Nobody wants to commit it.
        if let Ok(mut file) = std::fs::File::create_new(folder.join(".gitignore")) {
            file.write_all(b"*\n")?;
        }
        let mut file = tempfile::NamedTempFile::new_in(folder)?;
        writeln!(file, "{HEADER}{}", blake3::hash(&self.bytes).to_hex())?;
        file.write_all(&self.bytes)?;
        // It need not outlive a power cut: the checksum tells.
        file.persist(path).map_err(|error| error.error)?;
        Ok(())
    }
}

fn read(path: &Path) -> Option<Vec<u8>> {
    let limit = (MOST_BYTES + 1024) as u64;
    let file = std::fs::File::open(path).ok()?;
    let metadata = file.metadata().ok()?;
    if !metadata.is_file() || metadata.len() > limit {
        return None;
    }
    let mut bytes = Vec::new();
    file.take(limit).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}
