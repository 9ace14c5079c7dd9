//! A suite under way, and what is left of it to run tests again.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::os::unix::net::UnixStream;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use flakewise_model::{Failure, Outcome, TestId, Timestamp};
use flakewise_protocol::{
    AgentPhase, Hello, Job, Role, TestFailureMessage, ToAgent, ToHost, VERSION, write_message,
};
use slab::Slab;

use crate::agent::AgentFolder;
use crate::command::RunnerCommand;
use crate::execution::{self, CollectError, Execution, RunnerNotice, SuiteRun, TestKey, Versions};
use crate::hub::{Event, Hub};
use crate::jobs::JobState;
use crate::repository::{path_in_repository, repository_root};
use crate::{RunnerError, guard, processes, sys};

/// How long a process may take from its time limit to its death, while it
/// prints where it hangs.
const GRACE: Duration = Duration::from_secs(2);
/// How long the last words of a process that ended may take to reach us. They
/// are late only if somebody else holds its connection open.
const LAST_WORDS: Duration = Duration::from_secs(1);
/// How long a zygote may take to say its first word.
const ZYGOTE_START: Duration = Duration::from_secs(10);
/// How often we look after what cannot be waited for.
pub(crate) const TICK: Duration = Duration::from_millis(100);
/// How long the command may take to end after it was asked to.
const STOP_GRACE: Duration = Duration::from_secs(10);

/// Decides what runs again while the suite is under way: nothing, unless it says
/// otherwise.
pub trait Director {
    /// A session was collected: these are its tests, by number.
    fn collected(&mut self, _session: u32, _names: &[String]) {}
    /// Shall the suite run, now that its tests are known?
    fn runs(&mut self) -> bool {
        true
    }
    /// A test ended.
    fn ended(&mut self, _execution: &Execution) {}
    /// A test has failed and is about to be torn down: shall it run again?
    fn again(&mut self, _failing: &Execution) -> bool {
        false
    }
    /// A process of the suite is through: which tests shall run once more in
    /// it? Asked until nothing is wanted.
    fn postpone(&mut self, _session: u32, _worker: &str) -> Vec<u32> {
        Vec::new()
    }
    /// The suite's process died: shall the tests it did not reach run in
    /// another one?
    fn goes_on(&mut self) -> bool {
        false
    }
}

/// Wants nothing to run again.
#[derive(Clone, Copy, Debug)]
pub struct NothingAgain;

impl Director for NothingAgain {}

/// How to run a suite.
#[derive(Clone, Debug)]
pub struct SuiteOptions {
    /// How long one execution of a test may take.
    pub test_timeout: Duration,
    /// The hash seed to run with, unless the environment has one.
    pub hash_seed: u32,
    /// Whether what the runner prints goes to stderr, because stdout is wanted.
    pub output_to_stderr: bool,
    /// Whether to find the tests and run none.
    pub collect_only: bool,
}

/// A suite under way. When it is dropped, every process it started is ended.
#[derive(Debug)]
pub struct Suite {
    pub(crate) folder: AgentFolder,
    pub(crate) hub: Hub,
    pub(crate) options: SuiteOptions,
    pub(crate) peers: Slab<Peer>,
    pub(crate) connections: HashMap<u32, usize>,
    pub(crate) sessions: Vec<Session>,
    pub(crate) jobs: HashMap<u32, JobState>,
    pub(crate) next_job: u32,
    pub(crate) forks: u64,
    pub(crate) run: SuiteRun,
    /// Whether jobs are questions of a search.
    pub(crate) searches: bool,
    /// Tests whose latest job had files to put back.
    pub(crate) leave_files: HashSet<TestKey>,
    /// The sessions' paths below the top of the repository.
    roots: BTreeSet<String>,
    hash_seed: u32,
    program: String,
    command: u32,
    command_status: Option<ExitStatus>,
    stop: Option<(i32, Instant)>,
}

