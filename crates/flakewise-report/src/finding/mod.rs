//! Findings: what any command says about tests, in the formats that code hosts
//! and CI systems read.
//!
//! Every command turns its report into [`Findings`]; one renderer per format does
//! the rest, within the limits of the host that reads it.

mod github;
mod gitlab;
mod history;
mod kind;
mod markdown;
mod sarif;

pub use github::findings_github;
pub use gitlab::findings_gitlab;
pub use kind::Kind;
pub use markdown::findings_markdown;
pub(crate) use markdown::findings_within;
pub use sarif::findings_sarif;

use flakewise_model::{FindingId, Probability, TestId};

use crate::run::name_of;
use crate::words::count;

/// What a command found.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Findings {
    /// The findings, the most important first.
    pub findings: Vec<Finding>,
    /// The findings in one line.
    pub summary: String,
    /// What a reader should know about all of them.
    pub notes: Vec<String>,
}

impl Findings {
    /// Adds what another command found.
    pub fn add(&mut self, other: Self) {
        self.findings.extend(other.findings);
        self.findings.sort_by_key(|finding| finding.level);
        self.notes.extend(other.notes);
    }

    /// Each test with what is found about it, at most [`RESULTS`], and how many are left
    /// out.
    fn results(&self) -> (impl Iterator<Item = (&Finding, &Subject)>, usize) {
        let all: usize = self.findings.iter().map(|finding| finding.subjects.len()).sum();
        let results = self
            .findings
            .iter()
            .flat_map(|finding| finding.subjects.iter().map(move |subject| (finding, subject)));
        (results.take(RESULTS), all.saturating_sub(RESULTS))
    }
}

/// GitHub shows no more SARIF results of one run. A code quality report of as many
/// takes a few megabytes, far below the 100 MB that GitLab accepts by default.
const RESULTS: usize = 5_000;

/// One conclusion about one test or about several that failed together.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// The kind, which has a page in the book.
    pub kind: Kind,
    /// How urgent it is.
    pub level: Level,
    /// The conclusion and its test, or how many tests.
    pub title: String,
    /// The conclusion, without the test.
    pub conclusion: String,
    /// The conclusion in full, if there is more to say than the title does.
    pub verdict: Option<String>,
    /// What supports it, strongest first.
    pub evidence: Vec<String>,
    /// The quarantine entry that forgives it, if there is one.
    pub quarantine: Option<String>,
    /// What follows from it: what to do next, and how to reproduce it.
    pub actions: Vec<String>,
    /// The tests, never none. The place of the first is that of the finding.
    pub subjects: Vec<Subject>,
}

impl Finding {
    /// A finding about these tests with nothing but its conclusion.
    pub(crate) fn new(kind: Kind, level: Level, conclusion: String, subjects: Vec<Subject>) -> Self {
        let title = match subjects.as_slice() {
            [only] => only.title(&conclusion),
            several => format!("{conclusion}: {}", count(several.len() as u64, "test")),
        };
        Self {
            kind,
            level,
            title,
            conclusion,
            verdict: None,
            evidence: Vec::new(),
            quarantine: None,
            actions: Vec::new(),
            subjects,
        }
    }

    /// The verdict, at most `most` pieces of evidence as a list, the quarantine, and the
    /// actions.
    fn lines(&self, most: usize) -> impl Iterator<Item = String> {
        let evidence = self.evidence.iter().take(most).map(|line| format!("- {line}"));
        let after = self.quarantine.iter().chain(&self.actions);
        self.verdict.iter().cloned().chain(evidence).chain(after.cloned())
    }
}

/// How urgent a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// It fails the build, or should.
    Error,
    /// It disturbs builds.
    Warning,
    /// It is worth knowing.
    Note,
}

/// A test that a finding is about.
#[derive(Clone, Debug, PartialEq)]
pub struct Subject {
    /// The stable short name of findings about the test.
    pub id: FindingId,
    /// The test in full.
    pub test: String,
    /// The test as its runner names it.
    pub name: String,
    /// What the host should show beside the test: a file and lines.
    pub place: Option<Place>,
    /// How this test failed, in one line.
    pub failure: Option<String>,
    /// The predicted risk of being flaky, if that is what the finding is.
    pub risk: Option<Probability>,
}

impl Subject {
    /// A test without a place.
    pub(crate) fn new(test: &TestId, name: &str) -> Self {
        Self {
            id: FindingId::of(test),
            test: test.as_str().to_owned(),
            name: name_of(name),
            place: None,
            failure: None,
            risk: None,
        }
    }

    /// The same with its place, or else the first line of the test's module.
    pub(crate) fn at(mut self, place: Option<&(String, u32)>, test: &TestId) -> Self {
        let module = test.module();
        self.place = match place {
            Some((path, line)) => Some(Place::new(path, *line, *line)),
            None if module.is_empty() => None,
            None => Some(Place::new(&module, 1, 1)),
        };
        self
    }

    fn title(&self, conclusion: &str) -> String {
        format!("{conclusion}: {}", self.name)
    }
}

/// A file, from the root of the repository, and lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// With forward slashes.
    pub path: String,
    /// The first line, from 1.
    pub line: u32,
    /// The last line.
    pub end_line: u32,
}

impl Place {
    pub(crate) fn new(path: &str, line: u32, end_line: u32) -> Self {
        let path = path.strip_prefix("./").unwrap_or(path).to_owned();
        Self { path, line: line.max(1), end_line: end_line.max(line).max(1) }
    }
}
