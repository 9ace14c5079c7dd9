//! From markup to attempts.
//!
//! The collector follows the elements of a document and knows which suite and
//! test case it is in. It expects mistakes: an end tag closes everything inside
//! its element, a test case that begins inside another ends that one, and what
//! stands where it makes no sense is passed over.

mod tags;

use std::sync::Arc;
use std::time::Duration;

use flakewise_model::{Run, TestIds, Timestamp};

use crate::case::{Attempts, Case, Rerun};
use crate::dialect::{CaseSigns, Signs};
use crate::element::Element;
use crate::identity::{Identities, SuiteNames};
use crate::issue::{Here, IssueKind, Issues, quote};
use crate::outcome::{Said, ending};
use crate::{Dialect, Issue, Limits, Report};

/// A test case is seldom shorter than this.
const BYTES_PER_CASE: usize = 100;

/// Collects the attempts of one report.
pub(crate) struct Collector<'r> {
    limits: &'r Limits,
    ids: &'r mut TestIds,
    issues: Issues,
    attempts: Attempts<'r>,
    identities: Identities,
    signs: Signs,
    /// Who wrote the suite at hand, once there was a test case.
    dialect: Option<Dialect>,
    /// Who wrote the first test case.
    first_dialect: Option<Dialect>,
    /// Whether a new suite may be by somebody else.
    undecided: bool,
    /// How many root elements there were.
    roots: u64,
    /// Whether there was a suite, or an element for several.
    is_report: bool,
    recoveries: usize,
    stopped: bool,
    /// The open elements.
    stack: Vec<Element>,
    /// How many more are open below the limit.
    too_deep: u64,
    /// How many elements were open when one began whose content is nothing to
    /// us.
    muted: Option<usize>,
    root_started: Option<Timestamp>,
    /// The most attempts to make room for at once.
    expected: usize,
    declared_by_root: Option<u64>,
    declared_by_suites: Option<u64>,
    suites_begun: u64,
    suites: Vec<Suite>,
    suite_names: Vec<SuiteNames>,
    cases_begun: u32,
    case: Option<Case>,
    detail: Option<Detail>,
    /// The text of `detail`.
    text: String,
}

#[derive(Debug)]
struct Suite {
    started: Option<Timestamp>,
    host: Option<Arc<str>>,
}

/// An open element that says how an attempt ended.
#[derive(Debug)]
struct Detail {
    element: Element,
    /// How many elements were open when it began.
    depth: usize,
    kind: Option<String>,
    message: Option<String>,
    duration: Option<Duration>,
    started: Option<Timestamp>,
}

impl<'r> Collector<'r> {
    pub(crate) fn new(run: &'r Arc<Run>, limits: &'r Limits, ids: &'r mut TestIds) -> Self {
        Self {
            limits,
            ids,
            issues: Issues::new(limits.issues),
            attempts: Attempts::new(run),
            identities: Identities::default(),
            signs: Signs::default(),
            dialect: None,
            first_dialect: None,
            undecided: true,
            roots: 0,
            is_report: false,
            recoveries: 0,
            stopped: false,
            stack: Vec::new(),
            too_deep: 0,
            muted: None,
            root_started: None,
            expected: 0,
            declared_by_root: None,
            declared_by_suites: None,
            suites_begun: 0,
            suites: Vec::new(),
            suite_names: Vec::new(),
            cases_begun: 0,
            case: None,
            detail: None,
            text: String::new(),
        }
    }

    pub(crate) fn issue(&mut self, here: &Here<'_>, kind: IssueKind) {
        self.issues.add(here, kind);
    }

    pub(crate) fn issue_once(&mut self, here: &Here<'_>, kind: IssueKind) {
        self.issues.add_once(here, kind);
    }

    /// Notes how many attempts a document of this many bytes can be expected to have at most.
    pub(crate) fn expect(&mut self, bytes: usize) {
        self.expected = (bytes / BYTES_PER_CASE).min(self.limits.attempts);
    }

