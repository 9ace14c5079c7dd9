//! The rest of the ladder, after the suite: FORK, FRESH and INTERSECT, the base,
//! and the report.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use flakewise_model::{
    Attempt, AttemptCost, BaseSource, Blame, Counts, FailureVerdict, FindingId, Fingerprint, Incident,
    Notice, Outcome, Phase, QuarantineStatus, Quarantined, Refusal, Reproduction, Review, Run, RunReport,
    SeenOn, TestFailure, TestId,
};
use flakewise_quarantine::{InForce, SeenFailure};
use flakewise_runner::{
    Execution, FreshOptions, Observation, RunnerError, Step, Suite, SuiteRun, TestKey, Typed, Versions,
};

use crate::detour::Detours;
use crate::judge::{self, BaseFacts, ChangeFacts, Facts};
use crate::kind::{Condition, Trials};
use crate::ladder::Ladder;
use crate::policy::{Ending, Tolerance, exit, quarantined, refusal};
use crate::reproduce::{Manner, Trial, reproduction};
use crate::review::{Candidate, FORK_SECONDS, LEAST_TIME, ReviewSettings, Rounds, goal, plan};
use crate::watch::{loaded_from, meeting, watching};
use crate::{BaseTree, Change, Meeting, same_failure};

/// How often a test is tried at the base before it is called broken there.
const BASE_TRIES: u32 = 2;
/// How often a flaky test is tried at the base, to see whether it is flaky there.
const BASE_TRIES_OF_FLAKES: u32 = 4;
/// What it costs to set up the session's fixtures again, in seconds, besides what
/// they do to their surroundings.
const SET_UP_AGAIN: f64 = 0.5;
/// How often a flaky test is run again to find out its kind.
pub(crate) const MOST_TRIALS: usize = 80;

/// How often failing tests are rerun.
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
    /// The most processes for one test when doing so.
    pub most_processes: u32,
    /// Whether to run failing tests on the base revision.
    pub verify_base: bool,
    /// Which failures leave the build green.
    pub tolerance: Tolerance,
    /// Further reruns after the suite, in the same process, of tests that are quick:
    /// they tell kinds of flakes apart.
    pub contrast: u32,
    /// How long a failing test may be run again to find out its kind.
    pub kind_time: Duration,
    /// How long failing tests may be run at the base where nothing else decides,
    /// without being requested.
    pub base_time: Duration,
    /// Where seeds come from.
    pub seed: u64,
}

/// What the history knows of a test that failed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Past {
    /// Failures with the same fingerprint on other revisions.
    pub failures: u64,
    /// On how many revisions.
    pub revisions: u64,
    /// Revisions on which it both passed and failed.
    pub mixed: u64,
    /// What clean commits showed, each once. [`triage`] keeps those without the
    /// change.
    pub seen: Vec<SeenOn>,
    /// What is installed differently from when it passed last, as
    /// `httpx 0.27.0 → 0.28.1`.
    pub installed_since: Vec<String>,
}

/// What is remembered of earlier runs.
pub trait Memory {
    /// What is known of tests that failed with these fingerprints in a run.
    fn past(&mut self, tests: &[(TestId, Option<Fingerprint>)], run: &Run) -> Vec<Past>;
    /// How often tests passed, and failed with these fingerprints, at a commit, where
    /// and how a run runs.
    fn at(&mut self, tests: &[(TestId, Option<Fingerprint>)], commit: &str, run: &Run) -> Vec<(u32, u32)>;
}

/// Remembers nothing.
#[derive(Clone, Copy, Debug)]
pub struct NoMemory;

impl Memory for NoMemory {
    fn past(&mut self, tests: &[(TestId, Option<Fingerprint>)], _: &Run) -> Vec<Past> {
        vec![Past::default(); tests.len()]
    }

    fn at(&mut self, tests: &[(TestId, Option<Fingerprint>)], _: &str, _: &Run) -> Vec<(u32, u32)> {
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
    /// New and changed tests are rerun.
    Review {
        /// Reruns that ended.
        done: u64,
        /// Reruns in all, if time allows.
        of: u64,
    },
    /// The history is queried.
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
    /// Lines that reproduce failures and are to be tried once the suite is over.
    pub trials: Vec<Trial>,
}

/// What a run is judged with.
pub struct Context<'a> {
    /// How often failing tests are rerun.
    pub settings: &'a TriageSettings,
    /// What changed; none if unknown.
    pub change: Option<&'a Change>,
    /// Which failures are forgiven until when; none if that is not asked for.
    pub quarantine: Option<&'a InForce>,
    /// Which tests that pass are rerun, and how often; none if none is.
    pub review: Option<&'a ReviewSettings<'a>>,
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
///
/// A pytest in which tests failed waits at its end until they have been run again in
/// its process and in forks. If failures may be tolerated or are quarantined, it waits
/// until they are judged, and exits with the code that follows; else the rest is done when the
/// command has ended.
pub fn triage(suite: &mut Suite, context: &mut Context<'_>) -> Result<Triaged, RunnerError> {
    let began = Instant::now();
    let mut ladder = Ladder::new(context.settings, context.progress);
    // Quarantined failures are forgiven however many tests fail.
    ladder.always_holds = context.quarantine.is_some();
    ladder.quarantine = context.quarantine;
    let mut ladder_run = LadderRun::new(suite, context, ladder);
    let span = tracing::info_span!("suite").entered();
    while let Step::Waiting(session) = ladder_run.suite.advance(&mut ladder_run.ladder)? {
        ladder_run.waiting(session)?;
    }
    let suite_run = ladder_run.suite.finish(&mut ladder_run.ladder)?;
    drop(span);
    let suite_time = began.elapsed().saturating_sub(ladder_run.held);
    let review = ladder_run.review(suite_time)?;
    ladder_run.rest()?;
    let triage_time = began.elapsed().saturating_sub(suite_time);
    let (attempts, base_attempts) = ladder_run.all_attempts();
    let (report, trials) = ladder_run.report(&suite_run, review, suite_time, triage_time);
    Ok(Triaged { report, attempts, base_attempts, trials })
}

struct LadderRun<'a, 'b> {
    suite: &'a mut Suite,
    context: &'a mut Context<'b>,
    ladder: Ladder<'a>,
    run: Option<Arc<Run>>,
    /// What was seen of tests that were watched.
    seen: BTreeMap<TestKey, Sight>,
    /// Asked for the first time when it is needed.
    detours: Option<Detours>,
    base: BTreeMap<TestKey, BaseFacts>,
    past: BTreeMap<TestKey, Past>,
    /// Processes that ran with another hash seed than the suite, with the seed.
    seeds: BTreeMap<String, u32>,
    /// Tests that ran in forks and, if they passed, whose kind was looked into.
    explored: BTreeSet<TestKey>,
    /// Tests that ran in new processes, or need not.
    separated: BTreeSet<TestKey>,
    /// How long processes of the suite waited for us.
    held: Duration,
    notices: Vec<Notice>,
}

/// What is said of a failure, and whether it fails the build.
struct Judged {
    verdict: FailureVerdict,
    /// Why it is not tolerated; none if it is, or if nothing is to be.
    refusal: Option<Refusal>,
    quarantine: Option<Quarantined>,
}

/// What was seen of a test that was watched, in one run or several.
struct Sight {
    /// How it meets the change.
    meeting: Meeting,
    /// Whether executed lines were seen.
    lines_seen: bool,
    /// How another run may come to load what changed, if no run that failed was seen.
    detour: Option<String>,
    /// Whether a run that failed was seen.
    failed: bool,
}

impl Sight {
    /// What two sights of one test say together.
    fn union(self, other: Self) -> Self {
        Self {
            meeting: self.meeting.union(other.meeting),
            lines_seen: self.lines_seen && other.lines_seen,
            detour: self.detour.or(other.detour),
            failed: self.failed || other.failed,
        }
    }

