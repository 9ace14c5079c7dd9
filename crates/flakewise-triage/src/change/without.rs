//! Which commits do not contain a change.
//!
//! A failure that was seen on code without the change is not new with it. So
//! the answer must be sure: whatever cannot be determined counts as containing the
//! change.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::time::Duration;

use super::{Change, ChangeKind, ChangedFile, Shape, target};
use crate::git::Git;

/// How long git may think about each of three questions.
const LIMIT: Duration = Duration::from_secs(10);

/// More commits than this are not queried.
const MOST_COMMITS: usize = 4096;

/// How many changed files are looked at in each commit.
const MOST_FILES: usize = 16;

/// Larger files are not hashed.
const MOST_BYTES: u64 = 16 << 20;

impl Change {
    /// Which of these commits, each with the branch it ran on, surely do not
    /// contain this change.
    ///
    /// They are the base and its ancestors, unless one of the changed files was
    /// there already as it is now: a change that landed, was reverted and comes
    /// back is in its own history. In a shallow clone, a commit that was not
    /// fetched counts if it ran on the branch the change is to go to.
    pub fn lacks(&self, commits: &[(String, Option<String>)]) -> Vec<bool> {
        let git = Git::at(&self.root);
        let mut names: Vec<&str> = commits.iter().map(|(commit, _)| commit.as_str()).collect();
        names.retain(|name| is_full_hash(name));
        names.sort_unstable();
        names.dedup();
        if names.len() > MOST_COMMITS {
            return vec![false; commits.len()];
        }
        let present = present(&git, &names);
        let before = present.as_ref().map(|present| self.before(&git, present)).unwrap_or_default();
        let is_cut = self.is_cut(&git);
        let lacks = |(commit, branch): &(String, Option<String>)| {
            let is_missing = is_full_hash(commit)
                && present.as_ref().is_some_and(|present| !present.contains(commit.as_str()));
            let is_target = branch.is_some() && branch.as_deref() == self.target.as_deref();
            before.contains(commit.as_str()) || (is_missing && is_target && is_cut)
        };
        commits.iter().map(lacks).collect()
    }

    /// Those of them that are before the change and have nothing of it.
    fn before<'a>(&self, git: &Git, present: &HashSet<&'a str>) -> HashSet<&'a str> {
        // What can be reached from them and not from the base: a commit that
        // is part of that is not before the base.
        let sorted: BTreeSet<&str> = present.iter().copied().collect();
        let asked: String = sorted.iter().map(|name| format!("{name}\n")).collect();
        let asked = format!("{asked}^{}\n", self.base);
        let Some(beyond) = git.ask(&["rev-list", "--stdin"], asked.as_bytes(), LIMIT) else {
            return HashSet::new();
        };
        let beyond = String::from_utf8_lossy(&beyond);
        let beyond: HashSet<&str> = beyond.lines().collect();
        let ancestors: Vec<&str> = present.iter().copied().filter(|name| !beyond.contains(name)).collect();
        let Some(with) = self.with_its_files(git, &ancestors) else { return HashSet::new() };
        ancestors.into_iter().filter(|name| !with.contains(name)).collect()
    }

    /// Commits in which a changed file is as it is now; none if git does not say.
    fn with_its_files<'a>(&self, git: &Git, commits: &[&'a str]) -> Option<HashSet<&'a str>> {
        let is_plain = |file: &&ChangedFile| {
            file.shape == Shape::File && !file.lossy && !file.path.contains(['\n', '\r'])
        };
        let mut there: Vec<&ChangedFile> =
            self.files.iter().filter(is_plain).filter(|file| file.kind != ChangeKind::Deleted).collect();
        // Code tells more than what comes with it.
        there.sort_by_key(|file| !file.source);
        let is_small = |file: &&ChangedFile| {
            let metadata = self.root.join(&file.path).metadata();
            metadata.is_ok_and(|metadata| metadata.is_file() && metadata.len() <= MOST_BYTES)
        };
        let there: Vec<&ChangedFile> = there.into_iter().filter(is_small).take(MOST_FILES).collect();
        if there.is_empty() {
            return self.with_removals(git, commits);
        }
        let paths: String = there.iter().map(|file| format!("{}\n", file.path)).collect();
        let now = git.ask(&["hash-object", "--stdin-paths"], paths.as_bytes(), LIMIT)?;
        let now = String::from_utf8(now).ok()?;
        let now: Vec<&str> = now.lines().collect();
        if now.len() != there.len() {
            return None;
        }
        let blobs = blobs(git, commits, &there)?;
        let is_with = |commit: &&str| {
            there
                .iter()
                .zip(&now)
                .any(|(file, now)| blobs.get(&(*commit, file.path.as_str())).is_some_and(|blob| blob == now))
        };
        Some(commits.iter().copied().filter(|commit| is_with(commit)).collect())
    }

    /// The same for a change that only removes files: commits that have none of
    /// them.
    fn with_removals<'a>(&self, git: &Git, commits: &[&'a str]) -> Option<HashSet<&'a str>> {
        let is_removed =
            |file: &&ChangedFile| file.kind == ChangeKind::Deleted && !file.path.contains(['\n', '\r']);
        let removed: Vec<&ChangedFile> = self.files.iter().filter(is_removed).take(MOST_FILES).collect();
        if removed.is_empty() {
            return Some(HashSet::new());
        }
        let blobs = blobs(git, commits, &removed)?;
        let is_with =
            |commit: &&str| removed.iter().all(|file| !blobs.contains_key(&(*commit, file.path.as_str())));
        Some(commits.iter().copied().filter(|commit| is_with(commit)).collect())
    }

    /// Whether commits that are not there may be old ones of the target branch:
    /// the clone is cut off, and what is checked out is not that branch itself.
    fn is_cut(&self, git: &Git) -> bool {
        let Some(target) = &self.target else { return false };
        let is_shallow = target::is_shallow(git).unwrap_or(false);
        let current = git.line(&["symbolic-ref", "--quiet", "--short", "HEAD"]);
        is_shallow && current.is_ok_and(|current| current.as_ref() != Some(target))
    }
}

