//! Tests in processes of their own: forked from the zygote.

use std::collections::HashMap;
use std::process::ExitStatus;
use std::time::{Duration, Instant};

use flakewise_model::{Outcome, Phase};
use flakewise_protocol::{AgentPhase, Job, MeasuredMessage, ToAgent};
use tracing::field;

use crate::execution::{Execution, ProcessCost, Relocation, TestKey};
use crate::state::Seen;
use crate::suite::{Director, NothingAgain, Suite};
use crate::supervisor::TICK;
use crate::{RunnerError, processes};

/// How long a process may take to begin with its test, and to end after it.
pub(crate) const START_LIMIT: Duration = Duration::from_mins(1);

/// How many names a new process may report beyond twice those it was told.
const MOST_MORE_NAMES: usize = 1000;

/// How often we look for what tests left behind while others run.
const STRAY_INTERVAL: Duration = Duration::from_millis(250);

/// Says what runs in forks, and hears how it ended.
pub trait Forks {
    /// The next fork: tests of one session to run one after another, the last
    /// of which is asked about. None if nothing is wanted any more. Asked again
    /// while others are under way, and after each that ended.
    fn next(&mut self) -> Option<Vec<TestKey>>;
    /// How those before the last of these tests ended, in order.
    fn on_the_way(&mut self, _tests: &[TestKey], _executions: Vec<Execution>) {}
    /// How the last of these tests ended; or why it was not run.
    fn ended(&mut self, tests: &[TestKey], result: Result<Execution, String>);
    /// When forks are killed that are still running. None waits for them.
    fn deadline(&self) -> Option<Instant> {
        None
    }
    /// These tests were killed at the deadline. Those that had ended before have
    /// been told by [`Forks::on_the_way`].
    fn cut_short(&mut self, _tests: &[TestKey]) {}
}

struct Running {
    job: u32,
    tests: Vec<TestKey>,
    since: Instant,
    is_cut: bool,
}

/// A job under way.
#[derive(Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "independent facts about a job, in any combination")]
pub(crate) struct JobState {
    pub(crate) session: u32,
    pub(crate) worker: String,
    pub(crate) in_suite: bool,
    /// What a fresh process is sent when it says hello.
    pub(crate) order: Option<Job>,
    /// The numbers of the tests a fresh process knows by name.
    pub(crate) numbers: HashMap<String, u32>,
    /// The tests a fresh process found, in its own order.
    pub(crate) names: Vec<String>,
    pub(crate) peer: Option<usize>,
    pub(crate) pid: Option<u32>,
    pub(crate) executions: Vec<Execution>,
    /// Whether it reported more results than are taken.
    pub(crate) overflowed: bool,
    /// How many entries the trail has, and whether lines could be seen.
    pub(crate) observed: Option<(u64, bool)>,
    /// How the last test behaved, if that was requested.
    pub(crate) measured: Option<Box<MeasuredMessage>>,
    /// What the tests before the last one left, if that was requested.
    pub(crate) seen: Option<Seen>,
    /// Whether its tests left files, which are gone.
    pub(crate) put_files_back: bool,
    pub(crate) end: Option<JobEnd>,
    /// Whether it runs many tests, and may take its time.
    pub(crate) patient: bool,
    /// What went wrong before the test could run.
    pub(crate) trouble: Option<String>,
    /// Set if it runs in a copy of the project.
    pub(crate) relocation: Option<Relocation>,
    /// In logs, from its start to its end.
    pub(crate) span: Option<tracing::Span>,
}

/// How a job's process ended.
#[derive(Clone, Debug)]
pub(crate) struct JobEnd {
    pub(crate) at: Instant,
    pub(crate) status: Option<ExitStatus>,
    pub(crate) cost: ProcessCost,
}

impl JobState {
    /// Begins the span of a job that runs these tests.
    pub(crate) fn begin(&mut self, job: u32, tests: usize) {
        let (worker, session) = (self.worker.as_str(), self.session);
        self.span = Some(tracing::debug_span!(
            "job",
            job,
            worker,
            session,
            tests,
            pid = field::Empty,
            outcome = field::Empty,
            trouble = field::Empty
        ));
    }

    /// Adds how it went to the span, which ends with the job.
    fn record(&self) {
        let Some(span) = self.span.as_ref().filter(|span| !span.is_disabled()) else { return };
        if let Some(pid) = self.pid {
            span.record("pid", pid);
        }
        if let Some(last) = self.executions.last() {
            span.record("outcome", last.outcome.name());
        }
        if let Some(trouble) = &self.trouble {
            span.record("trouble", trouble.as_str());
        }
    }

    pub(crate) fn exited(
        &mut self,
        status: Option<ExitStatus>,
        wall: Duration,
        cpu: Duration,
        error: Option<String>,
        at: Instant,
    ) {
        self.end = Some(JobEnd { at, status, cost: ProcessCost { wall, cpu } });
        if let Some(error) = error {
            self.trouble = Some(error);
        } else if let Some(status) = status.filter(|status| !status.success()) {
            self.trouble.get_or_insert_with(|| format!("the process ended with {status}"));
        }
    }

