//! The quarantine file of a repository, and what surrounds it.

use std::collections::{BTreeSet, HashSet};
use std::path::{Component, Path, PathBuf};

use flakewise_model::{Attempt, Fingerprint, Notice, Outcome, Phase, Quarantined, Renames, TestId};
use flakewise_quarantine::{
    Accepts, CodeOwners, Entry, InForce, Limits, MAX_BYTES, Quarantine, Target, Violation,
};
use flakewise_report::count;
use flakewise_runner::{path_in_repository, pytest_id, repository_root};
use flakewise_triage::Triaged;

use crate::args::{OwnersArguments, QuarantineFileArguments};
use crate::error::ExpectedError;
use crate::identity::whole_id;
use crate::own_folder::own_path;
use crate::repository::read_file;

/// Its name in our folder.
const NAME: &str = "quarantine.toml";
/// How much of a test's file is searched for its name.
const SOURCE_BYTES: u64 = 10 << 20;

/// A quarantine file that was read and understood.
pub(crate) struct QuarantineFile {
    /// Where it is, or would be.
    pub(crate) path: PathBuf,
    /// Its text; empty if there is no file.
    pub(crate) text: String,
    pub(crate) in_force: InForce,
}

impl QuarantineFile {
    /// Where the file is, or would be.
    pub(crate) fn path_of(arguments: &QuarantineFileArguments) -> PathBuf {
        arguments.quarantine.clone().unwrap_or_else(|| own_path(NAME))
    }

    /// Reads the file. None if there is none and the user did not name one.
    pub(crate) fn open(arguments: &QuarantineFileArguments) -> Result<Option<Self>, ExpectedError> {
        let path = Self::path_of(arguments);
        match read(&path) {
            Ok(bytes) => Self::new(path, bytes, arguments).map(Some),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound && arguments.quarantine.is_none() => {
                Ok(None)
            }
            Err(source) => Err(ExpectedError::QuarantineRead { path, source }),
        }
    }

    /// Reads the file to edit it: one that is not there is empty.
    pub(crate) fn open_or_empty(arguments: &QuarantineFileArguments) -> Result<Self, ExpectedError> {
        let path = Self::path_of(arguments);
        match read(&path) {
            Ok(bytes) => Self::new(path, bytes, arguments),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                Self::new(path, Vec::new(), arguments)
            }
            Err(source) => Err(ExpectedError::QuarantineRead { path, source }),
        }
    }

    fn new(
        path: PathBuf,
        bytes: Vec<u8>,
        arguments: &QuarantineFileArguments,
    ) -> Result<Self, ExpectedError> {
        match Quarantine::from_bytes(&bytes) {
            Ok(quarantine) => {
                let limits = Limits {
                    max_entries: arguments.max_quarantined,
                    max_days: arguments.max_quarantine_days,
                };
                let today = arguments.today.unwrap_or_else(|| chrono::Utc::now().date_naive());
                let text = String::from_utf8(bytes).expect("what was understood is UTF-8");
                Ok(Self {
                    path,
                    text,
                    in_force: InForce { quarantine, today, limits, renames: Renames::default() },
                })
            }
            Err(error) => Err(ExpectedError::Quarantine { path, error }),
        }
    }

    /// The place of an entry in the file, and its test or pattern.
    pub(crate) fn located(&self, entry: &Entry) -> String {
        format!("{}:{}: `{}`", self.path.display(), entry.line, entry.target)
    }

    /// Entries for tests that do not seem to exist: neither among those that are known to,
    /// nor in their file. Of patterns and of other runners nothing can be said.
    pub(crate) fn missing(&self, known: &HashSet<&TestId>) -> Vec<&Entry> {
        let root = repository_root(Path::new(".")).unwrap_or_else(|| PathBuf::from("."));
        let is_missing = |entry: &&Entry| match &entry.target {
            Target::Test(test) if test.scheme() == "pytest" => {
                !known.contains(test) && !is_in_source(test, &root)
            }
            _ => false,
        };
        self.in_force.quarantine.entries.iter().filter(is_missing).collect()
    }

    /// Lets entries for tests that do not exist apply to the tests that they became. What these
    /// are is asked only if there are such entries.
    pub(crate) fn follow(&mut self, renames: impl FnOnce() -> Renames) {
        if !self.missing(&HashSet::new()).is_empty() {
            self.in_force.renames = renames();
        }
    }

    /// What to say about an entry for a test that does not exist, but for its place. `forgiven`
    /// has the fingerprints of the failures that it forgave now.
    pub(crate) fn no_such_test(&self, entry: &Entry, forgiven: &BTreeSet<&str>) -> String {
        let former = entry.target.as_str();
        let current = self.in_force.renames.current(former);
        if current == former {
            return format!("no such test exists; owner {}", entry.owner);
        }
        let Accepts::Fingerprints(listed) = &entry.accepts else {
            return format!("the test was renamed; change the entry to `{current}`");
        };
        let is_listed = |fingerprint: &str| listed.iter().any(|one| one.as_str() == fingerprint);
        let new: Vec<String> = forgiven
            .iter()
            .filter(|fingerprint| !is_listed(fingerprint))
            .map(|fingerprint| format!("`{fingerprint}`"))
            .collect();
        if !new.is_empty() {
            let noun = if new.len() == 1 { "fingerprint" } else { "fingerprints" };
            let new = new.join(", ");
            return format!("the test was renamed; change the entry to `{current}` and add the {noun} {new}");
        }
        if forgiven.is_empty() && has_other_names(former, &current) {
            return format!(
                "the test was renamed to `{current}`; the next run in which it fails prints its new fingerprint"
            );
        }
        format!("the test was renamed; change the entry to `{current}`")
    }
}

