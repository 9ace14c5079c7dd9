//! Tests in processes of their own: forked from the zygote.

use std::collections::HashMap;
use std::process::ExitStatus;
use std::time::{Duration, Instant};

use std::os::unix::process::ExitStatusExt as _;

use flakewise_model::Phase;
use flakewise_protocol::{AgentPhase, Job, ToAgent, ToHost};

use crate::execution::{Execution, ProcessCost, RunnerNotice, TestKey};
use crate::suite::{Director, NothingAgain, Suite};
use crate::{RunnerError, processes};

/// How long a process may take to begin with its test, and to end after it.
const START_LIMIT: Duration = Duration::from_mins(1);

/// How long the first words of a process that has ended may take to reach us.
const FIRST_WORDS: Duration = Duration::from_secs(2);

/// A job under way.
#[derive(Debug, Default)]
pub(crate) struct JobState {
    pub(crate) session: u32,
    pub(crate) worker: String,
    pub(crate) in_suite: bool,
    /// What a fresh process is told when it says hello.
    pub(crate) order: Option<Job>,
    /// The numbers of the tests a fresh process knows by name.
    pub(crate) numbers: HashMap<String, u32>,
    /// The tests a fresh process found, in its own order.
    pub(crate) names: Vec<String>,
    pub(crate) peer: Option<usize>,
    pub(crate) pid: Option<u32>,
    pub(crate) executions: Vec<Execution>,
    /// How many entries the trail has, and whether lines could be seen.
    pub(crate) observed: Option<(u64, bool)>,
    pub(crate) end: Option<JobEnd>,
    /// Whether it runs many tests, and may take its time.
    pub(crate) patient: bool,
    /// What went wrong before the test could run.
    pub(crate) trouble: Option<String>,
}

/// How a job's process ended.
#[derive(Clone, Debug)]
pub(crate) struct JobEnd {
    pub(crate) at: Instant,
    pub(crate) status: Option<ExitStatus>,
    pub(crate) cost: ProcessCost,
}

impl JobState {
    pub(crate) fn exited(
        &mut self,
        status: Option<ExitStatus>,
        wall: Duration,
        cpu: Duration,
        error: Option<String>,
    ) {
        self.end = Some(JobEnd { at: Instant::now(), status, cost: ProcessCost { wall, cpu } });
        if let Some(error) = error {
            self.trouble = Some(error);
        } else if let Some(status) = status.filter(|status| !status.success()) {
            self.trouble.get_or_insert_with(|| format!("the process ended with {status}"));
        }
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

impl Suite {
    /// Runs one test alone in a process forked before the first test ran. The
    /// inner error says why it could not be run.
    pub fn fork(&mut self, test: TestKey) -> Result<Result<Execution, String>, RunnerError> {
        let session = test.session as usize;
        let worker = self.worker(session, "fork");
        let job = self.start_fork(session, vec![test.number], worker, AgentPhase::Fork, false);
        self.finish_job(job, &mut NothingAgain)?;
        let state = self.jobs.remove(&job).unwrap_or_default();
        Ok(state.outcome_of(test, Phase::Fork))
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
        self.jobs.remove(&job);
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
        let job = self.job_number();
        let number = u32::try_from(session).unwrap_or(u32::MAX);
        let state = JobState { session: number, worker, in_suite, ..JobState::default() };
        self.jobs.insert(job, state);
        let order = Job {
            job,
            session: number,
            tests,
            phase: Some(phase),
            ask: in_suite,
            stay: in_suite,
            ..Job::default()
        };
        if let Some(zygote) = self.sessions[session].zygote {
            self.tell(zygote, &ToAgent::Job(order));
        }
        job
    }

    /// Waits until a job's process has ended and all it said is known.
    pub(crate) fn finish_job(&mut self, job: u32, director: &mut dyn Director) -> Result<(), RunnerError> {
        let began = Instant::now();
        let limit = START_LIMIT + self.options.test_timeout;
        let is_done = move |suite: &Self| {
            let Some(state) = suite.jobs.get(&job) else { return true };
            // Its end may be known before its first words are.
            let unheard = |end: &JobEnd| state.pid.is_none() || end.at.elapsed() > FIRST_WORDS;
            let heard = match state.peer {
                Some(peer) => suite.peers[peer].settled,
                None => state.end.as_ref().is_some_and(unheard),
            };
            let zygote = suite.sessions.get(state.session as usize).and_then(|session| session.zygote);
            let forked = state.order.is_none() && state.numbers.is_empty();
            let orphaned =
                forked && state.end.is_none() && zygote.is_none_or(|zygote| suite.peers[zygote].settled);
            (state.end.is_some() && heard) || orphaned
        };
        loop {
            let deadline = Instant::now() + Duration::from_secs(1);
            self.pump(director, |suite| is_done(suite) || Instant::now() > deadline)?;
            if is_done(self) {
                break;
            }
            // A suite that goes on is limited test by test.
            let state = &self.jobs[&job];
            let idle = !state.patient && state.peer.is_none_or(|peer| !self.peers[peer].in_suite);
            if idle
                && began.elapsed() > limit + self.start_allowance(job)
                && let Some(pid) = state.pid
            {
                processes::kill_tree(pid);
            }
        }
        self.sweep();
        Ok(())
    }

    /// More time for processes that must import and collect first.
    fn start_allowance(&self, job: u32) -> Duration {
        if self.jobs[&job].numbers.is_empty() { Duration::ZERO } else { 9 * START_LIMIT }
    }

    /// What only jobs and zygotes say.
    pub(crate) fn heard_of_job(&mut self, place: usize, message: ToHost) {
        match message {
            ToHost::Forked { job, pid } => {
                if let Some(state) = self.jobs.get_mut(&job) {
                    state.pid = Some(pid);
                }
            }
            ToHost::Exited { job, status, wall_ns, cpu_ns, error } => {
                let status = status.map(ExitStatus::from_raw);
                if let Some(state) = self.jobs.get_mut(&job) {
                    let (wall, cpu) = (Duration::from_nanos(wall_ns), Duration::from_nanos(cpu_ns));
                    state.exited(status, wall, cpu, error);
                    if let Some(peer) = state.peer {
                        self.peer_ended(peer, status);
                    }
                }
            }
            ToHost::Observed { entries, lines } => {
                let job = self.peers[place].job;
                if let Some(state) = self.jobs.get_mut(&job) {
                    state.observed = Some((entries, lines));
                }
            }
            ToHost::Trouble { text } => {
                let peer = &self.peers[place];
                if peer.in_suite {
                    let text = format!("a process of the suite ended early: {text}");
                    self.run.notices.push(RunnerNotice { text, warning: true });
                } else if let Some(state) = self.jobs.get_mut(&peer.job) {
                    state.trouble.get_or_insert(text);
                }
            }
            ToHost::CollectError { id, failure } => {
                let job = self.peers[place].job;
                if let Some(state) = self.jobs.get_mut(&job) {
                    let line = failure.message.lines().next().unwrap_or_default();
                    state.trouble.get_or_insert_with(|| format!("`{id}` could not be collected: {line}"));
                }
            }
            _ => {}
        }
    }
}