    /// How the test meets the change when it fails.
    fn meeting(&self) -> Cow<'_, Meeting> {
        match (&self.meeting, &self.detour) {
            (Meeting::Disjoint { .. }, Some(reason)) if !self.failed => {
                Cow::Owned(Meeting::Unknown { reason: reason.clone() })
            }
            (meeting, _) => Cow::Borrowed(meeting),
        }
    }
}

impl<'a, 'b> LadderRun<'a, 'b> {
    fn new(suite: &'a mut Suite, context: &'a mut Context<'b>, ladder: Ladder<'a>) -> Self {
        Self {
            suite,
            context,
            ladder,
            run: None,
            seen: BTreeMap::new(),
            detours: None,
            base: BTreeMap::new(),
            past: BTreeMap::new(),
            seeds: BTreeMap::new(),
            explored: BTreeSet::new(),
            separated: BTreeSet::new(),
            held: Duration::ZERO,
            notices: Vec::new(),
        }
    }

    /// A pytest waits at its end: what can be found out with its help, and whether
    /// its failures count.
    fn waiting(&mut self, session: u32) -> Result<(), RunnerError> {
        let began = Instant::now();
        self.explore(Some(session))?;
        let mut forgive = false;
        if self.context.settings.tolerance != Tolerance::Nothing || self.has_quarantined(session) {
            self.separate(Some(session))?;
            self.remember(Some(session));
            self.at_base(Some(session))?;
            forgive = self.may_forgive(session);
        }
        self.suite.release(session, forgive);
        self.held += began.elapsed();
        Ok(())
    }

    /// What is left when the command has ended.
    fn rest(&mut self) -> Result<(), RunnerError> {
        if !self.ladder.is_gate_closed() {
            self.explore(None)?;
            self.separate(None)?;
            self.remember(None);
            return self.at_base(None);
        }
        self.remember(None);
        Ok(())
    }

    /// New and changed tests that passed, until those that fail now and then would have
    /// shown or the time is up.
    fn review(&mut self, suite_time: Duration) -> Result<Option<Review>, RunnerError> {
        let Some(settings) = self.context.review else { return Ok(None) };
        let began = Instant::now();
        let goal = goal(settings.rate);
        let budget = if settings.share > 0.0 {
            suite_time.mul_f64(settings.share).max(LEAST_TIME)
        } else {
            Duration::ZERO
        };
        let tests = self.tests_to_review(settings);
        let mut review = Review {
            tests: tests.len() as u64,
            flaky: 0,
            runs: 0,
            each: (0, 0),
            goal,
            rate: settings.rate,
            time: Duration::ZERO,
            budget,
        };
        if tests.is_empty() || budget.is_zero() {
            return Ok(Some(review));
        }
        if self.ladder.is_gate_closed() {
            self.notices.push(Notice {
                text: "new and changed tests were not rerun, since too many tests failed".to_owned(),
                warning: true,
            });
            return Ok(Some(review));
        }
        let _span = tracing::info_span!("reruns of new and changed tests", tests = tests.len()).entered();
        let (keys, candidates): (Vec<TestKey>, Vec<Candidate>) = tests.into_iter().unzip();
        let runs = plan(&candidates, settings.rate, goal, budget.as_secs_f64());
        let planned = keys.iter().copied().zip(runs).collect();
        let mut rounds = Rounds::new(planned, began + budget, self.context.progress);
        self.suite.fork_many(settings.jobs, &mut rounds)?;
        let Rounds { executions, suspects, trouble, .. } = rounds;
        let sessions: BTreeSet<u32> = keys.iter().map(|key| key.session).collect();
        if sessions.iter().any(|session| self.suite.seeds(*session).contains_key("randomly_seed")) {
            let text = "pytest-randomly gave all reruns of new and changed tests the same random numbers, so those that \
                        fail with others were not found; `-p no:randomly` turns that off"
                .to_owned();
            self.notices.push(Notice { text, warning: true });
        }
        if let Some(trouble) = trouble {
            let text = format!("some reruns of new and changed tests did not take place: {trouble}");
            self.notices.push(Notice { text, warning: true });
        }
        let mut of_test: BTreeMap<TestKey, Vec<Execution>> = keys.iter().map(|key| (*key, vec![])).collect();
        for execution in executions {
            of_test.entry(execution.test).or_default().push(execution);
        }
        review.runs = of_test.values().map(|runs| runs.len() as u64).sum();
        let mut each: Option<(u32, u32)> = None;
        for (test, mut runs) in of_test {
            let is_suspect = suspects.contains(&test);
            if is_suspect {
                self.confirm(test, goal, &mut runs)?;
            }
            let fails_alone = |one: &Execution| one.phase == Phase::Fork && one.outcome.is_failure();
            if runs.iter().any(fails_alone) {
                review.flaky += 1;
                self.ladder.found(test, runs);
                continue;
            }
            if is_suspect {
                self.notice_order(test, &runs);
            }
            let passes = runs.iter().filter(|one| one.outcome == Outcome::Passed).count();
            let passes = u32::try_from(passes).unwrap_or(u32::MAX);
            let (fewest, most) = each.unwrap_or((passes, passes));
            each = Some((fewest.min(passes), most.max(passes)));
            self.ladder.keep(runs);
        }
        review.each = each.unwrap_or_default();
        review.time = began.elapsed();
        Ok(Some(review))
    }

