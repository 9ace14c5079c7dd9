//! A hunt on a live suite: the suite once, then what the planner says.
//!
//! A test that has shown both outcomes is found, and run on with nothing beside
//! it until it is known whether it needs no other test to fail. Failures that
//! only came while other tests ran beside it are a finding of their own kind.
//! Towards the end of the budget tests run one at a time, so that whatever shows
//! then needs no confirmation.

mod double;
mod hunted_test;
mod orders;

use std::collections::{HashMap, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use flakewise_model::{
    Attempt, Cleared, FindingId, FlakeRate, FoundKind, FoundTest, HuntEnd, HuntReport, Notice, Order,
    Outcome, PastRuns, Probability, Run, Shard, Surroundings, TestId,
};
use flakewise_runner::{
    Director, Execution, Forks, FreshOptions, Measured, RunnerError, Suite, TestKey, Versions,
};
use tracing::info_span;

use self::hunted_test::{HuntedTest, MOST_TROUBLE};
use crate::name::{class_of, file_of};
use crate::shard::is_in_shard;
use crate::{Candidate, Planner, Prior};

/// What a hunt is to do.
#[derive(Clone, Debug)]
pub struct HuntSettings {
    /// When it ends at the latest.
    pub deadline: Instant,
    /// It ends when no test is flaky with more than one minus this chance.
    pub confidence: Option<f64>,
    /// It ends when fewer flaky tests than this are expected to be hidden.
    pub hidden: Option<f64>,
    /// How many tests run in parallel.
    pub jobs: usize,
    /// The part of the tests to hunt.
    pub shard: Option<Shard>,
    /// Other orders of all tests to run.
    pub orders: Orders,
    /// How often each test is measured before the hunt begins.
    pub measured_runs: u32,
    /// Where randomness comes from.
    pub seed: u64,
}

/// How many other orders of all tests a hunt runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Orders {
    /// None.
    None,
    /// So many.
    Count(u32),
    /// As many as end before this, and a few in any case.
    Until(Instant),
}

/// What is known from elsewhere, and where to put what is learned.
pub trait Knowledge {
    /// The chance that each test is flaky, before anything ran. Their files are
    /// below a folder.
    fn risks(&mut self, tests: &[TestId], root: &Path) -> Vec<f64>;
    /// Whether a test of this project is known to have been flaky, on any code.
    /// Asked after [`Knowledge::risks`].
    fn was_flaky(&mut self) -> bool {
        false
    }
    /// What earlier runs of the same code showed.
    fn past(&mut self, tests: &[TestId], run: &Run) -> Vec<PastRuns>;
    /// Remembers an attempt.
    fn remember(&mut self, attempt: Attempt);
    /// Takes in how a test behaved, run by run.
    fn measured(&mut self, test: &TestId, runs: &[Measured]);
}

/// How far a hunt is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum HuntProgress {
    /// The suite runs once.
    Suite {
        /// Tests that ended.
        done: u64,
        /// Tests in all.
        tests: u64,
    },
    /// All tests run in other orders.
    Orders {
        /// Executions so far.
        executions: u64,
        /// Tests that had another outcome than in the suite.
        found: u64,
    },
    /// Tests are measured.
    Measuring {
        /// Tests that were.
        done: u64,
        /// Tests in all.
        tests: u64,
    },
    /// Tests are run again.
    Hunting {
        /// Executions so far.
        executions: u64,
        /// Flaky tests found.
        found: u64,
        /// Flaky tests expected to be hidden.
        hidden: f64,
    },
}

/// What a hunt is done with.
pub struct HuntContext<'a> {
    /// What to do.
    pub settings: &'a HuntSettings,
    /// Makes the run, once the versions of the runner are known.
    pub run: &'a dyn Fn(Option<Versions<'_>>) -> Run,
    /// The command, for people.
    pub command: Vec<String>,
    /// What is known from elsewhere.
    pub knowledge: &'a mut dyn Knowledge,
    /// Told how far we are.
    pub progress: &'a dyn Fn(HuntProgress),
}

