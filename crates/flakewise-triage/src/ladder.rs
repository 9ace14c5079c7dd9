//! The rungs that are climbed while the suite is under way: RERUN, the gate,
//! POSTPONE.
//!
//! A test leaves the ladder at its first pass. Nothing here runs anything: the
//! runner asks, and is answered.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::Path;

use flakewise_model::{Outcome, Phase, normalise};
use flakewise_quarantine::InForce;
use flakewise_runner::{Director, Execution, TestKey, path_in_repository, pytest_id};

use crate::TriageSettings;

/// Failures that look alike from this many on are one incident: one of them is
/// run again for all.
pub(crate) const INCIDENT: usize = 5;
/// A test whose latest run took no longer than this is run again a few times more.
const QUICK: std::time::Duration = std::time::Duration::from_millis(200);
/// Fewer incidents than this never close the gate.
const FEWEST: u64 = 10;

/// What is known of the tests of a run so far.
pub(crate) struct Ladder<'a> {
    settings: &'a TriageSettings,
    /// All executions of tests that ever failed, in order.
    failing: BTreeMap<TestKey, Vec<Execution>>,
    /// Executions of all other tests.
    quiet: Vec<Execution>,
    pub(crate) passed: u64,
    pub(crate) skipped: u64,
    pub(crate) selected: u64,
    incidents: Vec<Incident>,
    /// The incident of each test, and its place in it.
    incident_of: HashMap<TestKey, (usize, usize)>,
    /// Tests that have passed since they failed.
    cleared: HashSet<TestKey>,
    /// Incidents with a test that has not.
    open_incidents: u64,
    by_look: HashMap<Look, usize>,
    /// Whether pytest waits for verdicts even if too many tests fail to run them again.
    pub(crate) always_holds: bool,
    /// What says which tests are skipped.
    pub(crate) quarantine: Option<&'a InForce>,
    progress: &'a dyn Fn(crate::Progress<'_>),
}

/// Tests that fail alike, in the order of their first failures.
#[derive(Debug, Default)]
pub(crate) struct Incident {
    pub(crate) tests: Vec<TestKey>,
    /// How many of them have passed since.
    cleared: usize,
}

impl Incident {
    fn is_open(&self) -> bool {
        self.cleared < self.tests.len()
    }
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
            cleared: HashSet::new(),
            open_incidents: 0,
            by_look: HashMap::new(),
            always_holds: false,
            quarantine: None,
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
        let clears = execution.outcome == Outcome::Passed && execution.phase != Phase::Base;
        if clears
            && let Some((incident, _)) = self.incident_of.get(&execution.test)
            && self.cleared.insert(execution.test)
        {
            let incident = &mut self.incidents[*incident];
            incident.cleared += 1;
            self.open_incidents -= u64::from(!incident.is_open());
        }
        self.failing.entry(execution.test).or_default().push(execution);
    }

    /// Keeps reruns of a test that did not fail alone.
    pub(crate) fn keep(&mut self, executions: Vec<Execution>) {
        self.quiet.extend(executions);
    }

    /// A test that had passed failed when it was rerun: these are its reruns.
    pub(crate) fn found(&mut self, test: TestKey, reruns: Vec<Execution>) {
        let mut all: Vec<Execution> = self.quiet.extract_if(.., |one| one.test == test).collect();
        all.extend(reruns);
        if let Some(failing) = all.iter().find(|one| one.outcome.is_failure()) {
            self.group(failing);
        }
        for execution in all {
            self.add(execution);
        }
    }

    /// Whether a failing test passed in the suite.
    pub(crate) fn passed_in_suite(&self, test: TestKey) -> bool {
        let executions = self.failing.get(&test).map_or(&[][..], Vec::as_slice);
        executions.iter().any(|one| one.phase == Phase::First && one.outcome == Outcome::Passed)
    }

    /// The incident of a test that failed.
    pub(crate) fn incident(&self, test: TestKey) -> &Incident {
        &self.incidents[self.incident_of[&test].0]
    }

    /// The number of that incident.
    pub(crate) fn incident_number(&self, test: TestKey) -> usize {
        self.incident_of[&test].0
    }

    /// Whether a test has passed since it failed.
    pub(crate) fn is_cleared(&self, test: TestKey) -> bool {
        self.cleared.contains(&test)
    }

    /// Whether so many things fail that running tests again says little.
    pub(crate) fn is_gate_closed(&self) -> bool {
        self.open_incidents > self.most_failures()
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
        let Incident { tests, cleared } = self.incident(test);
        tests.len() < INCIDENT || tests[0] == test || *cleared > 0
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
            self.incidents.push(Incident::default());
        }
        let known = &mut self.incidents[incident];
        self.open_incidents += u64::from(!known.is_open());
        self.incident_of.insert(execution.test, (incident, known.tests.len()));
        known.tests.push(execution.test);
    }
}

