//! How to make a test fail again: the line that is printed, and what came of it.
//!
//! [`reproduction`] is pure. [`try_lines`] runs the lines that are expected to fail
//! every time, once each, while the budget lasts.

use std::collections::{BTreeSet, HashMap};
use std::ffi::OsString;
use std::path::Path;
use std::time::{Duration, Instant};

use flakewise_model::{
    Blame, FindingId, FlakyKind, Outcome, Phase, PlainCommand, Reproduction, RunReport, Tally, shell_word,
    tries,
};
use flakewise_runner::{Execution, LineEnd, OrderPlugins, SessionFacts, Typed, run_line, scratch_folder};

/// The fewest and the most runs of a loop. It ends with the first failure, this many
/// cost little where a test fails often.
const REPEATS: (u32, u32) = (20, 200);
/// With this probability a loop shows the failure, if it has the observed rate.
const LOOP_SHOWS: f64 = 0.95;
/// A test that hangs is given this much more time than its limit, to start.
const START: Duration = Duration::from_secs(10);
/// How much longer than before a process may take.
const MARGIN: f64 = 1.5;

/// What a test needs to fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Manner {
    /// Nothing: it fails by itself.
    Alone,
    /// What ran before it.
    AfterOthers,
    /// Luck.
    Sometimes(Tally),
}

impl Manner {
    /// What a test needs that was judged so, going by how it ended on this code.
    pub(crate) fn of(blame: &Blame, executions: &[Execution]) -> Self {
        match blame {
            Blame::Flaky(FlakyKind::HashSeed) => Self::Alone,
            Blame::Flaky(FlakyKind::StateDependent | FlakyKind::Bursty | FlakyKind::ProcessDependent) => {
                Self::AfterOthers
            }
            Blame::Flaky(_) => {
                let mut tally = Tally::default();
                let own = executions.iter().filter(|one| one.phase != Phase::Base);
                for one in own.filter(|one| one.outcome != Outcome::Skipped) {
                    tally.add(one.outcome.is_failure());
                }
                Self::Sometimes(tally)
            }
            _ => Self::Alone,
        }
    }
}

/// A line to be tried before it is printed.
#[derive(Clone, Debug, PartialEq)]
pub struct Trial {
    /// What it is to show.
    finding: FindingId,
    /// Options for pytest that keep its reports from being written.
    options: &'static str,
    /// What to print if the line does not show the failure.
    instead: String,
    /// Whether the failure takes the process along.
    is_violent: bool,
    /// How long it will take; none if that is unknown.
    expected: Option<Duration>,
    /// The least time it must be given.
    least: Duration,
}

/// The line that reproduces a failure, and how to try it if it is expected to fail
/// every time.
pub(crate) fn reproduction(
    facts: &SessionFacts<'_>,
    typed: &Typed,
    finding: FindingId,
    name: &str,
    manner: Manner,
    executions: &[Execution],
    test_timeout: Duration,
) -> (Reproduction, Option<Trial>) {
    let whole = facts.whole_command(typed, OrderPlugins::Seeded);
    let plain = facts.plain_command(typed, OrderPlugins::Seeded).filter(|_| manner != Manner::AfterOthers);
    let Some(mut plain) = plain else { return (whole.line([]).into(), None) };
    let first = executions.iter().find(|one| one.outcome.is_failure()).map(|one| one.outcome);
    let limit = test_timeout + START;
    if first == Some(Outcome::TimedOut) {
        let seconds = limit.as_secs_f64().ceil().to_string();
        // Some that hang are deaf to requests.
        let words = ["timeout", "-k", "5", &seconds].map(str::to_owned);
        plain.words.splice(0..0, words);
    }
    let argument = facts.argument(name);
    let names = [argument.as_str()];
    if let Manner::Sometimes(tally) = manner {
        return (plain.repeated(names, repeats(tally)).into(), None);
    }
    let trial = can_be_tried(&plain).then(|| Trial {
        finding,
        options: facts.quiet_options(),
        instead: whole.line([]),
        is_violent: matches!(first, Some(Outcome::Crashed | Outcome::TimedOut)),
        expected: executions
            .iter()
            .filter(|one| one.phase == Phase::Fresh)
            .filter_map(|one| one.cost)
            .map(|cost| cost.wall)
            .max(),
        least: if first == Some(Outcome::TimedOut) { limit } else { Duration::ZERO },
    });
    (plain.line(names).into(), trial)
}

/// Whether we have all that the line needs, and can learn what comes of it.
fn can_be_tried(plain: &PlainCommand) -> bool {
    let is_withheld = |(name, value): &(String, String)| *value == format!("\"${name}\"");
    plain.variables.iter().all(|variable| variable.0 != "PYTEST_ADDOPTS" && !is_withheld(variable))
}

