//! The messages.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// What an agent says.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(tag = "t", rename_all = "snake_case")]
pub enum ToHost {
    /// The first message of every connection.
    Hello(Box<Hello>),
    /// Something people should know.
    Notice {
        /// What, without a full stop.
        text: String,
        /// Whether it makes the answer weaker.
        #[serde(default)]
        warning: bool,
    },
    /// An exception inside of the agent, which it survived.
    InternalError {
        /// Where in the agent.
        site: String,
        /// The exception.
        error: String,
        /// How often it was raised there.
        #[serde(default)]
        count: u64,
    },
    /// Something around the tests failed, and no test answers for it.
    Broken {
        /// What, without a full stop.
        text: String,
    },
    /// A file or folder could not be collected.
    CollectError {
        /// The runner's name for it.
        id: String,
        /// What went wrong.
        failure: TestFailureMessage,
    },
    /// What may be long, in parts: continues the hello of a process with a long
    /// command line or environment, and comes before [`ToHost::Ready`].
    More {
        /// Further words of the command line.
        #[serde(default)]
        argv: Vec<String>,
        /// Further variables of the environment.
        #[serde(default)]
        env: BTreeMap<String, String>,
        /// Further files, folders and tests that were named on the command line.
        #[serde(default)]
        named: Vec<String>,
    },
    /// The tests that will run, in order, in parts. A test's number is its index.
    Tests {
        /// The runner's names.
        ids: Vec<String>,
    },
    /// Everything is collected, nothing has run.
    Ready(Box<ReadyMessage>),
    /// A test begins.
    Start {
        /// Which.
        i: u32,
        /// Why.
        phase: AgentPhase,
    },
    /// A test failed and is about to be torn down: shall it run again?
    Ask {
        /// Which.
        i: u32,
        /// How it failed.
        failure: TestFailureMessage,
    },
    /// A test ended.
    End {
        /// Which.
        i: u32,
        /// How.
        outcome: TestEnding,
        /// How long set-up, call and tear-down took, in nanoseconds.
        ns: u64,
        /// For anything but a pass.
        #[serde(default)]
        failure: Option<TestFailureMessage>,
    },
    /// There is no further test.
    SuiteEnd {
        /// Why there are tests left, if it stopped early.
        #[serde(default)]
        stopped: Option<String>,
        /// Whether that was somebody's wish.
        wanted: bool,
    },
    /// What [`ToAgent::Run`] requested was run.
    Ran,
    /// The session's fixtures are torn down, and the process waits for its
    /// verdicts: see [`ToAgent::Hold`].
    Held,
    /// Every plug-in has finished the session; the process is about to exit.
    Finished {
        /// Its exit status.
        status: i32,
        /// Whether a plug-in changed it at the end of the session.
        #[serde(default)]
        changed: bool,
    },
    /// A child was forked.
    Forked {
        /// For this job.
        job: u32,
        /// Its process.
        pid: u32,
    },
    /// A child ended, or could not be forked.
    Exited {
        /// The job.
        job: u32,
        /// How it ended, as `wait` tells it.
        #[serde(default)]
        status: Option<i32>,
        /// How long it lived.
        #[serde(default)]
        wall_ns: u64,
        /// The processor time it used.
        #[serde(default)]
        cpu_ns: u64,
        /// Why it could not be forked.
        #[serde(default)]
        error: Option<String>,
    },
    /// How a test behaved; told before its end.
    Measured(Box<MeasuredMessage>),
    /// What the tests before the last one left different from how it was before the
    /// first; sent before the last one begins.
    State {
        /// What is otherwise.
        changes: Vec<StateChangeMessage>,
        /// Whether that is all.
        complete: bool,
    },
    /// Which of these changes the last test read.
    StateRead {
        /// Keys of changes, each with a file and a line if they are known.
        reads: Vec<(String, Option<String>, Option<u32>)>,
    },
    /// Files that the tests made, changed or removed were put back.
    Tidied {
        /// How many.
        files: u64,
    },
    /// The trail of what this process depends on is complete.
    Observed {
        /// How many entries it has.
        entries: u64,
        /// Whether lines could be seen.
        lines: bool,
    },
    /// Something around the tests of a job went wrong.
    Trouble {
        /// What.
        text: String,
    },
    /// A message was too long to send.
    Oversized,
    /// The process ends in good order.
    Bye,
    /// A message of a later minor version.
    #[serde(other)]
    Unknown,
}