/// Whether another run of a test costs next to nothing. The latest run tells: a first run
/// also pays for imports and caches, and one that takes long is the last.
fn is_quick(executions: &[Execution]) -> bool {
    executions.last().and_then(|one| one.duration).is_none_or(|duration| duration <= QUICK)
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

    fn skips(&mut self, root: &str, names: &[String]) -> Vec<(u32, String)> {
        let Some(quarantine) = self.quarantine.filter(|quarantine| quarantine.any_skips()) else {
            return Vec::new();
        };
        let root = path_in_repository(Path::new(root)).unwrap_or_default();
        let reason = |name: &String| quarantine.skips(&pytest_id(name).inside(&root));
        (0..).zip(names).filter_map(|(number, name)| Some((number, reason(name)?))).collect()
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
            let (climbs, done) = (self.climbs(**test), self.count(**test, Phase::Postpone));
            let contrasts = self.settings.contrast > 0
                && (climbs || self.is_cleared(**test))
                && done < self.settings.postponed + self.settings.contrast
                && is_quick(executions);
            test.session == session
                && !dies(executions)
                && is_there(executions)
                && ((climbs && done < self.settings.postponed) || contrasts)
        });
        wanted.map(|(test, _)| test.number).collect()
    }

    fn holds(&mut self, session: u32) -> bool {
        (self.always_holds || !self.is_gate_closed())
            && self.failing.keys().any(|test| test.session == session)
    }

    fn goes_on(&mut self) -> bool {
        !self.is_gate_closed()
    }
}