/// A test that never passed is run so often whatever the planner says: people
/// want to know whether it is broken or flaky.
const FAILING_RUNS: u64 = 50;
/// Of all runs, one in this many goes to such tests.
const FAILING_SHARE: u64 = 4;
/// What a process costs besides its test, until it has been measured.
const PROCESS_SECONDS: f64 = 0.005;
/// The part of the remaining time, one in this many, in which nothing runs side by
/// side: what shows then is confirmed, and what showed before has time to be.
const SOLO_SHARE: u32 = 10;
/// If this many tests fail only beside others, nothing runs in parallel any more:
/// it costs more to find out than is gained.
const MOST_BESIDE: usize = 5;
/// The part of the budget, one in so many, that repeating one surprise may take.
const SURPRISE_SHARE: f64 = 20.0;
/// How often conditions over all tests are looked at.
const LOOK_INTERVAL: Duration = Duration::from_millis(500);

/// Hunts for the flaky tests of a suite.
pub fn hunt(suite: &mut Suite, context: &mut HuntContext<'_>) -> Result<HuntReport, RunnerError> {
    let began = Instant::now();
    // The suite's own process only collects: what it would leave behind must
    // not be shared by all that follows.
    let collected = suite.run(&mut Collect)?;
    if suite.tests().is_empty() {
        return Err(RunnerError::NoTests);
    }
    let run = Arc::new((context.run)(suite.versions()));
    let mut notices = collected.notices;
    for error in &collected.collect_errors {
        let text = format!("failed to collect `{}`; its tests are skipped", error.name);
        notices.push(Notice { text, warning: true });
    }
    let shard = context.settings.shard;
    let wanted = suite.tests().into_iter().filter(|test| is_in_shard(suite.name(*test), shard));
    let keys: Vec<TestKey> = wanted.collect();
    let ids: Vec<TestId> = keys.iter().map(|key| suite.test_id(*key)).collect();
    let past = context.knowledge.past(&ids, &run);
    let risks = context.knowledge.risks(&ids, &suite.ids_root());
    let mut hunter = Hunter::new(suite, context, run, &keys, ids, &past, risks);
    let first = info_span!("suite in a fork").in_scope(|| hunter.suite_once(suite));
    let ended = first
        .and_then(|()| info_span!("measure").in_scope(|| hunter.measure(suite)))
        .and_then(|()| info_span!("other orders").in_scope(|| hunter.run_orders(suite)))
        .and_then(|()| info_span!("tests alone").in_scope(|| hunter.run_alone(suite)));
    match ended {
        Ok(()) => {}
        // What is known so far is worth telling.
        Err(RunnerError::Interrupted { signal }) => hunter.end = Some(HuntEnd::Interrupted { signal }),
        Err(error) => return Err(error),
    }
    notices.append(&mut hunter.notices);
    Ok(hunter.report(notices, began.elapsed()))
}

/// Finds the tests and runs none.
pub(crate) struct Collect;

impl Director for Collect {
    fn runs(&mut self) -> bool {
        false
    }
}

struct Hunter<'a, 'b> {
    context: &'a mut HuntContext<'b>,
    run: Arc<Run>,
    /// The folder that names of tests are relative to.
    root: PathBuf,
    hunted: Vec<HuntedTest>,
    places: HashMap<TestKey, usize>,
    planner: Option<Planner>,
    /// Tests to run on with nothing beside them.
    open: VecDeque<usize>,
    /// Tests that had not passed when the hunt began, and runs of them.
    failing: Vec<usize>,
    failing_runs: u64,
    /// How many tests may run in parallel.
    jobs: usize,
    /// Whether one runs at a time now.
    is_solo: bool,
    /// From when on that is so until the end.
    solo_from: Instant,
    /// Whether that has begun.
    is_late: bool,
    /// Whether tests can be forked, and how many were run beside themselves.
    forks: bool,
    doubled: usize,
    executions: u64,
    orders: u64,
    known: u64,
    next_look: Instant,
    end: Option<HuntEnd>,
    notices: Vec<Notice>,
}