/// What to tell people about the quarantine after a run.
pub(crate) fn notices(file: &QuarantineFile, triaged: &Triaged) -> Vec<Notice> {
    let known: HashSet<&TestId> = triaged.attempts.iter().map(|attempt| &attempt.test).collect();
    let missing = file.missing(&known).into_iter().map(|entry| {
        let problem = file.no_such_test(entry, &forgiven_by(entry, triaged));
        format!("{} is quarantined, but {problem}", file.located(entry))
    });
    let failing: HashSet<&str> = triaged
        .report
        .failures
        .iter()
        .filter_map(|failure| failure.quarantine.as_ref())
        .map(|said| said.entry.as_str())
        .collect();
    let violations = file.in_force.violations();
    let broken = violations.iter().filter_map(|violation| match violation {
        // What is said about its failure says so already.
        Violation::Expired(entry, _) if failing.contains(entry.target.as_str()) => None,
        _ => Some(located(file, violation)),
    });
    let warnings = missing.chain(broken).map(|text| Notice { text, warning: true });
    let is_skipped = |attempt: &&Attempt| {
        attempt.outcome == Outcome::Skipped && file.in_force.skips(&attempt.test).is_some()
    };
    let all = if file.in_force.any_skips() { triaged.attempts.as_slice() } else { &[] };
    let skipped = all.iter().filter(is_skipped).count() as u64;
    let skipped = (skipped > 0).then(|| Notice {
        text: format!("{} not run: quarantined with mode `skip`", count(skipped, "test")),
        warning: true,
    });
    warnings.chain(skipped).collect()
}

/// The fingerprints of the failures that an entry forgave.
fn forgiven_by<'a>(entry: &Entry, triaged: &'a Triaged) -> BTreeSet<&'a str> {
    let is_by_entry = |said: &Quarantined| said.is_forgiven() && said.entry == entry.target.as_str();
    let failures = triaged.report.failures.iter();
    let failures = failures.filter(|failure| failure.quarantine.as_ref().is_some_and(is_by_entry));
    let attempts = failures.flat_map(|failure| &failure.attempts);
    attempts
        .filter(|attempt| attempt.phase != Phase::Base && attempt.outcome.is_failure())
        .filter_map(|attempt| attempt.failure.as_ref()?.fingerprint.as_ref().map(Fingerprint::as_str))
        .collect()
}

/// Whether the file or the function of a test has another name than before, so that its
/// failures have other fingerprints.
fn has_other_names(former: &str, current: &str) -> bool {
    let names = |id: &str| {
        let id: TestId = id.parse().ok()?;
        Some((id.module().rsplit('/').next().map(str::to_owned), id.name()))
    };
    names(former) != names(current)
}

