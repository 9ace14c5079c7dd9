//! What is known of one execution, and of a suite.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use flakewise_model::{Attempt, Failure, Outcome, Phase, Run, TestId, Timestamp};
use flakewise_protocol::{AgentPhase, TestEnding, TestFailureMessage};

/// A test of a suite. One command may run pytest more than once, so a test is
/// known by its session and its number there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TestKey {
    /// Which pytest session.
    pub session: u32,
    /// Its place in the order of collection.
    pub number: u32,
}

/// One execution of one test.
#[derive(Clone, Debug, PartialEq)]
pub struct Execution {
    /// Which test.
    pub test: TestKey,
    /// Why.
    pub phase: Phase,
    /// How it ended.
    pub outcome: Outcome,
    /// How long it took.
    pub duration: Option<Duration>,
    /// When it began.
    pub started: Timestamp,
    /// What went wrong.
    pub failure: Option<Failure>,
    /// Where it went wrong.
    pub place: Option<Place>,
    /// In which process, for people: `main`, `fork 3`.
    pub worker: String,
    /// Its place in the order of execution of its process.
    pub position: u32,
    /// What the process cost that ran only this.
    pub cost: Option<ProcessCost>,
}

impl Execution {
    /// As an attempt of a test in a run, with its number there.
    pub fn attempt(&self, test: &TestId, run: &Arc<Run>, number: u32) -> Attempt {
        Attempt {
            test: test.clone(),
            run: Arc::clone(run),
            phase: self.phase,
            number,
            outcome: self.outcome,
            duration: self.duration,
            started: Some(self.started),
            worker: Some(self.worker.as_str().into()),
            position: Some(self.position),
            failure: self.failure.clone().map(Box::new),
        }
    }
}

/// A place in a file, as the runner names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The file.
    pub file: String,
    /// The line, from 1.
    pub line: u32,
}

impl Place {
    /// File and line, relative to a folder if it is inside.
    pub fn below(&self, folder: &Path) -> (String, u32) {
        let path = Path::new(&self.file);
        (path.strip_prefix(folder).unwrap_or(path).to_string_lossy().into_owned(), self.line)
    }
}

/// What a whole process cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProcessCost {
    /// From its start to its end.
    pub wall: Duration,
    /// Processor time.
    pub cpu: Duration,
}

/// What runs the tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Versions<'a> {
    /// The runner, such as `pytest`.
    pub runner: &'a str,
    /// Its version.
    pub runner_version: &'a str,
    /// The version of the language.
    pub language_version: &'a str,
    /// The folders that tests are named from, by their paths below the top of
    /// the repository. Empty outside of a repository.
    pub roots: &'a BTreeSet<String>,
}

/// What a process was seen to depend on. Paths are absolute.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Observation {
    /// Files it opened or tried to open.
    pub opened: BTreeSet<String>,
    /// Files of the modules it loaded.
    pub loaded: BTreeSet<String>,
    /// Folders whose entries it read.
    pub listed: BTreeSet<String>,
    /// Paths it asked about.
    pub looked_for: BTreeSet<String>,
    /// Modules it asked for.
    pub imports: BTreeSet<String>,
    /// Lines executed of changed files.
    pub executed: BTreeMap<String, BTreeSet<u32>>,
    /// Whether executed lines could be seen at all.
    pub lines_seen: bool,
    /// Whether this is all: a process that died may have gone on to depend on
    /// more.
    pub complete: bool,
    /// Processes and the like, which hide what they depend on from the agent.
    pub hidden: BTreeSet<String>,
    /// Of the files the kernel was asked to watch, those that any process
    /// opened; none where the kernel could not watch.
    pub watched: Option<BTreeSet<String>>,
}

/// A file or folder that could not be collected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CollectError {
    /// The runner's name for it.
    pub name: String,
    /// What went wrong.
    pub failure: Failure,
    /// Where.
    pub place: Option<Place>,
}

/// Something people should know about how the tests were run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunnerNotice {
    /// What, as a sentence without a full stop.
    pub text: String,
    /// Whether it makes answers weaker.
    pub warning: bool,
}

/// How the suite went, as a whole.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SuiteRun {
    /// The exit code of the command; none if a signal ended it.
    pub exit_code: Option<i32>,
    /// Whether the command was pytest itself, so that the code is pytest's.
    pub direct: bool,
    /// Files that could not be collected.
    pub collect_errors: Vec<CollectError>,
    /// Whether something around the tests failed for which no test answers,
    /// such as the end of a fixture of the whole session.
    pub broken: bool,
    /// Why the suite stopped early, if somebody wished it to.
    pub stopped: Option<String>,
    /// Things to tell people.
    pub notices: Vec<RunnerNotice>,
}

/// The test's id as told from pytest's rootdir, from its node id: the same that
/// its JUnit report gives.
pub(crate) fn test_id(node: &str) -> TestId {
    let (path, parameters) = match node.split_once('[') {
        Some((path, rest)) => (path, Some(rest.strip_suffix(']').unwrap_or(rest))),
        None => (node, None),
    };
    let mut parts = path.split("::");
    let mut builder = TestId::builder("pytest", parts.next().unwrap_or_default());
    let mut name = "";
    for (place, part) in parts.enumerate() {
        if place > 0 {
            builder = builder.class(name);
        }
        name = part;
    }
    builder.finish(name, parameters)
}

pub(crate) fn phase(phase: AgentPhase) -> Phase {
    match phase {
        AgentPhase::First => Phase::First,
        AgentPhase::Rerun => Phase::Rerun,
        AgentPhase::Postpone => Phase::Postpone,
        AgentPhase::Fork => Phase::Fork,
        AgentPhase::Fresh => Phase::Fresh,
    }
}

pub(crate) fn outcome(ending: TestEnding) -> Outcome {
    match ending {
        TestEnding::Passed => Outcome::Passed,
        TestEnding::Failed => Outcome::Failed,
        TestEnding::Errored => Outcome::Errored,
        TestEnding::Skipped => Outcome::Skipped,
    }
}

pub(crate) fn failure(message: &TestFailureMessage) -> Failure {
    Failure::new(message.kind.as_deref(), &message.message, &message.trace)
}

pub(crate) fn place(message: &TestFailureMessage) -> Option<Place> {
    // pytest counts lines from 0 inside and from 1 in its crash reports.
    Some(Place { file: message.file.clone()?, line: message.line? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_those_of_the_report() {
        let id = |node: &str| test_id(node).as_str().to_owned();
        assert_eq!(id("tests/test_cart.py::test_total"), "pytest:tests/test_cart.py::test_total");
        assert_eq!(
            id("tests/test_cart.py::TestCart::test_total[3-4]"),
            "pytest:tests/test_cart.py::TestCart::test_total[3-4]"
        );
        assert_eq!(id("test_a.py::test[a::b[0]]"), r"pytest:test_a.py::test[a\:\:b\[0\]]");
    }
}