impl<'a, 'b> Hunter<'a, 'b> {
    fn new(
        suite: &Suite,
        context: &'a mut HuntContext<'b>,
        run: Arc<Run>,
        keys: &[TestKey],
        ids: Vec<TestId>,
        past: &[PastRuns],
        risks: Vec<f64>,
    ) -> Self {
        let hunted: Vec<HuntedTest> = keys
            .iter()
            .zip(ids)
            .zip(past.iter().zip(risks))
            .map(|((&key, id), (past, risk))| HuntedTest::new(key, id, suite.name(key), risk, past))
            .collect();
        let known =
            past.iter().map(|past| past.together.runs() + past.ordered.runs() + past.alone.runs()).sum();
        Self {
            run,
            root: suite.root().to_owned(),
            places: keys.iter().enumerate().map(|(place, key)| (*key, place)).collect(),
            hunted,
            planner: None,
            open: VecDeque::new(),
            failing: Vec::new(),
            failing_runs: 0,
            jobs: context.settings.jobs,
            // As the suite itself runs.
            is_solo: true,
            solo_from: context.settings.deadline,
            is_late: false,
            forks: true,
            doubled: 0,
            context,
            executions: 0,
            orders: 0,
            known,
            next_look: Instant::now(),
            end: None,
            notices: Vec::new(),
        }
    }

    /// The suite, once, unless all its tests are known: what it takes, and what
    /// fails already.
    fn suite_once(&mut self, suite: &mut Suite) -> Result<(), RunnerError> {
        let is_new = |hunted: &HuntedTest| hunted.solo.suite.runs() + hunted.solo.alone.runs() == 0;
        let new: Vec<TestKey> =
            self.hunted.iter().filter(|hunted| is_new(hunted)).map(|hunted| hunted.key).collect();
        if new.is_empty() {
            return Ok(());
        }
        suite.run_rest(self, |test| new.binary_search(&test).is_ok())
    }

    /// How the tests behave. Those runs are not counted: to be measured disturbs
    /// a test.
    fn measure(&mut self, suite: &mut Suite) -> Result<(), RunnerError> {
        let wanted = self.context.settings.measured_runs;
        if wanted == 0 {
            return Ok(());
        }
        let tests = self.hunted.len() as u64;
        for place in 0..self.hunted.len() {
            if !self.goes_on() {
                return Ok(());
            }
            let mut runs = Vec::new();
            for _ in 0..wanted {
                if self.hunted[place].skipped {
                    break;
                }
                match suite.measure(self.hunted[place].key)? {
                    Ok(measured) => runs.push(measured),
                    Err(trouble) => {
                        let text = format!("failed to measure `{}`: {trouble}", self.hunted[place].name);
                        self.notices.push(Notice { text, warning: false });
                        break;
                    }
                }
            }
            self.context.knowledge.measured(&self.hunted[place].id, &runs);
            (self.context.progress)(HuntProgress::Measuring { done: place as u64 + 1, tests });
        }
        Ok(())
    }

    /// What the planner says, until it is enough.
    fn run_alone(&mut self, suite: &mut Suite) -> Result<(), RunnerError> {
        self.plan();
        let found = (0..self.hunted.len()).filter(|&place| self.hunted[place].is_open());
        self.open = found.collect();
        let never_passed = |hunted: &HuntedTest| !hunted.is_found() && hunted.all().failed > 0;
        self.failing = (0..self.hunted.len()).filter(|&place| never_passed(&self.hunted[place])).collect();
        self.forks = self.hunted.iter().all(|hunted| suite.can_fork(hunted.key.session));
        if !self.forks {
            self.jobs = 1;
        }
        let left = self.context.settings.deadline.saturating_duration_since(Instant::now());
        self.allow();
        self.solo_from = Instant::now() + left.saturating_sub(left / SOLO_SHARE);
        while self.end.is_none() {
            if let Some(place) = self.next_double() {
                self.double(suite, place)?;
                continue;
            }
            self.is_solo = self.wants_solo();
            if self.forks {
                suite.fork_many(if self.is_solo { 1 } else { self.jobs }, self)?;
            } else {
                self.run_fresh(suite)?;
            }
            if self.is_solo == self.wants_solo() && self.next_double().is_none() && self.end.is_none() {
                self.end = Some(HuntEnd::Exhausted);
            }
        }
        Ok(())
    }

    /// Gives every surprise time to be repeated.
    fn allow(&mut self) {
        let left = self.context.settings.deadline.saturating_duration_since(Instant::now());
        for hunted in &mut self.hunted {
            hunted.allow(left.as_secs_f64() / SURPRISE_SHARE);
        }
    }

    /// Whether one test should run at a time now.
    fn wants_solo(&self) -> bool {
        self.jobs == 1 || !self.open.is_empty() || Instant::now() >= self.solo_from
    }

    /// Runs nothing in parallel any more.
    fn one_at_a_time(&mut self) {
        if self.jobs > 1 {
            self.jobs = 1;
            let text = "tests interfere with each other when they run in parallel; the hunt continued with one test at a time";
            self.notices.push(Notice { text: text.to_owned(), warning: false });
        }
    }

