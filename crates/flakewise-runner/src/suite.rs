//! A suite under way, and what is left of it to run tests again.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use flakewise_model::TestId;
use flakewise_protocol::{Role, ToAgent};

use crate::agent::AgentFolder;
use crate::command::{RunnerCommand, Unobserved};
use crate::execution::{self, Execution, SessionEnd, SuiteRun, TestKey, Versions};
use crate::hub::Hub;
use crate::repository::{path_in_repository, repository_root};
use crate::supervisor::{Effect, Now, Session, Supervisor};
use crate::{RunnerError, guard, processes, sys};

/// How long a zygote may take to connect.
const ZYGOTE_START: Duration = Duration::from_secs(10);

/// How many events are dealt with before we look after what has a time.
const MOST_AT_ONCE: u32 = 200;

/// Decides what runs again while the suite is under way: nothing, unless it says
/// otherwise.
pub trait Director {
    /// A session was collected: these are its tests, by number.
    fn collected(&mut self, _session: u32, _names: &[String]) {}
    /// Shall the suite run, now that its tests are known?
    fn runs(&mut self) -> bool {
        true
    }
    /// Which tests of a session shall be skipped, by number, and why? The root is the folder that
    /// their names begin at.
    fn skips(&mut self, _root: &str, _names: &[String]) -> Vec<(u32, String)> {
        Vec::new()
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
    /// A session's tests are over and nothing more is to be run with its fixtures
    /// set up: shall its process wait until its failures are judged? Then
    /// [`Suite::advance`] says so, and [`Suite::release`] lets it exit.
    fn holds(&mut self, _session: u32) -> bool {
        false
    }
    /// The suite's process died: shall the tests it did not reach run in
    /// another one?
    fn goes_on(&mut self) -> bool {
        false
    }
    /// When processes that [`Suite::run_rest`] started are killed. None waits for
    /// them.
    fn deadline(&self) -> Option<Instant> {
        None
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

/// How far a suite is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// A session's process waits for verdicts: see [`Director::holds`].
    Waiting(u32),
    /// The command has ended, and everything its tests said is known.
    Over,
}

/// A suite under way. When it is dropped, every process it started is ended.
#[derive(Debug)]
pub struct Suite {
    pub(crate) folder: AgentFolder,
    pub(crate) hub: Hub,
    pub(crate) options: SuiteOptions,
    pub(crate) supervisor: Supervisor,
    pub(crate) next_job: u32,
    pub(crate) forks: u64,
    /// Whether jobs are questions of a search.
    pub(crate) searches: bool,
    /// Tests whose latest job had files to put back.
    pub(crate) leave_files: HashSet<TestKey>,
    /// The paths of sessions' roots below the top of the repository; none outside
    /// of one.
    located: HashMap<u32, Option<String>>,
    /// The same, each once.
    roots: BTreeSet<String>,
    hash_seed: u32,
    program: String,
    /// Why no pytest may connect, if that can be determined from the command.
    unobserved: Unobserved,
}

impl Suite {
    /// Starts the user's command with our agent in its environment.
    pub fn start(command: &RunnerCommand, options: SuiteOptions) -> Result<Self, RunnerError> {
        if !sys::SUPPORTED {
            return Err(RunnerError::Unsupported);
        }
        sys::adopt_orphans();
        sys::ignore_terminal_stops();
        let folder = AgentFolder::create()?;
        let hub = Hub::open(&folder)?;
        // From here on, signals are heard.
        if guard::is_abandoned() {
            return Err(RunnerError::Interrupted { signal: sys::SIGTERM });
        }
        let old = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
        let given = std::env::var("PYTHONHASHSEED").ok().and_then(|seed| seed.parse().ok());
        let hash_seed = given.unwrap_or(options.hash_seed);
        let mut process = Command::new(&command.program);
        let unobserved = command.unobserved();
        if unobserved != Unobserved::Isolated {
            // pytest would look for the agent, and not find it.
            let more = if options.collect_only { " --collect-only -q" } else { "" };
            process.envs(folder.variables("main", 0, more, old));
        }
        process.args(&command.arguments).env("PYTHONHASHSEED", hash_seed.to_string()).stdin(Stdio::null());
        // A test that kills its group must not kill us.
        sys::own_group(&mut process);
        if options.output_to_stderr {
            process.stdout(std::io::stderr());
        }
        let child =
            process.spawn().map_err(|source| RunnerError::Start { program: command.program(), source })?;
        let pid = child.id();
        tracing::info!(
            program = %command.program(),
            arguments = ?command.arguments,
            pid,
            socket = %folder.socket().display(),
            hash_seed,
            "command started"
        );
        hub.watch_child(pid);
        let supervisor = Supervisor::new(pid, options.test_timeout);
        Ok(Self {
            folder,
            hub,
            options,
            supervisor,
            next_job: 1,
            forks: 0,
            searches: false,
            leave_files: HashSet::new(),
            located: HashMap::new(),
            roots: BTreeSet::new(),
            hash_seed,
            program: command.program(),
            unobserved,
        })
    }

    /// Runs the suite to its end, through crashes and hangs.
    pub fn run(&mut self, director: &mut dyn Director) -> Result<SuiteRun, RunnerError> {
        let _span = tracing::info_span!("suite").entered();
        while let Step::Waiting(session) = self.advance(director)? {
            self.release(session, false);
        }
        self.finish(director)
    }

    /// Runs the suite until a session waits for verdicts, or to the end of the
    /// command.
    pub fn advance(&mut self, director: &mut dyn Director) -> Result<Step, RunnerError> {
        self.pump(director, |suite| {
            let state = &suite.supervisor;
            !state.waiting.is_empty() || (state.command_status.is_some() && state.all_settled(Role::Main))
        })?;
        let Some(session) = self.supervisor.waiting.pop_front() else { return Ok(Step::Over) };
        self.await_zygotes(director)?;
        Ok(Step::Waiting(session))
    }

    /// Lets a process that waits for verdicts exit; with `forgive`, as if its
    /// failing tests had passed. Whether it was there to hear.
    pub fn release(&mut self, session: u32, forgive: bool) -> bool {
        let is_there = self.supervisor.release(session, forgive);
        self.perform();
        is_there
    }

    /// Whether the process of a session is there and waits for verdicts.
    pub fn waits(&self, session: u32) -> bool {
        self.supervisor.sessions[session as usize].waits
    }

    /// Runs a test again in its session's process, which waits. What comes of it is
    /// reported to the director as for any test of the suite.
    pub fn again_in_suite(
        &mut self,
        test: TestKey,
        director: &mut dyn Director,
    ) -> Result<bool, RunnerError> {
        let is_there = self.supervisor.run_in_main(test);
        self.perform();
        if is_there {
            self.pump(director, |suite| suite.supervisor.has_rerun(test.session))?;
        }
        Ok(is_there)
    }

    /// A short suite may be over before its zygote has connected, and processes that
    /// have not are taken for strays.
    fn await_zygotes(&mut self, director: &mut dyn Director) -> Result<(), RunnerError> {
        let deadline = Instant::now() + ZYGOTE_START;
        let is_there = |session: &Session| !session.forks() || session.zygote.is_some();
        self.pump(director, |suite| {
            suite.supervisor.sessions.iter().all(is_there) || Instant::now() > deadline
        })
    }

    /// What is left to do once the command has ended.
    pub fn finish(&mut self, director: &mut dyn Director) -> Result<SuiteRun, RunnerError> {
        self.await_zygotes(director)?;
        let state = &mut self.supervisor;
        let status = state.command_status.expect("the command has ended");
        tracing::info!(%status, sessions = state.sessions.len(), "command ended");
        if state.sessions.is_empty() && state.run.collect_errors.is_empty() && state.peers.is_empty() {
            return Err(RunnerError::NoRunner {
                program: self.program.clone(),
                status,
                why: self.unobserved,
            });
        }
        state.run.exit_code = status.code();
        let mut mains = state.peers.iter().filter(|(_, peer)| peer.role == Role::Main);
        state.run.direct = mains.all(|(_, peer)| peer.pid == state.command);
        self.sweep();
        // What a process did not reach because it died.
        self.run_rest(director, |_| true)?;
        let state = &mut self.supervisor;
        state.tell_dropped();
        state.run.sessions = state.sessions.iter().map(|session| session.end.clone()).collect();
        Ok(state.run.clone())
    }

    /// What to tell people of errors inside of the agents, if there were any.
    pub fn internal_errors(&self) -> Option<String> {
        self.supervisor.internal_errors()
    }

    /// What is known of how the suite went so far.
    pub fn so_far(&self) -> &SuiteRun {
        &self.supervisor.run
    }

    /// How a session ended, as far as it has.
    pub fn session_end(&self, session: u32) -> &SessionEnd {
        &self.supervisor.sessions[session as usize].end
    }

    /// Plug-ins of a session that act at its end and may change its exit status.
    pub fn finishers(&self, session: u32) -> &[String] {
        self.supervisor.sessions[session as usize].ready.as_ref().map_or(&[], |ready| &ready.finishers)
    }

    /// Distributions installed where the first session runs, as `name==version`.
    fn packages(&self) -> &[String] {
        let ready = self.supervisor.sessions.iter().find_map(|session| session.ready.as_ref());
        ready.map_or(&[], |ready| &ready.packages)
    }

    /// Runs tests that have no result yet, one after another in a process of
    /// their own, and in another one should that die.
    pub fn run_rest(
        &mut self,
        director: &mut dyn Director,
        wanted: impl Fn(TestKey) -> bool,
    ) -> Result<(), RunnerError> {
        for session in (0_u32..).take(self.supervisor.sessions.len()) {
            let mut before = usize::MAX;
            loop {
                let state = &self.supervisor.sessions[session as usize];
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
        (0_u32..).zip(&self.supervisor.sessions).flat_map(numbers).collect()
    }

    /// A test's name, as its runner gives it.
    pub fn name(&self, test: TestKey) -> &str {
        &self.supervisor.sessions[test.session as usize].names[test.number as usize]
    }

    /// The file a test is in, if its name leads to one.
    pub fn test_file(&self, test: TestKey) -> Option<PathBuf> {
        self.supervisor.sessions[test.session as usize].file_of(self.name(test))
    }

    /// The folder that names of tests of the first session are relative to.
    pub fn root(&self) -> &Path {
        Path::new(self.supervisor.sessions.first().map_or("", Session::root))
    }

    /// The folder that ids of tests of the first session are relative to: the top
    /// of the repository, or the root outside of one.
    pub fn ids_root(&self) -> PathBuf {
        repository_root(self.root()).unwrap_or_else(|| self.root().to_owned())
    }

    /// A test's id. Its path begins at the top of the repository, where its name
    /// begins at the folder that the runner takes for the project's.
    pub fn test_id(&self, test: TestKey) -> TestId {
        let root = self.located.get(&test.session).and_then(Option::as_deref);
        execution::pytest_id(self.name(test)).inside(root.unwrap_or_default())
    }

    /// Finds out where sessions that have just collected are in the repository.
    fn locate_sessions(&mut self) {
        for (number, session) in (0_u32..).zip(&self.supervisor.sessions) {
            if session.ready.is_some() && !self.located.contains_key(&number) {
                let path = path_in_repository(Path::new(session.root()));
                let hello = &session.hello;
                tracing::info!(
                    session = number,
                    runner = %hello.runner,
                    version = %hello.runner_version,
                    python = %hello.lang_version,
                    executable = %hello.executable,
                    root = %session.root(),
                    tests = session.names.len(),
                    forks = session.forks(),
                    "session ready"
                );
                self.roots.extend(path.clone());
                self.located.insert(number, path);
            }
        }
    }

    /// Tests that never gave a result.
    pub fn lost(&self) -> Vec<TestKey> {
        let mut lost = Vec::new();
        for (session, state) in (0_u32..).zip(&self.supervisor.sessions) {
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

    /// Forks that were requested so far.
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
        let hello = &self.supervisor.sessions.first()?.hello;
        Some(Versions {
            runner: &hello.runner,
            runner_version: &hello.runner_version,
            language_version: &hello.lang_version,
            roots: &self.roots,
            packages: self.packages(),
        })
    }

    /// Seeds that plugins of a session drew, by option.
    pub fn seeds(&self, session: u32) -> &BTreeMap<String, String> {
        static NONE: BTreeMap<String, String> = BTreeMap::new();
        self.supervisor.sessions[session as usize].ready.as_ref().map_or(&NONE, |ready| &ready.seeds)
    }

    /// A session's command line.
    pub fn command_line(&self, session: u32) -> &[String] {
        &self.supervisor.sessions[session as usize].hello.argv
    }

    /// Whether tests of a session can be run in forks.
    pub fn can_fork(&self, session: u32) -> bool {
        let session = &self.supervisor.sessions[session as usize];
        session.forks() && session.zygote.is_some_and(|zygote| !self.supervisor.peers[zygote].settled)
    }

    /// Deals with what happens until a condition holds.
    pub(crate) fn pump(
        &mut self,
        director: &mut dyn Director,
        done: impl Fn(&Self) -> bool,
    ) -> Result<(), RunnerError> {
        while !done(self) {
            let mut event = self.hub.next(self.supervisor.next_deadline(Instant::now()));
            let mut handled = Ok(());
            // We may have been busy with something else for long: no test is late
            // whose end is among what waits to be heard.
            let mut left = MOST_AT_ONCE;
            while let Some(next) = event.take() {
                handled = self.supervisor.handle(next, Now::read(), director);
                left -= 1;
                if left > 0 && handled.is_ok() {
                    event = self.hub.waiting();
                }
            }
            let now = Now::read();
            self.locate_sessions();
            let mut gone = self.supervisor.unwaited();
            gone.retain(|pid| !is_alive(*pid));
            let looked = handled.and_then(|()| self.supervisor.look_after(now, &gone, director));
            self.perform();
            looked?;
        }
        Ok(())
    }

    /// Does what the supervisor wants done.
    pub(crate) fn perform(&mut self) {
        for effect in self.supervisor.take_effects() {
            match effect {
                Effect::Tell { connection, message } => self.hub.tell(connection, &message),
                Effect::Close { connection } => self.hub.close(connection),
                Effect::Abort { pid } => sys::signal_process(pid, sys::SIGABRT),
                Effect::Kill { pid } => processes::kill_tree(pid),
                Effect::Signal { group, signal } => sys::signal_group(group, signal),
            }
        }
    }

    /// Says something to a process.
    pub(crate) fn tell(&mut self, peer: usize, message: ToAgent) {
        self.supervisor.tell(peer, message);
        self.perform();
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
        let state = &self.supervisor;
        let zygotes = state.peers.iter().filter(|(_, peer)| peer.role == Role::Zygote && !peer.settled);
        let mut spared: HashSet<u32> = zygotes.map(|(_, peer)| peer.pid).collect();
        if state.command_status.is_none() {
            spared.insert(state.command);
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
        let session = &mut self.supervisor.sessions[session];
        session.workers += 1;
        format!("{kind}-{}", session.workers)
    }
}

impl Drop for Suite {
    fn drop(&mut self) {
        let state = &self.supervisor;
        let zygotes = state.peers.iter().filter(|(_, peer)| peer.role == Role::Zygote);
        let zygotes: Vec<usize> = zygotes.map(|(place, _)| place).collect();
        for zygote in zygotes {
            self.tell(zygote, ToAgent::Quit);
        }
        if self.supervisor.command_status.is_none() {
            processes::kill_tree(self.supervisor.command);
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
