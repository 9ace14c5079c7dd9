//! What is known of a suite under way, and what follows from what happens. Pure.
//!
//! Nothing here reads a clock, a socket or a process: events come in with their
//! time, and what is to be done about them goes out as [`Effect`]s. So every
//! decision is tested with an agent that is only a list of messages.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};
use std::process::ExitStatus;
use std::time::{Duration, Instant};

use flakewise_model::{Failure, Notice, Outcome, Timestamp};
use flakewise_protocol::{
    AgentPhase, Hello, Job, ReadyMessage, Role, TestFailureMessage, ToAgent, ToHost, VERSION,
};
use slab::Slab;

use crate::RunnerError;
use crate::execution::{self, CollectError, Execution, SessionEnd, SuiteRun, TestKey};
use crate::hub::{Event, MOST_CONNECTIONS};
use crate::jobs::{JobEnd, JobState};
use crate::state::Seen;
use crate::suite::Director;
use crate::sys;

/// How long a process may take from its time limit to its death, while it
/// prints where it hangs.
const GRACE: Duration = Duration::from_secs(2);
/// How long the last messages of a process that ended may take to reach us. They
/// are late only if somebody else holds its connection open.
const LAST_WORDS: Duration = Duration::from_secs(1);
/// How long the first message of a process that has ended may take to reach us.
const FIRST_WORDS: Duration = Duration::from_secs(2);
/// How often we look after what cannot be waited for.
pub(crate) const TICK: Duration = Duration::from_millis(100);
/// How long the command may take to end after it was asked to.
const STOP_GRACE: Duration = Duration::from_secs(10);
/// How many notices, collection errors and reasons are kept of each.
const MOST_TEXTS: usize = 1000;
/// How much of such a text is kept, in bytes.
const TEXT_LIMIT: usize = 4096;
/// How much is shown of an internal error, in bytes.
const ERROR_LIMIT: usize = 200;
/// How many tests a session may announce.
const MOST_TESTS: usize = 10_000_000;
/// How many tests may be announced that were not named.
const MOST_UNNAMED: usize = 10_000;
/// How many processes may speak to us. More are refused.
const MOST_PEERS: usize = 10_000;
/// How much of a command line and an environment is taken, in bytes. Linux takes 6 MiB.
const MOST_WORDS: usize = 16 << 20;
/// How much the names of tests may take in all sessions together, in bytes.
const MOST_NAMES: usize = 1 << 30;
/// What a name takes besides its text, in bytes.
const NAME_OVERHEAD: usize = 32;
/// How much all command lines, environments and other facts about sessions may take
/// together, in bytes.
const MOST_FACTS: usize = 256 << 20;
/// How many results a session may report, and how many more for each of its tests.
const MOST_RESULTS: u64 = 100_000;
const MOST_RESULTS_PER_TEST: u64 = 100;
/// How many results a job may report beyond one for each test of its session.
const MOST_MORE_RESULTS: usize = 1000;
/// How many messages wait for the end of the connections before theirs.
const MOST_HELD: usize = 128;
/// How many connections of one process wait for the end of those before them.
const MOST_NEXT: usize = 8;
/// How many different internal errors of agents are named.
const MOST_INTERNAL: usize = 3;
/// How many sites of internal errors are distinguished.
const MOST_SITES: usize = 1000;

/// When something happened.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Now {
    pub(crate) instant: Instant,
    pub(crate) clock: Timestamp,
}

impl Now {
    pub(crate) fn read() -> Self {
        Self { instant: Instant::now(), clock: chrono::Utc::now() }
    }
}

/// What is to be done.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Effect {
    /// Send a message. If nobody receives it, the end of the process will tell.
    Tell { connection: u32, message: ToAgent },
    /// Close a connection that was replaced or is no longer needed.
    Close { connection: u32 },
    /// Have a process print where it hangs, and end.
    Abort { pid: u32 },
    /// End a process and everything below it.
    Kill { pid: u32 },
    /// Pass a signal on to a process group.
    Signal { group: u32, signal: i32 },
}

/// One pytest session: what main collected.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) hello: Hello,
    /// What it said once everything was collected; none before.
    pub(crate) ready: Option<ReadyMessage>,
    pub(crate) names: Vec<String>,
    /// Whether a test has a result.
    pub(crate) done: Vec<bool>,
    pub(crate) zygote: Option<usize>,
    /// Whether the suite may not be continued: it ended, or somebody wished so.
    pub(crate) over: bool,
    /// How many processes were made for it.
    pub(crate) workers: u32,
    /// Its main process, while that is there.
    main: usize,
    /// What was named on the command line, until it is ready.
    named: Vec<String>,
    /// How many names were reported once more: plug-ins may repeat a suite.
    repeated: usize,
    /// How long its command line and environment are, as far as they came in parts.
    words: usize,
    /// Whether main waits for verdicts.
    pub(crate) waits: bool,
    /// How many results it reported.
    results: u64,
    /// How it ended.
    pub(crate) end: SessionEnd,
}

impl Session {
    /// The folder names are relative to; empty until it is known.
    pub(crate) fn root(&self) -> &str {
        self.ready.as_ref().map_or("", |ready| &ready.root)
    }