    /// Whether a limit was reached that ends reading.
    pub(crate) fn stopped(&self) -> bool {
        self.stopped
    }

    /// Whether to continue once more after a mistake that is costly to get over.
    pub(crate) fn recover(&mut self, limit: usize) -> bool {
        self.recoveries += 1;
        self.recoveries <= limit
    }

    #[inline]
    pub(crate) fn start(&mut self, here: &Here<'_>, name: &str, attributes: &str, empty: bool) {
        if self.too_deep > 0 {
            self.too_deep += u64::from(!empty);
            return;
        }
        if self.stack.len() >= self.limits.depth {
            self.issues.add_once(here, IssueKind::TooDeep { limit: self.limits.depth });
            self.too_deep += u64::from(!empty);
            return;
        }
        let element = Element::of(name);
        if self.muted.is_none() {
            let attributes = if attributes.len() > self.limits.tag {
                self.issues.add_once(here, IssueKind::LongTag { limit: self.limits.tag });
                &attributes[..attributes.floor_char_boundary(self.limits.tag)]
            } else {
                attributes
            };
            if self.stack.is_empty() {
                self.begin_document(here);
            }
            match element {
                Element::TestCase => {
                    self.end_open_case(here);
                    self.begin_case(here, attributes, empty);
                    if empty {
                        return;
                    }
                }
                Element::TestSuite => {
                    self.end_open_case(here);
                    self.begin_suite(here, attributes);
                }
                Element::TestSuites => self.begin_suites(here, attributes),
                Element::Property => self.property(here, attributes),
                Element::Output => self.begin_output(),
                _ if element.is_ending() && self.stack.last() == Some(&Element::TestCase) => {
                    self.begin_detail(here, element, attributes);
                }
                _ => {}
            }
        }
        self.stack.push(element);
        if empty {
            self.close(here);
        }
    }

    #[inline]
    pub(crate) fn end(&mut self, here: &Here<'_>, name: &str) {
        if self.too_deep > 0 {
            self.too_deep -= 1;
            return;
        }
        let element = Element::of(name);
        if self.stack.last() == Some(&element) {
            self.close(here);
        } else if let Some(at) = self.stack.iter().rposition(|open| *open == element) {
            while self.stack.len() > at + 1 {
                self.close_missing(here);
            }
            self.close(here);
        } else if self.in_text() {
            self.issues.add_once(here, IssueKind::Unescaped { character: '<' });
        } else {
            self.issues.add(here, IssueKind::StrayEnd { name: quote(name) });
        }
    }

    #[inline]
    pub(crate) fn text(&mut self, here: &Here<'_>, text: &str) {
        if self.detail.is_some() && self.muted.is_none() && self.too_deep == 0 {
            let room = self.limits.failure_text.saturating_sub(self.text.len());
            self.text.push_str(&text[..text.floor_char_boundary(room)]);
        } else if self.stack.is_empty() && !text.trim_ascii().is_empty() {
            self.issues.add_once(here, IssueKind::TextOutsideRoot);
        }
    }

    /// Ends the document and hands out what was collected.
    pub(crate) fn finish(mut self, here: &Here<'_>) -> (Report, Vec<Issue>) {
        if !self.stopped {
            if let Some(innermost) = self.stack.iter().rev().find(|open| !matches!(open, Element::Other(_))) {
                let inside = innermost.name().to_owned();
                self.issues.add(here, IssueKind::CutOff { inside });
            } else if !self.stack.is_empty() {
                self.issues.add(here, IssueKind::CutOff { inside: "element".into() });
            } else if !self.is_report && self.cases_begun == 0 {
                self.issues.add(here, IssueKind::NoSuite);
            }
        }
        // Of a case that was cut off, only a failure is certain.
        self.finish_detail(here);
        if let Some(case) = self.case.take().filter(Case::has_failed) {
            self.finish_case(here, case);
        }
        let declared_tests = self.declared_by_root.or(self.declared_by_suites);
        let dialect = self.first_dialect.unwrap_or_else(|| self.signs.decide(None, &CaseSigns::default()));
        let report = Report {
            dialect,
            attempts: self.attempts.numbered(dialect, self.declared_by_suites),
            declared_tests,
            complete: !self.issues.any_invalid(),
        };
        (report, self.issues.into_list())
    }