    /// Takes in the tests that a fresh process found. It was told which to look for:
    /// others are not kept, but keep their index.
    pub(crate) fn told_names(&mut self, ids: Vec<String>) {
        if self.names.len() + ids.len() > 2 * self.numbers.len() + MOST_MORE_NAMES {
            self.trouble.get_or_insert_with(|| "it collected more tests than requested".to_owned());
            return;
        }
        let known = ids.into_iter().map(|id| if self.numbers.contains_key(&id) { id } else { String::new() });
        self.names.extend(known);
    }

    /// Takes in a result. A job with more results than it has tests has none.
    pub(crate) fn ran(&mut self, execution: Execution, most: usize) {
        if self.overflowed || self.executions.len() >= most {
            self.overflowed = true;
            self.executions = Vec::new();
            self.trouble = Some(format!("it reported more than {most} results"));
            return;
        }
        self.executions.push(execution);
    }

    /// What the job says about the one test it was for: an execution, or why
    /// there was none.
    pub(crate) fn outcome_of(self, test: TestKey, phase: Phase) -> Result<Execution, String> {
        let cost = self.end.as_ref().map(|end| end.cost);
        let found = self.executions.into_iter().rev().find(|execution| execution.test == test);
        let trouble = self.trouble.unwrap_or_else(|| "the process ended before the test began".to_owned());
        found.map(|execution| Execution { phase, cost, ..execution }).ok_or(trouble)
    }
}

/// When to look again: after a while, or at a deadline before that.
fn wake(after: Duration, deadline: Option<Instant>) -> Instant {
    let now = Instant::now();
    // Once it is over, processes are given a while to end.
    let ahead = deadline.filter(|deadline| *deadline > now);
    ahead.map_or(now + after, |deadline| deadline.min(now + after))
}

impl Suite {
    /// Runs one test alone in a process forked before the first test ran. The
    /// inner error says why it could not be run.
    pub fn fork(&mut self, test: TestKey) -> Result<Result<Execution, String>, RunnerError> {
        self.fork_under(test, &mut NothingAgain)
    }

    /// As [`Suite::fork`], while other sessions of the command may be under way:
    /// what happens in them is reported to a director.
    pub fn fork_under(
        &mut self,
        test: TestKey,
        director: &mut dyn Director,
    ) -> Result<Result<Execution, String>, RunnerError> {
        let session = test.session as usize;
        let worker = self.worker(session, "fork");
        let job = self.start_fork(session, vec![test.number], worker, AgentPhase::Fork, false);
        self.finish_job(job, director)?;
        Ok(self.take_job(job).outcome_of(test, Phase::Fork))
    }

    /// Runs tests in forks, several in parallel, until nothing more is wanted.
    pub fn fork_many(&mut self, side_by_side: usize, forks: &mut dyn Forks) -> Result<(), RunnerError> {
        let _span = tracing::debug_span!("forks", side_by_side).entered();
        let mut running: Vec<Running> = Vec::new();
        let mut looked = Instant::now();
        let mut is_swept = true;
        loop {
            while is_swept
                && running.len() < side_by_side
                && let Some(tests) = forks.next()
            {
                let session = tests[0].session as usize;
                let worker = self.worker(session, "fork");
                let numbers = tests.iter().map(|test| test.number).collect();
                let job = self.start_fork(session, numbers, worker, AgentPhase::Fork, false);
                running.push(Running { job, tests, since: Instant::now(), is_cut: false });
            }
            if running.is_empty() {
                self.sweep();
                if is_swept {
                    return Ok(());
                }
                is_swept = true;
                continue;
            }
            let deadline = wake(TICK, forks.deadline());
            let any_is_over = |suite: &Self| {
                running.iter().any(|running| suite.supervisor.is_over(running.job, Instant::now()))
            };
            self.pump(&mut NothingAgain, |suite| any_is_over(suite) || Instant::now() > deadline)?;
            let (over, open) =
                running.into_iter().partition(|running| self.supervisor.is_over(running.job, Instant::now()));
            running = open;
            for Running { job, tests, is_cut, .. } in over {
                let asked = tests[tests.len() - 1];
                let mut state = self.take_job(job);
                self.note_files(&tests, &state);
                if is_cut {
                    // Whichever test was running then did not crash: we killed it.
                    state.executions.retain(|execution| execution.outcome != Outcome::Crashed);
                    forks.on_the_way(&tests, state.executions);
                    forks.cut_short(&tests);
                    continue;
                }
                // A test may be in the list more than once.
                let last = state.executions.iter().rposition(|execution| execution.test == asked);
                let answer = last.map(|last| state.executions.remove(last));
                forks.on_the_way(&tests, std::mem::take(&mut state.executions));
                state.executions.extend(answer);
                forks.ended(&tests, state.outcome_of(asked, Phase::Fork));
            }
            let is_late = forks.deadline().is_some_and(|end| Instant::now() >= end);
            for running in &mut running {
                let tests = u32::try_from(running.tests.len()).unwrap_or(u32::MAX);
                let limit = START_LIMIT.saturating_add(self.options.test_timeout.saturating_mul(tests));
                if (is_late || running.since.elapsed() > limit)
                    && let Some(pid) = self.supervisor.jobs[&running.job].pid
                {
                    running.is_cut |= is_late;
                    processes::kill_tree(pid);
                }
            }
            // What a test left behind can only be distinguished from what another is
            // about to use when none is running.
            if looked.elapsed() > STRAY_INTERVAL {
                looked = Instant::now();
                is_swept = !self.has_strays();
            }
        }
    }