    /// Whether there is, or will be, a zygote.
    pub(crate) fn forks(&self) -> bool {
        self.ready.as_ref().is_some_and(|ready| ready.forks)
    }
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
    connection: u32,
    current: Option<Current>,
    position: u32,
    closed: bool,
    /// Whether it said goodbye.
    bye: bool,
    pub(crate) ended: Option<(Option<ExitStatus>, Instant)>,
    /// Whether everything it said has been heard, and its end been dealt with.
    pub(crate) settled: bool,
    /// Since when nothing but what cannot be read has come from it. It may wait for
    /// an answer.
    unreadable: Option<Instant>,
    /// Whether we ended it because it took too long.
    timed_out: bool,
    /// The test that took too long.
    overdue: Option<u32>,
    kill_at: Option<Instant>,
    /// Connections it opened because a test closed the one before. What it says
    /// there comes after what it said before.
    next: VecDeque<NextConnection>,
}

#[derive(Debug)]
struct NextConnection {
    connection: u32,
    since: Instant,
    held: Vec<ToHost>,
    closed: bool,
}

#[derive(Debug)]
struct Current {
    number: u32,
    phase: AgentPhase,
    since: Instant,
    started: Timestamp,
}

/// Everything known of a suite under way.
#[derive(Debug)]
pub(crate) struct Supervisor {
    pub(crate) peers: Slab<Peer>,
    pub(crate) connections: HashMap<u32, usize>,
    pub(crate) sessions: Vec<Session>,
    pub(crate) jobs: HashMap<u32, JobState>,
    pub(crate) run: SuiteRun,
    /// The process of the user's command.
    pub(crate) command: u32,
    pub(crate) command_status: Option<ExitStatus>,
    /// Sessions whose main process began to wait, in that order.
    pub(crate) waiting: VecDeque<u32>,
    test_timeout: Duration,
    stop: Option<(i32, Instant)>,
    effects: Vec<Effect>,
    /// What the names of tests of all sessions take.
    name_bytes: usize,
    /// What the facts about all sessions take.
    fact_bytes: usize,
    /// How many notices and collection errors were dropped.
    dropped: Dropped,
    internal: InternalErrors,
}

/// What was not kept because there was too much of it.
#[derive(Debug, Default)]
struct Dropped {
    notices: u64,
    collect_errors: u64,
}

/// Exceptions inside of agents that these survived.
#[derive(Debug, Default)]
struct InternalErrors {
    count: u64,
    sites: BTreeSet<String>,
    /// The first of them, in words.
    first: Vec<String>,
}

impl InternalErrors {
    fn add(&mut self, site: String, error: &str, count: u64) {
        self.count = self.count.saturating_add(count.max(1));
        let site = cut(site);
        if self.sites.len() >= MOST_SITES || self.sites.contains(&site) {
            return;
        }
        if self.first.len() < MOST_INTERNAL {
            let line = error.lines().next().unwrap_or_default();
            let end = line.floor_char_boundary(ERROR_LIMIT.min(line.len()));
            self.first.push(format!("{} at {site}", &line[..end]));
        }
        self.sites.insert(site);
    }

    /// One notice for all.
    fn notice(&self) -> Option<String> {
        let plural = if self.count == 1 { "" } else { "s" };
        let more = self.sites.len() - self.first.len();
        let more = if more > 0 { format!("; and at {more} other locations") } else { String::new() };
        (self.count > 0).then(|| {
            format!(
                "the pytest agent hit {} internal error{plural}: {}{more}; please report this",
                self.count,
                self.first.join("; ")
            )
        })
    }
}

impl Supervisor {
    pub(crate) fn new(command: u32, test_timeout: Duration) -> Self {
        Self {
            peers: Slab::new(),
            connections: HashMap::new(),
            sessions: Vec::new(),
            jobs: HashMap::new(),
            run: SuiteRun::default(),
            command,
            command_status: None,
            waiting: VecDeque::new(),
            test_timeout,
            stop: None,
            effects: Vec::new(),
            name_bytes: 0,
            fact_bytes: 0,
            dropped: Dropped::default(),
            internal: InternalErrors::default(),
        }
    }

    /// What to tell people of errors inside of agents.
    pub(crate) fn internal_errors(&self) -> Option<String> {
        self.internal.notice()
    }

    /// Says what was dropped, once the suite is over. What matters for the verdict
    /// was noted when it was dropped.
    pub(crate) fn tell_dropped(&mut self) {
        let Dropped { notices, collect_errors } = std::mem::take(&mut self.dropped);
        for (count, what) in [(notices, "notices"), (collect_errors, "collection errors")] {
            if count > 0 {
                let text = format!("{count} further {what} of pytest were dropped");
                self.run.notices.push(Notice { text, warning: true });
            }
        }
    }

    /// Sets memory aside for facts about a session. Whether there is enough.
    fn keeps_facts(&mut self, bytes: usize) -> bool {
        let is_enough = set_aside(&mut self.fact_bytes, bytes, MOST_FACTS);
        if !is_enough {
            self.incomplete("the command lines of all pytest processes are too long".to_owned());
        }
        is_enough
    }