/// One pytest session: what main collected.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) hello: Hello,
    /// The folder names are relative to.
    pub(crate) root: String,
    /// Its path below the top of the repository, which ids begin with; none
    /// outside of a repository.
    root_in_repository: Option<String>,
    pub(crate) names: Vec<String>,
    /// Whether a test has a result.
    pub(crate) done: Vec<bool>,
    pub(crate) zygote: Option<usize>,
    pub(crate) forks: bool,
    pub(crate) seeds: BTreeMap<String, String>,
    /// What the command line names to be run.
    named: Vec<String>,
    /// Whether the suite may not be continued: it ended, or somebody wished so.
    pub(crate) over: bool,
    /// How many processes were made for it.
    workers: u32,
}

/// A process that speaks to us.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "independent facts about a process, in any combination")]
pub(crate) struct Peer {
    pub(crate) role: Role,
    pub(crate) pid: u32,
    pub(crate) session: u32,
    pub(crate) job: u32,
    pub(crate) worker: String,
    /// Whether what it runs is part of the suite.
    pub(crate) in_suite: bool,
    stream: UnixStream,
    connection: u32,
    current: Option<Current>,
    position: u32,
    closed: bool,
    pub(crate) ended: Option<(Option<ExitStatus>, Instant)>,
    /// Whether everything it said has been heard, and its end been dealt with.
    pub(crate) settled: bool,
    timed_out: bool,
    kill_at: Option<Instant>,
    /// A connection it opened because a test closed the one before. What it
    /// says there comes after what it said before.
    next: Option<NextConnection>,
}

#[derive(Debug)]
struct NextConnection {
    connection: u32,
    stream: UnixStream,
    since: Instant,
    held: Vec<ToHost>,
}

#[derive(Debug)]
struct Current {
    number: u32,
    phase: AgentPhase,
    since: Instant,
    started: Timestamp,
}

impl Suite {
    /// Starts the user's command with our agent in its environment.
    pub fn start(command: &RunnerCommand, options: SuiteOptions) -> Result<Self, RunnerError> {
        sys::adopt_orphans();
        sys::ignore_terminal_stops();
        let folder = AgentFolder::create()?;
        let hub = Hub::open(&folder)?;
        // From here on, signals are heard.
        if guard::is_abandoned() {
            return Err(RunnerError::Interrupted { signal: libc::SIGTERM });
        }
        let old = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
        let given = std::env::var("PYTHONHASHSEED").ok().and_then(|seed| seed.parse().ok());
        let hash_seed = given.unwrap_or(options.hash_seed);
        let mut process = Command::new(&command.program);
        process
            .args(&command.arguments)
            .envs(folder.variables(
                "main",
                0,
                if options.collect_only { " --collect-only -q" } else { "" },
                old,
            ))
            .env("PYTHONHASHSEED", hash_seed.to_string())
            .stdin(Stdio::null())
            // A test that kills its group must not kill us.
            .process_group(0);
        if options.output_to_stderr {
            process.stdout(std::io::stderr());
        }
        let child =
            process.spawn().map_err(|source| RunnerError::Start { program: command.program(), source })?;
        let pid = child.id();
        hub.watch_child(pid);
        Ok(Self {
            folder,
            hub,
            options,
            peers: Slab::new(),
            connections: HashMap::new(),
            sessions: Vec::new(),
            jobs: HashMap::new(),
            next_job: 1,
            forks: 0,
            run: SuiteRun::default(),
            searches: false,
            leave_files: HashSet::new(),
            roots: BTreeSet::new(),
            hash_seed,
            program: command.program(),
            command: pid,
            command_status: None,
            stop: None,
        })
    }

    /// Runs the suite to its end, through crashes and hangs.
    pub fn run(&mut self, director: &mut dyn Director) -> Result<SuiteRun, RunnerError> {
        self.pump(director, |suite| suite.command_status.is_some() && suite.all_settled(Role::Main))?;
        // A short suite may be over before its zygote has said a word, and who
        // says nothing is swept away.
        let deadline = Instant::now() + ZYGOTE_START;
        let is_there = |session: &Session| !session.forks || session.zygote.is_some();
        self.pump(director, |suite| suite.sessions.iter().all(is_there) || Instant::now() > deadline)?;
        let status = self.command_status.expect("the command has ended");
        if self.sessions.is_empty() && self.run.collect_errors.is_empty() && self.peers.is_empty() {
            return Err(RunnerError::NoRunner { program: self.program.clone(), status });
        }
        self.run.exit_code = status.code();
        let mut mains = self.peers.iter().filter(|(_, peer)| peer.role == Role::Main);
        self.run.direct = mains.all(|(_, peer)| peer.pid == self.command);
        self.sweep();
        // What a process did not reach because it died.
        self.run_rest(director, |_| true)?;
        Ok(self.run.clone())
    }

