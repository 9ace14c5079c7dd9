//! The rest of the ladder, after the suite: FORK, FRESH and INTERSECT, the base,
//! and the report.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use flakewise_model::{
    Attempt, AttemptCost, BaseSource, Blame, BuildExit, Counts, ExitReason, FindingId, Fingerprint, Incident,
    Notice, Outcome, Phase, Run, RunReport, TestFailure, TestId, shell_word,
};
use flakewise_runner::{
    Execution, FreshOptions, Observation, RunnerError, Suite, SuiteRun, TestKey, Versions,
};

use crate::exit::exit;
use crate::judge::{self, BaseFacts, ChangeFacts, Facts, HashSeedFacts};
use crate::ladder::Ladder;
use crate::watch::{loaded_from, meeting, watching};
use crate::{BaseTree, Change, Meeting};

/// How often a test is tried at the base before it is called broken there.
const BASE_TRIES: u32 = 2;

/// How far to climb.
#[derive(Clone, Debug)]
pub struct TriageSettings {
    /// Reruns at once, in the same process (`c_imm`).
    pub immediate: u32,
    /// Reruns after the suite, in the same process (`c_end`).
    pub postponed: u32,
    /// Reruns in processes of their own (`c_new`): the last is a new one, those
    /// before are forks.
    pub separate: u32,
    /// With more incidents than this share of the tests, nothing is run again.
    pub max_failure_ratio: f64,
    /// The same as a number.
    pub max_failures: Option<u64>,
    /// Go on until a failure is a flake with no more than one minus this
    /// probability.
    pub confidence: Option<f64>,
    /// The most processes for one test when going on so.
    pub most_processes: u32,
    /// Whether to run failing tests on the base revision.
    pub verify_base: bool,
    /// Whether proved flakes leave the build green.
    pub tolerate_flaky: bool,
    /// Where seeds come from.
    pub seed: u64,
}

/// What the history knows of a test that failed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Past {
    /// Failures with the same fingerprint on other revisions.
    pub failures: u64,
    /// On how many revisions.
    pub revisions: u64,
    /// Revisions on which it both passed and failed.
    pub mixed: u64,
}

/// What is remembered of earlier runs.
pub trait Memory {
    /// What is known of tests that failed with these fingerprints in a run.
    fn past(&mut self, tests: &[(TestId, Option<Fingerprint>)], run: &Run) -> Vec<Past>;
    /// How often tests passed and failed at a commit, where and how a run runs.
    fn at(&mut self, tests: &[TestId], commit: &str, run: &Run) -> Vec<(u32, u32)>;
}

/// Remembers nothing.
#[derive(Clone, Copy, Debug)]
pub struct NoMemory;

impl Memory for NoMemory {
    fn past(&mut self, tests: &[(TestId, Option<Fingerprint>)], _: &Run) -> Vec<Past> {
        vec![Past::default(); tests.len()]
    }

    fn at(&mut self, tests: &[TestId], _: &str, _: &Run) -> Vec<(u32, u32)> {
        vec![(0, 0); tests.len()]
    }
}

/// How far we are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress<'a> {
    /// A test of the suite ended.
    Suite {
        /// In which process.
        worker: &'a str,
        /// Tests that ended.
        done: u64,
        /// Tests in all.
        selected: u64,
        /// Tests that failed.
        failed: u64,
    },
    /// A failing test is run again in a process of its own.
    Separate {
        /// Why.
        phase: Phase,
        /// The test.
        name: &'a str,
        /// Its place among those that are.
        place: usize,
        /// How many there are.
        of: usize,
    },
    /// The history is asked.
    History,
}

/// A run with what is said about it.
#[derive(Clone, Debug, PartialEq)]
pub struct Triaged {
    /// What is said.
    pub report: RunReport,
    /// Every attempt on the code of the run, of every test.
    pub attempts: Vec<Attempt>,
    /// Every attempt at the base. Their run is that of the others; it is for
    /// the caller to give them one of their own.
    pub base_attempts: Vec<Attempt>,
}