    /// Sets memory aside for names of tests. Whether there is enough.
    fn keeps_names(&mut self, names: &[String]) -> bool {
        let bytes: usize = names.iter().map(|name| name.len() + NAME_OVERHEAD).sum();
        let is_enough = set_aside(&mut self.name_bytes, bytes, MOST_NAMES);
        if !is_enough {
            self.incomplete("the names of all tests are too long".to_owned());
        }
        is_enough
    }

    /// What is to be done since this was last called.
    pub(crate) fn take_effects(&mut self) -> Vec<Effect> {
        std::mem::take(&mut self.effects)
    }

    /// Takes in what happened.
    pub(crate) fn handle(
        &mut self,
        event: Event,
        now: Now,
        director: &mut dyn Director,
    ) -> Result<(), RunnerError> {
        match event {
            Event::Connected { connection, hello } => self.connected(connection, *hello, now),
            Event::Message { connection, message } => {
                if let Some(place) = self.peer_of(connection) {
                    let mut next = self.peers[place].next.iter_mut();
                    match next.find(|next| next.connection == connection) {
                        Some(next) => next.held.push(message),
                        None => self.heard(place, message, now, director),
                    }
                }
            }
            Event::Closed { connection } => {
                if let Some(place) = self.peer_of(connection) {
                    let peer = &mut self.peers[place];
                    match peer.next.iter_mut().find(|next| next.connection == connection) {
                        Some(next) => next.closed = true,
                        None => peer.closed = true,
                    }
                }
            }
            Event::Unreadable { connection, reason } => {
                if let Some(place) = self.peer_of(connection) {
                    self.unreadable(place, &reason, now);
                }
            }
            Event::Ended { pid, status, cpu } => self.process_ended(pid, status, cpu, now),
            Event::Signal { signal, at_once } => self.asked_to_stop(signal, at_once, now)?,
            Event::Refused => {
                let text = format!("more than {MOST_CONNECTIONS} processes connected at once");
                self.incomplete(text);
            }
            Event::Version { theirs } => {
                return Err(RunnerError::Version { theirs, ours: VERSION[0] });
            }
        }
        Ok(())
    }

    fn peer_of(&self, connection: u32) -> Option<usize> {
        self.connections.get(&connection).copied().filter(|place| self.peers.contains(*place))
    }

    /// When something is to be looked after, whatever happens until then.
    pub(crate) fn next_deadline(&self, now: Instant) -> Instant {
        let mut next = now + TICK;
        for (_, peer) in self.peers.iter().filter(|(_, peer)| !peer.settled) {
            if let Some(current) = peer.current.as_ref().filter(|_| !peer.timed_out) {
                next = next.min(current.since + self.test_timeout);
            }
            next = next.min(peer.kill_at.unwrap_or(next));
        }
        next
    }

    fn connected(&mut self, connection: u32, hello: Hello, now: Now) {
        let known =
            if hello.resumed { self.resumed(connection, &hello, now) } else { self.met(connection, hello) };
        if !known {
            // Nobody requested it.
            self.effects.push(Effect::Close { connection });
        }
    }

    /// A process opened another connection because a test closed the one before.
    fn resumed(&mut self, connection: u32, hello: &Hello, now: Now) -> bool {
        let is_it = |peer: &Peer| peer.pid == hello.pid && peer.role == hello.role && !peer.settled;
        let Some((place, peer)) = self.peers.iter_mut().find(|(_, peer)| is_it(peer)) else { return false };
        peer.next.push_back(NextConnection {
            connection,
            since: now.instant,
            held: Vec::new(),
            closed: false,
        });
        self.connections.insert(connection, place);
        true
    }

    /// A process speaks for the first time. Whether it is one that we expect.
    fn met(&mut self, connection: u32, hello: Hello) -> bool {
        if self.peers.len() >= MOST_PEERS {
            self.incomplete(format!("more than {MOST_PEERS} processes of pytest connected"));
            return false;
        }
        if hello.role == Role::Main && !self.keeps_facts(size_of_hello(&hello)) {
            return false;
        }
        let number = u32::try_from(self.sessions.len()).unwrap_or(u32::MAX);
        let (session, job, in_suite, worker) = match hello.role {
            Role::Main => (number, 0, true, "main".to_owned()),
            Role::Zygote if (hello.job as usize) < self.sessions.len() => {
                (hello.job, 0, false, "zygote".to_owned())
            }
            Role::Zygote => return false,
            Role::Child | Role::Fresh => match self.jobs.get(&hello.job) {
                Some(job) if job.peer.is_none() => (job.session, hello.job, job.in_suite, job.worker.clone()),
                _ => return false,
            },
        };
        let place = self.peers.insert(Peer {
            role: hello.role,
            pid: hello.pid,
            session,
            job,
            worker,
            in_suite,
            connection,
            current: None,
            position: 0,
            closed: false,
            bye: false,
            ended: None,
            settled: false,
            unreadable: None,
            timed_out: false,
            overdue: None,
            kill_at: None,
            next: VecDeque::new(),
        });
        self.connections.insert(connection, place);
        match hello.role {
            Role::Main => {
                self.tell(place, ToAgent::Job(Job { session, ask: true, ..Job::default() }));
                self.sessions.push(Session {
                    hello,
                    ready: None,
                    names: Vec::new(),
                    done: Vec::new(),
                    zygote: None,
                    over: false,
                    workers: 0,
                    main: place,
                    named: Vec::new(),
                    repeated: 0,
                    words: 0,
                    waits: false,
                    results: 0,
                    end: SessionEnd::default(),
                });
            }
            Role::Zygote => self.sessions[session as usize].zygote = Some(place),
            Role::Child | Role::Fresh => {
                let Some(job) = self.jobs.get_mut(&job) else { return false };
                job.peer = Some(place);
                // Its end may have been reported before.
                let ended = job.end.as_ref().map(|end| (end.status, end.at));
                let order = job.order.take();
                self.peers[place].ended = ended;
                if let Some(order) = order {
                    self.tell(place, ToAgent::Job(order));
                }
            }
        }
        true
    }

