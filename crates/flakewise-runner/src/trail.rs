//! Reading what a process was seen to depend on.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::Path;

use flakewise_protocol::TrailEntry;

use crate::execution::Observation;

/// More than this is not read of a trail, and makes it incomplete.
const LIMIT: u64 = 64 << 20;

/// Reads a trail. `told` is what the process said of it at its end: how many
/// entries it has, and whether lines could be seen.
pub(crate) fn read(path: &Path, told: Option<(u64, bool)>) -> Observation {
    let mut seen = Observation { lines_seen: told.is_none_or(|(_, lines)| lines), ..Observation::default() };
    let mut count = 0;
    let lines = File::open(path).into_iter().flat_map(|file| BufReader::new(file.take(LIMIT)).split(b'\n'));
    for line in lines.map_while(Result::ok) {
        // A process that died may have left half a line.
        let Ok(entry) = serde_json::from_slice(&line) else { continue };
        count += 1;
        match entry {
            TrailEntry::Opened(path) => seen.opened.insert(path),
            TrailEntry::Configured(path) => seen.configured.insert(path),
            TrailEntry::Loaded(path) => seen.loaded.insert(path),
            TrailEntry::Listed(path) => seen.listed.insert(path),
            TrailEntry::LookedFor(path) => seen.looked_for.insert(path),
            TrailEntry::Imports(name) => seen.imports.insert(name),
            TrailEntry::Hidden(reason) => seen.hidden.insert(reason),
            TrailEntry::Connected(address) => seen.connected.insert(address),
            TrailEntry::Executed(path, line) => seen.executed.entry(path).or_default().insert(line),
            TrailEntry::Outcome(_) => std::mem::replace(&mut seen.complete, true),
        };
    }
    seen.complete |= told.is_some_and(|(entries, _)| entries == count);
    seen
}

/// What a fork depends on: what its parent did, and its own.
pub(crate) fn joined(parent: &Observation, own: Observation) -> Observation {
    let join = |one: &std::collections::BTreeSet<String>, other| one.union(&other).cloned().collect();
    let mut executed = parent.executed.clone();
    for (file, lines) in own.executed {
        executed.entry(file).or_default().extend(lines);
    }
    Observation {
        opened: join(&parent.opened, own.opened),
        configured: join(&parent.configured, own.configured),
        loaded: join(&parent.loaded, own.loaded),
        listed: join(&parent.listed, own.listed),
        looked_for: join(&parent.looked_for, own.looked_for),
        imports: join(&parent.imports, own.imports),
        hidden: join(&parent.hidden, own.hidden),
        connected: join(&parent.connected, own.connected),
        executed,
        lines_seen: parent.lines_seen,
        complete: parent.complete && own.complete,
        watched: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trail_that_breaks_off_is_incomplete() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("trail");
        std::fs::write(&path, "{\"opened\":\"/a\"}\n{\"executed\":[\"/b.py\",7]}\n{\"ope").expect("written");
        let seen = read(&path, None);
        assert!(seen.opened.contains("/a") && seen.executed["/b.py"].contains(&7) && !seen.complete);
        assert!(read(&path, Some((2, true))).complete);
        assert!(!read(&path, Some((3, true))).complete);
        assert!(!read(&folder.path().join("missing"), None).complete);
    }
}