    /// Begins to plan, with all that was seen so far.
    fn plan(&mut self) {
        let mut prior = Prior::default();
        if self.context.knowledge.was_flaky() {
            prior.clean = 0.0;
        }
        let seed = self.context.settings.seed;
        let mut planner = Planner::with_prior(&self.candidates(), &prior, seed);
        let is_aside = |hunted: &HuntedTest| hunted.skipped || hunted.random_outcomes().is_none();
        planner.set_aside((0..self.hunted.len()).filter(|&place| is_aside(&self.hunted[place])));
        self.planner = Some(planner);
    }

    /// In new processes, one at a time, where nothing can be forked.
    fn run_fresh(&mut self, suite: &mut Suite) -> Result<(), RunnerError> {
        while let Some(tests) = self.next() {
            let options = FreshOptions { hash_seed: suite.hash_seed(), ..FreshOptions::default() };
            let run = suite.fresh(tests[0], &options)?;
            Forks::ended(self, &tests, run.execution);
        }
        Ok(())
    }

    fn candidates(&self) -> Vec<Candidate> {
        let mut numbers: HashMap<&str, u32> = HashMap::new();
        let mut number = |text| {
            let next = u32::try_from(numbers.len()).unwrap_or(u32::MAX);
            *numbers.entry(text).or_insert(next)
        };
        let candidates = self.hunted.iter().map(|hunted| {
            let shown = hunted.random_outcomes().unwrap_or_default();
            Candidate {
                risk: hunted.risk,
                class: number(class_of(&hunted.name)),
                module: number(file_of(&hunted.name)),
                seconds: hunted.seconds.unwrap_or(0.0) + PROCESS_SECONDS,
                passed: count(shown.passed),
                failed: count(shown.failed),
            }
        });
        candidates.collect()
    }

    /// Whether to continue, as far as one can tell at once; looks at all tests now
    /// and then.
    fn goes_on(&mut self) -> bool {
        let settings = self.context.settings;
        if self.end.is_some() {
            return false;
        }
        if Instant::now() >= settings.deadline {
            self.end = Some(HuntEnd::Budget);
            return false;
        }
        let Some(planner) = &self.planner else { return true };
        if Instant::now() < self.next_look {
            return true;
        }
        let began = Instant::now();
        let hidden = planner.expected_hidden();
        let found = self.hunted.iter().filter(|hunted| hunted.is_found()).count() as u64;
        (self.context.progress)(HuntProgress::Hunting { executions: self.executions, found, hidden });
        if settings.hidden.is_some_and(|bound| hidden < bound) {
            self.end = Some(HuntEnd::Hidden);
        } else if let Some(confidence) = settings.confidence {
            let is_sure = |place: usize| {
                self.hunted[place].skipped
                    || self.hunted[place].is_found()
                    || planner.chance(place) <= 1.0 - confidence
            };
            if (0..self.hunted.len()).all(is_sure) {
                self.end = Some(HuntEnd::Confidence);
            }
        }
        // Of many tests, looking must not take the time to run them.
        self.next_look = Instant::now() + LOOK_INTERVAL.max(20 * began.elapsed());
        self.end.is_none()
    }

    /// The test that never passed and was run least, if it is the turn of such
    /// tests.
    fn failing_test(&mut self) -> Option<usize> {
        if self.failing_runs * FAILING_SHARE > self.executions {
            return None;
        }
        let hunted = &self.hunted;
        let is_worth = |place: &usize| {
            let hunted = &hunted[*place];
            !hunted.is_found() && hunted.trouble < MOST_TROUBLE && hunted.alone().runs() < FAILING_RUNS
        };
        self.failing.retain(is_worth);
        self.failing.iter().copied().min_by_key(|&place| hunted[place].alone().runs())
    }

    fn remember(&mut self, place: usize, execution: &Execution) {
        let is_solo = self.is_solo;
        let hunted = &mut self.hunted[place];
        hunted.attempts += 1;
        self.executions += 1;
        let attempt = execution.attempt(&hunted.id, &self.run, hunted.attempts);
        if execution.outcome.is_failure() && !is_solo && !hunted.is_confirmed() {
            hunted.held.push(attempt);
        } else {
            self.context.knowledge.remember(attempt);
        }
        if execution.outcome.is_failure() && hunted.failure.is_none() {
            hunted.failure.clone_from(&execution.failure);
            hunted.place = execution.place.as_ref().map(|place| place.below(&self.root));
        }
    }