/// What a run is judged with.
pub struct Context<'a> {
    /// How far to climb.
    pub settings: &'a TriageSettings,
    /// What changed; none if unknown.
    pub change: Option<&'a Change>,
    /// Makes the run, once the versions of the runner are known.
    pub run: &'a dyn Fn(Option<Versions<'_>>) -> Run,
    /// The command, for people.
    pub command: Vec<String>,
    /// What is remembered.
    pub memory: &'a mut dyn Memory,
    /// Told how far we are.
    pub progress: &'a dyn Fn(Progress<'_>),
}

/// Runs a suite and says what its failures are due to.
pub fn triage(suite: &mut Suite, context: &mut Context<'_>) -> Result<Triaged, RunnerError> {
    let began = Instant::now();
    let mut ladder = Ladder::new(context.settings, context.progress);
    let suite_run = suite.run(&mut ladder)?;
    let suite_time = began.elapsed();
    let run = Arc::new((context.run)(suite.versions()));
    let mut climb = Climb {
        suite,
        context,
        run,
        ladder,
        seen: BTreeMap::new(),
        base: BTreeMap::new(),
        seeds: BTreeMap::new(),
        notices: Vec::new(),
    };
    if !climb.ladder.is_gate_closed() {
        climb.separate()?;
        climb.at_base()?;
    }
    let triage_time = began.elapsed().saturating_sub(suite_time);
    let (attempts, base_attempts) = climb.all_attempts();
    Ok(Triaged { report: climb.report(&suite_run, suite_time, triage_time), attempts, base_attempts })
}

struct Climb<'a, 'b> {
    suite: &'a mut Suite,
    context: &'a mut Context<'b>,
    ladder: Ladder<'a>,
    run: Arc<Run>,
    seen: BTreeMap<TestKey, (Meeting, bool)>,
    base: BTreeMap<TestKey, BaseFacts>,
    seeds: BTreeMap<TestKey, HashSeedFacts>,
    notices: Vec<Notice>,
}

impl Climb<'_, '_> {
    /// FORK and FRESH, one test at a time: the others must not disturb it.
    fn separate(&mut self) -> Result<(), RunnerError> {
        // A test that stood back for another climbs once that one has passed.
        let mut climbed = BTreeSet::new();
        loop {
            let failing = self.ladder.failing().keys().copied();
            let open: Vec<TestKey> =
                failing.filter(|test| !climbed.contains(test) && self.ladder.climbs(*test)).collect();
            if open.is_empty() {
                return Ok(());
            }
            for (place, test) in open.iter().enumerate() {
                climbed.insert(*test);
                self.separate_one(*test, place, open.len())?;
            }
        }
    }

    fn separate_one(&mut self, test: TestKey, place: usize, of: usize) -> Result<(), RunnerError> {
        let settings = self.context.settings;
        let forks = if self.suite.can_fork(test.session) { settings.separate.saturating_sub(1) } else { 0 };
        for _ in 0..forks {
            self.tell(Phase::Fork, test, place, of);
            match self.suite.fork(test)? {
                Ok(execution) => self.ladder.add(execution),
                Err(trouble) => self.notice_trouble(test, "in a fork", &trouble),
            }
            if self.ladder.is_cleared(test) {
                return Ok(());
            }
        }
        let other = self.other_seed(test);
        let mut rest = settings.separate.saturating_sub(forks);
        let mut processes = forks;
        while rest > 0 || (self.wants_more(test) && processes < settings.most_processes) {
            self.tell(Phase::Fresh, test, place, of);
            let mut run = self.suite.fresh(test, &self.watching(other))?;
            self.observe(test, run.observation.take());
            if run.execution.is_err() {
                // Watching may be what it does not bear.
                let unwatched = FreshOptions { hash_seed: other, ..FreshOptions::default() };
                run = self.suite.fresh(test, &unwatched)?;
            }
            match run.execution {
                Ok(execution) => self.ladder.add(execution),
                Err(trouble) => self.notice_trouble(test, "in a new process", &trouble),
            }
            if self.ladder.is_cleared(test) {
                return self.confirm_seed(test, other);
            }
            rest = rest.saturating_sub(1);
            processes += 1;
        }
        Ok(())
    }