    /// New and changed tests that passed in the suite and can be forked.
    fn tests_to_review(&mut self, settings: &ReviewSettings<'_>) -> Vec<(TestKey, Candidate)> {
        let mut found: Vec<(TestKey, f64, f64)> = Vec::new();
        let mut unforked = 0_u64;
        for one in self.ladder.never_failed() {
            let is_asked = one.phase == Phase::First && one.outcome == Outcome::Passed;
            let risk = if is_asked { (settings.risk)(&self.suite.test_id(one.test)) } else { None };
            let Some(risk) = risk else { continue };
            if self.suite.can_fork(one.test.session) {
                found.push((one.test, risk, one.duration.unwrap_or_default().as_secs_f64()));
            } else {
                unforked += 1;
            }
        }
        if unforked > 0 {
            let text =
                format!("{unforked} new or changed tests were not rerun, since pytest cannot be forked here");
            self.notices.push(Notice { text, warning: true });
        }
        // A fork is shared by all of them, and the cores by all forks.
        let forks = found.len().max(1) as f64;
        let cost = |seconds: f64| (seconds + FORK_SECONDS / forks) / settings.jobs.max(1) as f64;
        let mut tests: Vec<(TestKey, Candidate)> = found
            .into_iter()
            .map(|(test, risk, seconds)| (test, Candidate { risk, seconds: cost(seconds) }))
            .collect();
        tests.sort_unstable_by_key(|(test, _)| *test);
        tests
    }

    /// Runs a test alone that failed after others, until it fails or has passed often
    /// enough.
    fn confirm(&mut self, test: TestKey, goal: u32, runs: &mut Vec<Execution>) -> Result<(), RunnerError> {
        let deadline = Instant::now() + self.context.settings.kind_time;
        for _ in 0..goal {
            self.tell(Phase::Fork, test, 0, 1);
            match self.suite.fork_under(test, &mut self.ladder)? {
                Ok(execution) => {
                    let failed = execution.outcome.is_failure();
                    runs.push(execution);
                    if failed {
                        break;
                    }
                }
                Err(trouble) => {
                    self.notice_trouble(test, "in a fork", &trouble);
                    break;
                }
            }
            if Instant::now() > deadline {
                break;
            }
        }
        Ok(())
    }

    /// Says that a test failed with others and never alone.
    fn notice_order(&mut self, test: TestKey, runs: &[Execution]) {
        let alone = runs.iter().filter(|one| one.phase == Phase::Fork && one.outcome == Outcome::Passed);
        let text = format!(
            "`{}` failed when it was run with other new or changed tests, several times in one process, and passed \
             {} times alone: it may depend on other tests or on its own earlier runs",
            self.suite.name(test),
            alone.count()
        );
        self.notices.push(Notice { text, warning: true });
    }

    /// Whether a session that waits may exit as if its failing tests had passed.
    fn may_forgive(&self, session: u32) -> bool {
        let is_complete = self.suite.lost().iter().all(|test| test.session != session)
            && self.suite.so_far().incomplete.is_empty()
            && self.suite.so_far().collect_errors.is_empty();
        let tests = self.failing_of(Some(session));
        is_complete
            && !self.suite.session_end(session).broken
            && !tests.is_empty()
            && tests.iter().all(|test| {
                let Judged { verdict, refusal, quarantine } = self.judged(*test);
                let tolerates = self.context.settings.tolerance != Tolerance::Nothing;
                quarantine.is_some_and(|said| said.is_forgiven())
                    || (tolerates && refusal.is_none() && verdict.blame.is_proved_flaky())
            })
    }

    /// Whether the quarantine says something about a failing test of a session.
    fn has_quarantined(&self, session: u32) -> bool {
        self.failing_of(Some(session)).into_iter().any(|test| self.in_quarantine(test).is_some())
    }

    /// What the quarantine says about a failing test, and whether only because it covers
    /// any failure.
    fn in_quarantine(&self, test: TestKey) -> Option<(Quarantined, bool)> {
        let quarantine = self.context.quarantine?;
        let own = self.ladder.failing()[&test].iter().filter(|one| one.phase != Phase::Base);
        let failures = own.filter(|one| one.outcome.is_failure()).map(|one| SeenFailure {
            fingerprint: one.failure.as_ref().and_then(|failure| failure.fingerprint.as_ref()),
            // Fixtures are not renamed with the test: another one may fail in the same words.
            frames: one.frames.as_ref().filter(|_| one.outcome == Outcome::Failed),
            crashed: matches!(one.outcome, Outcome::Crashed | Outcome::TimedOut),
        });
        quarantine.judge(&self.suite.test_id(test), &failures.collect::<Vec<_>>())
    }