    /// Runs tests that have no result yet, one after another in a process of
    /// their own, and in another one should that die.
    pub fn run_rest(
        &mut self,
        director: &mut dyn Director,
        wanted: impl Fn(TestKey) -> bool,
    ) -> Result<(), RunnerError> {
        for session in (0_u32..).take(self.sessions.len()) {
            let mut before = usize::MAX;
            loop {
                let state = &self.sessions[session as usize];
                let rest: Vec<u32> = (0_u32..)
                    .zip(&state.done)
                    .filter(|&(number, done)| !done && wanted(TestKey { session, number }))
                    .map(|(number, _)| number)
                    .collect();
                if state.over || rest.is_empty() || rest.len() == before || !director.goes_on() {
                    break;
                }
                before = rest.len();
                self.continue_suite(session as usize, rest, director)?;
                self.sweep();
            }
        }
        self.sweep();
        Ok(())
    }

    /// All tests that were found.
    pub fn tests(&self) -> Vec<TestKey> {
        let numbers = |(session, state): (u32, &Session)| {
            (0..u32::try_from(state.names.len()).unwrap_or(u32::MAX))
                .map(move |number| TestKey { session, number })
        };
        (0_u32..).zip(&self.sessions).flat_map(numbers).collect()
    }

    /// A test's name, as its runner gives it.
    pub fn name(&self, test: TestKey) -> &str {
        &self.sessions[test.session as usize].names[test.number as usize]
    }

    /// The file a test is in, if its name leads to one.
    pub fn test_file(&self, test: TestKey) -> Option<PathBuf> {
        self.sessions[test.session as usize].file_of(self.name(test))
    }

    /// The folder that names of tests of the first session are relative to.
    pub fn root(&self) -> &Path {
        Path::new(self.sessions.first().map_or("", |session| &session.root))
    }

    /// The folder that ids of tests of the first session are relative to: the top
    /// of the repository, or the root outside of one.
    pub fn ids_root(&self) -> PathBuf {
        repository_root(self.root()).unwrap_or_else(|| self.root().to_owned())
    }

    /// A test's id. Its path begins at the top of the repository, where its name
    /// begins at the folder that the runner takes for the project's.
    pub fn test_id(&self, test: TestKey) -> TestId {
        let root = self.sessions[test.session as usize].root_in_repository.as_deref();
        execution::test_id(self.name(test)).inside(root.unwrap_or_default())
    }

    /// Tests that never gave a result.
    pub fn lost(&self) -> Vec<TestKey> {
        let mut lost = Vec::new();
        for (session, state) in (0_u32..).zip(&self.sessions) {
            let without = (0_u32..).zip(&state.done).filter(|(_, done)| !**done);
            lost.extend(without.map(|(number, _)| TestKey { session, number }));
        }
        lost
    }

    /// From now on, forks and new processes are questions of a search. Files that
    /// their tests make, change or remove are put back when they end: who asks how
    /// tests end after others must not be answered by what they left on disk in an
    /// earlier run. And they tell how tests end, not what failures look like: to
    /// work that out takes several times as long as a short test.
    pub fn search(&mut self) {
        self.searches = true;
    }

    /// Forks that were asked for so far.
    pub fn forks(&self) -> u64 {
        self.forks
    }

    /// Whether the latest job with this test had to put files back. Such tests do
    /// not mix well with others that run beside them.
    pub fn leaves_files(&self, test: TestKey) -> bool {
        self.leave_files.contains(&test)
    }

