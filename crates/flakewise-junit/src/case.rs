//! From a test case to its attempts, and from attempts to numbered ones.

use std::sync::Arc;
use std::time::Duration;

use flakewise_model::{Attempt, Outcome, Phase, Run, TestId, Timestamp};

use crate::Dialect;
use crate::element::Element;
use crate::issue::IssueKind;
use crate::note::Notes;
use crate::number::Counts;
use crate::outcome::Ending;

/// What nextest calls the failure of a test that passed in the end but is not
/// allowed to be flaky.
const NEXTEST_FLAKY_FAILURE: &str = "flaky failure";

/// What a test case says about its outcome in an attribute.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Status {
    #[default]
    Unsaid,
    NotRun,
}

impl Status {
    /// Reads one more attribute: `status="notrun"`, `result="suppressed"`, …
    pub(crate) fn or(self, text: &str) -> Self {
        match text {
            "notrun" | "suppressed" | "skipped" | "disabled" | "ignored" => Self::NotRun,
            _ => self,
        }
    }

    fn outcome(self) -> Outcome {
        match self {
            Self::Unsaid => Outcome::Passed,
            Self::NotRun => Outcome::Skipped,
        }
    }
}

/// What the tag of a test case says.
#[derive(Debug)]
pub(crate) struct Plain {
    pub(crate) dialect: Dialect,
    pub(crate) test: TestId,
    pub(crate) duration: Option<Duration>,
    pub(crate) started: Option<Timestamp>,
    pub(crate) position: Option<u32>,
    pub(crate) status: Status,
}

/// An open test case.
#[derive(Debug)]
pub(crate) struct Case {
    plain: Plain,
    /// How the attempt ended that the case itself stands for.
    ending: Option<Ending>,
    /// Whether `ending` is about earlier attempts only.
    passed_after_all: bool,
    /// The attempts that the case has elements for.
    pub(crate) reruns: Vec<Rerun>,
    notes: Option<Box<Notes>>,
}

/// An attempt that has an element of its own.
#[derive(Debug)]
pub(crate) struct Rerun {
    pub(crate) element: Element,
    pub(crate) ending: Ending,
    pub(crate) duration: Option<Duration>,
    pub(crate) started: Option<Timestamp>,
}

impl Case {
    pub(crate) fn new(plain: Plain) -> Self {
        Self { plain, ending: None, passed_after_all: false, reruns: Vec::new(), notes: None }
    }

    pub(crate) fn dialect(&self) -> Dialect {
        self.plain.dialect
    }

    pub(crate) fn has_failed(&self) -> bool {
        self.ending.as_ref().is_some_and(|ending| ending.outcome.is_failure())
    }

    pub(crate) fn failed_without_a_word(&self) -> bool {
        self.ending.as_ref().is_some_and(|ending| ending.outcome.is_failure() && ending.failure.is_none())
    }

    /// Whether an element would change how the case ended: the first failure
    /// counts. A runner that calls a test both skipped and failed tolerates the
    /// failure.
    pub(crate) fn wants(&self, element: Element) -> bool {
        match element {
            Element::Skipped => self.ending.as_ref().is_none_or(|ending| ending.outcome != Outcome::Skipped),
            Element::Output => self.failed_without_a_word(),
            _ => self.ending.is_none(),
        }
    }

    /// Takes what an element says that [`Case::wants`] wanted.
    pub(crate) fn end(&mut self, kind: &str, mut ending: Ending, element: Element) {
        if element == Element::Output
            && let Some(before) = &self.ending
        {
            ending.outcome = before.outcome;
        }
        self.passed_after_all = self.plain.dialect == Dialect::Nextest && kind == NEXTEST_FLAKY_FAILURE;
        self.ending = Some(ending);
    }

    /// Takes a property of the case.
    pub(crate) fn note(&mut self, name: &str, value: &str, limit: usize) {
        if self.plain.dialect == Dialect::Flakewise {
            self.notes.get_or_insert_default().add(name, value, limit);
        }
    }
}