    /// Failing tests, of one session or of all.
    fn failing_of(&self, session: Option<u32>) -> Vec<TestKey> {
        let is_wanted = |test: &&TestKey| session.is_none_or(|session| test.session == session);
        self.ladder.failing().keys().filter(is_wanted).copied().collect()
    }

    /// FORK, one test at a time: the others must not disturb it. The kind of those
    /// that passed is looked into while the suite's process is there.
    fn explore(&mut self, session: Option<u32>) -> Result<(), RunnerError> {
        // A test that stood back for another climbs once that one has passed.
        loop {
            let wanted = |test: &TestKey| {
                !self.explored.contains(test) && (self.ladder.climbs(*test) || self.ladder.is_cleared(*test))
            };
            let open: Vec<TestKey> = self.failing_of(session).into_iter().filter(wanted).collect();
            if open.is_empty() || self.ladder.is_gate_closed() {
                return Ok(());
            }
            let _span = tracing::info_span!("reruns in forks", tests = open.len()).entered();
            for (place, test) in open.iter().enumerate() {
                self.explored.insert(*test);
                self.explore_one(*test, place, open.len())?;
            }
        }
    }

    fn explore_one(&mut self, test: TestKey, place: usize, of: usize) -> Result<(), RunnerError> {
        let settings = self.context.settings;
        let forks = if self.suite.can_fork(test.session) { settings.separate.saturating_sub(1) } else { 0 };
        for _ in 0..forks {
            if self.ladder.is_cleared(test) {
                break;
            }
            self.tell(Phase::Fork, test, place, of);
            self.fork(test)?;
        }
        if self.ladder.is_cleared(test) {
            self.contrast(test, &[Condition::Later, Condition::Alone], (place, of))?;
        }
        Ok(())
    }

    fn fork(&mut self, test: TestKey) -> Result<(), RunnerError> {
        match self.suite.fork_under(test, &mut self.ladder)? {
            Ok(execution) => self.ladder.add(execution),
            Err(trouble) => self.notice_trouble(test, "in a fork", &trouble),
        }
        Ok(())
    }

    /// Runs a flaky test again where that tells kinds of flakes apart, until its kind
    /// is sure or its time is up.
    fn contrast(
        &mut self,
        test: TestKey,
        conditions: &[Condition],
        (place, of): (usize, usize),
    ) -> Result<(), RunnerError> {
        let deadline = Instant::now() + self.context.settings.kind_time;
        let mut ran = self.trials(test).len();
        while ran < MOST_TRIALS && Instant::now() < deadline {
            let trials = self.trials(test);
            let costs = self.costs(test, conditions);
            let Some(condition) = trials.next(&costs).filter(|_| !trials.is_sure()) else { return Ok(()) };
            self.tell(
                if condition == Condition::Later { Phase::Postpone } else { Phase::Fork },
                test,
                place,
                of,
            );
            match condition {
                Condition::AtOnce | Condition::Later => {
                    self.suite.again_in_suite(test, &mut self.ladder)?;
                }
                Condition::Alone => self.fork(test)?,
                Condition::NewProcess => self.fresh(test, self.suite.hash_seed(), false)?,
                Condition::OtherSeed => self.fresh(test, self.other_seed(test), false)?,
            }
            let now = self.trials(test).len();
            if now == ran {
                // It could not be run, or was skipped.
                return Ok(());
            }
            ran = now;
        }
        Ok(())
    }

    /// What a run of a test costs in seconds, under each condition in which it can be
    /// run now.
    fn costs(&self, test: TestKey, conditions: &[Condition]) -> Vec<(Condition, f64)> {
        let executions = &self.ladder.failing()[&test];
        let dies = executions.iter().any(|one| matches!(one.outcome, Outcome::Crashed | Outcome::TimedOut));
        // The first run may have paid for imports and caches.
        let taken = executions.last().and_then(|one| one.duration).unwrap_or_default().as_secs_f64();
        let of_process = |phase: Phase, otherwise: f64| {
            let known = executions.iter().rev().find(|one| one.phase == phase).and_then(|one| one.cost);
            known.map_or(taken + otherwise, |cost| cost.wall.as_secs_f64())
        };
        let cost = |condition: &Condition| match condition {
            Condition::AtOnce => None,
            // It would take the suite's process along.
            // And the session's fixtures are set up again for it.
            Condition::Later => (self.suite.waits(test.session) && !dies).then_some(taken + SET_UP_AGAIN),
            Condition::Alone => self.suite.can_fork(test.session).then(|| of_process(Phase::Fork, 0.01)),
            Condition::NewProcess | Condition::OtherSeed => Some(of_process(Phase::Fresh, 0.5)),
        };
        conditions.iter().filter_map(|condition| Some((*condition, cost(condition)?))).collect()
    }

    /// What was seen of a test after its first failure.
    fn trials(&self, test: TestKey) -> Trials {
        let executions = &self.ladder.failing()[&test];
        let own: Vec<&Execution> = executions.iter().filter(|one| one.phase != Phase::Base).collect();
        let first = own.iter().position(|one| one.outcome.is_failure()).unwrap_or(0);
        let mut trials = Trials::new(own.first().is_some_and(|one| one.position > 0));
        for one in own.iter().skip(first + 1).filter(|one| one.outcome != Outcome::Skipped) {
            let condition = match one.phase {
                Phase::First | Phase::Rerun | Phase::Retry | Phase::Order => Condition::AtOnce,
                Phase::Postpone => Condition::Later,
                Phase::Fork => Condition::Alone,
                Phase::Fresh if self.seeds.contains_key(&one.worker) => Condition::OtherSeed,
                Phase::Fresh | Phase::Base => Condition::NewProcess,
            };
            trials.add(condition, one.outcome.is_failure());
        }
        trials
    }