    fn wants_more(&self, test: TestKey) -> bool {
        let failures = self.ladder.failing()[&test].iter().filter(|one| one.outcome.is_failure()).count();
        let flaky = judge::after_failures(u32::try_from(failures).unwrap_or(u32::MAX)).get();
        self.context.settings.confidence.is_some_and(|confidence| flaky > 1.0 - confidence)
    }

    /// It passed in a new process with another hash seed: was it the seed?
    fn confirm_seed(&mut self, test: TestKey, other: u32) -> Result<(), RunnerError> {
        let suite = self.suite.hash_seed();
        let options = FreshOptions { hash_seed: suite, ..FreshOptions::default() };
        let run = self.suite.fresh(test, &options)?;
        let fails_with_suite_seed =
            run.execution.as_ref().is_ok_and(|execution| execution.outcome.is_failure());
        if let Ok(execution) = run.execution {
            self.ladder.add(execution);
        }
        self.seeds.insert(test, HashSeedFacts { suite, other, fails_with_suite_seed });
        Ok(())
    }

    /// A seed that is not the suite's, and the same for the same run.
    fn other_seed(&self, test: TestKey) -> u32 {
        let mixed = self.context.settings.seed ^ (u64::from(test.number) << 7) ^ 0x9e37_79b9_7f4a_7c15;
        let seed = u32::try_from(mixed % 4_294_967_291).unwrap_or(1).max(1);
        if seed == self.suite.hash_seed() { seed ^ 1 } else { seed }
    }

