//! What the tags say, attribute by attribute.

use std::borrow::Cow;
use std::time::Duration;

use flakewise_model::Timestamp;

use super::{Collector, Detail, Suite};
use crate::Dialect;
use crate::attributes::{Attribute, Attributes};
use crate::case::{Case, Plain, Status};
use crate::dialect::CaseSigns;
use crate::element::Element;
use crate::identity::{CaseNames, SuiteNames};
use crate::issue::{Here, IssueKind};
use crate::value;

impl Collector<'_> {
    pub(super) fn begin_suites(&mut self, here: &Here<'_>, attributes: &str) {
        self.is_report = true;
        let mut attributes = Attributes::new(attributes);
        for attribute in attributes.by_ref() {
            let value = self.value(here, attribute);
            match attribute.name {
                "tests" => add_declared(&mut self.declared_by_root, &value),
                "timestamp" => self.root_started = self.timestamp(here, &value),
                _ => {}
            }
            self.signs.root(attribute.name, &value);
        }
        self.check(here, &attributes, "testsuites");
    }

    pub(super) fn begin_suite(&mut self, here: &Here<'_>, attributes: &str) {
        self.is_report = true;
        self.suites_begun += 1;
        let outermost = self.suites.is_empty();
        let parent = self.suites.last();
        let mut suite = Suite {
            started: parent.map_or(self.root_started, |parent| parent.started),
            host: parent.and_then(|parent| parent.host.clone()),
        };
        let mut names = SuiteNames { serial: self.suites_begun, ..SuiteNames::default() };
        self.signs.begin_suite(outermost);
        self.undecided |= outermost;
        let mut attributes = Attributes::new(attributes);
        for attribute in attributes.by_ref() {
            let value = self.value(here, attribute);
            match attribute.name {
                "name" => value.as_ref().clone_into(&mut names.name),
                "file" | "filepath" => value.as_ref().clone_into(&mut names.file),
                "hostname" => {
                    value.as_ref().clone_into(&mut names.hostname);
                    if !matches!(&*value, "" | "localhost" | "localhost.localdomain" | "127.0.0.1") {
                        suite.host = Some(value.as_ref().into());
                    }
                }
                "timestamp" => suite.started = self.timestamp(here, &value).or(suite.started),
                "tests" if outermost => add_declared(&mut self.declared_by_suites, &value),
                _ => {}
            }
            self.signs.suite(attribute.name, &value);
        }
        if outermost {
            // A suite may declare any number.
            let declared = self.declared_by_suites.and_then(|tests| usize::try_from(tests).ok()).unwrap_or(0);
            self.attempts.reserve(declared.min(self.expected).saturating_sub(self.attempts.len()));
        }
        self.check(here, &attributes, "testsuite");
        self.suites.push(suite);
        self.suite_names.push(names);
    }

    #[inline]
    pub(super) fn begin_case(&mut self, here: &Here<'_>, attributes: &str, empty: bool) {
        let mut names = CaseValues::default();
        let mut signs = CaseSigns::default();
        let mut duration = None;
        let mut started = None;
        let mut status = Status::Unsaid;
        let mut attributes = Attributes::new(attributes);
        for attribute in attributes.by_ref() {
            let value = self.value(here, attribute);
            match attribute.name {
                "name" => names.name = value,
                "classname" => names.classname = value,
                "time" | "duration" => duration = self.duration(here, &value),
                "file" | "filepath" => names.file = value,
                "timestamp" | "started-at" => started = self.timestamp(here, &value),
                "class" => names.class = value,
                "status" => {
                    signs.has_status = true;
                    status = status.or(&value);
                }
                "result" => {
                    signs.has_result = true;
                    status = status.or(&value);
                }
                "assertions" => signs.has_assertions = true,
                _ => {}
            }
        }
        self.check(here, &attributes, "testcase");
        if names.name.is_empty() {
            self.issues.add_once(here, IssueKind::Nameless);
        }
        let case_names = CaseNames {
            name: &names.name,
            classname: &names.classname,
            class: &names.class,
            file: &names.file,
        };
        if std::mem::take(&mut self.undecided) {
            signs.name = &names.name;
            signs.classname = &names.classname;
            signs.file = &names.file;
            signs.class = &names.class;
            self.dialect = Some(self.signs.decide(self.dialect, &signs));
            self.first_dialect = self.first_dialect.or(self.dialect);
        }
        let dialect = self.dialect.unwrap_or_default();
        let test = self.identities.id(dialect, &self.suite_names, case_names, self.ids);
        let position = dialect.in_execution_order().then_some(self.cases_begun);
        self.cases_begun = self.cases_begun.saturating_add(1);
        let started = started.or_else(|| self.suites.last().map_or(self.root_started, |suite| suite.started));
        let plain = Plain { dialect, test, duration, started, position, status };
        if !empty {
            self.case = Some(Case::new(plain));
        } else if self.attempts.len() < self.limits.attempts {
            self.attempts.add_plain(plain, self.suites.last().and_then(|suite| suite.host.as_ref()));
        } else {
            self.stop(here);
        }
    }

    pub(super) fn property(&mut self, here: &Here<'_>, attributes: &str) {
        let mut name = Cow::Borrowed("");
        let mut value = Cow::Borrowed("");
        for attribute in Attributes::new(attributes) {
            match attribute.name {
                "name" => name = self.value(here, attribute),
                "value" => value = self.value(here, attribute),
                _ => {}
            }
        }
        if let Some(case) = &mut self.case {
            case.note(&name, &value, self.limits.tag);
        } else {
            self.signs.property(&name);
        }
    }

    pub(super) fn begin_output(&mut self) {
        let only_words = |case: &Case| case.dialect() == Dialect::CTest && case.failed_without_a_word();
        if self.stack.last() == Some(&Element::TestCase) && self.case.as_ref().is_some_and(only_words) {
            // CTest gives nothing but the output.
            self.text.clear();
            self.detail = Some(Detail {
                element: Element::Output,
                depth: self.stack.len(),
                kind: None,
                message: None,
                duration: None,
                started: None,
            });
        } else {
            self.muted = Some(self.stack.len());
        }
    }

    pub(super) fn begin_detail(&mut self, here: &Here<'_>, element: Element, attributes: &str) {
        if !element.is_rerun() {
            self.attempts.count_ending();
        }
        let mut detail = Detail {
            element,
            depth: self.stack.len(),
            kind: None,
            message: None,
            duration: None,
            started: None,
        };
        let mut attributes = Attributes::new(attributes);
        for attribute in attributes.by_ref() {
            let value = self.value(here, attribute);
            match attribute.name {
                "type" => detail.kind = Some(value.into_owned()),
                "message" => detail.message = Some(value.into_owned()),
                "time" => detail.duration = self.duration(here, &value),
                "timestamp" => detail.started = self.timestamp(here, &value),
                _ => {}
            }
        }
        self.check(here, &attributes, element.name());
        self.text.clear();
        self.detail = Some(detail);
    }

    #[inline]
    fn value<'a>(&mut self, here: &Here<'_>, attribute: Attribute<'a>) -> Cow<'a, str> {
        let issues = &mut self.issues;
        attribute.value(self.limits.attribute, &mut |kind| issues.add_once(here, kind))
    }

    fn duration(&mut self, here: &Here<'_>, text: &str) -> Option<Duration> {
        // Nothing is said, rather than something wrong.
        if text.is_empty() {
            return None;
        }
        value::duration(text).map_err(|kind| self.issues.add(here, kind)).ok()
    }

    fn timestamp(&mut self, here: &Here<'_>, text: &str) -> Option<Timestamp> {
        if self.signs.are_ours() {
            return value::exact_timestamp(text);
        }
        value::timestamp(text).map_err(|kind| self.issues.add(here, kind)).ok().flatten()
    }

    fn check(&mut self, here: &Here<'_>, attributes: &Attributes<'_>, name: &str) {
        if attributes.broken() {
            self.issues.add(here, IssueKind::BrokenTag { tag: format!("<{name} …>") });
        }
    }
}

/// The values that name a test case.
#[derive(Default)]
struct CaseValues<'a> {
    name: Cow<'a, str>,
    classname: Cow<'a, str>,
    class: Cow<'a, str>,
    file: Cow<'a, str>,
}

fn add_declared(total: &mut Option<u64>, text: &str) {
    if let Ok(count) = text.trim().parse::<u64>() {
        *total = Some(total.unwrap_or(0).saturating_add(count));
    }
}