    /// Counts how a test ended, after what, and whether others ran beside it.
    fn count(&mut self, place: usize, after: Surroundings, failed: bool) {
        let hunted = &mut self.hunted[place];
        let seen = if self.is_solo { &mut hunted.solo } else { &mut hunted.beside };
        let tally = match after {
            Surroundings::Alone => &mut seen.alone,
            Surroundings::After(Order::Original) => &mut seen.suite,
            Surroundings::After(_) => &mut seen.ordered,
        };
        tally.add(failed);
        if hunted.is_confirmed() {
            for attempt in std::mem::take(&mut hunted.held) {
                self.context.knowledge.remember(attempt);
            }
        }
    }

    /// Nothing more can be learned of a test.
    fn give_up(&mut self, place: usize) {
        if let Some(planner) = &mut self.planner {
            planner.retire(place);
        }
    }

    fn report(mut self, mut notices: Vec<Notice>, duration: Duration) -> HuntReport {
        let hidden = self.planner.as_ref().map(Planner::hidden);
        let mut found = Vec::new();
        let mut only_beside = Vec::new();
        let mut always_fail = Vec::new();
        let mut clean = Vec::new();
        let (mut skipped, mut not_run) = (0, 0);
        for hunted in std::mem::take(&mut self.hunted) {
            let all = hunted.all();
            if hunted.skipped {
                skipped += 1;
            } else if hunted.is_found() {
                let test = found_test(hunted);
                let is_beside = matches!(test.kind, FoundKind::Beside | FoundKind::Unconfirmed);
                if is_beside { &mut only_beside } else { &mut found }.push(test);
            } else if all.failed > 0 {
                always_fail.push(hunted.id);
            } else if all.passed > 0 {
                clean.push(all.passed);
            } else {
                not_run += 1;
            }
        }
        if not_run > 0 {
            let tests = if not_run == 1 { "1 test".to_owned() } else { format!("{not_run} tests") };
            let text = format!("budget exhausted, not run: {tests}");
            notices.push(Notice { text, warning: true });
        }
        for list in [&mut found, &mut only_beside] {
            list.sort_by(|left: &FoundTest, right| {
                let rate = |test: &FoundTest| test.alone.rate().get();
                rate(right).total_cmp(&rate(left)).then_with(|| left.name.cmp(&right.name))
            });
        }
        clean.sort_unstable();
        HuntReport {
            run: self.run,
            command: self.context.command.clone(),
            seed: self.context.settings.seed,
            shard: self.context.settings.shard,
            tests: (found.len() + only_beside.len() + always_fail.len() + clean.len()) as u64 + not_run,
            skipped,
            orders: self.orders,
            executions: self.executions,
            known: self.known,
            duration,
            jobs: self.context.settings.jobs,
            end: self.end.unwrap_or(HuntEnd::Exhausted),
            found,
            only_beside,
            always_fail,
            cleared: Cleared {
                tests: clean.len() as u64,
                runs: clean.iter().sum(),
                fewest_runs: clean.first().copied().unwrap_or(0),
                median_runs: clean.get(clean.len() / 2).copied().unwrap_or(0),
            },
            hidden,
            notices,
        }
    }
}

fn count(runs: u64) -> u32 {
    u32::try_from(runs).unwrap_or(u32::MAX)
}

fn found_test(hunted: HuntedTest) -> FoundTest {
    let alone = hunted.alone();
    FoundTest {
        id: FindingId::of(&hunted.id),
        kind: hunted.kind(),
        decision: hunted.decision,
        alone: FlakeRate { failures: alone.failed, attempts: alone.runs() },
        solo: hunted.solo.all(),
        beside: hunted.beside.all(),
        test: hunted.id,
        name: hunted.name,
        failure: hunted.failure,
        place: hunted.place,
        risk: Probability::clamped(hunted.risk),
        after: hunted.found_after.unwrap_or(0),
    }
}