    fn watching(&self, hash_seed: u32) -> FreshOptions<'static> {
        match self.context.change {
            Some(change) => watching(change, hash_seed),
            None => FreshOptions { hash_seed, ..FreshOptions::default() },
        }
    }

    /// INTERSECT.
    fn observe(&mut self, test: TestKey, observation: Option<Observation>) {
        let Some(change) = self.context.change else { return };
        let file = self.suite.test_file(test).map(|file| file.to_string_lossy().into_owned());
        let lines_seen = observation.as_ref().is_some_and(|observation| observation.lines_seen);
        let meeting = match observation {
            Some(observation) => meeting(change, observation, file),
            None => Meeting::Unknown { reason: "it could not be run where it is watched".to_owned() },
        };
        self.seen.insert(test, (meeting, lines_seen));
    }

    fn notice_trouble(&mut self, test: TestKey, place: &str, trouble: &str) {
        let text = format!("`{}` could not be run {place}: {trouble}", self.suite.name(test));
        self.notices.push(Notice { text, warning: true });
    }

    /// What the failing tests do at the base: from history, or by running them
    /// there.
    fn at_base(&mut self) -> Result<(), RunnerError> {
        let Some(change) = self.context.change else { return Ok(()) };
        let open: Vec<TestKey> =
            self.ladder.failing().keys().copied().filter(|test| self.ladder.climbs(*test)).collect();
        if open.is_empty() {
            return Ok(());
        }
        if self.context.settings.verify_base && !change.is_empty() {
            return self.run_at_base(change, &open);
        }
        let ids: Vec<_> = open.iter().map(|test| self.suite.test_id(*test)).collect();
        for (test, (passed, failed)) in
            open.into_iter().zip(self.context.memory.at(&ids, &change.base, &self.run))
        {
            if passed + failed > 0 {
                self.base.insert(test, BaseFacts { passed, failed, source: BaseSource::History });
            }
        }
        Ok(())
    }

    fn run_at_base(&mut self, change: &Change, open: &[TestKey]) -> Result<(), RunnerError> {
        let tree = match BaseTree::create(change) {
            Ok(tree) => tree,
            Err(error) => {
                let text = format!("the base could not be checked out: {error}");
                self.notices.push(Notice { text, warning: true });
                return Ok(());
            }
        };
        let elsewhere = |path: &Path| tree.map(path);
        let mut foreign = None;
        for (place, test) in open.iter().enumerate() {
            let mut facts = BaseFacts { passed: 0, failed: 0, source: BaseSource::Run };
            for _ in 0..BASE_TRIES {
                self.tell(Phase::Base, *test, place, open.len());
                let options = FreshOptions {
                    hash_seed: self.suite.hash_seed(),
                    observe: true,
                    elsewhere: Some(&elsewhere),
                    ..FreshOptions::default()
                };
                let run = self.suite.fresh(*test, &options)?;
                // It may not exist there, or not be collectable.
                let Ok(execution) = run.execution else { break };
                let own = run.observation.as_ref().and_then(|seen| loaded_from(seen, change, &tree));
                if own.is_some() {
                    foreign = foreign.or(own);
                    break;
                }
                let outcome = execution.outcome;
                self.ladder.add(execution);
                match outcome {
                    Outcome::Passed => {
                        facts.passed += 1;
                        break;
                    }
                    Outcome::Skipped => break,
                    _ => facts.failed += 1,
                }
            }
            if facts.passed + facts.failed > 0 {
                self.base.insert(*test, facts);
            }
        }
        if let Some(file) = foreign {
            let text = format!("tests at the base still load `{file}` of the work tree, so they say nothing");
            self.notices.push(Notice { text, warning: true });
        }
        Ok(())
    }

    fn tell(&self, phase: Phase, test: TestKey, place: usize, of: usize) {
        let name = self.suite.name(test);
        (self.context.progress)(Progress::Separate { phase, name, place, of });
    }

    fn report(mut self, suite_run: &SuiteRun, suite_time: Duration, triage_time: Duration) -> RunReport {
        (self.context.progress)(Progress::History);
        let tests: Vec<TestKey> = self.ladder.failing().keys().copied().collect();
        let asked: Vec<_> = tests
            .iter()
            .map(|test| {
                let first = self.ladder.failing()[test].iter().find_map(|one| one.failure.as_ref());
                (self.suite.test_id(*test), first.and_then(|failure| failure.fingerprint.clone()))
            })
            .collect();
        let past = if asked.is_empty() { Vec::new() } else { self.context.memory.past(&asked, &self.run) };
        let failed = tests.len() as u64;
        let gate = self.ladder.is_gate_closed().then_some((failed, self.ladder.selected));
        let mut failures: Vec<TestFailure> = tests
            .iter()
            .enumerate()
            .map(|(place, test)| self.failure(*test, gate, past.get(place).copied()))
            .collect();
        failures.sort_by_key(|failure| (rank(&failure.verdict.blame), failure.name.clone()));
        let incidents = incidents(&mut failures);
        let lost: Vec<String> =
            self.suite.lost().iter().map(|test| self.suite.name(*test).to_owned()).collect();
        let mut notices: Vec<Notice> = suite_run
            .notices
            .iter()
            .map(|notice| Notice { text: notice.text.clone(), warning: notice.warning })
            .collect();
        for error in &suite_run.collect_errors {
            let line = error.failure.message.lines().next().unwrap_or_default();
            notices.push(Notice {
                text: format!("`{}` could not be collected: {line}", error.name),
                warning: true,
            });
        }
        if let Some(stopped) = suite_run.stopped.as_ref().filter(|_| !lost.is_empty()) {
            notices.push(Notice { text: format!("the suite stopped early: {stopped}"), warning: true });
        }
        notices.append(&mut self.notices);
        let uncollected: Vec<String> =
            suite_run.collect_errors.iter().map(|error| error.name.clone()).collect();
        let complete = lost.is_empty() && uncollected.is_empty();
        let own = |attempt: &&Attempt| attempt.phase != Phase::First;
        let tolerate = self.context.settings.tolerate_flaky;
        let exit = exit(suite_run, &failures, complete, tolerate);
        if let Some(text) = intolerance(&exit, &failures).filter(|_| tolerate) {
            notices.push(Notice {
                text: format!("flakes are not tolerated in this run: {text}"),
                warning: false,
            });
        }
        RunReport {
            run: Arc::clone(&self.run),
            command: self.context.command.clone(),
            seed: self.context.settings.seed,
            hash_seed: Some(self.suite.hash_seed()),
            counts: Counts {
                selected: self.ladder.selected,
                passed: self.ladder.passed,
                failed,
                skipped: self.ladder.skipped,
            },
            lost,
            uncollected,
            reruns: failures.iter().map(|failure| failure.attempts.iter().filter(own).count() as u64).sum(),
            exit,
            failures,
            incidents,
            change: self.context.change.map(Change::summary),
            notices,
            suite_time,
            triage_time,
        }
    }

    fn failure(&self, test: TestKey, gate: Option<(u64, u64)>, past: Option<Past>) -> TestFailure {
        let incident = self.ladder.incident(test);
        let alike = &self.ladder.incidents()[incident];
        // What was found out about the one that stood for all holds for all.
        let stood_back = !self.ladder.is_cleared(test) && !self.ladder.climbs(test);
        let source = if stood_back { alike[0] } else { test };
        let all = &self.ladder.failing()[&source];
        let own: Vec<Execution> = all.iter().filter(|one| one.phase != Phase::Base).cloned().collect();
        let seen = self.seen.get(&source);
        let change = self.context.change;
        let facts = Facts {
            executions: &own,
            meeting: seen.map(|(meeting, _)| meeting),
            lines_seen: seen.is_some_and(|(_, lines_seen)| *lines_seen),
            change: change.map(|change| ChangeFacts {
                base: &change.base,
                files: u32::try_from(change.files.len()).unwrap_or(u32::MAX),
            }),
            base: self.base.get(&source).copied(),
            hash_seed: self.seeds.get(&source).copied(),
            alike: (
                u32::try_from(alike.len()).unwrap_or(u32::MAX),
                stood_back.then(|| self.suite.name(alike[0])),
            ),
            gate: gate.filter(|_| !self.ladder.is_cleared(test)),
            past,
        };
        let verdict = judge::judge(&facts);
        let executions = &self.ladder.failing()[&test];
        let id = self.suite.test_id(test);
        TestFailure {
            id: FindingId::of(&id),
            name: self.suite.name(test).to_owned(),
            place: executions.iter().find_map(|one| one.place.as_ref()).map(|place| self.in_project(place)),
            reproduce: self.reproduce(test, &verdict.blame),
            verdict,
            attempts: self.attempts(&id, executions),
            costs: costs(executions),
            incident,
            test: id,
        }
    }

    /// A place relative to the project, if it is inside.
    fn in_project(&self, place: &flakewise_runner::Place) -> (String, u32) {
        let root = self.context.change.map(|change| change.root.clone());
        let root = root.or_else(|| std::env::current_dir().ok()).unwrap_or_default();
        place.below(&root)
    }

    fn attempts(&self, id: &TestId, executions: &[Execution]) -> Vec<Attempt> {
        let attempt = |(number, execution): (u32, &Execution)| execution.attempt(id, &self.run, number);
        (1..).zip(executions).map(attempt).collect()
    }

    /// Every attempt of every test, apart from those at the base, and those.
    fn all_attempts(&self) -> (Vec<Attempt>, Vec<Attempt>) {
        let passing = self.ladder.never_failed().iter().map(|execution| (execution.test, execution));
        let failing = self.ladder.failing().iter();
        let failing =
            failing.flat_map(|(test, executions)| executions.iter().map(|execution| (*test, execution)));
        let mut tests: BTreeMap<TestKey, Vec<Execution>> = BTreeMap::new();
        for (test, execution) in passing.chain(failing) {
            tests.entry(test).or_default().push(execution.clone());
        }
        let all =
            tests.iter().flat_map(|(test, executions)| self.attempts(&self.suite.test_id(*test), executions));
        all.partition(|attempt| attempt.phase != Phase::Base)
    }

    /// A command that runs the test as it failed.
    fn reproduce(&self, test: TestKey, blame: &Blame) -> String {
        use flakewise_model::FlakyKind;
        let argv = self.suite.command_line(test.session);
        let mut words = vec![format!("PYTHONHASHSEED={}", self.suite.hash_seed())];
        let alone = !matches!(
            blame,
            Blame::Flaky(FlakyKind::StateDependent | FlakyKind::Bursty | FlakyKind::ProcessDependent)
        );
        if alone {
            // Alone, in the way the suite was started.
            let is_module = argv.windows(2).any(|pair| pair[0] == "-m" && pair[1] == "pytest");
            words.push(if is_module { "python -m pytest" } else { "pytest" }.to_owned());
            words.push(shell_word(self.suite.name(test)));
        } else {
            // With everything that ran before it.
            words.extend(self.context.command.iter().map(|word| shell_word(word)));
        }
        for (option, value) in self.suite.seeds(test.session) {
            match option.as_str() {
                "randomly_seed" => words.push(format!("--randomly-seed={value}")),
                "random_order_seed" => words.push(format!("--random-order-seed={value}")),
                _ => {}
            }
        }
        words.join(" ")
    }
}