    /// The hash seed the suite ran with.
    pub fn hash_seed(&self) -> u32 {
        self.hash_seed
    }

    /// What runs the tests of the first session.
    pub fn versions(&self) -> Option<Versions<'_>> {
        let hello = &self.sessions.first()?.hello;
        Some(Versions {
            runner: &hello.runner,
            runner_version: &hello.runner_version,
            language_version: &hello.lang_version,
            roots: &self.roots,
        })
    }

    /// Seeds that plugins of a session drew, by option.
    pub fn seeds(&self, session: u32) -> &BTreeMap<String, String> {
        &self.sessions[session as usize].seeds
    }

    /// A session's command line.
    pub fn command_line(&self, session: u32) -> &[String] {
        &self.sessions[session as usize].hello.argv
    }

    /// The command as somebody would type it to run tests of their own choice in
    /// the order they are named: without what it names, and without plugins that
    /// shuffle.
    pub fn plain_command(&self, session: u32, given: &[String]) -> Vec<String> {
        let session = &self.sessions[session as usize];
        let mut words = if self.run.direct { given.to_vec() } else { session.hello.argv.clone() };
        for named in session.named.iter().rev() {
            if let Some(place) = words.iter().rposition(|word| word == named) {
                words.remove(place);
            }
        }
        for (seed, plugin) in [("randomly_seed", "no:randomly"), ("random_order_seed", "no:random_order")] {
            if session.seeds.contains_key(seed) {
                words.extend(["-p".to_owned(), plugin.to_owned()]);
            }
        }
        words
    }

    /// A test as it is named on the command line, in the folder it was given in.
    pub fn argument(&self, test: TestKey) -> String {
        let session = &self.sessions[test.session as usize];
        let name = self.name(test);
        let (root, folder) = (Path::new(&session.root), Path::new(&session.hello.cwd));
        if root == folder || session.root.is_empty() {
            return name.to_owned();
        }
        if let Ok(above) = root.strip_prefix(folder) {
            return above.join(name).to_string_lossy().into_owned();
        }
        if let Ok(below) = folder.strip_prefix(root) {
            if let Some(rest) = Path::new(name).strip_prefix(below).ok().and_then(Path::to_str) {
                return rest.to_owned();
            }
            let up: PathBuf = below.components().map(|_| "..").collect();
            return up.join(name).to_string_lossy().into_owned();
        }
        root.join(name).to_string_lossy().into_owned()
    }

    /// Whether tests of a session can be run in forks.
    pub fn can_fork(&self, session: u32) -> bool {
        let session = &self.sessions[session as usize];
        session.forks && session.zygote.is_some_and(|zygote| !self.peers[zygote].settled)
    }

    /// Deals with what happens until a condition holds.
    pub(crate) fn pump(
        &mut self,
        director: &mut dyn Director,
        done: impl Fn(&Self) -> bool,
    ) -> Result<(), RunnerError> {
        while !done(self) {
            let event = self.hub.next(self.next_deadline());
            match event {
                Some(Event::Connected { connection, hello, stream }) => {
                    self.connected(connection, *hello, stream);
                }
                Some(Event::Message { connection, message }) => {
                    if let Some(peer) = self.connections.get(&connection).copied() {
                        let next = self.peers[peer].next.as_mut();
                        match next.filter(|next| next.connection == connection) {
                            Some(next) => next.held.push(message),
                            None => self.heard(peer, message, director),
                        }
                    }
                }
                Some(Event::Closed { connection }) => {
                    if let Some(peer) = self.connections.get(&connection).copied()
                        && self.peers[peer].connection == connection
                    {
                        self.peers[peer].closed = true;
                    }
                }
                Some(Event::Ended { pid, status, cpu }) => self.process_ended(pid, status, cpu),
                Some(Event::Signal { signal }) => self.asked_to_stop(signal)?,
                Some(Event::Version { theirs }) => {
                    return Err(RunnerError::Version { theirs, ours: VERSION[0] });
                }
                None => {}
            }
            self.look_after(director)?;
        }
        Ok(())
    }

    fn next_deadline(&self) -> Instant {
        let mut next = Instant::now() + TICK;
        for (_, peer) in self.peers.iter().filter(|(_, peer)| !peer.settled) {
            if let Some(current) = &peer.current {
                next = next.min(current.since + self.options.test_timeout);
            }
            next = next.min(peer.kill_at.unwrap_or(next));
        }
        next
    }

    fn connected(&mut self, connection: u32, hello: Hello, stream: UnixStream) {
        if hello.resumed {
            let known = self.peers.iter().find(|(_, peer)| peer.pid == hello.pid && peer.role == hello.role);
            if let Some((peer, _)) = known {
                self.connections.insert(connection, peer);
                self.peers[peer].next =
                    Some(NextConnection { connection, stream, since: Instant::now(), held: Vec::new() });
            }
            return;
        }
        let (session, worker) = match hello.role {
            Role::Main => (u32::try_from(self.sessions.len()).unwrap_or(u32::MAX), "main".to_owned()),
            Role::Zygote => (hello.job, "zygote".to_owned()),
            Role::Child | Role::Fresh => match self.jobs.get(&hello.job) {
                Some(job) => (job.session, job.worker.clone()),
                // Nobody asked for it.
                None => return,
            },
        };
        let in_suite = match hello.role {
            Role::Main => true,
            Role::Zygote => false,
            Role::Child | Role::Fresh => self.jobs.get(&hello.job).is_some_and(|job| job.in_suite),
        };
        let place = self.peers.insert(Peer {
            role: hello.role,
            pid: hello.pid,
            session,
            job: hello.job,
            worker,
            in_suite,
            stream,
            connection,
            current: None,
            position: 0,
            closed: false,
            ended: None,
            settled: false,
            timed_out: false,
            kill_at: None,
            next: None,
        });
        self.connections.insert(connection, place);
        match hello.role {
            Role::Main => {
                self.tell(place, &ToAgent::Job(Job { session, ask: true, ..Job::default() }));
                self.sessions.push(Session {
                    hello,
                    root: String::new(),
                    root_in_repository: None,
                    names: Vec::new(),
                    done: Vec::new(),
                    zygote: None,
                    forks: false,
                    seeds: BTreeMap::new(),
                    named: Vec::new(),
                    over: false,
                    workers: 0,
                });
            }
            Role::Zygote => {
                if let Some(session) = self.sessions.get_mut(session as usize) {
                    session.zygote = Some(place);
                }
            }
            Role::Child | Role::Fresh => {
                let Some(job) = self.jobs.get_mut(&hello.job) else { return };
                job.peer = Some(place);
                // Its end may have been told before.
                let ended = job.end.as_ref().map(|end| (end.status, end.at));
                let order = job.order.take();
                self.peers[place].ended = ended;
                if let Some(order) = order {
                    self.tell(place, &ToAgent::Job(order));
                }
            }
        }
    }

    /// Says something to a process. If it cannot hear us, its end will tell.
    pub(crate) fn tell(&mut self, peer: usize, message: &ToAgent) {
        let _ = write_message(&mut self.peers[peer].stream, message);
    }

    fn heard(&mut self, place: usize, message: ToHost, director: &mut dyn Director) {
        let peer = &mut self.peers[place];
        let session = peer.session as usize;
        match message {
            ToHost::Start { i, phase } => {
                let (since, started) = (Instant::now(), chrono::Utc::now());
                peer.current = Some(Current { number: i, phase, since, started });
            }
            ToHost::Ask { i, failure } => {
                if peer.current.as_ref().is_none_or(|current| current.number != i) {
                    return;
                }
                let outcome = if failure.when == "call" { Outcome::Failed } else { Outcome::Errored };
                let execution = self.execution(place, outcome, None, Some(&failure));
                let again = execution.is_some_and(|execution| director.again(&execution));
                // The time we take is not the test's.
                self.tell(place, if again { &ToAgent::Again } else { &ToAgent::Next });
            }
            ToHost::End { i, outcome, ns, failure } => {
                if peer.current.as_ref().is_none_or(|current| current.number != i) {
                    return;
                }
                let outcome = execution::outcome(outcome);
                let execution =
                    self.execution(place, outcome, Some(Duration::from_nanos(ns)), failure.as_ref());
                self.peers[place].current = None;
                if let Some(execution) = execution {
                    self.record(place, execution, director);
                }
            }
            ToHost::Tests { ids, .. } => {
                if peer.role == Role::Main
                    && let Some(session) = self.sessions.get_mut(session)
                {
                    session.names.extend(ids);
                    session.done.resize(session.names.len(), false);
                } else if let Some(job) = self.jobs.get_mut(&peer.job) {
                    job.names.extend(ids);
                }
            }
            ToHost::Ready { forks, reason, root, seeds, named } => {
                let number = peer.session;
                if let Some(session) = self.sessions.get_mut(session) {
                    (session.forks, session.root, session.seeds) = (forks, root, seeds);
                    session.named = named;
                    session.root_in_repository = path_in_repository(Path::new(&session.root));
                    self.roots.extend(session.root_in_repository.clone());
                    if let Some(reason) = reason {
                        let text = format!("tests run again in new processes instead of forks: {reason}");
                        self.run.notices.push(RunnerNotice { text, warning: false });
                    }
                    director.collected(number, &session.names);
                }
                if director.runs() {
                    self.tell(place, &ToAgent::Go);
                } else {
                    self.tell(place, &ToAgent::Finish);
                }
            }
            ToHost::SuiteEnd { stopped, wanted } => {
                let left = self.sessions.get_mut(session).map(|session| {
                    session.over |= wanted;
                    session.done.contains(&false)
                });
                if let Some(stopped) = stopped.filter(|_| left == Some(true)) {
                    self.run.stopped = Some(stopped);
                }
                self.order_more(place, director);
            }
            ToHost::Ran => self.order_more(place, director),
            ToHost::CollectError { id, failure } if peer.in_suite => {
                self.run.collect_errors.push(CollectError {
                    name: id,
                    failure: execution::failure(&failure),
                    place: execution::place(&failure),
                });
            }
            ToHost::Notice { text, warning } if peer.in_suite => {
                self.run.notices.push(RunnerNotice { text, warning });
            }
            ToHost::Broken { text } if peer.in_suite => {
                self.run.broken = true;
                self.run.notices.push(RunnerNotice { text, warning: true });
            }
            message => self.heard_of_job(place, message),
        }
    }

    /// Asks the director what else to run in a suite's process.
    fn order_more(&mut self, place: usize, director: &mut dyn Director) {
        let peer = &self.peers[place];
        let tests = if peer.in_suite && self.stop.is_none() {
            director.postpone(peer.session, &peer.worker)
        } else {
            Vec::new()
        };
        if tests.is_empty() {
            self.tell(place, &ToAgent::Finish);
        } else {
            self.tell(place, &ToAgent::Run { tests, phase: AgentPhase::Postpone });
        }
    }

    /// The execution that a process is in the midst of.
    fn execution(
        &mut self,
        place: usize,
        outcome: Outcome,
        duration: Option<Duration>,
        failure: Option<&TestFailureMessage>,
    ) -> Option<Execution> {
        let peer = &mut self.peers[place];
        let current = peer.current.as_ref()?;
        let number = match self.jobs.get(&peer.job).filter(|_| peer.role == Role::Fresh) {
            // It numbers its own few tests.
            Some(job) => *job.numbers.get(job.names.get(current.number as usize)?)?,
            None => current.number,
        };
        let session = self.sessions.get(peer.session as usize)?;
        if number as usize >= session.names.len() {
            return None;
        }
        Some(Execution {
            test: TestKey { session: peer.session, number },
            phase: execution::phase(current.phase),
            outcome,
            duration,
            started: current.started,
            failure: failure.map(|message| {
                if outcome == Outcome::Skipped {
                    Failure::skip(&message.message)
                } else {
                    execution::failure(message)
                }
            }),
            place: failure.and_then(execution::place),
            worker: peer.worker.clone(),
            position: peer.position,
            cost: None,
        })
    }

    fn record(&mut self, place: usize, execution: Execution, director: &mut dyn Director) {
        let peer = &mut self.peers[place];
        peer.position += 1;
        if peer.in_suite {
            self.sessions[execution.test.session as usize].done[execution.test.number as usize] = true;
            director.ended(&execution);
        } else if let Some(job) = self.jobs.get_mut(&peer.job) {
            job.executions.push(execution);
        }
    }

    fn process_ended(&mut self, pid: u32, status: ExitStatus, cpu: Duration) {
        if pid == self.command {
            self.command_status = Some(status);
        }
        if let Some(job) = self.jobs.values_mut().find(|job| job.pid == Some(pid)) {
            job.exited(Some(status), Duration::ZERO, cpu, None);
        }
        let known = self.peers.iter().find(|(_, peer)| peer.pid == pid && !peer.settled);
        if let Some((peer, _)) = known {
            self.peer_ended(peer, Some(status));
        }
    }

    pub(crate) fn peer_ended(&mut self, place: usize, status: Option<ExitStatus>) {
        self.peers[place].ended.get_or_insert((status, Instant::now()));
    }

    /// Everything that has a time: limits, last words, processes that nobody
    /// can wait for.
    fn look_after(&mut self, director: &mut dyn Director) -> Result<(), RunnerError> {
        let now = Instant::now();
        let lost = self.peers.iter().filter(|(_, peer)| peer.role == Role::Zygote && peer.settled);
        let zygotes_lost: HashSet<u32> = lost.map(|(_, peer)| peer.session).collect();
        let places: Vec<usize> = self.peers.iter().map(|(place, _)| place).collect();
        for place in places {
            let peer = &mut self.peers[place];
            if peer.settled {
                continue;
            }
            let is_over = |next: &NextConnection| peer.closed || now > next.since + LAST_WORDS;
            if peer.next.as_ref().is_some_and(is_over)
                && let Some(next) = peer.next.take()
            {
                (peer.connection, peer.stream, peer.closed) = (next.connection, next.stream, false);
                for message in next.held {
                    self.heard(place, message, director);
                }
            }
            let peer = &mut self.peers[place];
            // Of most processes somebody tells us how they ended.
            let untold = match peer.role {
                Role::Main => peer.pid != self.command,
                Role::Zygote => true,
                Role::Child => zygotes_lost.contains(&peer.session),
                Role::Fresh => false,
            };
            if peer.closed && peer.ended.is_none() && untold && !is_alive(peer.pid) {
                peer.ended = Some((None, now));
            }
            if let Some((status, at)) = peer.ended
                && (peer.closed || now > at + LAST_WORDS)
            {
                peer.settled = true;
                self.settle(place, status, director);
                continue;
            }
            let overdue =
                peer.current.as_ref().is_some_and(|test| now > test.since + self.options.test_timeout);
            if overdue && !peer.timed_out {
                peer.timed_out = true;
                if peer.role == Role::Main {
                    // It says where it hangs, where it can.
                    sys::signal_process(peer.pid, libc::SIGABRT);
                    peer.kill_at = Some(now + GRACE);
                } else {
                    processes::kill_tree(peer.pid);
                }
            }
            if peer.kill_at.is_some_and(|at| now > at) {
                peer.kill_at = None;
                processes::kill_tree(peer.pid);
            }
        }
        if let Some((signal, at)) = self.stop
            && (self.command_status.is_some() || now > at)
        {
            return Err(RunnerError::Interrupted { signal });
        }
        Ok(())
    }

    /// A process ended and all it said is known: a test it was in the midst of
    /// took it along.
    fn settle(&mut self, place: usize, status: Option<ExitStatus>, director: &mut dyn Director) {
        let timed_out = self.peers[place].timed_out;
        let (outcome, message) = if timed_out {
            let limit = self.options.test_timeout;
            (Outcome::TimedOut, format!("no end after {limit:?}, the time limit"))
        } else {
            let how = match status.and_then(|status| status.signal()) {
                Some(signal) => format!("was killed by {}", signal_name(signal)),
                None => match status.and_then(|status| status.code()) {
                    Some(code) => format!("ended with exit code {code}"),
                    None => "died".to_owned(),
                },
            };
            (Outcome::Crashed, format!("the process {how} while the test ran"))
        };
        let words = TestFailureMessage { message, ..TestFailureMessage::default() };
        if let Some(execution) = self.execution(place, outcome, None, Some(&words)) {
            self.record(place, execution, director);
        }
        self.peers[place].current = None;
    }

    /// The first signal is passed on to the suite, so that pytest can say what
    /// it has; the second ends everything, and so does the end of our guard.
    fn asked_to_stop(&mut self, signal: i32) -> Result<(), RunnerError> {
        if self.stop.is_some() || self.command_status.is_some() || guard::is_abandoned() {
            return Err(RunnerError::Interrupted { signal });
        }
        sys::signal_group(self.command, if signal == libc::SIGINT { signal } else { libc::SIGTERM });
        self.stop = Some((signal, Instant::now() + STOP_GRACE));
        Ok(())
    }

    fn all_settled(&self, role: Role) -> bool {
        self.peers.iter().filter(|(_, peer)| peer.role == role).all(|(_, peer)| peer.settled)
    }

    /// Forgets a process that has ended.
    pub(crate) fn forget(&mut self, place: usize) {
        let peer = self.peers.remove(place);
        self.connections.remove(&peer.connection);
        if let Some(next) = peer.next {
            self.connections.remove(&next.connection);
        }
    }

    /// Ends whatever tests left behind. Zygotes and what they run stay.
    pub(crate) fn sweep(&self) {
        processes::sweep(&self.spared());
    }

    /// Whether tests left something behind.
    pub(crate) fn has_strays(&self) -> bool {
        !processes::strays(&self.spared()).is_empty()
    }

    fn spared(&self) -> HashSet<u32> {
        let zygotes = self.peers.iter().filter(|(_, peer)| peer.role == Role::Zygote && !peer.settled);
        let mut spared: HashSet<u32> = zygotes.map(|(_, peer)| peer.pid).collect();
        if self.command_status.is_none() {
            spared.insert(self.command);
        }
        spared
    }

    /// Gives a number to a new job.
    pub(crate) fn job_number(&mut self) -> u32 {
        self.next_job += 1;
        self.next_job
    }

    /// A name for the next process of this kind in a session.
    pub(crate) fn worker(&mut self, session: usize, kind: &str) -> String {
        let session = &mut self.sessions[session];
        session.workers += 1;
        format!("{kind}-{}", session.workers)
    }
}