/// How often to run a test so that it very likely fails. That it was looked at
/// because it failed once says little about its rate, so that failure counts half.
fn repeats(tally: Tally) -> u32 {
    let rate = (tally.failed.max(1) as f64 - 0.5) / tally.runs().max(1) as f64;
    tries(rate.min(0.99), 1.0 - LOOP_SHOWS).clamp(REPEATS.0, REPEATS.1)
}

/// Runs lines once each, while the budget lasts, and notes how their tests ended.
/// No process of the suite may be running any more.
pub fn try_lines(report: &mut RunReport, trials: &[Trial], budget: Duration, tell: &dyn Fn(&str)) {
    let began = Instant::now();
    let suite_time = report.suite_time;
    // One of each incident first: that is what people see.
    let mut seen = BTreeSet::new();
    let (mut order, mut rest) = (Vec::new(), Vec::new());
    for (place, failure) in report.failures.iter().enumerate() {
        let list = if seen.insert(failure.incident) { &mut order } else { &mut rest };
        list.push(place);
    }
    order.append(&mut rest);
    // There may be very many of both. Of two with one id the first counts.
    let by_finding = trials.iter().rev().map(|trial| (&trial.finding, trial));
    let trials: HashMap<&FindingId, &Trial> = by_finding.collect();
    for place in order {
        let failure = &mut report.failures[place];
        let Some(trial) = trials.get(&failure.id) else { continue };
        let left = budget.saturating_sub(began.elapsed());
        let expected = trial.expected.unwrap_or(suite_time).mul_f64(MARGIN).max(trial.least);
        if expected > left {
            continue;
        }
        tell(&failure.name);
        match try_line(&failure.reproduce.command, trial, left) {
            Tried::Ended(Some(true)) => failure.reproduce.tried = Some(Tally { passed: 0, failed: 1 }),
            Tried::Ended(Some(false)) => failure.reproduce = trial.instead.clone().into(),
            Tried::Ended(None) => {}
            Tried::Interrupted => return,
        }
    }
}

enum Tried {
    /// Whether the test failed; none if it did not come to that.
    Ended(Option<bool>),
    Interrupted,
}

fn try_line(line: &str, trial: &Trial, limit: Duration) -> Tried {
    let Ok(folder) = scratch_folder() else { return Tried::Ended(None) };
    let report = folder.path().join("report.xml");
    match run_line(line, &surroundings(folder.path(), &report, trial.options), limit) {
        LineEnd::Ended(status) => {
            let text = std::fs::read_to_string(&report).unwrap_or_default();
            Tried::Ended(
                outcome(&text)
                    .or_else(|| (trial.is_violent && text.is_empty() && !status.success()).then_some(true)),
            )
        }
        LineEnd::TimedOut | LineEnd::NotStarted => Tried::Ended(None),
        LineEnd::Interrupted => Tried::Interrupted,
    }
}