fn costs(executions: &[Execution]) -> Vec<AttemptCost> {
    let cost = |(number, execution): (u32, &Execution)| {
        let cost = execution.cost?;
        Some(AttemptCost { number, wall: cost.wall, cpu: cost.cpu })
    };
    (1..).zip(executions).filter_map(cost).collect()
}

/// Why a build is red although flakes are tolerated.
fn intolerance(exit: &BuildExit, failures: &[TestFailure]) -> Option<&'static str> {
    let proved = failures.iter().all(|failure| failure.verdict.blame.is_proved_flaky());
    match exit.reason {
        ExitReason::Lost => Some("it is not complete"),
        ExitReason::NotFlaky if proved => Some("something besides the tests made it fail"),
        ExitReason::NotFlaky => Some("not all of its failures are proved flakes"),
        ExitReason::Runner | ExitReason::Tolerated => None,
    }
}

/// What needs a person comes first.
fn rank(blame: &Blame) -> u8 {
    match blame {
        Blame::Regression => 0,
        Blame::Undecided(_) => 1,
        Blame::Infrastructure => 2,
        Blame::BrokenBefore => 3,
        Blame::Flaky(_) => 4,
    }
}

/// Numbers the incidents anew, the largest first.
fn incidents(failures: &mut [TestFailure]) -> Vec<Incident> {
    let mut groups: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (place, failure) in failures.iter().enumerate() {
        groups.entry(failure.incident).or_default().push(place);
    }
    let mut groups: Vec<Vec<usize>> = groups.into_values().collect();
    groups.sort_by_key(|group| (std::cmp::Reverse(group.len()), group[0]));
    let mut incidents = Vec::new();
    for group in groups {
        for place in &group {
            failures[*place].incident = incidents.len();
        }
        let first = failures[group[0]].first().and_then(|attempt| attempt.failure.as_deref());
        incidents.push(Incident {
            kind: first.and_then(|failure| failure.kind.clone()),
            message: first.map(|failure| failure.message.clone()).unwrap_or_default(),
            failures: group,
        });
    }
    incidents
}