/// A broken rule with its place in the file.
pub(crate) fn located(file: &QuarantineFile, violation: &Violation<'_>) -> String {
    let line = violation.line().map_or_else(String::new, |line| format!(":{line}"));
    format!("{}{line}: {violation}", file.path.display())
}

/// Who owns which tests, from a CODEOWNERS file that was named or that of the repository.
pub(crate) struct Owners(CodeOwners);

impl Owners {
    pub(crate) fn read(arguments: &OwnersArguments) -> Result<Self, ExpectedError> {
        let text = match &arguments.codeowners {
            Some(path) => read(path).map_err(|source| ExpectedError::Read { path: path.clone(), source })?,
            None => repository_root(Path::new("."))
                .and_then(|root| CodeOwners::LOCATIONS.iter().find_map(|place| read(&root.join(place)).ok()))
                .unwrap_or_default(),
        };
        Ok(Self(CodeOwners::parse(&String::from_utf8_lossy(&text))))
    }

    /// The owners of a test's file.
    pub(crate) fn of(&self, test: &TestId) -> Option<String> {
        self.of_path(&test.module())
    }

    /// The owners of a test's file, or of the folder that a pattern is about.
    pub(crate) fn of_target(&self, target: &Target) -> Option<String> {
        match target {
            Target::Test(test) => self.of(test),
            // Up to the first wildcard, which is a folder at least.
            Target::Pattern(pattern) => {
                let path = pattern.as_str().split_once(':').map_or("", |(_, path)| path);
                self.of_path(path.split(['*', ':']).next().unwrap_or_default())
            }
        }
    }

    fn of_path(&self, path: &str) -> Option<String> {
        let owners = self.0.of(path).join(" ");
        (!owners.is_empty()).then_some(owners)
    }
}

/// The test that somebody named: by its id, or as pytest names it from here or from the
/// root of the repository.
pub(crate) fn named(name: &str) -> Result<TestId, ExpectedError> {
    if let Some(test) = whole_id(name) {
        return Ok(test);
    }
    let test = pytest_id(name);
    let module = test.module();
    let root = repository_root(Path::new(".")).unwrap_or_else(|| PathBuf::from("."));
    if name.contains("::") && Path::new(&module).is_file() {
        return Ok(test.inside(&path_in_repository(Path::new(".")).unwrap_or_default()));
    }
    if name.contains("::") && root.join(&module).is_file() {
        return Ok(test);
    }
    Err(ExpectedError::NoTestFile { path: module })
}

/// Whether a pytest test's file is there and contains its name.
fn is_in_source(test: &TestId, root: &Path) -> bool {
    let module = PathBuf::from(test.module());
    // Nothing outside of the repository is read.
    if !module.components().all(|part| matches!(part, Component::Normal(_))) {
        return false;
    }
    let source = read_file(&root.join(module), SOURCE_BYTES);
    source.is_ok_and(|bytes| has_word(&String::from_utf8_lossy(&bytes), &test.name()))
}

/// Whether a text has a name as a whole word: `test_upload_file` does not have `test_upload`.
fn has_word(text: &str, name: &str) -> bool {
    let is_part = |character: char| character.is_alphanumeric() || character == '_';
    text.match_indices(name).any(|(start, _)| {
        !text[..start].ends_with(is_part) && !text[start + name.len()..].starts_with(is_part)
    })
}

/// A file of bounded length.
fn read(path: &Path) -> std::io::Result<Vec<u8>> {
    // One byte more shows that it is too long.
    read_file(path, 3 * MAX_BYTES as u64 + 1)
}

#[cfg(test)]
mod tests {
    use super::has_word;

    #[test]
    fn a_name_is_found_as_a_whole_word() {
        let found = |text| has_word(text, "test_a");
        assert!(found("def test_a():") && found("test_a") && found("test_ab, x.test_a"));
        assert!(
            !found("def test_ab():") && !found("def my_test_a():") && !found("test_a1") && !found("test_aä")
        );
    }
}