/// Variables with which a trial tells how the test ended, and leaves the user's
/// cache, reports and measured coverage as they are.
fn surroundings(folder: &Path, report: &Path, options: &str) -> [(&'static str, OsString); 2] {
    let word = |path: &Path| shell_word(&path.to_string_lossy());
    let own = format!("-o cache_dir={} --junitxml={} {options}", word(&folder.join("cache")), word(report));
    let options = match std::env::var("PYTEST_ADDOPTS") {
        Ok(given) => format!("{given} {own}"),
        Err(_) => own,
    };
    [("PYTEST_ADDOPTS", options.into()), ("COVERAGE_FILE", folder.join("coverage").into())]
}

/// Whether the only test of a report by pytest failed; none if there is no such
/// test, or it was skipped.
fn outcome(report: &str) -> Option<bool> {
    let cases: Vec<&str> = report.split("<testcase ").skip(1).collect();
    let names: BTreeSet<&str> =
        cases.iter().filter_map(|case| case.split('>').next()).filter_map(name_of).collect();
    if names.len() != 1 {
        return None;
    }
    // What tests print and say is escaped.
    let has = |tag: &str| cases.iter().any(|case| case.contains(tag));
    if has("<failure") || has("<error") {
        return Some(true);
    }
    (!has("<skipped")).then_some(false)
}

/// The name in the attributes of a test case.
fn name_of(attributes: &str) -> Option<&str> {
    attributes.split(" name=\"").nth(1)?.split('"').next()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use flakewise_model::TestId;

    use super::*;
    use crate::testing::execution;

    const FAILED: (Phase, Outcome) = (Phase::First, Outcome::Failed);

    /// What is printed for a test that ended so, and whether it is to be tried.
    fn line(typed: &str, manner: Manner, ended: &[(Phase, Outcome)]) -> (String, bool) {
        let words: Vec<String> = typed.split(' ').map(str::to_owned).collect();
        let argv: Vec<String> = ["python", "/bin/pytest", "-q"].map(str::to_owned).to_vec();
        let (named, names) = (Vec::new(), Vec::new());
        let variables = BTreeMap::from([("PYTHONHASHSEED".to_owned(), "7".to_owned())]);
        let seeds = BTreeMap::new();
        let facts = SessionFacts {
            executable: "/usr/bin/python",
            argv: &argv,
            folder: "/shop",
            root: "/shop",
            named: &named,
            names: &names,
            variables: &variables,
            seeds: &seeds,
            modules: &[],
            hash_seed: 7,
        };
        let typed = Typed { words, folder: "/shop".into(), variables: BTreeMap::new() };
        let executions: Vec<Execution> =
            ended.iter().map(|(phase, outcome)| execution(0, *phase, *outcome)).collect();
        let finding = FindingId::of(&TestId::builder("pytest", "a.py").finish("t", None));
        let (reproduction, trial) =
            reproduction(&facts, &typed, finding, "a.py::t", manner, &executions, Duration::from_secs(2));
        assert_eq!(reproduction.tried, None);
        (reproduction.command, trial.is_some())
    }

    #[test]
    fn the_line_is_what_the_failure_needs() {
        let check = |manner, ended: &[_], wanted: &str, tried| {
            assert_eq!(line("uv run pytest -q", manner, ended), (wanted.to_owned(), tried));
        };
        check(Manner::Alone, &[FAILED], "PYTHONHASHSEED=7 uv run pytest -q a.py::t", true);
        check(Manner::AfterOthers, &[FAILED], "PYTHONHASHSEED=7 uv run pytest -q", false);
        let once = Manner::Sometimes(Tally { passed: 1, failed: 1 });
        let repeated = "for i in $(seq 20); do PYTHONHASHSEED=7 uv run pytest -q a.py::t || break; done";
        check(once, &[FAILED], repeated, false);
        let hangs = "PYTHONHASHSEED=7 timeout -k 5 12 uv run pytest -q a.py::t";
        check(Manner::Alone, &[(Phase::First, Outcome::TimedOut)], hangs, true);
    }

    #[test]
    fn the_kind_of_flake_says_what_a_failure_needs() {
        let of = |kind, ended: &[(Phase, Outcome)]| {
            let all: Vec<Execution> =
                ended.iter().map(|(phase, outcome)| execution(0, *phase, *outcome)).collect();
            Manner::of(&Blame::Flaky(kind), &all)
        };
        let passed = (Phase::Rerun, Outcome::Passed);
        let base = (Phase::Base, Outcome::Failed);
        assert_eq!(of(FlakyKind::StateDependent, &[FAILED, passed]), Manner::AfterOthers);
        assert_eq!(of(FlakyKind::HashSeed, &[FAILED, passed]), Manner::Alone);
        let sometimes = Manner::Sometimes(Tally { passed: 1, failed: 1 });
        assert_eq!(of(FlakyKind::Transient, &[FAILED, passed, base]), sometimes);
        assert_eq!(Manner::of(&Blame::Regression, &[]), Manner::Alone);
    }

    #[test]
    fn rare_failures_are_tried_more_often_within_limits() {
        assert_eq!(repeats(Tally { passed: 1, failed: 1 }), 20);
        assert_eq!(repeats(Tally { passed: 29, failed: 1 }), 179);
        assert_eq!(repeats(Tally { passed: 999, failed: 1 }), 200);
        assert_eq!(repeats(Tally { passed: 0, failed: 5 }), 20);
    }

    #[test]
    fn a_report_says_how_its_only_test_ended() {
        let case = |name: &str, inner: &str| {
            format!("<testcase classname=\"a\" name=\"{name}\" time=\"0\">{inner}</testcase>")
        };
        let failure = "<failure message=\"x\">&lt;skipped</failure>";
        assert_eq!(outcome(&case("t", failure)), Some(true));
        assert_eq!(outcome(&format!("{}{}", case("t", failure), case("t", "<error />"))), Some(true));
        assert_eq!(outcome(&case("t", "<system-out>&lt;failure</system-out>")), Some(false));
        assert_eq!(outcome("<testcase classname=\"a\" name=\"t\" time=\"0\" />"), Some(false));
        assert_eq!(outcome(&case("t", "<skipped />")), None);
        assert_eq!(outcome(&format!("{}{}", case("t", failure), case("u", ""))), None);
        assert_eq!(outcome(""), None);
    }
}