    /// Says something to a process.
    pub(crate) fn tell(&mut self, peer: usize, message: ToAgent) {
        let connection = self.peers[peer].connection;
        self.effects.push(Effect::Tell { connection, message });
    }

    fn heard(&mut self, place: usize, message: ToHost, now: Now, director: &mut dyn Director) {
        let peer = &mut self.peers[place];
        peer.unreadable = None;
        let (number, is_main) = (peer.session, peer.role == Role::Main);
        let session = number as usize;
        match message {
            ToHost::Start { i, phase } => {
                peer.current = Some(Current { number: i, phase, since: now.instant, started: now.clock });
            }
            ToHost::Ask { i, failure } => {
                let is_it = peer.current.as_ref().is_some_and(|current| current.number == i);
                let outcome = if failure.when == "call" { Outcome::Failed } else { Outcome::Errored };
                let execution =
                    if is_it { self.execution(place, outcome, None, Some(&failure)) } else { None };
                let again = execution.is_some_and(|execution| director.again(&execution));
                // It waits for an answer, whatever it asked.
                self.tell(place, if again { ToAgent::Again } else { ToAgent::Next });
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
            ToHost::More { argv, env, named } if is_main => self.told_more(number, argv, env, named),
            ToHost::Tests { ids } if is_main => self.told_names(number, ids),
            ToHost::Tests { ids } => {
                if let Some(job) = self.jobs.get_mut(&peer.job) {
                    job.told_names(ids);
                }
            }
            ToHost::Ready(ready) if is_main => {
                self.is_ready(number, *ready, director);
                let answer = if director.runs() {
                    let session = self.sessions.get(session);
                    let skip = session.map(|session| director.skips(session.root(), &session.names));
                    ToAgent::Go { skip: skip.unwrap_or_default() }
                } else {
                    ToAgent::Finish { forgive: false }
                };
                self.tell(place, answer);
            }
            ToHost::SuiteEnd { stopped, wanted } => {
                let left = self.sessions.get_mut(session).map(|session| {
                    session.over |= wanted;
                    session.done.contains(&false)
                });
                if let Some(stopped) = stopped.filter(|_| left == Some(true)) {
                    self.run.stopped = Some(cut(stopped));
                }
                self.order_more(place, director);
            }
            ToHost::Ran => {
                if !self.sessions.get(session).is_some_and(|session| is_main && session.waits) {
                    self.order_more(place, director);
                } else if let Some(session) = self.sessions.get_mut(session) {
                    session.end.reran = true;
                }
            }
            ToHost::Held if is_main => {
                if let Some(session) = self.sessions.get_mut(session).filter(|session| !session.waits) {
                    session.waits = true;
                    self.waiting.push_back(number);
                }
            }
            ToHost::Finished { status, changed } if is_main => {
                if let Some(session) = self.sessions.get_mut(session) {
                    session.end.status = Some(status);
                }
                if changed && status != 0 {
                    let text = format!("pytest's exit status became {status} at the end of the session");
                    self.broken(number, text);
                }
            }
            ToHost::CollectError { id, failure } if peer.in_suite => {
                if self.run.collect_errors.len() < MOST_TEXTS {
                    self.run.collect_errors.push(CollectError {
                        name: cut(id),
                        failure: execution::failure(&failure),
                        place: execution::place(&failure),
                    });
                } else {
                    self.dropped.collect_errors += 1;
                }
            }
            ToHost::InternalError { site, error, count } => self.internal.add(site, &error, count),
            ToHost::Notice { text, warning } if peer.in_suite => self.notice(text, warning),
            ToHost::Broken { text } if peer.in_suite => self.broken(number, text),
            ToHost::Oversized if peer.in_suite => {
                self.incomplete("a message of pytest was too long to send".to_owned());
            }
            ToHost::Bye => peer.bye = true,
            message => self.heard_of_job(place, message, now),
        }
    }

    /// The rest of a long command line or environment.
    fn told_more(
        &mut self,
        number: u32,
        argv: Vec<String>,
        env: BTreeMap<String, String>,
        named: Vec<String>,
    ) {
        let Some(session) = self.sessions.get_mut(number as usize) else { return };
        session.words += argv.iter().chain(&named).map(String::len).sum::<usize>();
        session.words += env.iter().map(|(name, value)| name.len() + value.len()).sum::<usize>();
        let bytes = argv.iter().chain(&named).map(String::len).sum::<usize>()
            + env.iter().map(|(name, value)| name.len() + value.len()).sum::<usize>()
            + (argv.len() + named.len() + 2 * env.len()) * NAME_OVERHEAD;
        if session.words > MOST_WORDS {
            return self.incomplete("the command line of a pytest process is too long".to_owned());
        }
        if !self.keeps_facts(bytes) {
            return;
        }
        let Some(session) = self.sessions.get_mut(number as usize) else { return };
        session.hello.argv.extend(argv);
        session.hello.env.extend(env);
        session.named.extend(named);
    }

    fn told_names(&mut self, number: u32, ids: Vec<String>) {
        let Some(session) = self.sessions.get_mut(number as usize) else { return };
        if session.ready.is_some() {
            if session.names[session.repeated..].starts_with(&ids) {
                session.repeated += ids.len();
            } else {
                self.incomplete("a pytest process collected other tests than it had announced".to_owned());
            }
        } else if session.names.len() + ids.len() <= MOST_TESTS && self.keeps_names(&ids) {
            // Those that are not kept are missing when all are announced.
            if let Some(session) = self.sessions.get_mut(number as usize) {
                session.names.extend(ids);
            }
        }
    }

    fn is_ready(&mut self, number: u32, mut ready: ReadyMessage, director: &mut dyn Director) {
        let Some(session) = self.sessions.get_mut(number as usize) else { return };
        if session.ready.is_some() {
            let (told, total) = (std::mem::take(&mut session.repeated), session.names.len());
            if told != total || ready.total as usize != total {
                self.incomplete("a pytest process collected other tests than it had announced".to_owned());
            }
            return;
        }
        let (found, announced) = (session.names.len(), ready.total as usize);
        if !self.keeps_facts(size_of_ready(&ready)) {
            ready = ReadyMessage {
                total: ready.total,
                forks: ready.forks,
                root: cut(ready.root),
                ..ReadyMessage::default()
            };
        }
        if found != announced {
            // Tests are known by number: with a name too few or too many, a failure
            // could be taken for another test's.
            let total = announced.min(found + MOST_UNNAMED).min(MOST_TESTS);
            let names: Vec<String> = (0..total).map(|test| format!("unknown::test number {test}")).collect();
            let names = if self.keeps_names(&names) { names } else { Vec::new() };
            if let Some(session) = self.sessions.get_mut(number as usize) {
                session.names = names;
            }
        }
        let Some(session) = self.sessions.get_mut(number as usize) else { return };
        session.done = vec![false; session.names.len()];
        ready.named.append(&mut session.named);
        let reason = ready.reason.take();
        session.ready = Some(ready);
        director.collected(number, &session.names);
        if found != announced {
            self.incomplete(format!("pytest announced {announced} tests and named {found}"));
        }
        if let Some(reason) = reason {
            self.notice(format!("tests are rerun in new processes instead of forks: {reason}"), false);
        }
    }

    pub(crate) fn notice(&mut self, text: String, warning: bool) {
        if self.run.notices.len() < MOST_TEXTS {
            self.run.notices.push(Notice { text: cut(text), warning });
        } else {
            self.dropped.notices += 1;
        }
    }

    /// Something besides the tests of a session failed.
    fn broken(&mut self, number: u32, text: String) {
        if let Some(session) = self.sessions.get_mut(number as usize) {
            session.end.broken = true;
        }
        self.run.broken = true;
        self.notice(text, true);
    }

    /// What a process said cannot be understood.
    fn unreadable(&mut self, place: usize, reason: &str, now: Now) {
        let peer = &mut self.peers[place];
        peer.unreadable.get_or_insert(now.instant);
        let text = format!("a message of pytest could not be read: {reason}");
        if peer.in_suite {
            self.incomplete(text);
        } else if let Some(job) = self.jobs.get_mut(&peer.job) {
            job.trouble.get_or_insert(text);
        }
    }

    /// The answer misses something, so it cannot be green.
    fn incomplete(&mut self, text: String) {
        let text = cut(text);
        if self.run.incomplete.len() < MOST_TEXTS && !self.run.incomplete.contains(&text) {
            self.run.incomplete.push(text);
        }
    }

    /// Asks the director what else to run in a suite's process.
    fn order_more(&mut self, place: usize, director: &mut dyn Director) {
        let peer = &self.peers[place];
        let (session, is_main) = (peer.session, peer.role == Role::Main);
        let goes_on = peer.in_suite && self.stop.is_none();
        let tests = if goes_on { director.postpone(session, &peer.worker) } else { Vec::new() };
        let message = if !tests.is_empty() {
            ToAgent::Run { tests, phase: AgentPhase::Postpone }
        } else if goes_on && is_main && director.holds(session) {
            ToAgent::Hold
        } else {
            ToAgent::Finish { forgive: false }
        };
        self.tell(place, message);
    }

    /// Lets a process that waits for verdicts exit. Whether it was there to hear.
    pub(crate) fn release(&mut self, session: u32, forgive: bool) -> bool {
        let Some(state) = self.sessions.get_mut(session as usize).filter(|state| state.waits) else {
            return false;
        };
        let main = state.main;
        state.waits = false;
        let is_there = self.peers.get(main).is_some_and(|peer| !peer.settled && peer.ended.is_none());
        if is_there {
            state.end.forgiven = forgive;
            self.tell(main, ToAgent::Finish { forgive });
        }
        is_there
    }

    /// Has a process that waits run a test again. Whether it could be asked.
    pub(crate) fn run_in_main(&mut self, test: TestKey) -> bool {
        let Some(session) = self.sessions.get_mut(test.session as usize).filter(|session| session.waits)
        else {
            return false;
        };
        session.end.reran = false;
        let main = session.main;
        if self.peers.get(main).is_none_or(|peer| peer.settled || peer.ended.is_some()) {
            return false;
        }
        self.tell(main, ToAgent::Run { tests: vec![test.number], phase: AgentPhase::Postpone });
        true
    }

    /// Whether what [`Self::run_in_main`] requested was run, or never will be.
    pub(crate) fn has_rerun(&self, session: u32) -> bool {
        let session = &self.sessions[session as usize];
        session.end.reran || self.peers.get(session.main).is_none_or(|peer| peer.settled)
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
        if number as usize >= session.done.len() {
            let text = format!("pytest reported test number {number} of {}", session.done.len());
            if peer.in_suite {
                self.incomplete(text);
            }
            return None;
        }
        let relocation = self.jobs.get(&peer.job).and_then(|job| job.relocation.as_ref());
        let undone = relocation.zip(failure).map(|(relocation, message)| relocation.undo(message));
        let message = undone.as_ref().or(failure);
        let (failure, frames) = match message {
            Some(message) if outcome == Outcome::Skipped => (Some(Failure::skip(&message.message)), None),
            Some(message) => {
                let (failure, frames) = execution::failure_with_frames(message);
                (Some(failure), frames)
            }
            None => (None, None),
        };
        Some(Execution {
            test: TestKey { session: peer.session, number },
            phase: execution::phase(current.phase),
            outcome,
            duration,
            started: current.started,
            failure,
            frames,
            place: message.and_then(execution::place),
            worker: peer.worker.clone(),
            position: peer.position,
            cost: None,
        })
    }

    fn record(&mut self, place: usize, execution: Execution, director: &mut dyn Director) {
        let peer = &mut self.peers[place];
        peer.position = peer.position.saturating_add(1);
        let (in_suite, number) = (peer.in_suite, peer.job);
        let session = &mut self.sessions[execution.test.session as usize];
        if in_suite {
            let limit = MOST_RESULTS + MOST_RESULTS_PER_TEST * session.done.len() as u64;
            if session.results >= limit {
                return self.incomplete(format!("a pytest process reported more than {limit} results"));
            }
            session.results += 1;
            session.done[execution.test.number as usize] = true;
            director.ended(&execution);
        } else if let Some(job) = self.jobs.get_mut(&number) {
            job.ran(execution, session.done.len() + MOST_MORE_RESULTS);
        }
    }

    fn process_ended(&mut self, pid: u32, status: ExitStatus, cpu: Duration, now: Now) {
        if pid == self.command {
            self.command_status = Some(status);
        }
        if let Some(job) = self.jobs.values_mut().find(|job| job.pid == Some(pid)) {
            job.exited(Some(status), Duration::ZERO, cpu, None, now.instant);
        }
        let known = self.peers.iter().find(|(_, peer)| peer.pid == pid && !peer.settled);
        if let Some((peer, _)) = known {
            self.peer_ended(peer, Some(status), now);
        }
    }

    fn peer_ended(&mut self, place: usize, status: Option<ExitStatus>, now: Now) {
        if let Some(peer) = self.peers.get_mut(place) {
            peer.ended.get_or_insert((status, now.instant));
        }
    }

    /// Processes of whose end nobody tells us, and whose connection ended: look
    /// whether they are alive. What tests left running may hold a connection open, so
    /// once the command has ended, no pytest is taken for alive because of that.
    pub(crate) fn unwaited(&self) -> Vec<u32> {
        let lost = self.peers.iter().filter(|(_, peer)| peer.role == Role::Zygote && peer.settled);
        let zygotes_lost: HashSet<u32> = lost.map(|(_, peer)| peer.session).collect();
        let is_unwaited = |peer: &Peer| match peer.role {
            Role::Main => peer.pid != self.command,
            Role::Zygote => true,
            Role::Child => zygotes_lost.contains(&peer.session),
            Role::Fresh => false,
        };
        let is_suspect =
            |peer: &Peer| peer.closed || (peer.role == Role::Main && self.command_status.is_some());
        let open =
            |peer: &Peer| is_suspect(peer) && peer.ended.is_none() && !peer.settled && is_unwaited(peer);
        self.peers.iter().filter(|(_, peer)| open(peer)).map(|(_, peer)| peer.pid).collect()
    }

    /// Everything that has a time: limits, last messages, processes that nobody
    /// can wait for and that are gone.
    pub(crate) fn look_after(
        &mut self,
        now: Now,
        gone: &[u32],
        director: &mut dyn Director,
    ) -> Result<(), RunnerError> {
        let unwaited = self.unwaited();
        let places: Vec<usize> = self.peers.iter().map(|(place, _)| place).collect();
        for place in places {
            if self.peers[place].settled {
                continue;
            }
            self.change_connection(place, now, director);
            let peer = &mut self.peers[place];
            if peer.ended.is_none() && unwaited.contains(&peer.pid) && gone.contains(&peer.pid) {
                peer.ended = Some((None, now.instant));
            }
            if let Some((status, at)) = peer.ended
                && (peer.closed || now.instant > at + LAST_WORDS)
            {
                peer.settled = true;
                self.settle(place, status, director);
                continue;
            }
            let is_late = |since: Instant| now.instant > since + self.test_timeout;
            let overdue = peer.current.as_ref().filter(|test| is_late(test.since)).map(|test| test.number);
            if (overdue.is_some() || peer.unreadable.is_some_and(is_late)) && !peer.timed_out {
                (peer.timed_out, peer.overdue) = (true, overdue);
                if peer.role == Role::Main {
                    // It says where it hangs, where it can.
                    self.effects.push(Effect::Abort { pid: peer.pid });
                    peer.kill_at = Some(now.instant + GRACE);
                } else {
                    self.effects.push(Effect::Kill { pid: peer.pid });
                }
            }
            if peer.kill_at.is_some_and(|at| now.instant > at) {
                peer.kill_at = None;
                self.effects.push(Effect::Kill { pid: peer.pid });
            }
        }
        if let Some((signal, at)) = self.stop
            && (self.command_status.is_some() || now.instant > at)
        {
            return Err(RunnerError::Interrupted { signal });
        }
        Ok(())
    }

    /// Turns to the next connection of a process once all is heard that it said on
    /// the one before.
    fn change_connection(&mut self, place: usize, now: Now, director: &mut dyn Director) {
        let is_over = |peer: &Peer| {
            let held: usize = peer.next.iter().map(|next| next.held.len()).sum();
            peer.next.front().is_some_and(|next| {
                peer.closed
                    || now.instant > next.since + LAST_WORDS
                    || held > MOST_HELD
                    || peer.next.len() > MOST_NEXT
            })
        };
        while is_over(&self.peers[place])
            && let Some(next) = self.peers[place].next.pop_front()
        {
            let peer = &mut self.peers[place];
            self.connections.remove(&peer.connection);
            self.effects.push(Effect::Close { connection: peer.connection });
            (peer.connection, peer.closed) = (next.connection, next.closed);
            for message in next.held {
                self.heard(place, message, now, director);
            }
        }
    }

    /// A process ended and all it said is known: a test it was in the midst of
    /// took it along.
    fn settle(&mut self, place: usize, status: Option<ExitStatus>, director: &mut dyn Director) {
        let peer = &mut self.peers[place];
        let timed_out = peer.timed_out;
        if timed_out && peer.current.as_ref().is_some_and(|test| Some(test.number) != peer.overdue) {
            // The one that took too long came to its end after all, and this one
            // began before the process was ended: it has no part in it.
            peer.current = None;
        }
        let had_test = peer.current.is_some();
        let (outcome, message) = if timed_out {
            (Outcome::TimedOut, format!("timed out after {:?}", self.test_timeout))
        } else {
            let how = match status.and_then(sys::signal_of) {
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
        let peer = &mut self.peers[place];
        peer.current = None;
        if peer.role == Role::Main {
            let (number, bye) = (peer.session, peer.bye);
            self.main_ended(number, bye, had_test || timed_out);
        }
    }

    /// A session is over. A pytest that printed its version and the like never
    /// collects; one that could not even start must not go unnoticed.
    fn main_ended(&mut self, number: u32, bye: bool, by_a_test: bool) {
        let Some(session) = self.sessions.get_mut(number as usize) else { return };
        session.end.died = !bye;
        session.waits = false;
        let failed = session.end.status.is_some_and(|status| status != 0);
        if session.ready.is_none() && (!bye || failed) && self.run.collect_errors.is_empty() {
            self.incomplete("a pytest process ended before it had collected its tests".to_owned());
        } else if session.ready.is_some() && !bye && !by_a_test && self.stop.is_none() {
            // No verdict on a test can answer for that.
            self.broken(number, "a pytest process died while no test was running".to_owned());
        }
    }

    /// The first signal is passed on to the suite, so that pytest can say what
    /// it has; the second ends everything, and so does the end of our guard.
    fn asked_to_stop(&mut self, signal: i32, at_once: bool, now: Now) -> Result<(), RunnerError> {
        if self.stop.is_some() || self.command_status.is_some() || at_once {
            return Err(RunnerError::Interrupted { signal });
        }
        let passed_on = if signal == sys::SIGINT { signal } else { sys::SIGTERM };
        self.effects.push(Effect::Signal { group: self.command, signal: passed_on });
        self.stop = Some((signal, now.instant + STOP_GRACE));
        Ok(())
    }

    pub(crate) fn all_settled(&self, role: Role) -> bool {
        self.peers.iter().filter(|(_, peer)| peer.role == role).all(|(_, peer)| peer.settled)
    }

    /// Forgets a process that has ended.
    pub(crate) fn forget(&mut self, place: usize) {
        let Some(peer) = self.peers.try_remove(place) else { return };
        let next = peer.next.iter().map(|next| next.connection);
        for connection in std::iter::once(peer.connection).chain(next) {
            self.connections.remove(&connection);
            self.effects.push(Effect::Close { connection });
        }
    }

    /// Whether a job's process has ended and all it said is known.
    pub(crate) fn is_over(&self, job: u32, now: Instant) -> bool {
        let Some(state) = self.jobs.get(&job) else { return true };
        // Its end may be known before its first words are.
        let unheard =
            |end: &JobEnd| state.pid.is_none() || now.saturating_duration_since(end.at) > FIRST_WORDS;
        let heard = match state.peer {
            Some(peer) => self.peers.get(peer).is_none_or(|peer| peer.settled),
            None => state.end.as_ref().is_some_and(unheard),
        };
        let zygote = self.sessions.get(state.session as usize).and_then(|session| session.zygote);
        let is_gone = |zygote: usize| self.peers.get(zygote).is_none_or(|peer| peer.settled);
        let forked = state.order.is_none() && state.numbers.is_empty();
        let orphaned = forked && state.end.is_none() && zygote.is_none_or(is_gone);
        (state.end.is_some() && heard) || orphaned
    }

    /// What only jobs and zygotes say.
    fn heard_of_job(&mut self, place: usize, message: ToHost, now: Now) {
        let is_zygote = self.peers[place].role == Role::Zygote;
        match message {
            ToHost::Forked { job, pid } if is_zygote => {
                if let Some(state) = self.jobs.get_mut(&job) {
                    state.pid = Some(pid);
                }
            }
            ToHost::Exited { job, status, wall_ns, cpu_ns, error } if is_zygote => {
                let status = status.map(sys::status);
                if let Some(state) = self.jobs.get_mut(&job) {
                    let (wall, cpu) = (Duration::from_nanos(wall_ns), Duration::from_nanos(cpu_ns));
                    state.exited(status, wall, cpu, error.map(cut), now.instant);
                    if let Some(peer) = state.peer {
                        self.peer_ended(peer, status, now);
                    }
                }
            }
            ToHost::Observed { entries, lines } => {
                let job = self.peers[place].job;
                if let Some(state) = self.jobs.get_mut(&job) {
                    state.observed = Some((entries, lines));
                }
            }
            ToHost::Measured(message) => {
                let job = self.peers[place].job;
                if let Some(state) = self.jobs.get_mut(&job) {
                    state.measured = Some(message);
                }
            }
            ToHost::State { changes, .. } => {
                let job = self.peers[place].job;
                if let Some(state) = self.jobs.get_mut(&job) {
                    state.seen = Some(Seen { changes, reads: Vec::new() });
                }
            }
            ToHost::StateRead { reads } => {
                let job = self.peers[place].job;
                if let Some(seen) = self.jobs.get_mut(&job).and_then(|state| state.seen.as_mut()) {
                    seen.reads = reads;
                }
            }
            ToHost::Tidied { .. } => {
                let job = self.peers[place].job;
                if let Some(state) = self.jobs.get_mut(&job) {
                    state.put_files_back = true;
                }
            }
            ToHost::Trouble { text } => {
                let peer = &self.peers[place];
                if peer.in_suite {
                    let text = format!("a process of the suite ended early: {text}");
                    self.notice(text, true);
                } else if let Some(state) = self.jobs.get_mut(&peer.job) {
                    state.trouble.get_or_insert_with(|| cut(text));
                }
            }
            ToHost::CollectError { id, failure } => {
                let job = self.peers[place].job;
                if let Some(state) = self.jobs.get_mut(&job) {
                    let line = failure.message.lines().next().unwrap_or_default();
                    state
                        .trouble
                        .get_or_insert_with(|| cut(format!("`{id}` could not be collected: {line}")));
                }
            }
            _ => {}
        }
    }
}

/// The beginning of a text, so that nobody fills our memory with one.
pub(crate) fn cut(mut text: String) -> String {
    text.truncate(text.floor_char_boundary(TEXT_LIMIT));
    text
}

/// Adds to what is used if that stays within a limit. Whether it does.
fn set_aside(used: &mut usize, bytes: usize, limit: usize) -> bool {
    let is_enough = used.saturating_add(bytes) <= limit;
    if is_enough {
        *used += bytes;
    }
    is_enough
}

/// What is kept of a hello, in bytes.
fn size_of_hello(hello: &Hello) -> usize {
    let texts = [
        &hello.runner,
        &hello.runner_version,
        &hello.lang_version,
        &hello.executable,
        &hello.cwd,
        &hello.token,
    ];
    let texts = texts.into_iter().chain(&hello.argv).chain(&hello.path);
    let texts = texts.chain(hello.env.iter().flat_map(|(name, value)| [name, value]));
    texts.map(|text| text.len() + NAME_OVERHEAD).sum()
}

/// What is kept of what a session says once it has collected, in bytes.
fn size_of_ready(ready: &ReadyMessage) -> usize {
    let texts = ready.named.iter().chain(&ready.finishers).chain(&ready.packages).chain([&ready.root]);
    let texts = texts.chain(ready.seeds.iter().flat_map(|(name, value)| [name, value]));
    texts.map(|text| text.len() + NAME_OVERHEAD).sum()
}

fn signal_name(signal: i32) -> String {
    signal_hook::low_level::signal_name(signal).map_or_else(|| format!("signal {signal}"), str::to_owned)
}

#[cfg(test)]
mod tests;