    /// FRESH and INTERSECT, one test at a time. A flaky test is watched too: whether
    /// it depends on the change decides whether it may be tolerated.
    fn separate(&mut self, session: Option<u32>) -> Result<(), RunnerError> {
        loop {
            let wanted = |test: &TestKey| {
                !self.separated.contains(test) && (self.ladder.climbs(*test) || self.ladder.is_cleared(*test))
            };
            let open: Vec<TestKey> = self.failing_of(session).into_iter().filter(wanted).collect();
            if open.is_empty() || self.ladder.is_gate_closed() {
                return Ok(());
            }
            let _span = tracing::info_span!("reruns in new processes", tests = open.len()).entered();
            self.observe_flaky(&open)?;
            for (place, test) in open.iter().enumerate() {
                self.separated.insert(*test);
                self.separate_one(*test, place, open.len())?;
            }
        }
    }

    /// INTERSECT for flaky tests, all tests of a file in one process with a fork each.
    /// What stays unknown that way is watched in a process of its own.
    fn observe_flaky(&mut self, tests: &[TestKey]) -> Result<(), RunnerError> {
        let Some(change) = self.context.change.filter(|change| !change.is_empty()) else { return Ok(()) };
        let mut files: BTreeMap<(u32, PathBuf), Vec<TestKey>> = BTreeMap::new();
        for test in tests.iter().filter(|test| self.ladder.is_cleared(**test)) {
            let dies = |one: &Execution| matches!(one.outcome, Outcome::Crashed | Outcome::TimedOut);
            if let Some(file) = self.suite.test_file(*test)
                && !self.ladder.failing()[test].iter().any(dies)
            {
                files.entry((test.session, file)).or_default().push(*test);
            }
        }
        for ((_, file), tests) in files.into_iter().filter(|(_, tests)| tests.len() > 1) {
            let options = self.watching(self.suite.hash_seed());
            for (test, seen) in self.suite.observe_each(&tests, &options, &mut self.ladder)? {
                let sight = self.sight(change, seen, Some(file.to_string_lossy().into_owned()), false);
                if !matches!(sight.meeting, Meeting::Unknown { .. }) {
                    self.seen.insert(test, sight);
                }
            }
        }
        Ok(())
    }

    fn separate_one(&mut self, test: TestKey, place: usize, of: usize) -> Result<(), RunnerError> {
        let settings = self.context.settings;
        let can_fork = self.suite.can_fork(test.session);
        let forks = if can_fork { settings.separate.saturating_sub(1) } else { 0 };
        let mut rest = settings.separate.saturating_sub(forks);
        let mut processes = forks;
        let was_cleared = self.ladder.is_cleared(test);
        let other = self.other_seed(test);
        while !self.ladder.is_cleared(test)
            && (rest > 0 || (self.wants_more(test) && processes < settings.most_processes))
        {
            self.tell(Phase::Fresh, test, place, of);
            self.fresh(test, other, true)?;
            rest = rest.saturating_sub(1);
            processes += 1;
        }
        let is_changed = self.context.change.is_some_and(|change| !change.is_empty());
        if was_cleared && is_changed && !self.seen.contains_key(&test) {
            self.tell(Phase::Fresh, test, place, of);
            self.fresh(test, self.suite.hash_seed(), true)?;
        }
        if self.ladder.is_cleared(test) {
            let conditions = [Condition::Alone, Condition::NewProcess, Condition::OtherSeed];
            self.contrast(test, &conditions, (place, of))?;
        }
        Ok(())
    }

    /// Runs a test in a new process and, if wanted, watches what it depends on.
    fn fresh(&mut self, test: TestKey, seed: u32, observe: bool) -> Result<(), RunnerError> {
        let unwatched = FreshOptions { hash_seed: seed, ..FreshOptions::default() };
        let options = if observe { self.watching(seed) } else { unwatched.clone() };
        let mut run = self.suite.fresh_under(test, &options, &mut self.ladder)?;
        if observe {
            let failed = run.execution.as_ref().is_ok_and(|execution| execution.outcome.is_failure());
            self.observe(test, run.observation.take(), failed);
            if run.execution.is_err() {
                // Watching may be what it does not bear.
                run = self.suite.fresh_under(test, &unwatched, &mut self.ladder)?;
            }
        }
        match run.execution {
            Ok(execution) => {
                if seed != self.suite.hash_seed() {
                    self.seeds.insert(execution.worker.clone(), seed);
                }
                self.ladder.add(execution);
            }
            Err(trouble) => self.notice_trouble(test, "in a new process", &trouble),
        }
        Ok(())
    }

    fn wants_more(&self, test: TestKey) -> bool {
        let failures = self.ladder.failing()[&test].iter().filter(|one| one.outcome.is_failure()).count();
        let flaky = judge::after_failures(u32::try_from(failures).unwrap_or(u32::MAX)).get();
        self.context.settings.confidence.is_some_and(|confidence| flaky > 1.0 - confidence)
    }

    /// A seed that is not the suite's, and the same for the same run; another one for
    /// each process that has one.
    fn other_seed(&self, test: TestKey) -> u32 {
        let turn = (self.seeds.len() as u64) << 40;
        let mixed = self.context.settings.seed ^ (u64::from(test.number) << 7) ^ turn ^ 0x9e37_79b9_7f4a_7c15;
        let seed = u32::try_from(mixed % 4_294_967_291).unwrap_or(1).max(1);
        if seed == self.suite.hash_seed() { seed ^ 1 } else { seed }
    }

