//! The zoo: a suite for pytest whose every test has a known behaviour, and what
//! a run of it must say about each of them.
//!
//! The suite is in `zoo/pytest` of the repository, whose README tells how it is
//! laid out. It is run with `PYTHONHASHSEED=0`, with `ZOO_STATE` naming an empty
//! folder, and as
//!
//! ```text
//! flakewise run --base <base> --verify-base --test-timeout 2s --max-failures 1000 -- \
//!     python -m pytest -p no:cacheprovider tests
//! ```

mod expectations;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

pub use expectations::{calm_expectations, expectations};

/// What a run must say about one test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Expectation {
    /// The test, as pytest names it.
    pub test: &'static str,
    /// What is to be said about it.
    pub expected: Expected,
}

/// What can be said about a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expected {
    /// It passes at its first attempt.
    Passes,
    /// It is skipped, or fails as it is marked to.
    Skipped,
    /// It fails, with this verdict.
    Verdict {
        /// As in the report: `flaky`.
        conclusion: &'static str,
        /// As in the report: `transient`.
        detail: Option<&'static str>,
    },
    /// Any of these, for a reason given where it is listed.
    OneOf(&'static [Self]),
}

impl Expected {
    /// Whether a test that passed is as expected.
    pub fn allows_pass(self) -> bool {
        self.any(|one| one == Self::Passes)
    }

    /// Whether a test that was skipped is as expected.
    pub fn allows_skip(self) -> bool {
        self.any(|one| one == Self::Skipped)
    }

    /// Whether a failure with this verdict is as expected.
    pub fn allows_verdict(self, conclusion: &str, detail: Option<&str>) -> bool {
        self.any(
            |one| matches!(one, Self::Verdict { conclusion: c, detail: d } if c == conclusion && d == detail),
        )
    }

    fn any(self, is: impl Fn(Self) -> bool + Copy) -> bool {
        match self {
            Self::OneOf(several) => several.iter().any(|one| one.any(is)),
            one => is(one),
        }
    }
}

/// The arguments of Python that run the whole suite.
pub const WHOLE: [&str; 5] = ["-m", "pytest", "-p", "no:cacheprovider", "tests"];

/// The arguments of Python that run the suite without crashes and hangs: the
/// suite's process lives to the end. See [`calm_expectations`].
pub const CALM: [&str; 6] = ["-m", "pytest", "-p", "no:cacheprovider", "tests", "--ignore=tests/zz_violent"];

/// A repository with the suite in it, with the change checked out.
#[derive(Clone, Debug)]
pub struct Zoo {
    /// Its work tree.
    pub path: PathBuf,
    /// The commit before the change, on the branch `main`.
    pub base: String,
    /// The commit of the change, on the branch `change`.
    pub change: String,
}

/// Makes a git repository with the suite in `dir`, which is made if it is not
/// there. The commits are the same every time.
pub fn materialise(dir: &Path) -> Zoo {
    let source = source();
    fs::create_dir_all(dir).expect("a folder can be made");
    git(dir, &["init", "--quiet", "--initial-branch=main"]);
    copy(&source.join("base"), dir);
    let base = commit(dir, "base");
    git(dir, &["checkout", "--quiet", "-b", "change"]);
    copy(&source.join("change"), dir);
    // The list of files that the change removes came along with the rest.
    let list = dir.join("DELETE");
    let removed = fs::read_to_string(&list).expect("the change has a list of removed files");
    for name in removed.lines().filter(|name| !name.is_empty()) {
        fs::remove_file(dir.join(name)).expect("what the change removes is in the base");
    }
    fs::remove_file(list).expect("the list can be removed");
    let change = commit(dir, "change");
    Zoo { path: dir.to_owned(), base, change }
}

/// The processes that hanging tests started, by what is written in the folder
/// `ZOO_STATE`. None of them may be alive after a run.
pub fn grandchildren(state: &Path) -> Vec<u32> {
    ["grandchild-same-group", "grandchild-own-session"]
        .iter()
        .filter_map(|name| fs::read_to_string(state.join(name)).ok()?.parse().ok())
        .collect()
}

/// Copies a suite of the zoo, such as `leaks`, to a folder.
pub fn copy_suite(name: &str, to: &Path) {
    copy(&source().join(name), to);
}

