//! How often lines changed, in real repositories.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write as _;
use std::process::{Command, Stdio};

use flakewise_model::Outcome;
use flakewise_runner::{CoveredFile, Measured};
use flakewise_triage::{Churn, WINDOW};
use proptest::prelude::*;

use crate::repository::{Repository, git};

/// The changes of each line of a file in the work tree.
fn counts(repository: &Repository, file: &str) -> Vec<u64> {
    let churn = Churn::discover(repository.root()).expect("asked").expect("there is history");
    let path = repository.root().join(file);
    let lines = std::fs::read_to_string(&path).expect("read").lines().count();
    (1..=u32::try_from(lines).expect("short")).map(|line| churn.changes(&path, &[(line, line)])).collect()
}

/// The obvious way, and CANNIER's own: git is queried for each line.
fn counts_by_git(repository: &Repository, file: &str, lines: usize) -> Vec<u64> {
    let of = |line: usize| {
        let place = format!("-L{line},{line}:{file}");
        repository.git(&["log", &place, "--no-patch", "--format=%H", "--first-parent"]).lines().count() as u64
    };
    (1..=lines).map(of).collect()
}

#[test]
fn a_line_counts_every_commit_that_changed_it() {
    let repository = Repository::empty();
    for text in ["a\nb\nc\n", "a\nB\nc\n", "a\nB\nc\nd\n", "new\na\nBB\nc\nd\n"] {
        repository.write("x.py", text);
        repository.write("x.txt", text);
        repository.commit("next");
    }
    assert_eq!(counts(&repository, "x.py"), [1, 1, 3, 1, 1]);
    assert_eq!(counts(&repository, "x.txt"), [0; 5], "only Python is covered");
    assert_eq!(counts_by_git(&repository, "x.py", 5), [1, 1, 3, 1, 1]);
}

#[test]
fn covered_changes_are_those_of_executed_lines() {
    let repository = Repository::empty();
    for text in ["a\nb\nc\n", "a\nB\nc\n"] {
        repository.write("x.py", text);
        repository.write("tests/test_x.py", text);
        repository.commit("next");
    }
    let churn = Churn::discover(repository.root()).expect("asked").expect("there is history");
    let covered = |lines: &[(u32, u32)]| CoveredFile { is_test: false, lines: lines.to_vec() };
    let mut measured = Measured {
        outcome: Outcome::Passed,
        reads: None,
        writes: None,
        run_time: None,
        wait_time: None,
        context_switches: None,
        memory: None,
        threads: None,
        children: None,
        files: Some(BTreeMap::from([
            (repository.root().join("x.py"), covered(&[(1, 2)])),
            (repository.root().join("tests/test_x.py"), covered(&[(3, u32::MAX)])),
            (repository.beside("elsewhere.py"), covered(&[(1, 9)])),
        ])),
    };
    assert_eq!(churn.covered_changes(&measured), Some(4));
    measured.files = None;
    assert_eq!(churn.covered_changes(&measured), None, "not nought");
}

#[test]
fn work_that_is_not_committed_moves_lines_and_changes_none() {
    let repository = Repository::empty();
    repository.write("x.py", "a\nb\nc\n");
    repository.commit("first");
    repository.write("x.py", "a\nB\nc\n");
    repository.commit("second");
    repository.write("x.py", "new\na\nBB\n");
    repository.write("y.py", "untracked\n");
    assert_eq!(counts(&repository, "x.py"), [0, 1, 2]);
    assert_eq!(counts(&repository, "y.py"), [0]);
}

#[test]
fn only_the_last_commits_count() {
    let repository = Repository::empty();
    repository.write("x.py", "0\nsame\n");
    repository.commit("0");
    for number in 1..=WINDOW + 3 {
        repository.write("x.py", format!("{number}\nsame\n"));
        repository.commit("next");
    }
    assert_eq!(counts(&repository, "x.py"), [u64::from(WINDOW), 0]);
}

#[test]
fn a_merge_is_one_change_and_a_rename_is_none() {
    let repository = Repository::empty();
    repository.write("x.py", "a\nb\nc\nd\ne\nf\n");
    repository.commit("first");
    repository.git(&["checkout", "--quiet", "-b", "work"]);
    for text in ["a\nb\nc\nd\nE\nf\n", "a\nb\nc\nd\nEE\nf\n"] {
        repository.write("x.py", text);
        repository.commit("work");
    }
    repository.git(&["checkout", "--quiet", "main"]);
    repository.write("x.py", "A\nb\nc\nd\ne\nf\n");
    repository.commit("main");
    repository.git(&["merge", "--quiet", "--no-edit", "work"]);
    repository.git(&["mv", "x.py", "with a blank.py"]);
    repository.commit("moved");
    assert_eq!(counts(&repository, "with a blank.py"), [2, 1, 1, 1, 2, 1]);
}

#[test]
fn what_a_shallow_clone_cannot_know_is_not_known() {
    let repository = Repository::new();
    repository.write("src/shop/tax.py", "rate = 20\n");
    repository.commit("second");
    let clone = repository.beside("clone");
    let source = format!("file://{}", repository.root().display());
    git(repository.root(), &["clone", "--quiet", "--depth", "1", &source, clone.to_str().expect("plain")]);
    assert!(Churn::discover(&clone).expect("asked").is_none());
    assert!(Churn::discover(Repository::empty().root()).expect("asked").is_none(), "no commit");
    assert!(Churn::discover(std::path::Path::new("/")).expect("asked").is_none(), "no repository");
}

/// Makes a history of one file without a process per commit.
fn import(repository: &Repository, versions: &[Vec<u32>]) {
    let mut stream = String::new();
    for (number, lines) in versions.iter().enumerate() {
        let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
        let _ = write!(
            stream,
            "commit refs/heads/main\ncommitter a <a@example.org> {number} +0000\ndata 1\nx\nM 644 inline x.py\ndata {}\n{text}\n",
            text.len()
        );
    }
    let mut child = Command::new("git")
        .current_dir(repository.root())
        .args(["fast-import", "--quiet", "--force"])
        .stdin(Stdio::piped())
        .spawn()
        .expect("git is installed");
    child.stdin.take().expect("piped").write_all(stream.as_bytes()).expect("written");
    assert!(child.wait().expect("it ends").success());
    repository.git(&["reset", "--quiet", "--hard"]);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]

    /// Lines are replaced one by one and inserted, all of them new: then there is
    /// one way to compare two versions. Removed lines are left out, as git counts
    /// a removal between two lines that are replaced together later.
    #[test]
    fn counts_equal_those_of_git_line_by_line(
        first in 1_usize..6,
        commits in prop::collection::vec(
            prop::collection::vec((any::<prop::sample::Index>(), any::<bool>()), 1..4), 1..8),
    ) {
        let mut next = 0;
        let mut fresh = || { next += 1; next };
        let mut versions = vec![(0..first).map(|_| fresh()).collect::<Vec<u32>>()];
        for edits in &commits {
            let mut lines = versions.last().expect("there is one").clone();
            for (place, is_new) in edits {
                let place = place.index(lines.len());
                if *is_new { lines.insert(place, fresh()) } else { lines[place] = fresh() }
            }
            versions.push(lines);
        }
        let repository = Repository::empty();
        import(&repository, &versions);
        let lines = versions.last().expect("there is one").len();
        prop_assert_eq!(counts(&repository, "x.py"), counts_by_git(&repository, "x.py", lines));
    }
}
