//! How often each line changed lately.
//!
//! The last [`WINDOW`] commits along the first parents are read once, as one patch
//! without context, from the oldest on. Every line of today's work tree carries the
//! commits that changed it or what it replaced. That is what `git log -L` finds for
//! one line at a time, and what CANNIER's *Covered Changes* is made of.
//!
//! A rename changes no line, nor does work that is not committed: it only moves
//! lines about. Only Python files are looked at.

mod runs;

use std::collections::{BTreeMap, HashMap};
use std::io::{self, BufRead, Read as _};
use std::path::{Path, PathBuf};

use flakewise_runner::{CoveredFile, Measured};

use crate::ChangeError;
use crate::change::patch::{self, Hunk};
use crate::change::root;
use crate::git::Git;
use runs::Runs;

/// How many commits count: as many as in the paper (Parry et al., 2023, Table 1).
pub const WINDOW: u32 = 75;

/// No patch of this many commits is longer, unless they are not about code.
const LONGEST_PATCH: u64 = 256 << 20;
/// What is kept of all files together.
const MOST_RUNS: usize = 2 << 20;

const LOG: [&str; 8] = [
    "log",
    // One line of history: a merge is one change, and lines have one past.
    "--first-parent",
    "-m",
    "--reverse",
    "--no-follow",
    "--no-show-signature",
    "--no-notes",
    "--format=%x00",
];

/// As `git log -L` compares, whatever the user's settings are.
const PATCH: [&str; 13] = [
    "--no-color",
    "--no-ext-diff",
    "--no-textconv",
    "--no-relative",
    "--find-renames",
    "--diff-algorithm=myers",
    "--no-indent-heuristic",
    "--ignore-submodules=all",
    "--patch",
    "--unified=0",
    "--inter-hunk-context=0",
    "--src-prefix=a/",
    "--dst-prefix=b/",
];

/// How often each line of each Python file changed in the last commits.
#[derive(Clone, Debug)]
pub struct Churn {
    root: PathBuf,
    /// By path relative to the root, as git has it.
    files: HashMap<Vec<u8>, Runs>,
}

impl Churn {
    /// Reads the history of the repository that holds `folder`. None if there is
    /// no work tree, no commit, or a clone that ends within the window: then it is
    /// not known how often lines changed.
    pub fn discover(folder: &Path) -> Result<Option<Self>, ChangeError> {
        let Some(root) = root(folder)? else {
            return Ok(None);
        };
        let git = Git::at(&root).with(&["log.showRoot=true"]);
        let Some(head) = git.commit("HEAD")? else {
            return Ok(None);
        };
        let range = match git.commit(&format!("{head}~{WINDOW}"))? {
            Some(before) => format!("{before}..{head}"),
            None if is_shallow(&git)? => return Ok(None),
            None => head.clone(),
        };
        let mut history = History::default();
        let only: [&str; 2] = ["--", "*.py"];
        git.stream(&[&LOG[..], &PATCH, &[&range], &only].concat(), |input| history.read(input))?;
        history.is_work = true;
        git.stream(&[&["diff"], &PATCH[..], &[&head], &only].concat(), |input| history.read(input))?;
        Ok(Some(Self { root, files: history.files }))
    }

    /// How often the lines that a test executed changed, summed over the lines.
    /// None if it is not known which it executed.
    pub fn covered_changes(&self, measured: &Measured) -> Option<u64> {
        let changes = |files: &BTreeMap<PathBuf, CoveredFile>| {
            files.iter().map(|(path, file)| self.changes(path, &file.lines)).fold(0, u64::saturating_add)
        };
        measured.files.as_ref().map(changes)
    }

    /// How often lines of a file changed, summed over the lines. Ranges have a
    /// first and a last line and do not overlap. Of a file that is not in the
    /// repository, none did.
    pub fn changes(&self, file: &Path, lines: &[(u32, u32)]) -> u64 {
        let path = file.strip_prefix(&self.root).unwrap_or(file);
        let runs = self.files.get(path.as_os_str().as_encoded_bytes());
        let sum = |runs: &Runs| {
            lines.iter().map(|(first, last)| runs.changes(*first, *last)).fold(0, u64::saturating_add)
        };
        runs.map_or(0, sum)
    }
}

fn is_shallow(git: &Git) -> Result<bool, ChangeError> {
    Ok(git.line(&["rev-parse", "--is-shallow-repository"])?.as_deref() == Some("true"))
}

/// Files as they were at some commit.
#[derive(Debug, Default)]
struct History {
    files: HashMap<Vec<u8>, Runs>,
    runs: usize,
    /// Which commit is being read, from 0 for the oldest.
    commits: u32,
    /// Whether what is read is no commit.
    is_work: bool,
    /// What this commit does, distinguished from what was before: names may be
    /// swapped in one commit.
    gone: Vec<Vec<u8>>,
    new: Vec<(Vec<u8>, Runs)>,
}

