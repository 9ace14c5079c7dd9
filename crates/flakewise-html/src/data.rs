//! The data of the page's script: a block of JSON, compact since there may be ten
//! thousand tests.
//!
//! The shape is between this file and `assets/report.js` of the same build; it is
//! no promise to anybody.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use chrono::NaiveDate;
use flakewise_model::{
    CulpritNote, FailureGroup, FindingId, FlakeRate, Foreign, Outcome, OutcomeStep, Probability,
    ProjectOverview, Tally, TestDetails, TestId, TestOverview, Timestamp, shell_word,
};
use flakewise_report::{change_line, reasons, short_commit};
use serde::Serialize;
use serde::ser::{SerializeTuple as _, Serializer};

use crate::words::{conclusion, excerpt, head, line, test_name};

/// Days of the strip in each row.
pub(crate) const STRIP_DAYS: u64 = 90;
/// Failure groups and attempts shown of one test.
const GROUPS: usize = 8;
const STEPS: usize = 120;
/// Hashes are shorter than this.
const COMMIT: usize = 64;

/// The block of JSON, safe within a `script` element: `<` and `>` are written as
/// escapes, so no end tag and no comment can begin in it.
pub(crate) fn block(overview: &ProjectOverview, ids: &[String]) -> String {
    let text = serde_json::to_string(&Data::new(overview, ids)).expect("keys are strings and numbers finite");
    // Characters that reorder or hide text are escapes too; they are part of no
    // value here, since all values are clean.
    Foreign::new(&text).json().replace('<', "\\u003c").replace('>', "\\u003e")
}

/// The ids by which the page's links name tests, in their order. Two tests of one
/// short id are distinguished by a number.
pub(crate) fn link_ids(overview: &ProjectOverview) -> Vec<String> {
    let mut seen: HashMap<String, usize> = HashMap::new();
    let ids = overview.tests.iter().map(|test| FindingId::of(&test.test).to_string());
    ids.map(|id| {
        let times = seen.entry(id.clone()).or_default();
        *times += 1;
        if *times == 1 { id } else { format!("{id}-{times}") }
    })
    .collect()
}

#[derive(Serialize)]
struct Data {
    first: Option<String>,
    last: Option<String>,
    verdicts: Vec<String>,
    kinds: Vec<String>,
    files: Vec<String>,
    owners: Vec<String>,
    tests: Vec<Row>,
    details: InOrder,
}

impl Data {
    fn new(overview: &ProjectOverview, ids: &[String]) -> Self {
        let mut verdicts = Names::default();
        let mut kinds = Names::default();
        let mut files = Names::default();
        let mut owners = Names::default();
        let strip = overview.window.map(|window| strip_window(window.0, window.1));
        let mut details = Vec::new();
        let tests = overview.tests.iter().zip(ids).map(|(test, id)| {
            if let Some(more) = &test.details {
                details.push((id.clone(), Details::new(test, more)));
            }
            let interval = test.rate.interval();
            Row {
                id: id.clone(),
                name: test_name(&test.test),
                file: files.index(&line(&test.test.module())),
                verdict: verdicts.index(conclusion(test.verdict.conclusion)),
                kind: kinds.index(&line(test.kind.as_deref().unwrap_or_default())),
                rate: test.rate,
                low: thousandths(interval.low),
                high: thousandths(interval.high),
                runs: test.cost.runs_disturbed,
                lost: u64::try_from(test.cost.time_lost.as_millis()).unwrap_or(u64::MAX),
                last: test.last_failed.map(day).unwrap_or_default(),
                owner: owners.index(&line(test.owner.as_deref().unwrap_or_default())),
                quarantine: test
                    .quarantine
                    .as_ref()
                    .map(|note| note.expires.map_or_else(|| "no end".to_owned(), |day| day.to_string())),
                strip: strip.map_or_else(String::new, |window| encode(window, &test.days)),
            }
        });
        Self {
            tests: tests.collect(),
            first: strip.map(|(first, _)| first.to_string()),
            last: strip.map(|(_, last)| last.to_string()),
            verdicts: verdicts.names,
            kinds: kinds.names,
            files: files.names,
            owners: owners.names,
            details: InOrder(details),
        }
    }
}