    /// Whether markup is likely to be text that should have been escaped.
    fn in_text(&self) -> bool {
        self.muted.is_some() || self.detail.is_some()
    }

    fn begin_document(&mut self, here: &Here<'_>) {
        self.roots += 1;
        if self.roots > 1 {
            self.issues.add_once(here, IssueKind::AnotherDocument);
            self.signs = Signs::default();
            self.undecided = true;
            self.dialect = None;
            self.root_started = None;
        }
    }

    /// Closes a test case, and all in it, that another element ends.
    fn end_open_case(&mut self, here: &Here<'_>) {
        if self.case.is_some() {
            while self.case.is_some() && !self.stack.is_empty() {
                self.close_missing(here);
            }
        }
    }

    /// Closes the innermost element, which has no end tag.
    fn close_missing(&mut self, here: &Here<'_>) {
        let innermost = self.stack.last().map_or("element", |open| open.name());
        if matches!(self.stack.last(), Some(Element::Other(_))) && self.in_text() {
            self.issues.add_once(here, IssueKind::Unescaped { character: '<' });
        } else {
            self.issues.add(here, IssueKind::MissingEnd { name: innermost.into() });
        }
        self.close(here);
    }

    /// Closes the innermost element.
    fn close(&mut self, here: &Here<'_>) {
        let Some(element) = self.stack.pop() else { return };
        if self.muted.is_some() {
            if self.muted == Some(self.stack.len()) {
                self.muted = None;
            }
            return;
        }
        if self.detail.as_ref().is_some_and(|detail| detail.depth == self.stack.len()) {
            self.finish_detail(here);
            return;
        }
        match element {
            Element::TestCase => {
                if let Some(case) = self.case.take() {
                    self.finish_case(here, case);
                }
            }
            Element::TestSuite => {
                self.suites.pop();
                self.suite_names.pop();
            }
            _ => {}
        }
    }

    fn finish_detail(&mut self, here: &Here<'_>) {
        let (Some(detail), Some(case)) = (self.detail.take(), &mut self.case) else { return };
        if detail.element.is_rerun() {
            if self.attempts.len() + case.reruns.len() >= self.limits.attempts {
                self.stop(here);
                return;
            }
        } else if !case.wants(detail.element) {
            return;
        }
        let said = Said {
            element: detail.element,
            kind: detail.kind.as_deref().unwrap_or_default(),
            message: detail.message.as_deref().unwrap_or_default(),
            text: &self.text,
        };
        let ending = if case.dialect() == Dialect::Flakewise {
            crate::note::ending(said, detail.kind.is_some(), detail.message.is_some())
        } else {
            ending(case.dialect(), said)
        };
        if detail.element.is_rerun() {
            let Detail { element, duration, started, .. } = detail;
            case.reruns.push(Rerun { element, ending, duration, started });
        } else {
            case.end(detail.kind.as_deref().unwrap_or_default(), ending, detail.element);
        }
    }

    #[inline]
    fn finish_case(&mut self, here: &Here<'_>, case: Case) {
        if self.attempts.len() + case.reruns.len() >= self.limits.attempts {
            self.stop(here);
            return;
        }
        let host = self.suites.last().and_then(|suite| suite.host.as_ref());
        let issues = &mut self.issues;
        self.attempts.add(case, host, &mut |kind| issues.add(here, kind));
    }

    fn stop(&mut self, here: &Here<'_>) {
        self.issues.add_once(here, IssueKind::TooManyAttempts { limit: self.limits.attempts });
        self.stopped = true;
        self.case = None;
    }
}