impl Drop for Suite {
    fn drop(&mut self) {
        let zygotes = self.peers.iter().filter(|(_, peer)| peer.role == Role::Zygote);
        let zygotes: Vec<usize> = zygotes.map(|(place, _)| place).collect();
        for zygote in zygotes {
            self.tell(zygote, &ToAgent::Quit);
        }
        if self.command_status.is_none() {
            processes::kill_tree(self.command);
        }
        processes::sweep_all();
    }
}

fn is_alive(pid: u32) -> bool {
    // A zombie is dead, only nobody has taken note yet.
    std::fs::read(format!("/proc/{pid}/stat")).is_ok_and(|stat| {
        let end = stat.iter().rposition(|byte| *byte == b')').unwrap_or(0);
        stat.get(end + 2).is_some_and(|state| *state != b'Z' && *state != b'X')
    })
}

fn signal_name(signal: i32) -> String {
    let name = match signal {
        libc::SIGABRT => "SIGABRT",
        libc::SIGBUS => "SIGBUS",
        libc::SIGFPE => "SIGFPE",
        libc::SIGHUP => "SIGHUP",
        libc::SIGILL => "SIGILL",
        libc::SIGINT => "SIGINT",
        libc::SIGKILL => "SIGKILL",
        libc::SIGPIPE => "SIGPIPE",
        libc::SIGSEGV => "SIGSEGV",
        libc::SIGTERM => "SIGTERM",
        _ => return format!("signal {signal}"),
    };
    name.to_owned()
}