/// What is known once everything is collected.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct ReadyMessage {
    /// How many tests there are. The names that were sent must be as many.
    pub total: u32,
    /// Whether there is a zygote.
    pub forks: bool,
    /// If not, why.
    #[serde(default)]
    pub reason: Option<String>,
    /// The folder the names of tests are relative to.
    #[serde(default)]
    pub root: String,
    /// Seeds that plugins drew, by option.
    #[serde(default)]
    pub seeds: BTreeMap<String, String>,
    /// Files, folders and tests that were named on the command line.
    #[serde(default)]
    pub named: Vec<String>,
    /// Plug-ins that act at the end of a session and may change its exit status.
    #[serde(default)]
    pub finishers: Vec<String>,
    /// Installed distributions, as `name==version`.
    #[serde(default)]
    pub packages: Vec<String>,
}

/// Who is speaking.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Hello {
    /// The version spoken.
    pub proto: [u32; 2],
    /// The secret that was handed to the process.
    pub token: String,
    /// What kind of process it is.
    pub role: Role,
    /// Its process id.
    pub pid: u32,
    /// The job it was made for; the session, for a zygote.
    #[serde(default)]
    pub job: u32,
    /// Whether this continues a connection that a test closed.
    #[serde(default)]
    pub resumed: bool,
    /// The runner, such as `pytest`.
    #[serde(default)]
    pub runner: String,
    /// Its version.
    #[serde(default)]
    pub runner_version: String,
    /// The language's version.
    #[serde(default)]
    pub lang_version: String,
    /// The interpreter.
    #[serde(default)]
    pub executable: String,
    /// The whole command line of the process.
    #[serde(default)]
    pub argv: Vec<String>,
    /// Its working folder.
    #[serde(default)]
    pub cwd: String,
    /// Where it looks for modules.
    #[serde(default)]
    pub path: Vec<String>,
    /// Its environment, as the tests see it.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
}

/// The kinds of process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Runs the suite.
    Main,
    /// Forks children.
    Zygote,
    /// Was forked for a job.
    Child,
    /// Was started for a job.
    Fresh,
}

/// Why a test is executed, as agents know it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AgentPhase {
    /// As part of the suite.
    First,
    /// Again at once.
    Rerun,
    /// Again after the suite.
    Postpone,
    /// Alone, in a forked process.
    Fork,
    /// Alone, in a new process.
    Fresh,
}

/// How a test ended, as agents know it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TestEnding {
    /// It was content.
    Passed,
    /// Its own check failed.
    Failed,
    /// Something around it broke.
    Errored,
    /// It was not run, on purpose.
    Skipped,
}

/// What went wrong, or why a test was skipped.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct TestFailureMessage {
    /// The exception or error type.
    #[serde(default)]
    pub kind: Option<String>,
    /// The message.
    pub message: String,
    /// The stack trace as the runner prints it.
    #[serde(default)]
    pub trace: String,
    /// In which part of the test.
    #[serde(default)]
    pub when: String,
    /// Where, as the runner names the file.
    #[serde(default)]
    pub file: Option<String>,
    /// On which line.
    #[serde(default)]
    pub line: Option<u32>,
}

/// How one execution of a test behaved. What could not be measured is not there.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct MeasuredMessage {
    /// Which test.
    pub i: u32,
    /// How often it read, from whatever it was.
    #[serde(default)]
    pub reads: Option<u64>,
    /// How often it wrote.
    #[serde(default)]
    pub writes: Option<u64>,
    /// How long it took, in nanoseconds.
    #[serde(default)]
    pub ns: Option<u64>,
    /// How long of that it waited for disks, in nanoseconds.
    #[serde(default)]
    pub wait_ns: Option<u64>,
    /// How often it gave up the processor to wait for something.
    #[serde(default)]
    pub switches: Option<u64>,
    /// The most memory that the process had at once, in bytes.
    #[serde(default)]
    pub memory: Option<u64>,
    /// The most threads at once.
    #[serde(default)]
    pub threads: Option<u64>,
    /// The most child processes at once.
    #[serde(default)]
    pub children: Option<u64>,
    /// The lines it executed of the project's files.
    #[serde(default)]
    pub files: Option<Vec<CoveredFileMessage>>,
}

