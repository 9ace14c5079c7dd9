//! The rungs that are climbed while the suite is under way: RERUN, the gate,
//! POSTPONE.
//!
//! A test leaves the ladder at its first pass. Nothing here runs anything: the
//! runner asks, and is answered.

use std::collections::{BTreeMap, HashMap};

use flakewise_model::{Outcome, Phase, normalise};
use flakewise_runner::{Director, Execution, TestKey};

use crate::TriageSettings;

/// Failures that look alike from this many on are one incident: one of them is
/// run again for all.
pub(crate) const INCIDENT: usize = 5;
/// Fewer incidents than this never close the gate.
const FEWEST: u64 = 10;

/// What is known of the tests of a run so far.
pub(crate) struct Ladder<'a> {
    settings: &'a TriageSettings,
    /// All executions of tests that ever failed, in order.
    failing: BTreeMap<TestKey, Vec<Execution>>,
    /// Executions of tests that never failed.
    quiet: Vec<Execution>,
    pub(crate) passed: u64,
    pub(crate) skipped: u64,
    pub(crate) selected: u64,
    incidents: Vec<Vec<TestKey>>,
    incident_of: HashMap<TestKey, usize>,
    by_look: HashMap<Look, usize>,
    progress: &'a dyn Fn(crate::Progress<'_>),
}

/// What failures of one incident have in common.
type Look = (Option<String>, Option<(String, u32)>, String);

impl<'a> Ladder<'a> {
    pub(crate) fn new(settings: &'a TriageSettings, progress: &'a dyn Fn(crate::Progress<'_>)) -> Self {
        Self {
            settings,
            failing: BTreeMap::new(),
            quiet: Vec::new(),
            passed: 0,
            skipped: 0,
            selected: 0,
            incidents: Vec::new(),
            incident_of: HashMap::new(),
            by_look: HashMap::new(),
            progress,
        }
    }

    /// The failing tests with their executions.
    pub(crate) fn failing(&self) -> &BTreeMap<TestKey, Vec<Execution>> {
        &self.failing
    }

    /// The executions of all other tests.
    pub(crate) fn never_failed(&self) -> &[Execution] {
        &self.quiet
    }

    /// Adds an execution from a later rung.
    pub(crate) fn add(&mut self, execution: Execution) {
        self.failing.entry(execution.test).or_default().push(execution);
    }

    /// Tests that fail alike, each test in one group.
    pub(crate) fn incidents(&self) -> &[Vec<TestKey>] {
        &self.incidents
    }

    /// The incident of a test that failed.
    pub(crate) fn incident(&self, test: TestKey) -> usize {
        self.incident_of[&test]
    }

    /// Whether a test has passed since it failed.
    pub(crate) fn is_cleared(&self, test: TestKey) -> bool {
        self.failing.get(&test).is_some_and(|executions| {
            executions
                .iter()
                .any(|execution| execution.outcome == Outcome::Passed && execution.phase != Phase::Base)
        })
    }

    /// Whether so many things fail that running tests again says little.
    pub(crate) fn is_gate_closed(&self) -> bool {
        let open = self.incidents.iter().filter(|tests| tests.iter().any(|test| !self.is_cleared(*test)));
        open.count() as u64 > self.most_failures()
    }

    fn most_failures(&self) -> u64 {
        self.settings.max_failures.unwrap_or_else(|| {
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a share of a count")]
            let share = (self.selected as f64 * self.settings.max_failure_ratio) as u64;
            share.max(FEWEST)
        })
    }

    /// Whether this test climbs on: the first few of every incident do, the
    /// rest only once one of those has passed.
    pub(crate) fn climbs(&self, test: TestKey) -> bool {
        if self.is_cleared(test) {
            return false;
        }
        let tests = &self.incidents[self.incident(test)];
        tests.len() < INCIDENT || tests[0] == test || tests.iter().any(|other| self.is_cleared(*other))
    }

    fn count(&self, test: TestKey, phase: Phase) -> u32 {
        let executions = self.failing.get(&test).map_or(&[][..], Vec::as_slice);
        let count = executions.iter().filter(|execution| execution.phase == phase).count();
        u32::try_from(count).unwrap_or(u32::MAX)
    }

    /// Puts a test that failed for the first time with those that look alike.
    fn group(&mut self, execution: &Execution) {
        if self.incident_of.contains_key(&execution.test) {
            return;
        }
        let incident = match look(execution) {
            Some(look) => *self.by_look.entry(look).or_insert(self.incidents.len()),
            None => self.incidents.len(),
        };
        if incident == self.incidents.len() {
            self.incidents.push(Vec::new());
        }
        self.incidents[incident].push(execution.test);
        self.incident_of.insert(execution.test, incident);
    }
}

/// What a failure looks like. A process that died says nothing about why.
fn look(execution: &Execution) -> Option<Look> {
    if matches!(execution.outcome, Outcome::Crashed | Outcome::TimedOut) {
        return None;
    }
    let failure = execution.failure.as_ref()?;
    let place = execution.place.as_ref().map(|place| (place.file.clone(), place.line));
    let line = failure.message.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    Some((failure.kind.clone(), place, normalise(line)))
}

impl Director for Ladder<'_> {
    fn collected(&mut self, _: u32, names: &[String]) {
        self.selected += names.len() as u64;
    }