/// Texts that many rows share, by number.
#[derive(Default)]
struct Names {
    names: Vec<String>,
    index: HashMap<String, usize>,
}

impl Names {
    fn index(&mut self, name: &str) -> usize {
        match self.index.entry(name.to_owned()) {
            Entry::Occupied(known) => *known.get(),
            Entry::Vacant(vacant) => {
                self.names.push(name.to_owned());
                *vacant.insert(self.names.len() - 1)
            }
        }
    }
}

/// One line of the table, written as an array.
struct Row {
    id: String,
    name: String,
    file: usize,
    verdict: usize,
    kind: usize,
    rate: FlakeRate,
    low: f64,
    high: f64,
    runs: u64,
    lost: u64,
    last: String,
    owner: usize,
    quarantine: Option<String>,
    strip: String,
}

impl Serialize for Row {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut tuple = serializer.serialize_tuple(15)?;
        tuple.serialize_element(&self.id)?;
        tuple.serialize_element(&self.name)?;
        tuple.serialize_element(&self.file)?;
        tuple.serialize_element(&self.verdict)?;
        tuple.serialize_element(&self.kind)?;
        tuple.serialize_element(&self.rate.failures)?;
        tuple.serialize_element(&self.rate.attempts)?;
        tuple.serialize_element(&self.low)?;
        tuple.serialize_element(&self.high)?;
        tuple.serialize_element(&self.runs)?;
        tuple.serialize_element(&self.lost)?;
        tuple.serialize_element(&self.last)?;
        tuple.serialize_element(&self.owner)?;
        tuple.serialize_element(&self.quarantine)?;
        tuple.serialize_element(&self.strip)?;
        tuple.end()
    }
}

/// A map whose order is that of the table, so that the same input gives the same
/// bytes.
struct InOrder(Vec<(String, Details)>);

impl Serialize for InOrder {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(id, details)| (id, details)))
    }
}

#[derive(Serialize)]
struct Details {
    runner: String,
    probability: String,
    evidence: Vec<String>,
    changes: Vec<String>,
    reruns: [u64; 2],
    since: String,
    quarantine: Option<[String; 3]>,
    steps: Vec<Step>,
    failures: Vec<Group>,
    more_failures: usize,
    culprits: Vec<Culprit>,
    reproduce: Option<String>,
}

impl Details {
    fn new(test: &TestOverview, details: &TestDetails) -> Self {
        let surplus = details.steps.len().saturating_sub(STEPS);
        Self {
            runner: line(test.test.scheme()),
            probability: test.verdict.probability.to_string(),
            evidence: reasons(&test.verdict).iter().map(|reason| line(reason)).collect(),
            changes: details.changes.iter().map(|change| line(&change_line(change))).collect(),
            reruns: [test.reruns.failures, test.reruns.attempts],
            since: test.since.map(day).unwrap_or_default(),
            quarantine: test.quarantine.as_ref().map(|note| {
                let expires = note.expires.map(|day| day.to_string()).unwrap_or_default();
                let text = |text: &Option<String>| line(text.as_deref().unwrap_or_default());
                [expires, text(&note.owner), text(&note.reason)]
            }),
            steps: details.steps[surplus..].iter().map(Step::from).collect(),
            failures: details.failures.iter().take(GROUPS).map(Group::from).collect(),
            more_failures: details.failures.len().saturating_sub(GROUPS),
            culprits: details.culprits.iter().map(Culprit::from).collect(),
            reproduce: match &details.reproduce {
                Some(command) => Some(command.clone()).filter(|command| line(command) == *command),
                None => reproduce(&test.test),
            },
        }
    }
}

/// Outcome, time, commit, variant.
#[derive(Serialize)]
struct Step(char, String, String, String);

impl From<&OutcomeStep> for Step {
    fn from(step: &OutcomeStep) -> Self {
        let outcome = match step.outcome {
            Outcome::Passed => 'p',
            Outcome::Skipped => 's',
            _ if step.outage => 'o',
            Outcome::Failed => 'f',
            Outcome::Errored => 'e',
            Outcome::TimedOut => 't',
            Outcome::Crashed => 'c',
        };
        let commit =
            step.commit.as_deref().map(|commit| short_commit(head(commit, COMMIT))).unwrap_or_default();
        Self(outcome, step.at.format("%Y-%m-%d %H:%M").to_string(), line(&commit), line(&step.variant))
    }
}