/// The attempts collected so far.
#[derive(Debug)]
pub(crate) struct Attempts<'r> {
    run: &'r Arc<Run>,
    list: Vec<Attempt>,
    counts: Counts,
}

impl<'r> Attempts<'r> {
    pub(crate) fn new(run: &'r Arc<Run>) -> Self {
        Self { run, list: Vec::new(), counts: Counts::default() }
    }

    /// Makes room for attempts to come.
    pub(crate) fn reserve(&mut self, count: usize) {
        self.list.reserve(count);
    }

    pub(crate) fn len(&self) -> usize {
        self.list.len()
    }

    /// Adds the attempt of a case that says nothing but how long it took, as
    /// nearly all do.
    #[inline]
    pub(crate) fn add_plain(&mut self, plain: Plain, host: Option<&Arc<str>>) {
        let Plain { dialect, test, duration, started, position, status } = plain;
        self.counts.passed += 1;
        self.list.push(Attempt {
            test,
            run: Arc::clone(self.run),
            phase: Phase::First,
            number: u32::from(dialect != Dialect::Flakewise),
            outcome: status.outcome(),
            duration,
            started,
            worker: host.filter(|_| dialect.hostname_is_a_host()).cloned(),
            position,
            failure: None,
        });
    }

    /// Adds the attempts of a case in the order of their execution.
    ///
    /// The elements `flakyFailure` and `flakyError` are attempts before the
    /// one that the case stands for, `rerunFailure` and `rerunError` attempts
    /// after it. Surefire, nextest and Playwright agree on that, wherever in
    /// the case they put them.
    #[inline]
    pub(crate) fn add(&mut self, case: Case, host: Option<&Arc<str>>, report: &mut dyn FnMut(IssueKind)) {
        self.counts.passed += u64::from(case.ending.is_none());
        let Plain { dialect, test, duration, started, position, status } = case.plain;
        let ours = dialect == Dialect::Flakewise;
        let host = host.filter(|_| dialect.hostname_is_a_host());
        let ending = case.ending.filter(|_| !case.passed_after_all).unwrap_or(Ending {
            outcome: status.outcome(),
            failure: None,
            worker: None,
        });
        let attempt = |test: TestId, ending: Ending, duration, started| Attempt {
            test,
            run: Arc::clone(self.run),
            phase: Phase::First,
            // Our own notes may know it, else it is counted in the end.
            number: u32::from(!ours),
            outcome: ending.outcome,
            duration,
            started,
            worker: ending.worker.or_else(|| host.cloned()),
            position: None,
            failure: ending.failure,
        };
        let first = self.list.len();
        if case.reruns.is_empty() {
            self.list.push(attempt(test, ending, duration, started));
        } else {
            let rerun = |rerun: Rerun| {
                let started = rerun.started.or(started.filter(|_| !ours));
                attempt(test.clone(), rerun.ending, rerun.duration, started)
            };
            let failed = ending.outcome.is_failure();
            let (before, after): (Vec<_>, Vec<_>) =
                case.reruns.into_iter().partition(|rerun| !failed || rerun.element.is_flaky());
            self.list.extend(before.into_iter().map(rerun));
            self.list.push(attempt(test.clone(), ending, duration, started));
            self.list.extend(after.into_iter().map(rerun));
        }
        self.list[first].position = position;
        if let Some(notes) = case.notes {
            notes.apply(&mut self.list[first..], report);
        }
    }

    /// Counts an element that says how an attempt ended.
    pub(crate) fn count_ending(&mut self) {
        self.counts.endings += 1;
    }

    /// Hands the attempts out with their numbers.
    pub(crate) fn numbered(self, dialect: Dialect, declared: Option<u64>) -> Vec<Attempt> {
        let counts = Counts { declared, ..self.counts };
        crate::number::number(self.list, dialect, counts)
    }
}