    fn ended(&mut self, execution: &Execution) {
        if execution.outcome.is_failure() || self.failing.contains_key(&execution.test) {
            if execution.outcome.is_failure() {
                self.group(execution);
            }
            self.add(execution.clone());
        } else {
            let skipped = execution.outcome == Outcome::Skipped;
            self.skipped += u64::from(skipped);
            self.passed += u64::from(!skipped);
            self.quiet.push(execution.clone());
        }
        (self.progress)(crate::Progress::Suite {
            worker: &execution.worker,
            done: self.passed + self.skipped + self.failing.len() as u64,
            selected: self.selected,
            failed: self.failing.len() as u64,
        });
    }

    fn again(&mut self, failing: &Execution) -> bool {
        self.group(failing);
        let done = self.count(failing.test, Phase::Rerun) + u32::from(failing.phase == Phase::Rerun);
        // What is run again after the suite is not run again at once.
        let is_rung = matches!(failing.phase, Phase::First | Phase::Rerun);
        is_rung
            && done < self.settings.immediate
            && self.climbs_at_once(failing.test)
            && !self.is_gate_closed()
    }

    fn postpone(&mut self, session: u32, worker: &str) -> Vec<u32> {
        if self.is_gate_closed() {
            return Vec::new();
        }
        let dies = |executions: &[Execution]| {
            executions
                .iter()
                .any(|execution| matches!(execution.outcome, Outcome::Crashed | Outcome::TimedOut))
        };
        // Only where it failed: in another process it would pass for other
        // reasons.
        let is_there = |executions: &[Execution]| executions.iter().any(|one| one.worker == worker);
        let wanted = self.failing.iter().filter(|(test, executions)| {
            test.session == session
                && self.climbs(**test)
                && !dies(executions)
                && is_there(executions)
                && self.count(**test, Phase::Postpone) < self.settings.postponed
        });
        wanted.map(|(test, _)| test.number).collect()
    }

    fn goes_on(&mut self) -> bool {
        !self.is_gate_closed()
    }
}

impl Ladder<'_> {
    /// As [`Ladder::climbs`], while the size of an incident is not known yet.
    fn climbs_at_once(&self, test: TestKey) -> bool {
        let tests = &self.incidents[self.incident(test)];
        let place = tests.iter().position(|other| *other == test).unwrap_or(0);
        place < INCIDENT || tests.iter().any(|other| self.is_cleared(*other))
    }
}