/// One file of a patch.
#[derive(Debug, Default)]
struct FilePatch {
    old: Option<Vec<u8>>,
    new: Option<Vec<u8>>,
    hunks: Vec<Hunk>,
}

impl History {
    fn read(&mut self, input: &mut dyn BufRead) -> io::Result<()> {
        let mut input = input.take(LONGEST_PATCH);
        let mut line = Vec::new();
        let mut file = FilePatch::default();
        let (mut removed, mut added) = (0_u64, 0_u64);
        while patch::read_line(&mut input, &mut line)? {
            if removed > 0 || added > 0 {
                // Content, which may look like anything.
                match line.first() {
                    Some(b'-') => removed = removed.saturating_sub(1),
                    Some(b'+') => added = added.saturating_sub(1),
                    _ => {}
                }
            } else if line.first() == Some(&0) {
                self.take(std::mem::take(&mut file));
                self.finish_commit()?;
            } else if line.starts_with(b"diff --git ") {
                self.take(std::mem::take(&mut file));
            } else if let Some(name) = line.strip_prefix(b"rename from ") {
                file.old = patch::name(name);
            } else if let Some(name) = line.strip_prefix(b"rename to ") {
                file.new = patch::name(name);
            } else if let Some(name) = line.strip_prefix(b"--- ") {
                file.old = patch::path(name, b"a/");
            } else if let Some(name) = line.strip_prefix(b"+++ ") {
                file.new = patch::path(name, b"b/");
            } else if let Some(hunk) = patch::hunk(&line) {
                (removed, added) = (hunk.removed, hunk.added);
                file.hunks.push(hunk);
            }
        }
        self.take(file);
        self.finish_commit()?;
        if input.limit() == 0 {
            return Err(io::Error::other("the last commits changed more than can be read"));
        }
        Ok(())
    }

    fn take(&mut self, file: FilePatch) {
        let before = file.old.as_ref().and_then(|old| self.files.get(old));
        if let Some(new) = &file.new {
            let commit = if self.is_work {
                0
            } else {
                1_u128.checked_shl(self.commits.saturating_sub(1)).unwrap_or(0)
            };
            let empty = Runs::default();
            self.new.push((new.clone(), before.unwrap_or(&empty).after(&file.hunks, commit)));
        }
        if let Some(old) = file.old.filter(|old| file.new.as_ref() != Some(old)) {
            self.gone.push(old);
        }
    }

    /// A commit begins, or the last one ended.
    fn finish_commit(&mut self) -> io::Result<()> {
        for path in self.gone.drain(..) {
            self.runs -= self.files.remove(&path).map_or(0, |runs| runs.len());
        }
        for (path, runs) in self.new.drain(..) {
            self.runs += runs.len();
            self.runs -= self.files.insert(path, runs).map_or(0, |runs| runs.len());
        }
        self.commits += 1;
        if self.runs > MOST_RUNS {
            return Err(io::Error::other("the last commits changed more than can be kept"));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn history(patch: &str) -> History {
        let mut history = History::default();
        history.read(&mut patch.as_bytes()).expect("it can be read");
        history
    }

    fn counts(history: &History, path: &str) -> Vec<u64> {
        (1..=4)
            .map(|line| history.files.get(path.as_bytes()).map_or(99, |runs| runs.changes(line, line)))
            .collect()
    }

    #[test]
    fn content_that_looks_like_a_commit_or_a_header_is_content() {
        let history = history(
            "\0\n\ndiff --git a/x.py b/x.py\n--- a/x.py\n+++ b/x.py\n@@ -1,2 +1,3 @@\n-\0\n--- a/z.py\n+\0\n+++ b/y.py\n+@@ -1 +1 @@\n",
        );
        assert_eq!(counts(&history, "x.py"), [1, 1, 1, 0]);
        assert_eq!(history.files.len(), 1);
    }

    #[test]
    fn names_that_are_swapped_take_their_lines_along() {
        let renames = |from: &str, to: &str| {
            format!("diff --git a/{from} b/{to}\nsimilarity index 100%\nrename from {from}\nrename to {to}\n")
        };
        let history = history(&format!(
            "\0\n\ndiff --git a/x.py b/x.py\n--- a/x.py\n+++ b/x.py\n@@ -2 +2 @@\n-a\n+b\n\0\n\n{}{}",
            renames("x.py", "y.py"),
            renames("y.py", "x.py"),
        ));
        assert_eq!(counts(&history, "y.py"), [0, 1, 0, 0]);
        assert_eq!(counts(&history, "x.py"), [0, 0, 0, 0]);
    }

    #[test]
    fn more_commits_than_there_are_bits_are_no_harm() {
        let commit = "\0\n\ndiff --git a/x.py b/x.py\n--- a/x.py\n+++ b/x.py\n@@ -1 +1 @@\n-a\n+b\n";
        assert_eq!(counts(&history(&commit.repeat(200)), "x.py")[0], 128);
    }
}