/// Which commits there are; none if git does not say.
fn present<'a>(git: &Git, names: &[&'a str]) -> Option<HashSet<&'a str>> {
    if names.is_empty() {
        return Some(HashSet::new());
    }
    let asked: String = names.iter().map(|name| format!("{name}\n")).collect();
    let told =
        git.ask(&["cat-file", "--batch-check=%(objectname) %(objecttype)"], asked.as_bytes(), LIMIT)?;
    let told = String::from_utf8(told).ok()?;
    let lines: Vec<&str> = told.lines().collect();
    if lines.len() != names.len() {
        return None;
    }
    let is_commit = |name: &str, line: &str| line.strip_prefix(name) == Some(" commit");
    let asked = names.iter().copied().zip(lines);
    Some(asked.filter(|(name, line)| is_commit(name, line)).map(|(name, _)| name).collect())
}

/// The content of files in commits, by its hash; none if git does not say.
fn blobs<'a>(
    git: &Git,
    commits: &[&'a str],
    files: &[&'a ChangedFile],
) -> Option<HashMap<(&'a str, &'a str), String>> {
    let pairs: Vec<(&str, &str)> =
        commits.iter().flat_map(|commit| files.iter().map(|file| (*commit, file.path.as_str()))).collect();
    if pairs.is_empty() {
        return Some(HashMap::new());
    }
    let asked: String = pairs.iter().map(|(commit, path)| format!("{commit}:{path}\n")).collect();
    let told = git.ask(&["cat-file", "--batch-check=%(objectname)"], asked.as_bytes(), LIMIT)?;
    let told = String::from_utf8(told).ok()?;
    let lines: Vec<&str> = told.lines().collect();
    if lines.len() != pairs.len() {
        return None;
    }
    let is_blob = |(_, line): &((&str, &str), &str)| is_full_hash(line);
    Some(pairs.into_iter().zip(lines).filter(is_blob).map(|(pair, line)| (pair, line.to_owned())).collect())
}

/// Whether a text is a whole name of a commit, and nothing that git would take
/// for an option or look up.
fn is_full_hash(text: &str) -> bool {
    [40, 64].contains(&text.len()) && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}
