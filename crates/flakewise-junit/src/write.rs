//! Writing a report.
//!
//! The form is the common core of JUnit XML, with the elements for retries
//! that Surefire introduced. What it has no place for goes into properties of
//! the test case under names of our own:
//!
//! | property | what it holds |
//! |---|---|
//! | `flakewise.test` | the test's id |
//! | `flakewise.quarantine` | what the quarantine says about the test, for people |
//! | `flakewise.attempt.N.number`, `….phase` | where they do not follow from the order of the report |
//! | `flakewise.attempt.N.outcome` | `timed-out` or `crashed`, which others read as an error; any at the base |
//! | `flakewise.attempt.N.worker`, `….position` | as they are |
//! | `flakewise.attempt.N.fingerprint` | of the failure |
//! | `flakewise.attempt.N.kind`, `….message` | of a pass that has a failure all the same; of any failure at the base |
//!
//! `N` counts the attempts of one test case from 1 in the order of execution.
//! Failures before a pass become `flakyFailure` or `flakyError` of the case,
//! failures after a failure `rerunFailure` or `rerunError`; whatever else
//! follows an attempt of the same test is a case of its own. Characters that
//! XML does not allow are written `\u{…}`.
//!
//! An attempt at the base of a change says nothing about the code of the run:
//! to others, a pass there would make a regression look flaky, and a failure
//! one test more that fails. It is a skipped case under a name of its own, and
//! how it ended is in the properties.
//!
//! This is not written with `quick-junit`: it rounds times to milliseconds,
//! drops control characters, has no properties for reruns and would be a second
//! version of `quick-xml` in the build. Nor with the writer of `quick-xml`,
//! which leaves line ends in attributes for other readers to turn into spaces.

use std::collections::{BTreeMap, HashMap};
use std::io::{self, Write};
use std::time::Duration;

use chrono::SecondsFormat;
use flakewise_model::{Attempt, Failure, Foreign, Outcome, Phase, TestId};

use crate::note;

/// The name of the root, by which we know our own reports.
pub(crate) const ROOT_NAME: &str = "flakewise";

/// What follows the name of a test that ran at the base.
const AT_BASE: &str = " (at the base)";

/// Writes attempts as JUnit XML, so that [`read`](crate::read()) gives the same
/// attempts again, in the same order. Their run is not written.
pub fn write(out: impl Write, attempts: &[Attempt]) -> io::Result<()> {
    write_with_quarantine(out, attempts, &BTreeMap::new())
}

/// The same, with what the quarantine says about tests as a property of their cases.
pub fn write_with_quarantine(
    out: impl Write,
    attempts: &[Attempt],
    quarantine: &BTreeMap<TestId, String>,
) -> io::Result<()> {
    let mut writer = Writer { out, numbers: HashMap::new(), quarantine };
    let cases = cases(attempts);
    writeln!(writer.out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>")?;
    write!(writer.out, "<testsuites name=\"{ROOT_NAME}\"")?;
    writer.totals(&cases)?;
    writeln!(writer.out, ">")?;
    for suite in cases.chunk_by(|left, right| suite_name(left.test) == suite_name(right.test)) {
        writer.suite(suite)?;
    }
    writeln!(writer.out, "</testsuites>")?;
    writer.out.flush()
}

/// Attempts that one test case stands for, in the order of execution.
struct Case<'a> {
    test: &'a TestId,
    attempts: &'a [Attempt],
    /// The one that the test case itself stands for.
    main: usize,
}

impl Case<'_> {
    /// How it ended, for others.
    fn outcome(&self) -> Outcome {
        let main = &self.attempts[self.main];
        if main.phase == Phase::Base { Outcome::Skipped } else { main.outcome }
    }
}