/// Something that is otherwise after a test than before.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct StateChangeMessage {
    /// A name that is the same in every process.
    pub key: String,
    /// What kind of state.
    pub kind: String,
    /// For people.
    pub name: String,
    /// What it was, in few words.
    pub before: String,
    /// What it became.
    pub after: String,
    /// Whether it can be undone.
    pub can_undo: bool,
    /// The test after which it was so, by number.
    pub left_by: u32,
}

/// The lines executed of one file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct CoveredFileMessage {
    /// The file, absolute.
    pub path: String,
    /// Whether there are tests in it.
    pub test: bool,
    /// The first and last of lines that follow each other, from 1.
    pub lines: Vec<(u32, u32)>,
}

/// How much is measured of each test.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Measure {
    /// What the kernel counts anyway.
    Counters,
    /// Also executed lines, threads and children, which makes tests slower.
    Everything,
}

/// What to do about the state that tests leave for the last one of a job.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct StateOrder {
    /// Keys of changes to undo before the last test.
    pub undo: Vec<String>,
    /// Whether to watch which changes the last test reads.
    pub reads: bool,
}

/// One entry of a trail: what a process was seen to depend on. A trail is a file
/// of JSON lines, written as things happen, so that a process that dies has reported
/// all it did.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TrailEntry {
    /// A file it opened, or tried to.
    Opened(String),
    /// A file that the runner or one of its tools read as its configuration.
    Configured(String),
    /// The file of a module it has loaded.
    Loaded(String),
    /// A folder whose entries it read.
    Listed(String),
    /// A path whose existence or properties it queried.
    LookedFor(String),
    /// A module it imported, or tried to.
    Imports(String),
    /// Something that hides what it depends on, in words.
    Hidden(String),
    /// An address it connected to by a socket.
    Connected(String),
    /// A line of a changed file that it executed.
    Executed(String, u32),
    /// The last entry of a trail that ends in good order.
    Outcome(String),
}

/// What the host says.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "t", rename_all = "snake_case")]
pub enum ToAgent {
    /// What a process is for. The first message to main and fresh processes, and
    /// every order to a zygote.
    Job(Job),
    /// The suite may begin.
    Go {
        /// Tests that are skipped, by number, each with the reason.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        skip: Vec<(u32, String)>,
    },
    /// Yes: the test shall run again at once.
    Again,
    /// No: on to the next test.
    Next,
    /// Run these tests again now, one after another.
    Run {
        /// By number.
        tests: Vec<u32>,
        /// Why.
        phase: AgentPhase,
    },
    /// Tear down what is still set up, answer [`ToHost::Held`], and wait for more
    /// runs or for the end.
    Hold,
    /// Nothing more is wanted of this process.
    Finish {
        /// Whether the failures of its tests do not count: it exits as if they had
        /// passed.
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        forgive: bool,
    },
    /// The zygote shall end.
    Quit,
}

/// What a process is for.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[expect(clippy::struct_excessive_bools, reason = "independent switches of a wire format")]
pub struct Job {
    /// Its number, which the process names in its hello.
    pub job: u32,
    /// The session it belongs to.
    pub session: u32,
    /// Tests to run, by number, for a child.
    pub tests: Vec<u32>,
    /// Tests to run, by name, for a fresh process.
    pub names: Vec<String>,
    /// Files to collect instead of what the command line names.
    pub files: Vec<String>,
    /// Why the tests run; as part of the suite by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phase: Option<AgentPhase>,
    /// Whether to ask after each failure.
    pub ask: bool,
    /// Whether to wait for [`ToAgent::Run`] after the tests.
    pub stay: bool,
    /// Whether to watch what the tests depend on.
    pub observe: bool,
    /// What to measure of each test.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub measure: Option<Measure>,
    /// Whether to look at the state that tests leave for the last one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<StateOrder>,
    /// Whether to put files back that the tests made, changed or removed.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub tidy: bool,
    /// Whether only outcomes matter: what failures look like is not worked out.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub terse: bool,
    /// Whether to run each test in a fork and leave a trail for each, named by
    /// the test's number after a dot.
    pub each: bool,
    /// How many seconds each of those may take.
    pub limit: u64,
    /// Where to write the trail.
    pub trail: String,
    /// Changed source files whose executed lines are wanted, with the lines
    /// that were only inserted.
    pub changed: BTreeMap<String, Vec<(u32, u32)>>,
}
