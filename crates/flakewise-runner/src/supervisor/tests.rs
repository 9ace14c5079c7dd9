//! A suite with an agent that is only a list of messages: no process, no socket, and
//! time goes by only where a test says so.

use serde_json::json;

use super::*;

mod ends;
mod hostile;
mod jobs;
mod sessions;

/// The process of the user's command.
const COMMAND: u32 = 100;
const TIMEOUT: Duration = Duration::from_secs(10);

/// A director whose answers are written down before.
#[derive(Debug)]
struct Script {
    runs: bool,
    again: VecDeque<bool>,
    postponed: VecDeque<Vec<u32>>,
    holds: bool,
    names: Vec<Vec<String>>,
    asked: Vec<(u32, Outcome)>,
    ended: Vec<Execution>,
}

impl Director for Script {
    fn collected(&mut self, session: u32, names: &[String]) {
        assert_eq!(session as usize, self.names.len(), "each session is collected once, in order");
        self.names.push(names.to_vec());
    }
    fn runs(&mut self) -> bool {
        self.runs
    }
    fn ended(&mut self, execution: &Execution) {
        self.ended.push(execution.clone());
    }
    fn again(&mut self, failing: &Execution) -> bool {
        self.asked.push((failing.test.number, failing.outcome));
        self.again.pop_front().unwrap_or(false)
    }
    fn postpone(&mut self, _: u32, _: &str) -> Vec<u32> {
        self.postponed.pop_front().unwrap_or_default()
    }
    fn holds(&mut self, _: u32) -> bool {
        self.holds
    }
}

/// A supervisor on its own.
struct Stage {
    supervisor: Supervisor,
    script: Script,
    now: Now,
}

impl Stage {
    fn new() -> Self {
        let script = Script {
            runs: true,
            again: VecDeque::new(),
            postponed: VecDeque::new(),
            holds: false,
            names: Vec::new(),
            asked: Vec::new(),
            ended: Vec::new(),
        };
        Self { supervisor: Supervisor::new(COMMAND, TIMEOUT), script, now: Now::read() }
    }

    /// One pytest, which is the command itself, with this many tests, on connection 0.
    fn running(tests: u32) -> Self {
        let mut stage = Self::new();
        stage.connects(0, hello("main", COMMAND, 0));
        stage.collects(0, tests);
        stage.told();
        stage
    }

    fn happens(&mut self, event: Event) -> Result<(), RunnerError> {
        self.supervisor.handle(event, self.now, &mut self.script)?;
        self.supervisor.look_after(self.now, &[], &mut self.script)
    }

    fn connects(&mut self, connection: u32, hello: serde_json::Value) {
        let hello = Box::new(serde_json::from_value(hello).expect("a hello"));
        self.happens(Event::Connected { connection, hello }).expect("it goes on");
    }

    /// Says what an agent says, as it says it.
    fn hears(&mut self, connection: u32, messages: impl IntoIterator<Item = serde_json::Value>) {
        for message in messages {
            let message = serde_json::from_value(message).expect("a message");
            assert_ne!(message, ToHost::Unknown, "a message that we know");
            self.happens(Event::Message { connection, message }).expect("it goes on");
        }
    }

    fn collects(&mut self, connection: u32, tests: u32) {
        let ids: Vec<String> = (0..tests).map(|number| format!("test_it.py::test_{number}")).collect();
        self.hears(connection, [json!({"t": "tests", "ids": ids}), ready(tests)]);
    }

    fn closes(&mut self, connection: u32) {
        self.happens(Event::Closed { connection }).expect("it goes on");
    }

    fn ends(&mut self, pid: u32, status: i32) {
        let status = crate::sys::status(status);
        self.happens(Event::Ended { pid, status, cpu: Duration::ZERO }).expect("it goes on");
    }

    /// Lets time go by; these processes that nobody can wait for are gone.
    fn passes(&mut self, time: Duration, gone: &[u32]) -> Result<(), RunnerError> {
        self.now.instant += time;
        let unwaited = self.supervisor.unwaited();
        let gone: Vec<u32> = gone.iter().copied().filter(|pid| unwaited.contains(pid)).collect();
        self.supervisor.look_after(self.now, &gone, &mut self.script)
    }

    /// What is done since the last time.
    fn effects(&mut self) -> Vec<Effect> {
        self.supervisor.take_effects()
    }

    /// What is said since the last time, and to whom; nothing else is done.
    fn told(&mut self) -> Vec<(u32, ToAgent)> {
        let told = |effect| match effect {
            Effect::Tell { connection, message } => (connection, message),
            other => panic!("{other:?}"),
        };
        self.effects().into_iter().map(told).collect()
    }

    /// How each execution ended: the test's number, why it ran, how it ended.
    fn outcomes(&self) -> Vec<(u32, flakewise_model::Phase, Outcome)> {
        self.script.ended.iter().map(|one| (one.test.number, one.phase, one.outcome)).collect()
    }

    fn end_of(&self, session: usize) -> &SessionEnd {
        &self.supervisor.sessions[session].end
    }

    fn lost(&self, session: usize) -> Vec<usize> {
        let done = &self.supervisor.sessions[session].done;
        (0..done.len()).filter(|number| !done[*number]).collect()
    }

    fn warnings(&self) -> Vec<&str> {
        self.supervisor.run.notices.iter().map(|notice| notice.text.as_str()).collect()
    }
}

fn hello(role: &str, pid: u32, job: u32) -> serde_json::Value {
    json!({"proto": [1, 0], "token": "t", "role": role, "pid": pid, "job": job})
}

fn resumed(role: &str, pid: u32) -> serde_json::Value {
    json!({"proto": [1, 0], "token": "t", "role": role, "pid": pid, "resumed": true})
}

fn ready(total: u32) -> serde_json::Value {
    json!({"t": "ready", "total": total, "forks": true, "root": "/shop"})
}

fn start(test: u32, phase: &str) -> serde_json::Value {
    json!({"t": "start", "i": test, "phase": phase})
}

fn passed(test: u32) -> serde_json::Value {
    json!({"t": "end", "i": test, "outcome": "passed", "ns": 5})
}

fn ask(test: u32) -> serde_json::Value {
    json!({"t": "ask", "i": test, "failure": {"message": "assert 0", "when": "call"}})
}

fn failed(test: u32) -> serde_json::Value {
    json!({"t": "end", "i": test, "outcome": "failed", "ns": 5, "failure": {"message": "assert 0", "when": "call"}})
}

fn suite_end() -> serde_json::Value {
    json!({"t": "suite_end", "stopped": null, "wanted": true})
}

fn finished(status: i32) -> serde_json::Value {
    json!({"t": "finished", "status": status, "changed": false})
}

fn word(kind: &str) -> serde_json::Value {
    json!({"t": kind})
}