/// Puts attempts together that one test case can hold.
fn cases(mut rest: &[Attempt]) -> Vec<Case<'_>> {
    let mut cases = Vec::new();
    while let Some(first) = rest.first() {
        let same = |attempt: &&Attempt| attempt.test == first.test && attempt.phase != Phase::Base;
        let failures =
            rest.iter().take_while(same).take_while(|attempt| attempt.outcome.is_failure()).count();
        let passed =
            rest.get(failures).filter(same).is_some_and(|attempt| attempt.outcome == Outcome::Passed);
        let (length, main) = match (failures, passed) {
            (0, _) => (1, 0),
            (failures, true) => (failures + 1, failures),
            (failures, false) => (failures, 0),
        };
        cases.push(Case { test: &first.test, attempts: &rest[..length], main });
        rest = &rest[length..];
    }
    cases
}

/// The scheme and module of a test as they stand in its id.
fn suite_name(test: &TestId) -> &str {
    let id = test.as_str();
    &id[..id.len() - test.without_scheme().len() + module(test).len()]
}

/// The module of a test as it stands in its id.
fn module(test: &TestId) -> &str {
    let rest = test.without_scheme();
    let mut at = 0;
    while let Some(next) = rest.as_bytes().get(at..at + 2) {
        match next {
            b"::" => return &rest[..at],
            [b'\\', _] => at += 2,
            _ => at += 1,
        }
    }
    rest
}

struct Writer<'a, W> {
    out: W,
    /// How many attempts of each test have been written.
    numbers: HashMap<&'a TestId, u32>,
    quarantine: &'a BTreeMap<TestId, String>,
}