fn source() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../zoo/pytest")
}

/// Copies files, but for what a run by hand left behind.
fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("folders can be made");
    for entry in fs::read_dir(from).expect("the zoo is in the repository") {
        let entry = entry.expect("folders can be listed");
        let (name, path) = (entry.file_name(), entry.path());
        if name == "__pycache__" || name == ".pytest_cache" {
            continue;
        }
        if path.is_dir() {
            copy(&path, &to.join(name));
        } else {
            fs::copy(&path, to.join(name)).expect("files can be copied");
        }
    }
}

pub(crate) fn commit(dir: &Path, message: &str) -> String {
    git(dir, &["add", "--all"]);
    git(dir, &["commit", "--quiet", "--message", message]);
    git(dir, &["rev-parse", "HEAD"]).trim().to_owned()
}

pub(crate) fn git(dir: &Path, arguments: &[&str]) -> String {
    const DATE: &str = "2026-11-01T00:00:00Z";
    let mut command = Command::new("git");
    // A test may itself be run by a hook of git, which sets these.
    for variable in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"] {
        command.env_remove(variable);
    }
    let output = command
        .args(["-c", "core.autocrlf=false", "-c", "commit.gpgsign=false"])
        .args(arguments)
        .current_dir(dir)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_SYSTEM", "/dev/null")
        .env("GIT_AUTHOR_NAME", "Zoo")
        .env("GIT_AUTHOR_EMAIL", "zoo@example.com")
        .env("GIT_AUTHOR_DATE", DATE)
        .env("GIT_COMMITTER_NAME", "Zoo")
        .env("GIT_COMMITTER_EMAIL", "zoo@example.com")
        .env("GIT_COMMITTER_DATE", DATE)
        .output()
        .expect("git is installed");
    assert!(output.status.success(), "git {arguments:?} failed: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("git prints text")
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn commits_are_the_same_every_time() {
        let folder = tempfile::tempdir().unwrap();
        let (one, two) = (materialise(&folder.path().join("one")), materialise(&folder.path().join("two")));
        assert_eq!((one.base, one.change), (two.base, two.change));
        assert_eq!(git(&one.path, &["status", "--porcelain"]), "");
    }

    #[test]
    fn change_removes_changes_and_adds_files() {
        let folder = tempfile::tempdir().unwrap();
        let zoo = materialise(folder.path());
        let difference = git(&zoo.path, &["diff", "--name-status", "main", "change"]);
        for line in ["D\tshop/data/coupons.txt", "M\tshop/pricing.py", "A\ttests/test_added.py"] {
            assert!(difference.lines().any(|other| other == line), "{line} is not in {difference}");
        }
        // Every test loads these: a change of them would touch all tests.
        for name in ["pytest.ini", "shop/__init__.py", "tests/conftest.py", "tests/zoohelp.py"] {
            assert!(!difference.contains(&format!("\t{name}")), "{name} changed");
        }
    }

    #[test]
    fn every_expectation_is_about_a_test_of_the_suite_and_no_test_has_two() {
        let folder = tempfile::tempdir().unwrap();
        let zoo = materialise(folder.path());
        let mut seen = HashSet::new();
        for Expectation { test, .. } in expectations() {
            assert!(seen.insert(test), "{test} has two expectations");
            let (file, rest) = test.split_once("::").unwrap();
            let text = fs::read_to_string(zoo.path.join(file)).unwrap();
            let name = rest.split('[').next().unwrap().rsplit("::").next().unwrap();
            let found = text.contains(&format!("def {name}(")) || file.ends_with(name);
            assert!(found, "{test} is not in its file");
        }
    }

    #[test]
    fn calm_expectations_leave_out_crashes_and_hangs_and_are_narrower() {
        let calm = calm_expectations();
        assert!(calm.iter().all(|one| !one.test.starts_with("tests/zz_violent/")));
        let whole = expectations();
        for one in calm {
            let same = whole.iter().find(|other| other.test == one.test).unwrap();
            if let Expected::Verdict { conclusion, detail } = one.expected {
                assert!(same.expected.allows_verdict(conclusion, detail), "{}", one.test);
            }
        }
    }
}