    /// Notes who leaves files, and who does not.
    pub(crate) fn note_files(&mut self, tests: &[TestKey], state: &JobState) {
        if state.put_files_back {
            self.leave_files.extend(tests);
        } else {
            // It may have been any of those it ran with then.
            for test in tests {
                self.leave_files.remove(test);
            }
        }
    }

    /// Forgets a job and its process.
    pub(crate) fn take_job(&mut self, job: u32) -> JobState {
        let state = self.supervisor.jobs.remove(&job).unwrap_or_default();
        state.record();
        if let Some(place) = state.peer {
            self.supervisor.forget(place);
            self.perform();
        }
        state
    }

    /// Goes on with a suite whose process died, in a fork or a new process.
    pub(crate) fn continue_suite(
        &mut self,
        session: usize,
        rest: Vec<u32>,
        director: &mut dyn Director,
    ) -> Result<(), RunnerError> {
        let worker = self.worker(session, "continued");
        let job = if self.can_fork(u32::try_from(session).unwrap_or(u32::MAX)) {
            self.start_fork(session, rest, worker, AgentPhase::First, true)
        } else {
            self.start_fresh_suite(session, &rest, worker)?
        };
        self.finish_job(job, director)?;
        self.take_job(job);
        Ok(())
    }

    fn start_fork(
        &mut self,
        session: usize,
        tests: Vec<u32>,
        worker: String,
        phase: AgentPhase,
        in_suite: bool,
    ) -> u32 {
        let order = Job {
            tests,
            phase: Some(phase),
            ask: in_suite,
            stay: in_suite,
            tidy: self.searches && !in_suite,
            terse: self.searches && !in_suite,
            ..Job::default()
        };
        self.start_job(session, worker, order)
    }

    /// Has the zygote of a session fork a process for a job.
    pub(crate) fn start_job(&mut self, session: usize, worker: String, order: Job) -> u32 {
        let job = self.job_number();
        let number = u32::try_from(session).unwrap_or(u32::MAX);
        // Only processes of the suite stay when their tests are over.
        let mut state = JobState { session: number, worker, in_suite: order.stay, ..JobState::default() };
        state.begin(job, order.tests.len());
        self.supervisor.jobs.insert(job, state);
        if let Some(zygote) = self.supervisor.sessions[session].zygote {
            self.forks += 1;
            self.tell(zygote, ToAgent::Job(Job { job, session: number, ..order }));
        }
        job
    }

    /// Waits until a job's process has ended and all it said is known.
    pub(crate) fn finish_job(&mut self, job: u32, director: &mut dyn Director) -> Result<(), RunnerError> {
        self.finish_jobs(&[job], director)
    }

    /// Waits until the processes of some jobs have ended.
    pub(crate) fn finish_jobs(
        &mut self,
        jobs: &[u32],
        director: &mut dyn Director,
    ) -> Result<(), RunnerError> {
        let began = Instant::now();
        let limit = START_LIMIT + self.options.test_timeout;
        let is_done = |suite: &Self| jobs.iter().all(|job| suite.supervisor.is_over(*job, Instant::now()));
        loop {
            let end = director.deadline();
            let deadline = wake(Duration::from_secs(1), end);
            self.pump(director, |suite| is_done(suite) || Instant::now() > deadline)?;
            if is_done(self) {
                break;
            }
            let is_late = end.is_some_and(|end| Instant::now() >= end);
            for job in jobs.iter().filter(|job| !self.supervisor.is_over(**job, Instant::now())) {
                // A suite that continues is limited test by test.
                let state = &self.supervisor.jobs[job];
                let idle =
                    !state.patient && state.peer.is_none_or(|peer| !self.supervisor.peers[peer].in_suite);
                if (is_late || (idle && began.elapsed() > limit + self.start_allowance(*job)))
                    && let Some(pid) = state.pid
                {
                    processes::kill_tree(pid);
                }
            }
        }
        self.sweep();
        Ok(())
    }

    /// More time for processes that must import and collect first.
    fn start_allowance(&self, job: u32) -> Duration {
        if self.supervisor.jobs[&job].numbers.is_empty() { Duration::ZERO } else { 9 * START_LIMIT }
    }
}