impl<'a, W: Write> Writer<'a, W> {
    fn suite(&mut self, cases: &[Case<'a>]) -> io::Result<()> {
        write!(self.out, "  <testsuite")?;
        self.attribute("name", suite_name(cases[0].test))?;
        self.totals(cases)?;
        writeln!(self.out, ">")?;
        for case in cases {
            self.case(case)?;
        }
        writeln!(self.out, "  </testsuite>")
    }

    fn totals(&mut self, cases: &[Case<'_>]) -> io::Result<()> {
        let count = |wanted: &[Outcome]| cases.iter().filter(|case| wanted.contains(&case.outcome())).count();
        let time: Duration =
            cases.iter().flat_map(|case| case.attempts).filter_map(|attempt| attempt.duration).sum();
        write!(
            self.out,
            " tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"{}\" time=\"{}\"",
            cases.len(),
            count(&[Outcome::Failed]),
            count(&[Outcome::Errored, Outcome::TimedOut, Outcome::Crashed]),
            count(&[Outcome::Skipped]),
            seconds(time),
        )
    }

    fn case(&mut self, case: &Case<'a>) -> io::Result<()> {
        let main = &case.attempts[case.main];
        let suite = suite_name(case.test);
        // What follows `scheme:module::` reads best as class and name.
        let rest = case.test.as_str()[suite.len()..].trim_start_matches(':');
        let name_start = rest.len() - last_part(rest).len();
        let module = module(case.test);
        let classes = rest[..name_start].trim_end_matches(':');
        let separator = if module.is_empty() || classes.is_empty() { "" } else { "::" };
        write!(self.out, "    <testcase")?;
        self.attribute("classname", &format!("{module}{separator}{classes}"))?;
        let at_base = if main.phase == Phase::Base { AT_BASE } else { "" };
        self.attribute("name", &format!("{}{at_base}", &rest[name_start..]))?;
        self.times(main)?;
        writeln!(self.out, ">")?;
        writeln!(self.out, "      <properties>")?;
        self.property(note::TEST, case.test.as_str())?;
        if let Some(text) = self.quarantine.get(case.test) {
            self.property(note::QUARANTINE, text)?;
        }
        for (index, attempt) in case.attempts.iter().enumerate() {
            self.notes(index + 1, attempt)?;
        }
        writeln!(self.out, "      </properties>")?;
        if main.phase == Phase::Base {
            writeln!(self.out, "      <skipped/>")?;
        } else if main.outcome != Outcome::Passed {
            self.ending(element(main.outcome), main, false)?;
        }
        for (index, attempt) in case.attempts.iter().enumerate() {
            if index != case.main {
                let failed = attempt.outcome == Outcome::Failed;
                let name = match (main.outcome, failed) {
                    (Outcome::Passed, true) => "flakyFailure",
                    (Outcome::Passed, false) => "flakyError",
                    (_, true) => "rerunFailure",
                    (_, false) => "rerunError",
                };
                self.ending(name, attempt, true)?;
            }
        }
        writeln!(self.out, "    </testcase>")
    }

    fn notes(&mut self, index: usize, attempt: &'a Attempt) -> io::Result<()> {
        let expected = self.numbers.entry(&attempt.test).or_default();
        *expected += 1;
        let numbered = attempt.number == *expected;
        let phased = attempt.phase == note::default_phase(attempt.number);
        let mut fields = Vec::new();
        if !(numbered && phased) {
            fields.push(("number", attempt.number.to_string()));
        }
        if !phased {
            fields.push(("phase", attempt.phase.name().to_owned()));
        }
        let at_base = attempt.phase == Phase::Base;
        if at_base || matches!(attempt.outcome, Outcome::TimedOut | Outcome::Crashed) {
            fields.push(("outcome", attempt.outcome.name().to_owned()));
        }
        if let Some(worker) = &attempt.worker {
            fields.push(("worker", note::escape(worker).into_owned()));
        }
        if let Some(position) = attempt.position {
            fields.push(("position", position.to_string()));
        }
        if let Some(failure) = &attempt.failure {
            let Failure { kind, message, fingerprint } = &**failure;
            if at_base || attempt.outcome == Outcome::Passed {
                fields.push(("message", note::escape(message).into_owned()));
                fields.extend(kind.iter().map(|kind| ("kind", note::escape(kind).into_owned())));
            }
            let fingerprint =
                fingerprint.iter().map(|fingerprint| note::escape(fingerprint.as_str()).into_owned());
            fields.extend(fingerprint.map(|fingerprint| ("fingerprint", fingerprint)));
        }
        for (field, value) in fields {
            self.property(&format!("{}{index}.{field}", note::ATTEMPT), &value)?;
        }
        Ok(())
    }

    /// An element that says how an attempt ended.
    fn ending(&mut self, name: &str, attempt: &Attempt, with_times: bool) -> io::Result<()> {
        write!(self.out, "      <{name}")?;
        if let Some(failure) = &attempt.failure {
            self.attribute("message", &note::escape(&failure.message))?;
            if let Some(kind) = &failure.kind {
                self.attribute("type", &note::escape(kind))?;
            }
        }
        if with_times {
            self.times(attempt)?;
        }
        writeln!(self.out, "/>")
    }

    fn times(&mut self, attempt: &Attempt) -> io::Result<()> {
        if let Some(duration) = attempt.duration {
            write!(self.out, " time=\"{}\"", seconds(duration))?;
        }
        if let Some(started) = attempt.started {
            self.attribute("timestamp", &started.to_rfc3339_opts(SecondsFormat::AutoSi, true))?;
        }
        Ok(())
    }

    fn property(&mut self, name: &str, value: &str) -> io::Result<()> {
        write!(self.out, "        <property")?;
        self.attribute("name", name)?;
        self.attribute("value", value)?;
        writeln!(self.out, "/>")
    }

    fn attribute(&mut self, name: &str, value: &str) -> io::Result<()> {
        write!(self.out, " {name}=\"{}\"", Foreign::new(value).xml())
    }
}

/// What follows the last unescaped `::`.
fn last_part(text: &str) -> &str {
    let bytes = text.as_bytes();
    let (mut at, mut start) = (0, 0);
    while let Some(next) = bytes.get(at..at + 2) {
        match next {
            b"::" => {
                at += 2;
                start = at;
            }
            [b'\\', _] => at += 2,
            _ => at += 1,
        }
    }
    // An escaped character may be several bytes, of which none is a colon.
    &text[start..]
}

fn element(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Skipped => "skipped",
        Outcome::Errored | Outcome::TimedOut | Outcome::Crashed => "error",
        Outcome::Passed | Outcome::Failed => "failure",
    }
}

/// Seconds, exact, with three decimals at least.
fn seconds(duration: Duration) -> String {
    let mut text = format!("{}.{:09}", duration.as_secs(), duration.subsec_nanos());
    let keep = text.trim_end_matches('0').len().max(text.len() - 6);
    text.truncate(keep);
    text
}