/// The suite, once.
impl Director for Hunter<'_, '_> {
    fn ended(&mut self, execution: &Execution) {
        let Some(&place) = self.places.get(&execution.test) else { return };
        if execution.outcome == Outcome::Crashed && Instant::now() >= self.context.settings.deadline {
            // It did not crash: it was running when the time was over.
            return;
        }
        self.remember(place, execution);
        if execution.outcome == Outcome::Skipped {
            self.hunted[place].skipped = true;
        } else {
            self.count(place, Surroundings::After(Order::Original), execution.outcome.is_failure());
            self.hunted[place].seconds = execution.duration.map(|duration| duration.as_secs_f64());
        }
        let tests = self.hunted.len() as u64;
        (self.context.progress)(HuntProgress::Suite { done: self.executions, tests });
    }

    fn goes_on(&mut self) -> bool {
        Hunter::goes_on(self)
    }

    fn deadline(&self) -> Option<Instant> {
        Some(self.context.settings.deadline)
    }
}

/// What follows.
impl Forks for Hunter<'_, '_> {
    fn next(&mut self) -> Option<Vec<TestKey>> {
        if !self.goes_on() {
            return None;
        }
        while let Some(&place) = self.open.front()
            && !self.hunted[place].is_open()
        {
            self.open.pop_front();
        }
        if Instant::now() >= self.solo_from && !self.is_late {
            // What is still in doubt gets another chance.
            self.is_late = true;
            self.allow();
            let hunted = &self.hunted;
            self.open.extend((0..hunted.len()).filter(|&place| hunted[place].is_open()));
        }
        if self.is_solo != self.wants_solo() || self.next_double().is_some() {
            // Once nothing else runs.
            return None;
        }
        if let Some(&place) = self.open.front() {
            return Some(vec![self.hunted[place].key]);
        }
        if let Some(place) = self.failing_test() {
            self.failing_runs += 1;
            return Some(vec![self.hunted[place].key]);
        }
        loop {
            let place = self.planner.as_mut()?.next_test()?;
            if self.hunted[place].skipped {
                self.give_up(place);
                continue;
            }
            return Some(vec![self.hunted[place].key]);
        }
    }

    fn ended(&mut self, tests: &[TestKey], result: Result<Execution, String>) {
        let Some(&place) = self.places.get(&tests[0]) else { return };
        let execution = match result {
            Ok(execution) => execution,
            Err(trouble) => {
                let hunted = &mut self.hunted[place];
                hunted.trouble += 1;
                if hunted.trouble == MOST_TROUBLE {
                    let text = format!("failed to run `{}` alone: {trouble}", hunted.name);
                    self.notices.push(Notice { text, warning: true });
                    self.give_up(place);
                } else if let Some(planner) = &mut self.planner {
                    planner.abandon(place);
                }
                return;
            }
        };
        self.remember(place, &execution);
        if execution.outcome == Outcome::Skipped {
            // It skips itself alone: there is nothing to find this way.
            self.hunted[place].trouble = MOST_TROUBLE;
            self.give_up(place);
            return;
        }
        let failed = execution.outcome.is_failure();
        let was_found = self.hunted[place].is_found();
        self.count(place, Surroundings::Alone, failed);
        let hunted = &mut self.hunted[place];
        if hunted.is_found() && !was_found {
            hunted.found_after = Some(hunted.alone().runs());
        }
        let taken = execution.cost.map(|cost| cost.wall).or(execution.duration);
        let seconds = taken.map_or(PROCESS_SECONDS, |taken| taken.as_secs_f64());
        if was_found {
            hunted.spent += seconds;
        }
        let random_outcomes = hunted.random_outcomes();
        if hunted.is_open() && !self.open.contains(&place) {
            self.open.push_back(place);
        }
        if let Some(planner) = &mut self.planner {
            planner.record(place, failed, seconds);
            match random_outcomes {
                None => planner.set_aside([place]),
                Some(shown) => planner.reinstate(place, count(shown.passed), count(shown.failed)),
            }
        }
        let is_beside =
            |hunted: &&HuntedTest| hunted.is_found() && !hunted.is_open() && !hunted.is_confirmed();
        if random_outcomes.is_none() && self.hunted.iter().filter(is_beside).count() >= MOST_BESIDE {
            self.one_at_a_time();
        }
    }

    fn deadline(&self) -> Option<Instant> {
        Some(self.context.settings.deadline)
    }

    fn cut_short(&mut self, tests: &[TestKey]) {
        if let (Some(&place), Some(planner)) = (self.places.get(&tests[0]), &mut self.planner) {
            planner.abandon(place);
        }
    }
}
