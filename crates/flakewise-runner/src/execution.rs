//! What is known of one execution, and of a suite.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use flakewise_model::{Attempt, Failure, Notice, Outcome, Phase, Run, TestId, Timestamp, TraceFrames};
use flakewise_protocol::{AgentPhase, TestEnding, TestFailureMessage};

use crate::supervisor::cut;

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
    /// What it takes to recognise the failure if the test was renamed.
    pub frames: Option<TraceFrames>,
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
    /// Installed distributions, as `name==version`.
    pub packages: &'a [String],
}

/// What a process was seen to depend on. Paths are absolute.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Observation {
    /// Files it opened or tried to open.
    pub opened: BTreeSet<String>,
    /// Files that the runner and its tools read as their configuration. What the
    /// tests themselves open is not among them, unless they did both.
    pub configured: BTreeSet<String>,
    /// Files of the modules it loaded.
    pub loaded: BTreeSet<String>,
    /// Folders whose entries it read.
    pub listed: BTreeSet<String>,
    /// Paths it queried.
    pub looked_for: BTreeSet<String>,
    /// Modules it requested.
    pub imports: BTreeSet<String>,
    /// Lines executed of changed files.
    pub executed: BTreeMap<String, BTreeSet<u32>>,
    /// Whether executed lines could be seen at all.
    pub lines_seen: bool,
    /// Whether this is all: a process that died may have continued to depend on
    /// more.
    pub complete: bool,
    /// Processes and the like, which hide what they depend on from the agent.
    pub hidden: BTreeSet<String>,
    /// Where it connected to by sockets.
    pub connected: BTreeSet<String>,
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

/// How one pytest ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "independent facts about a process, in any combination")]
pub struct SessionEnd {
    /// Its exit status, once every plug-in had finished the session.
    pub status: Option<i32>,
    /// Whether it was let go as if its failing tests had passed.
    pub forgiven: bool,
    /// Whether it died without saying goodbye.
    pub died: bool,
    /// Whether something besides its tests failed.
    pub broken: bool,
    /// Whether the latest run that was asked of it while it waited is over.
    pub(crate) reran: bool,
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
    /// Why the answer misses something, so that it cannot be green.
    pub incomplete: Vec<String>,
    /// How each pytest of the command ended.
    pub sessions: Vec<SessionEnd>,
    /// Why the suite stopped early, if somebody wished it to.
    pub stopped: Option<String>,
    /// Things to tell people.
    pub notices: Vec<Notice>,
}

/// The id of a pytest test, relative to pytest's rootdir, from its node id: the same that
/// its JUnit report gives.
pub fn pytest_id(node: &str) -> TestId {
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

/// How much is kept of the name of an exception, in bytes.
const KIND_LIMIT: usize = 200;

pub(crate) fn failure(message: &TestFailureMessage) -> Failure {
    failure_with_frames(message).0
}

pub(crate) fn failure_with_frames(message: &TestFailureMessage) -> (Failure, Option<TraceFrames>) {
    let kind = message.kind.as_deref().map(|kind| &kind[..kind.floor_char_boundary(KIND_LIMIT)]);
    Failure::with_frames(kind, &message.message, &without_agent(&message.trace))
}

/// A stack trace without frames of the agent. It stands between pytest and a
/// test that is run again, and `--tb=native` shows it; the failure is the same
/// as at first.
fn without_agent(trace: &str) -> Cow<'_, str> {
    const AGENT: &str = "<flakewise ";
    if !trace.contains(AGENT) {
        return Cow::Borrowed(trace);
    }
    let others = trace.split_inclusive('\n').filter(|line| !line.contains(AGENT));
    Cow::Owned(others.collect())
}

/// Where a copy of the project is, and what it is a copy of. A failure in a copy
/// is described as it would be in the original: the same failure has the same
/// fingerprint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Relocation {
    copy: String,
    original: String,
}