    fn watching(&self, hash_seed: u32) -> FreshOptions<'static> {
        match self.context.change {
            Some(change) => watching(change, hash_seed),
            None => FreshOptions { hash_seed, ..FreshOptions::default() },
        }
    }

    /// INTERSECT. What several executions depend on is put together: each may take
    /// another way.
    fn observe(&mut self, test: TestKey, observation: Option<Observation>, failed: bool) {
        let Some(change) = self.context.change else { return };
        let file = self.suite.test_file(test).map(|file| file.to_string_lossy().into_owned());
        let sight = if let Some(observation) = observation {
            self.sight(change, observation, file, failed)
        } else {
            let reason = "it could not be run where it is watched".to_owned();
            Sight { meeting: Meeting::Unknown { reason }, lines_seen: false, detour: None, failed: false }
        };
        let joined = match self.seen.remove(&test) {
            Some(before) => before.union(sight),
            None => sight,
        };
        self.seen.insert(test, joined);
    }

    /// What one run shows. If it passed, the way in which the test fails may lead
    /// elsewhere.
    fn sight(&mut self, change: &Change, seen: Observation, file: Option<String>, failed: bool) -> Sight {
        let lines_seen = seen.lines_seen;
        let loaded: Vec<String> = seen.loaded.iter().chain(&file).cloned().collect();
        let meeting = meeting(change, seen, file);
        let mut detour = None;
        if !failed && matches!(meeting, Meeting::Disjoint { .. }) && !change.is_empty() {
            let detours = self.detours.get_or_insert_with(|| Detours::new(change));
            detour = detours.find(loaded.iter().map(String::as_str)).map(|detour| detour.to_string());
        }
        Sight { meeting, lines_seen, detour, failed }
    }

    fn notice_trouble(&mut self, test: TestKey, place: &str, trouble: &str) {
        let text = format!("failed to run `{}` {place}: {trouble}", self.suite.name(test));
        self.notices.push(Notice { text, warning: true });
    }

    /// What the failing tests do at the base: from history, or by running them
    /// there. Without being asked to, tests are run there only where nothing else
    /// tells a regression from what was broken before.
    fn at_base(&mut self, session: Option<u32>) -> Result<(), RunnerError> {
        let Some(change) = self.context.change.filter(|_| !self.ladder.is_gate_closed()) else {
            return Ok(());
        };
        let verify = self.context.settings.verify_base;
        let wanted = |test: &TestKey| {
            // A flake that came before the change shows at the base too.
            let is_new = || {
                let is_known = self.past.get(test).is_some_and(|past| !past.seen.is_empty());
                let meeting = self.seen.get(test).map(Sight::meeting);
                let is_disjoint = matches!(meeting.as_deref(), Some(Meeting::Disjoint { .. }));
                verify && self.ladder.is_cleared(*test) && !is_known && !is_disjoint
            };
            let is_open = self.ladder.climbs(*test) || is_new();
            is_open && !self.base.contains_key(test)
        };
        let mut open: Vec<TestKey> = self.failing_of(session).into_iter().filter(wanted).collect();
        if open.is_empty() {
            return Ok(());
        }
        let mut limit = None;
        if !verify || change.is_empty() {
            let asked: Vec<_> = open.iter().map(|test| self.asked(*test)).collect();
            let run = self.run();
            let known = self.context.memory.at(&asked, &change.base, &run);
            for (test, (passed, failed)) in open.iter().zip(known) {
                if passed + failed > 0 {
                    let facts = BaseFacts { passed, failed, otherwise: None, source: BaseSource::History };
                    self.base.insert(*test, facts);
                }
            }
            let by_configuration = |test: &TestKey| {
                let seen = self.seen.get(test);
                !self.base.contains_key(test) && seen.is_some_and(|seen| seen.meeting.only_configuration())
            };
            open.retain(by_configuration);
            limit = Some(Instant::now() + self.context.settings.base_time);
        }
        if open.is_empty() || change.is_empty() { Ok(()) } else { self.run_at_base(change, &open, limit) }
    }

    fn run_at_base(
        &mut self,
        change: &Change,
        open: &[TestKey],
        limit: Option<Instant>,
    ) -> Result<(), RunnerError> {
        let _span = tracing::info_span!("reruns at the base", tests = open.len()).entered();
        let tree = match BaseTree::create(change) {
            Ok(tree) => tree,
            Err(error) => {
                let text = format!("failed to check out the base revision: {error}");
                self.notices.push(Notice { text, warning: true });
                return Ok(());
            }
        };
        let elsewhere = |path: &Path| tree.map(path);
        let mut foreign = None;
        for (place, test) in open.iter().enumerate() {
            if limit.is_some_and(|limit| Instant::now() > limit) {
                let text = format!(
                    "time limit for the base revision reached: {} of {} failing tests were not run there",
                    open.len() - place,
                    open.len()
                );
                self.notices.push(Notice { text, warning: true });
                break;
            }
            let cleared = self.ladder.is_cleared(*test);
            let mut facts = BaseFacts { passed: 0, failed: 0, otherwise: None, source: BaseSource::Run };
            for _ in 0..if cleared { BASE_TRIES_OF_FLAKES } else { BASE_TRIES } {
                self.tell(Phase::Base, *test, place, open.len());
                let options = FreshOptions {
                    hash_seed: self.suite.hash_seed(),
                    observe: true,
                    elsewhere: Some(&elsewhere),
                    ..FreshOptions::default()
                };
                let run = self.suite.fresh_under(*test, &options, &mut self.ladder)?;
                // It may not exist there, or not be collectable.
                let Ok(execution) = run.execution else { break };
                let own = run.observation.as_ref().and_then(|seen| loaded_from(seen, change, &tree));
                if own.is_some() {
                    foreign = foreign.or(own);
                    break;
                }
                let is_same = self.fails_alike(*test, &execution);
                match execution.outcome {
                    Outcome::Passed => facts.passed += 1,
                    Outcome::Skipped => break,
                    _ if is_same => facts.failed += 1,
                    // It says nothing about this failure, and must not be taken for
                    // a failure of the base later.
                    _ => {
                        facts.otherwise = Some(execution.failure.and_then(|failure| failure.kind));
                        break;
                    }
                }
                self.ladder.add(execution);
                // A flake is looked for until it shows; of a test that always fails
                // here, one pass there is enough.
                if if cleared { facts.failed > 0 } else { facts.passed > 0 } {
                    break;
                }
            }
            if facts.passed + facts.failed > 0 || facts.otherwise.is_some() {
                self.base.insert(*test, facts);
            }
        }
        if let Some(file) = foreign {
            let text = format!(
                "tests on the base revision load `{file}` from the work tree, so their outcomes are ignored"
            );
            self.notices.push(Notice { text, warning: true });
        }
        Ok(())
    }

    /// Whether an execution at the base failed in the way the test first failed here.
    fn fails_alike(&self, test: TestKey, there: &Execution) -> bool {
        let here = self.ladder.failing()[&test].iter().find(|one| one.outcome.is_failure());
        here.is_some_and(|here| match (&here.failure, &there.failure) {
            (Some(one), Some(other)) => same_failure(one, other),
            _ => here.outcome == there.outcome,
        })
    }

    /// What the history knows of failing tests, on commits without the change.
    fn remember(&mut self, session: Option<u32>) {
        let tests: Vec<TestKey> =
            self.failing_of(session).into_iter().filter(|test| !self.past.contains_key(test)).collect();
        if tests.is_empty() {
            return;
        }
        let _span = tracing::info_span!("history of failures", tests = tests.len()).entered();
        (self.context.progress)(Progress::History);
        let asked: Vec<_> = tests.iter().map(|test| self.asked(*test)).collect();
        let run = self.run();
        let mut known = self.context.memory.past(&asked, &run);
        known.resize(tests.len(), Past::default());
        let seen_on = known.iter().flat_map(|past| &past.seen);
        // A commit lacks the change if any branch it was tested on says so.
        let commits: BTreeSet<(String, Option<String>)> = seen_on
            .flat_map(|seen| {
                let branches = seen.branches.iter().cloned().map(Some).chain([None]);
                branches.map(|branch| (seen.commit.clone(), branch))
            })
            .collect();
        let commits: Vec<(String, Option<String>)> = commits.into_iter().collect();
        let lacks =
            self.context.change.map_or_else(|| vec![false; commits.len()], |change| change.lacks(&commits));
        let without: BTreeSet<&str> = commits
            .iter()
            .zip(lacks)
            .filter(|(_, lacks)| *lacks)
            .map(|((commit, _), _)| commit.as_str())
            .collect();
        for (test, mut past) in tests.into_iter().zip(known) {
            past.seen.retain(|seen| without.contains(seen.commit.as_str()));
            self.past.insert(test, past);
        }
    }

    /// A test and how it failed, to ask the history about.
    fn asked(&self, test: TestKey) -> (TestId, Option<Fingerprint>) {
        let first = self.ladder.failing()[&test].iter().find_map(|one| one.failure.as_ref());
        (self.suite.test_id(test), first.and_then(|failure| failure.fingerprint.clone()))
    }

    fn run(&mut self) -> Arc<Run> {
        let run = self.run.take().unwrap_or_else(|| Arc::new((self.context.run)(self.suite.versions())));
        Arc::clone(self.run.insert(run))
    }

    fn tell(&self, phase: Phase, test: TestKey, place: usize, of: usize) {
        let name = self.suite.name(test);
        (self.context.progress)(Progress::Separate { phase, name, place, of });
    }

    fn report(
        mut self,
        suite_run: &SuiteRun,
        review: Option<Review>,
        suite_time: Duration,
        triage_time: Duration,
    ) -> (RunReport, Vec<Trial>) {
        let run = self.run();
        let tests = self.failing_of(None);
        let failed = tests.iter().filter(|test| !self.ladder.passed_in_suite(**test)).count() as u64;
        let mut failures: Vec<TestFailure> = tests.iter().map(|test| self.failure(*test, &run)).collect();
        let trials = self.reproductions(&tests, &mut failures);
        failures
            .sort_by_key(|failure| (failure.is_quarantined(), rank(&failure.verdict), failure.name.clone()));
        let incidents = incidents(&mut failures);
        let lost: Vec<String> =
            self.suite.lost().iter().map(|test| self.suite.name(*test).to_owned()).collect();
        let mut notices = suite_run.notices.clone();
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
        notices.extend(suite_run.incomplete.iter().map(|text| Notice { text: text.clone(), warning: true }));
        let complete = lost.is_empty() && uncollected.is_empty() && suite_run.incomplete.is_empty();
        let own = |attempt: &&Attempt| attempt.phase != Phase::First;
        let unheard = self.unheard(suite_run);
        let policy = self.context.settings.tolerance;
        let exit =
            exit(&Ending { suite: suite_run, complete, policy, unheard: unheard.is_some() }, &failures);
        let forgives = policy != Tolerance::Nothing || failures.iter().any(TestFailure::is_quarantined);
        if forgives && exit.code != 0 && !failures.is_empty() {
            let died = suite_run.sessions.iter().any(|session| session.died);
            let text = if !complete {
                Some("this run is not complete, so nothing is tolerated in it".to_owned())
            } else if suite_run.broken {
                Some("something other than a test failed, so nothing is tolerated in this run".to_owned())
            } else if died && !suite_run.direct {
                Some(
                    "a pytest process died before its exit code could be adjusted, so nothing is tolerated in it"
                        .to_owned(),
                )
            } else {
                unheard.map(|plugin| {
                    format!("pytest died before `{plugin}` could finish the session, so nothing is tolerated")
                })
            };
            notices.extend(text.map(|text| Notice { text, warning: false }));
        }
        let report = RunReport {
            run,
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
            review,
            notices,
            suite_time,
            triage_time,
        };
        (report, trials)
    }

    /// A plug-in of a pytest that died: what it would have said is unknown.
    fn unheard(&self, suite_run: &SuiteRun) -> Option<String> {
        let died = (0_u32..).zip(&suite_run.sessions).filter(|(_, session)| session.died);
        died.flat_map(|(number, _)| self.suite.finishers(number)).next().cloned()
    }

    /// What is said of a failure, and whether it fails the build.
    fn judged(&self, test: TestKey) -> Judged {
        let alike = &self.ladder.incident(test).tests;
        // What was found out about the one that stood for all holds for all.
        let stood_back = !self.ladder.is_cleared(test) && !self.ladder.climbs(test);
        let source = if stood_back { alike[0] } else { test };
        let all = &self.ladder.failing()[&source];
        let own: Vec<Execution> = all.iter().filter(|one| one.phase != Phase::Base).cloned().collect();
        let seen = self.seen.get(&source);
        let meeting = seen.map(Sight::meeting);
        let trials = self.trials(source);
        let is_gated = self.ladder.is_gate_closed() && !self.ladder.is_cleared(test);
        let passing =
            own.iter().find(|one| one.outcome == Outcome::Passed && self.seeds.contains_key(&one.worker));
        let facts = Facts {
            executions: &own,
            trials: &trials,
            meeting: meeting.as_deref(),
            lines_seen: seen.is_some_and(|seen| seen.lines_seen),
            change: self.context.change.map(|change| ChangeFacts {
                base: &change.base,
                files: u32::try_from(change.files.len()).unwrap_or(u32::MAX),
            }),
            base: self.base.get(&source),
            hash_seed: passing.map(|one| (self.suite.hash_seed(), self.seeds[&one.worker])),
            alike: (
                u32::try_from(alike.len()).unwrap_or(u32::MAX),
                stood_back.then(|| self.suite.name(alike[0])),
            ),
            gate: is_gated.then_some((self.ladder.failing().len() as u64, self.ladder.selected)),
            past: self.past.get(&test),
        };
        let verdict = judge::judge(&facts);
        let policy = self.context.settings.tolerance;
        let refusal = (policy != Tolerance::Nothing).then(|| refusal(policy, &facts, &verdict)).flatten();
        let quarantine = self.in_quarantine(test).map(|(said, any)| quarantined(said, any, &verdict));
        let refusal = match quarantine.as_ref().map(|said| said.status) {
            Some(QuarantineStatus::Forgiven) => None,
            Some(QuarantineStatus::Expired) => Some(Refusal::QuarantineExpired),
            _ => refusal,
        };
        Judged { verdict, refusal, quarantine }
    }

    fn failure(&self, test: TestKey, run: &Arc<Run>) -> TestFailure {
        let Judged { verdict, refusal, quarantine } = self.judged(test);
        let executions = &self.ladder.failing()[&test];
        let id = self.suite.test_id(test);
        TestFailure {
            id: FindingId::of(&id),
            name: self.suite.name(test).to_owned(),
            place: executions.iter().find_map(|one| one.place.as_ref()).map(|place| self.in_project(place)),
            reproduce: Reproduction::default(),
            verdict,
            refusal,
            quarantine,
            attempts: attempts(&id, run, executions),
            costs: costs(executions),
            incident: self.ladder.incident_number(test),
            test: id,
        }
    }

    /// A place relative to the project, if it is inside.
    fn in_project(&self, place: &flakewise_runner::Place) -> (String, u32) {
        let root = self.context.change.map(|change| change.root.clone());
        let root = root.or_else(|| std::env::current_dir().ok()).unwrap_or_default();
        place.below(&root)
    }

    /// Every attempt of every test, apart from those at the base, and those.
    fn all_attempts(&mut self) -> (Vec<Attempt>, Vec<Attempt>) {
        let run = self.run();
        let passing = self.ladder.never_failed().iter().map(|execution| (execution.test, execution));
        let failing = self.ladder.failing().iter();
        let failing =
            failing.flat_map(|(test, executions)| executions.iter().map(|execution| (*test, execution)));
        let mut tests: BTreeMap<TestKey, Vec<Execution>> = BTreeMap::new();
        for (test, execution) in passing.chain(failing) {
            tests.entry(test).or_default().push(execution.clone());
        }
        let all = tests
            .iter()
            .flat_map(|(test, executions)| attempts(&self.suite.test_id(*test), &run, executions));
        all.partition(|attempt| attempt.phase != Phase::Base)
    }

    /// How to make each of these tests fail again, and what of that to try.
    fn reproductions(&self, tests: &[TestKey], failures: &mut [TestFailure]) -> Vec<Trial> {
        let typed = Typed::here(&self.context.command);
        let mut trials = Vec::new();
        for (test, failure) in tests.iter().zip(failures) {
            let executions = &self.ladder.failing()[test];
            let (reproduction, trial) = reproduction(
                &self.suite.session_facts(test.session),
                &typed,
                failure.id.clone(),
                &failure.name,
                Manner::of(&failure.verdict.blame, executions),
                executions,
                self.suite.test_timeout(),
            );
            failure.reproduce = reproduction;
            trials.extend(trial);
        }
        trials
    }
}

fn attempts(id: &TestId, run: &Arc<Run>, executions: &[Execution]) -> Vec<Attempt> {
    (1..).zip(executions).map(|(number, execution)| execution.attempt(id, run, number)).collect()
}

fn costs(executions: &[Execution]) -> Vec<AttemptCost> {
    let cost = |(number, execution): (u32, &Execution)| {
        let cost = execution.cost?;
        Some(AttemptCost { number, wall: cost.wall, cpu: cost.cpu })
    };
    (1..).zip(executions).filter_map(cost).collect()
}

/// What needs a person comes first.
fn rank(verdict: &FailureVerdict) -> u8 {
    match verdict.blame {
        Blame::Regression => 0,
        Blame::Flaky(_) if verdict.is_new_flake() => 1,
        Blame::Undecided(_) => 2,
        Blame::Infrastructure => 3,
        Blame::Environment => 4,
        Blame::BrokenBefore => 5,
        Blame::Flaky(_) => 6,
    }
}

/// Numbers the incidents again, the largest first.
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