/// Kind, message, fingerprint, count, first and last day.
#[derive(Serialize)]
struct Group(String, String, String, u64, String, String);

impl From<&FailureGroup> for Group {
    fn from(group: &FailureGroup) -> Self {
        let fingerprint = group.fingerprint.as_ref().map(|fingerprint| line(fingerprint.as_str()));
        Self(
            line(group.kind.as_deref().unwrap_or_default()),
            excerpt(&group.message),
            fingerprint.unwrap_or_default(),
            group.count,
            day(group.first_seen),
            day(group.last_seen),
        )
    }
}

#[derive(Serialize)]
struct Culprit {
    tests: Vec<String>,
    shared: Vec<String>,
}

impl From<&CulpritNote> for Culprit {
    fn from(note: &CulpritNote) -> Self {
        let name = |test: &TestId| line(test.without_scheme());
        Self {
            tests: note.tests.iter().map(name).collect(),
            shared: note.shared.iter().map(|state| line(state)).collect(),
        }
    }
}

/// How to look for a command that makes a test fail; pytest only, as the command
/// it names.
fn reproduce(test: &TestId) -> Option<String> {
    let name = test.without_scheme();
    // A name that cannot be shown as it is cannot be copied from the page either.
    let is_plain = line(name) == name && !name.contains('\\');
    (test.scheme() == "pytest" && is_plain)
        .then(|| format!("flakewise reproduce {} -- pytest", shell_word(name)))
}

/// The days that strips show: the last of the window.
fn strip_window(first: NaiveDate, last: NaiveDate) -> (NaiveDate, NaiveDate) {
    (first.max(last - chrono::Days::new(STRIP_DAYS - 1)), last)
}

/// One character per day: `-` if the test did not run, `0` if it only passed, and
/// up to `9` by the share of attempts that failed.
fn encode((first, last): (NaiveDate, NaiveDate), days: &[(NaiveDate, Tally)]) -> String {
    let length = usize::try_from((last - first).num_days()).map_or(0, |days| days + 1);
    let mut strip = vec![b'-'; length];
    for (day, tally) in days {
        let at = usize::try_from((*day - first).num_days()).ok();
        let Some(cell) = at.and_then(|at| strip.get_mut(at)) else { continue };
        if tally.runs() > 0 {
            let share = u8::try_from(tally.failed.saturating_mul(9).div_ceil(tally.runs())).unwrap_or(9);
            *cell = b'0' + share;
        }
    }
    strip.into_iter().map(char::from).collect()
}

fn day(at: Timestamp) -> String {
    at.format("%Y-%m-%d").to_string()
}

fn thousandths(probability: Probability) -> f64 {
    (probability.get() * 1000.0).round() / 1000.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn date(day: u32) -> NaiveDate {
        NaiveDate::from_ymd_opt(2026, 11, day).expect("a day")
    }

    #[test]
    fn a_strip_has_one_character_per_day() {
        let tally = |passed, failed| Tally { passed, failed };
        let days = [
            (date(1), tally(9, 9)),
            (date(3), tally(5, 0)),
            (date(4), tally(999, 1)),
            (date(5), tally(1, 1)),
            (date(6), tally(0, 3)),
        ];
        assert_eq!(encode((date(2), date(7)), &days), "-0159-");
        assert_eq!(strip_window(date(1), date(7)), (date(1), date(7)));
        let long_ago = NaiveDate::from_ymd_opt(2020, 1, 1).expect("a day");
        assert_eq!(encode(strip_window(long_ago, date(7)), &[]).len(), 90);
    }

    #[test]
    fn only_names_that_can_be_copied_get_a_command() {
        let command = |name: &str| reproduce(&TestId::builder("pytest", "a.py").finish(name, None));
        assert_eq!(command("test_a"), Some("flakewise reproduce a.py::test_a -- pytest".to_owned()));
        assert_eq!(command("test_\u{202e}a"), None);
        assert_eq!(
            command("test_a;rm -rf"),
            Some("flakewise reproduce 'a.py::test_a;rm -rf' -- pytest".to_owned())
        );
        assert_eq!(reproduce(&TestId::builder("junit", "a").finish("test", None)), None);
    }
}