impl Relocation {
    /// What `map` does to a folder of the project. None if it stays where it
    /// is, or if its name is not text.
    pub(crate) fn new(folder: &Path, map: &dyn Fn(&Path) -> PathBuf) -> Option<Self> {
        let (mut original, mut copy) = (folder.to_owned(), map(folder));
        // The rest of the two is the same for all of the project.
        while original != copy && original.file_name().is_some() && original.file_name() == copy.file_name() {
            original.pop();
            copy.pop();
        }
        let text = |path: PathBuf| path.to_str().map(|text| text.trim_end_matches('/').to_owned());
        let (copy, original) = (text(copy)?, text(original)?);
        (copy != original && !copy.is_empty()).then_some(Self { copy, original })
    }

    /// The same failure in the original.
    pub(crate) fn undo(&self, message: &TestFailureMessage) -> TestFailureMessage {
        let undo = |text: &str| text.replace(&self.copy, &self.original);
        TestFailureMessage {
            message: undo(&message.message),
            trace: undo(&message.trace),
            file: message.file.as_deref().map(undo),
            ..message.clone()
        }
    }
}

pub(crate) fn place(message: &TestFailureMessage) -> Option<Place> {
    // pytest counts lines from 0 inside and from 1 in its crash reports.
    Some(Place { file: cut(message.file.clone()?), line: message.line? })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A failure as pytest shows it with `--tb=native`, in a project that is
    /// here.
    fn failing_in(root: &str) -> TestFailureMessage {
        let file = format!("{root}/tests/test_a.py");
        TestFailureMessage {
            kind: Some("FileNotFoundError".to_owned()),
            message: format!("FileNotFoundError: '{root}/data/prices.json'"),
            trace: format!(
                "Traceback (most recent call last):\n  File \"{file}\", line 3, in test_a\n    open(x)\n"
            ),
            file: Some(file),
            line: Some(3),
            ..TestFailureMessage::default()
        }
    }

    #[test]
    fn a_failure_is_the_same_with_the_agent_in_between() {
        let first = failing_in("/home/u/shop");
        let frame = "  File \"<flakewise plugin.py>\", line 506, in unseen\n";
        let again = TestFailureMessage {
            trace: first.trace.replace("  File", &format!("{frame}  File")),
            ..first.clone()
        };
        assert_ne!(first.trace, again.trace);
        assert_eq!(failure(&first), failure(&again));
    }

    #[test]
    fn a_failure_in_a_copy_is_the_failure_in_the_original() {
        // Some of these look like folders of installed code, or have letters
        // that no path is recognised by.
        for root in
            ["/home/u/shop", "/usr/src/shop", "/home/my user/shop", "/w/vendor/shop", "/shop", "/home/ü/shop"]
        {
            let map = |path: &Path| match path.strip_prefix(root) {
                Ok(inside) => Path::new("/tmp/flakewise-base-x1/shop").join(inside),
                Err(_) => path.to_owned(),
            };
            let here = failure(&failing_in(root));
            let there = failing_in("/tmp/flakewise-base-x1/shop");
            for folder in [root.to_owned(), format!("{root}/services/a")] {
                let relocation = Relocation::new(Path::new(&folder), &map).expect("it moved");
                assert_eq!(failure(&relocation.undo(&there)), here, "{root}");
                assert_eq!(place(&relocation.undo(&there)), place(&failing_in(root)));
            }
            assert_eq!(Relocation::new(Path::new("/elsewhere"), &map), None);
        }
    }

    #[test]
    fn ids_are_those_of_the_report() {
        let id = |node: &str| pytest_id(node).as_str().to_owned();
        assert_eq!(id("tests/test_cart.py::test_total"), "pytest:tests/test_cart.py::test_total");
        assert_eq!(
            id("tests/test_cart.py::TestCart::test_total[3-4]"),
            "pytest:tests/test_cart.py::TestCart::test_total[3-4]"
        );
        assert_eq!(id("test_a.py::test[a::b[0]]"), r"pytest:test_a.py::test[a\:\:b\[0\]]");
    }
}
