//! Where ids of tests begin: at the top of the repository.
//!
//! pytest names tests from its rootdir, so two services of one repository may
//! both have a `tests/test_v.py::test_v`. Their ids have the path of the rootdir
//! in front. `flakewise run` knows the rootdir; a report does not say it, and
//! histories of earlier versions did without.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use flakewise_junit::Dialect;
use flakewise_model::{Attempt, TestId};
use flakewise_runner::repository_root;

/// How many files of a report are looked for. More would tell no more.
const LOOKED_FOR: usize = 32;
const PYTEST: &str = "pytest";

/// Where reports lie and where they are taken in: what there is to tell the
/// rootdir by.
#[derive(Clone, Debug)]
pub(crate) struct Surroundings {
    /// The top of the repository, without symbolic links.
    root: PathBuf,
    /// The current folder.
    folder: PathBuf,
}

impl Surroundings {
    /// Those of the current folder; none outside of a repository.
    pub(crate) fn discover() -> Option<Self> {
        let folder = Path::new(".").canonicalize().ok()?;
        Some(Self { root: repository_root(&folder)?, folder })
    }

    /// Lets ids of a pytest report begin at the top of the repository, and
    /// returns the path of the rootdir below it; none if there are no such ids.
    ///
    /// The rootdir is the folder in which most of the report's test files are.
    /// The report's own folder and those around it are tried first, then the
    /// current folder and those around it. If the files are in none of them, it
    /// is the current folder.
    pub(crate) fn settle(&self, report: &Path, dialect: Dialect, attempts: &mut [Attempt]) -> Option<String> {
        // Our own reports have whole ids.
        if dialect == Dialect::Flakewise || !attempts.iter().any(|attempt| is_pytest(&attempt.test)) {
            return None;
        }
        let rootdir = self.rootdir(report, attempts);
        if !rootdir.is_empty() {
            // Attempts of one test follow each other.
            let mut last: Option<(TestId, TestId)> = None;
            for attempt in attempts.iter_mut().filter(|attempt| is_pytest(&attempt.test)) {
                if last.as_ref().is_none_or(|(told, _)| *told != attempt.test) {
                    last = Some((attempt.test.clone(), attempt.test.inside(&rootdir)));
                }
                attempt.test.clone_from(&last.as_ref().expect("set above").1);
            }
        }
        Some(rootdir)
    }

    fn rootdir(&self, report: &Path, attempts: &[Attempt]) -> String {
        let report = report.canonicalize().unwrap_or_default();
        let around = |folder: &Path| -> Vec<PathBuf> {
            let inside = folder.ancestors().take_while(|folder| folder.starts_with(&self.root));
            inside.map(Path::to_owned).collect()
        };
        let mut candidates = report.parent().map(around).unwrap_or_default();
        candidates.extend(around(&self.folder));
        let files = test_files(attempts);
        let found = |folder: &PathBuf| files.iter().filter(|file| folder.join(file).is_file()).count();
        let mut best = (&self.folder, 0);
        for candidate in &candidates {
            let found = found(candidate);
            if found > best.1 {
                best = (candidate, found);
            }
        }
        let path = best.0.strip_prefix(&self.root).ok().and_then(Path::to_str).unwrap_or_default();
        path.replace('\\', "/")
    }
}

/// The id that somebody wrote in full, with its scheme, unlike the name that pytest has for it.
pub(crate) fn whole_id(name: &str) -> Option<TestId> {
    let (scheme, rest) = name.split_once(':')?;
    let is_scheme = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
    let is_whole = !scheme.is_empty() && scheme.bytes().all(is_scheme) && !rest.starts_with(':');
    if is_whole { name.parse().ok() } else { None }
}

fn is_pytest(test: &TestId) -> bool {
    test.scheme() == PYTEST
}

fn test_files(attempts: &[Attempt]) -> BTreeSet<String> {
    let mut files = BTreeSet::new();
    let mut last = "";
    for attempt in attempts.iter().filter(|attempt| is_pytest(&attempt.test)) {
        let text = attempt.test.as_str();
        // Taking ids apart costs more than to see that the file is the same.
        let file = text.find("::").map_or(text, |end| &text[..end]);
        if file != last {
            files.insert(attempt.test.module());
            last = file;
        }
        if files.len() == LOOKED_FOR {
            break;
        }
    }
    files
}

/// Tells the history which ids these tests of a run had before ids began at the
/// top of the repository, where that is clear: no other file of the repository
/// may have had the same name.
#[cfg(feature = "history")]
pub(crate) fn recall_former<'a>(
    history: &flakewise_history::History,
    tests: impl Iterator<Item = &'a TestId>,
    run: &flakewise_model::Run,
) {
    let roots = run.roots.iter().flatten();
    let roots: Vec<&str> = roots.map(String::as_str).filter(|root| !root.is_empty()).collect();
    if roots.is_empty() {
        return;
    }
    let pairs: Vec<(TestId, TestId)> = tests
        .filter_map(|test| {
            let former = roots.iter().filter_map(|root| Some((root.len(), test.outside(root)?)));
            former.max_by_key(|(length, _)| *length).map(|(_, former)| (test.clone(), former))
        })
        .collect();
    let Some(files) = repository_root(Path::new(".")).and_then(|root| crate::context::files(&root)) else {
        return;
    };
    history.assume_former(unambiguous(pairs, &files));
}

/// Those whose former file is the end of one path only.
#[cfg(feature = "history")]
fn unambiguous(pairs: Vec<(TestId, TestId)>, files: &[String]) -> Vec<(TestId, TestId)> {
    let mut ends: std::collections::HashMap<String, u32> =
        pairs.iter().map(|(_, former)| (former.module(), 0)).collect();
    for file in files {
        let starts = std::iter::once(0).chain(file.match_indices('/').map(|(at, _)| at + 1));
        for start in starts {
            if let Some(count) = ends.get_mut(&file[start..]) {
                *count += 1;
            }
        }
    }
    pairs.into_iter().filter(|(_, former)| ends.get(&former.module()) == Some(&1)).collect()
}

#[cfg(all(test, feature = "history"))]
mod tests {
    use super::*;

    #[test]
    fn a_former_id_is_clear_if_one_file_can_have_had_it() {
        let id = |text: &str| text.parse::<TestId>().expect("an id");
        let pair = |file: &str| {
            let new = id(&format!("pytest:svc-a/{file}::test"));
            (new.clone(), new.outside("svc-a").expect("it is in there"))
        };
        let files = ["svc-a/tests/test_v.py", "svc-b/tests/test_v.py", "svc-a/tests/test_own.py"];
        let files = files.map(str::to_owned);
        let clear = unambiguous(vec![pair("tests/test_v.py"), pair("tests/test_own.py")], &files);
        assert_eq!(clear, [pair("tests/test_own.py")]);
        let at_the_top = ["svc-a/tests/test_own.py", "tests/test_own.py"].map(str::to_owned);
        assert_eq!(unambiguous(vec![pair("tests/test_own.py")], &at_the_top), []);
    }
}