impl Ladder<'_> {
    /// As [`Ladder::climbs`], while the size of an incident is not known yet.
    fn climbs_at_once(&self, test: TestKey) -> bool {
        let (incident, place) = self.incident_of[&test];
        place < INCIDENT || self.incidents[incident].cleared > 0
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;
    use crate::testing::{execution, of_kind, on};

    fn settings(immediate: u32, postponed: u32, max_failures: Option<u64>) -> TriageSettings {
        TriageSettings {
            immediate,
            postponed,
            separate: 2,
            max_failure_ratio: 0.01,
            max_failures,
            confidence: None,
            most_processes: 50,
            verify_base: false,
            tolerance: crate::Tolerance::Nothing,
            contrast: 0,
            kind_time: std::time::Duration::ZERO,
            base_time: std::time::Duration::ZERO,
            seed: 1,
        }
    }

    fn key(number: u32) -> TestKey {
        TestKey { session: 0, number }
    }

    /// What a made-up test does.
    #[derive(Clone, Debug)]
    struct Behaviour {
        /// What its failures look like.
        look: &'static str,
        /// Which of its executions pass; those after fail.
        passes: Vec<bool>,
        /// Whether its first failure takes the process along.
        crashes: bool,
    }

    impl Behaviour {
        fn fails(look: &'static str) -> Self {
            Self { look, passes: Vec::new(), crashes: false }
        }

        fn passes_at(look: &'static str, attempt: usize) -> Self {
            let mut passes = vec![false; attempt];
            passes[attempt - 1] = true;
            Self { look, passes, crashes: false }
        }
    }

    /// The same answers from nothing but the list of what happened, looked
    /// through from the start each time.
    struct Oracle<'a> {
        settings: &'a TriageSettings,
        selected: u64,
        /// Failures as they were first heard of, and executions that ended.
        heard: Vec<Execution>,
        ended: Vec<Execution>,
    }

    impl Oracle<'_> {
        fn passed(&self, test: TestKey) -> bool {
            self.ended.iter().any(|one| one.test == test && one.outcome == Outcome::Passed)
        }

        /// Groups of failing tests: alike if kind and outcome are, and a dead
        /// process is like no other.
        fn incidents(&self) -> Vec<(Option<String>, Vec<TestKey>)> {
            let mut groups: Vec<(Option<String>, Vec<TestKey>)> = Vec::new();
            for failure in &self.heard {
                if groups.iter().any(|(_, tests)| tests.contains(&failure.test)) {
                    continue;
                }
                let look = match failure.outcome {
                    Outcome::Crashed | Outcome::TimedOut => None,
                    _ => failure.failure.as_ref().and_then(|failure| failure.kind.clone()),
                };
                match groups.iter_mut().find(|(other, _)| look.is_some() && *other == look) {
                    Some((_, tests)) => tests.push(failure.test),
                    None => groups.push((look, vec![failure.test])),
                }
            }
            groups
        }

        fn gate_is_closed(&self) -> bool {
            let most = self.settings.max_failures.unwrap_or_else(|| (self.selected / 100).max(10));
            let open = self
                .incidents()
                .into_iter()
                .filter(|(_, tests)| !tests.iter().all(|test| self.passed(*test)));
            open.count() as u64 > most
        }

        fn again(&self, failing: &Execution) -> bool {
            let reruns = |one: &&Execution| one.test == failing.test && one.phase == Phase::Rerun;
            let used = self.ended.iter().chain([failing]).filter(reruns).count();
            let (_, tests) = self
                .incidents()
                .into_iter()
                .find(|(_, tests)| tests.contains(&failing.test))
                .expect("it was heard of");
            let is_early = tests[..tests.len().min(5)].contains(&failing.test);
            failing.phase != Phase::Postpone
                && used < self.settings.immediate as usize
                && (is_early || tests.iter().any(|test| self.passed(*test)))
                && !self.gate_is_closed()
        }

        fn postpone(&self, worker: &str) -> Vec<u32> {
            let mut wanted = Vec::new();
            for (_, tests) in self.incidents() {
                let stand_back = tests.len() >= 5 && !tests.iter().any(|test| self.passed(*test));
                let climbing = if stand_back { &tests[..1] } else { &tests[..] };
                for test in climbing {
                    let own: Vec<_> = self.ended.iter().filter(|one| one.test == *test).collect();
                    let died = own.iter().any(|one| one.outcome == Outcome::Crashed);
                    let here = own.iter().any(|one| one.worker == worker && one.outcome.is_failure());
                    let used = own.iter().filter(|one| one.phase == Phase::Postpone).count();
                    let open = used < self.settings.postponed as usize;
                    if !self.passed(*test) && !died && here && open {
                        wanted.push(test.number);
                    }
                }
            }
            wanted.sort_unstable();
            if self.gate_is_closed() { Vec::new() } else { wanted }
        }
    }

    /// A suite of made-up tests, run as the runner runs it: every question is
    /// put to the ladder and to the oracle.
    struct Stage<'a> {
        ladder: Ladder<'a>,
        oracle: Oracle<'a>,
        behaviours: &'a [Behaviour],
        worker: String,
    }

    impl Stage<'_> {
        /// Runs a test once; whether it shall run again at once.
        fn attempt(&mut self, number: u32, phase: Phase) -> bool {
            let behaviour = &self.behaviours[number as usize];
            let before = self.oracle.ended.iter().filter(|one| one.test == key(number)).count();
            let outcome = match behaviour.passes.get(before) {
                Some(true) => Outcome::Passed,
                _ if behaviour.crashes && phase == Phase::First => Outcome::Crashed,
                _ => Outcome::Failed,
            };
            let execution = on(&self.worker, of_kind(behaviour.look, execution(number, phase, outcome)));
            if outcome.is_failure() {
                self.oracle.heard.push(execution.clone());
            }
            let mut again = false;
            if outcome == Outcome::Failed {
                again = self.ladder.again(&execution);
                assert_eq!(again, self.oracle.again(&execution), "again of {number} in {phase:?}");
            }
            self.ladder.ended(&execution);
            self.oracle.ended.push(execution);
            assert_eq!(self.ladder.is_gate_closed(), self.oracle.gate_is_closed(), "the gate");
            again
        }

        fn suite(&mut self) {
            for number in 0_u32.. {
                if number as usize == self.behaviours.len() {
                    break;
                }
                let mut again = self.attempt(number, Phase::First);
                while again {
                    again = self.attempt(number, Phase::Rerun);
                }
                let died = self.oracle.ended.last().is_some_and(|one| one.outcome == Outcome::Crashed);
                if died {
                    let goes_on = self.ladder.goes_on();
                    assert_eq!(goes_on, !self.oracle.gate_is_closed());
                    if !goes_on {
                        return;
                    }
                    self.worker = format!("continued-{number}");
                }
            }
            loop {
                let wanted = self.ladder.postpone(0, &self.worker);
                assert_eq!(wanted, self.oracle.postpone(&self.worker), "postponed in {}", self.worker);
                if wanted.is_empty() {
                    return;
                }
                for number in wanted {
                    assert!(!self.attempt(number, Phase::Postpone), "nothing is run again at once here");
                }
            }
        }
    }

    /// Runs a suite; all executions in order.
    fn run(behaviours: &[Behaviour], settings: &TriageSettings) -> Vec<Execution> {
        let names = vec![String::new(); behaviours.len()];
        let mut ladder = Ladder::new(settings, &|_| {});
        ladder.collected(0, &names);
        let selected = names.len() as u64;
        let oracle = Oracle { settings, selected, heard: Vec::new(), ended: Vec::new() };
        let mut stage = Stage { ladder, oracle, behaviours, worker: "main".to_owned() };
        stage.suite();
        for test in stage.ladder.failing().keys() {
            assert_eq!(stage.ladder.is_cleared(*test), stage.oracle.passed(*test));
        }
        stage.oracle.ended
    }

    /// `0:first:F` for every execution.
    fn told(executions: &[Execution]) -> Vec<String> {
        let outcome = |outcome| match outcome {
            Outcome::Passed => 'P',
            Outcome::Crashed => 'C',
            _ => 'F',
        };
        let line =
            |one: &Execution| format!("{}:{}:{}", one.test.number, one.phase.name(), outcome(one.outcome));
        executions.iter().map(line).collect()
    }

    fn behaviour() -> impl Strategy<Value = Behaviour> {
        let look =
            proptest::sample::select(vec!["KeyError", "KeyError", "KeyError", "OSError", "ValueError"]);
        let passes = proptest::collection::vec(proptest::bool::weighted(0.3), 0..5);
        (look, passes, proptest::bool::weighted(0.1)).prop_map(|(look, passes, crashes)| Behaviour {
            look,
            passes,
            crashes,
        })
    }

    proptest! {
        #[test]
        fn the_ladder_is_the_oracle(
            behaviours in proptest::collection::vec(behaviour(), 0..16),
            immediate in 0_u32..3,
            postponed in 0_u32..3,
            max_failures in proptest::option::of(0_u64..5),
        ) {
            let executions = run(&behaviours, &settings(immediate, postponed, max_failures));
            for test in executions.iter().map(|one| one.test).collect::<BTreeSet<_>>() {
                let own: Vec<_> = executions.iter().filter(|one| one.test == test).collect();
                let (last, before) = own.split_last().expect("it ran");
                prop_assert!(before.iter().all(|one| one.outcome != Outcome::Passed), "climbed after a pass");
                let of = |phase| own.iter().filter(|one| one.phase == phase).count();
                prop_assert!(of(Phase::First) == 1 && of(Phase::Rerun) <= immediate as usize);
                prop_assert!(of(Phase::Postpone) <= postponed as usize);
                if last.phase == Phase::Postpone {
                    prop_assert!(own.iter().all(|one| one.worker == last.worker), "postponed elsewhere");
                    prop_assert!(own.iter().all(|one| one.outcome != Outcome::Crashed), "a crash postponed");
                }
            }
        }
    }

    #[test]
    fn a_test_leaves_the_ladder_at_its_first_pass() {
        let executions = run(&[Behaviour::passes_at("KeyError", 2)], &settings(3, 3, None));
        assert_eq!(told(&executions), ["0:first:F", "0:rerun:P"]);
        let executions = run(&[Behaviour::fails("KeyError")], &settings(2, 1, None));
        assert_eq!(told(&executions), ["0:first:F", "0:rerun:F", "0:rerun:F", "0:postpone:F"]);
    }

    #[test]
    fn a_test_is_postponed_only_in_the_process_it_failed_in() {
        let crash = Behaviour { crashes: true, ..Behaviour::fails("OSError") };
        let suite = [Behaviour::fails("KeyError"), crash, Behaviour::fails("ValueError")];
        let executions = run(&suite, &settings(0, 1, None));
        assert_eq!(told(&executions), ["0:first:F", "1:first:C", "2:first:F", "2:postpone:F"]);
    }

    #[test]
    fn of_many_that_fail_alike_one_climbs_for_all() {
        let suite = vec![Behaviour::fails("KeyError"); 6];
        let postponed = |executions: &[Execution]| {
            let told = told(executions);
            told.into_iter().filter(|line| line.contains("postpone")).collect::<Vec<_>>()
        };
        assert_eq!(postponed(&run(&suite[..4], &settings(0, 1, None))).len(), 4);
        assert_eq!(postponed(&run(&suite, &settings(0, 1, None))), ["0:postpone:F"]);
        let mut suite = suite;
        suite[0] = Behaviour::passes_at("KeyError", 2);
        // Once it has passed, the others climb too.
        let executions = run(&suite, &settings(0, 1, None));
        assert_eq!(postponed(&executions)[..2], ["0:postpone:P", "1:postpone:F"]);
        assert_eq!(postponed(&executions).len(), 6);
    }

    #[test]
    fn quick_tests_run_a_few_times_more_until_a_run_takes_long() {
        let settings = TriageSettings { contrast: 3, ..settings(1, 0, None) };
        let took = |milliseconds, phase, outcome| Execution {
            duration: Some(std::time::Duration::from_millis(milliseconds)),
            ..execution(0, phase, outcome)
        };
        let mut ladder = Ladder::new(&settings, &|_| {});
        ladder.ended(&took(2_000, Phase::First, Outcome::Failed));
        assert!(ladder.postpone(0, "main").is_empty());
        ladder.ended(&took(1, Phase::Rerun, Outcome::Passed));
        assert_eq!(ladder.postpone(0, "main"), [0], "only the first run was slow");
        ladder.ended(&took(2_000, Phase::Postpone, Outcome::Failed));
        assert!(ladder.postpone(0, "main").is_empty());
    }

    /// It ends only if no step looks at all that failed before.
    #[test]
    fn a_hundred_thousand_failures_are_taken_in_at_once() {
        let settings = settings(1, 1, None);
        let mut ladder = Ladder::new(&settings, &|_| {});
        for number in 0..100_000 {
            let failing = of_kind("KeyError", execution(number, Phase::First, Outcome::Failed));
            assert_eq!(ladder.again(&failing), (number as usize) < INCIDENT);
            ladder.ended(&failing);
        }
        assert_eq!((ladder.incidents.len(), ladder.incidents[0].tests.len()), (1, 100_000));
        assert!(!ladder.is_gate_closed());
        assert_eq!(ladder.postpone(0, "main"), [0], "one stands for all");
        ladder.ended(&execution(0, Phase::Postpone, Outcome::Passed));
        assert_eq!(ladder.postpone(0, "main").len(), 99_999, "and has passed");
    }

    #[test]
    fn a_dead_process_is_like_no_other() {
        let settings = settings(1, 1, None);
        let mut ladder = Ladder::new(&settings, &|_| {});
        for number in 0..6 {
            ladder.ended(&execution(number, Phase::First, Outcome::Crashed));
        }
        assert_eq!(ladder.incidents.len(), 6);
        assert!(ladder.climbs(key(5)));
        assert!(ladder.postpone(0, "main").is_empty(), "it would die again");
    }

    #[test]
    fn the_gate_counts_incidents_and_not_tests() {
        let settings = settings(0, 0, None);
        let gate = |kinds: &[&str], selected: usize| {
            let mut ladder = Ladder::new(&settings, &|_| {});
            ladder.collected(0, &vec![String::new(); selected]);
            for (number, kind) in (0..).zip(kinds) {
                ladder.ended(&of_kind(kind, execution(number, Phase::First, Outcome::Failed)));
            }
            ladder.is_gate_closed()
        };
        let letters: Vec<String> = ('A'..='K').map(|letter| format!("{letter}Error")).collect();
        let kinds: Vec<&str> = letters.iter().map(String::as_str).collect();
        assert!(!gate(&["KeyError"; 500], 500));
        assert!(!gate(&kinds[..10], 20), "ten never close it");
        assert!(gate(&kinds, 20));
        assert!(!gate(&kinds, 1100), "one in a hundred does not either");
    }

    #[test]
    fn a_test_that_fails_when_rerun_keeps_its_pass_in_the_suite() {
        let settings = settings(0, 0, None);
        let mut ladder = Ladder::new(&settings, &|_| {});
        for number in 0..2 {
            ladder.ended(&execution(number, Phase::First, Outcome::Passed));
        }
        ladder.keep(vec![execution(1, Phase::Fork, Outcome::Passed)]);
        let failing = of_kind("KeyError", execution(0, Phase::Fork, Outcome::Failed));
        ladder.found(key(0), vec![execution(0, Phase::Fork, Outcome::Passed), failing]);
        assert_eq!(told(&ladder.failing()[&key(0)]), ["0:first:P", "0:fork:P", "0:fork:F"]);
        assert_eq!(told(ladder.never_failed()), ["1:first:P", "1:fork:P"]);
        assert!(ladder.is_cleared(key(0)) && ladder.passed_in_suite(key(0)) && !ladder.is_gate_closed());
        assert_eq!((ladder.passed, ladder.incident_number(key(0))), (2, 0));
    }

    #[test]
    fn a_pass_at_the_base_clears_nothing() {
        let settings = settings(0, 0, None);
        let mut ladder = Ladder::new(&settings, &|_| {});
        ladder.ended(&execution(0, Phase::First, Outcome::Failed));
        ladder.add(execution(0, Phase::Base, Outcome::Passed));
        assert!(!ladder.is_cleared(key(0)));
    }

    #[test]
    fn only_tests_that_never_failed_are_counted_as_passed_or_skipped() {
        let settings = settings(1, 0, None);
        let mut ladder = Ladder::new(&settings, &|_| {});
        for (number, outcome) in [(0, Outcome::Passed), (1, Outcome::Skipped), (2, Outcome::Failed)] {
            ladder.ended(&execution(number, Phase::First, outcome));
        }
        ladder.ended(&execution(2, Phase::Rerun, Outcome::Passed));
        assert_eq!((ladder.passed, ladder.skipped, ladder.failing().len()), (1, 1, 1));
    }
}
