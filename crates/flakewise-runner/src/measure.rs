//! How one execution of a test behaves.
//!
//! A measured execution is slower than others and is never one of those that
//! rates are estimated from: it has a process, and a request, of its
//! own. What could not be measured is missing, never 0.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use flakewise_model::{BehaviourFeatures, Outcome, Phase};
use flakewise_protocol::{AgentPhase, Job, Measure, MeasuredMessage};

use crate::RunnerError;
use crate::execution::TestKey;
use crate::jobs::START_LIMIT;
use crate::suite::{NothingAgain, Suite};

/// How one execution of a test behaved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Measured {
    /// How it ended. Not to be counted: being measured disturbs a test.
    pub outcome: Outcome,
    /// How often it read, from whatever it was.
    pub reads: Option<u64>,
    /// How often it wrote.
    pub writes: Option<u64>,
    /// How long it took, tear-down included.
    pub run_time: Option<Duration>,
    /// How long of that its main thread waited for disks.
    pub wait_time: Option<Duration>,
    /// How often it gave up the processor to wait for something.
    pub context_switches: Option<u64>,
    /// The most memory that the process had at once, in bytes.
    pub memory: Option<u64>,
    /// The most threads at once.
    pub threads: Option<u64>,
    /// The most child processes at once.
    pub children: Option<u64>,
    /// The project's files it executed lines of, by absolute path.
    pub files: Option<BTreeMap<PathBuf, CoveredFile>>,
}

/// The lines that were executed of one file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CoveredFile {
    /// Whether there are tests in it.
    pub is_test: bool,
    /// First and last of lines that follow each other, in order and apart.
    pub lines: Vec<(u32, u32)>,
}

impl CoveredFile {
    fn count(&self) -> u64 {
        self.lines.iter().map(|(first, last)| u64::from(last - first) + 1).sum()
    }
}

impl Measured {
    fn new(outcome: Outcome, message: MeasuredMessage, peak: Peak) -> Self {
        let files = message.files.map(|files| {
            let mut covered: BTreeMap<PathBuf, CoveredFile> = BTreeMap::new();
            for file in files {
                let entry = covered.entry(file.path.into()).or_default();
                entry.is_test |= file.test;
                entry.lines.extend(file.lines);
            }
            for file in covered.values_mut() {
                file.lines = apart(std::mem::take(&mut file.lines));
            }
            covered
        });
        Self {
            outcome,
            reads: message.reads,
            writes: message.writes,
            run_time: message.ns.map(Duration::from_nanos),
            wait_time: message.wait_ns.map(Duration::from_nanos),
            context_switches: message.switches,
            memory: message.memory,
            // The agent knows of what Python starts, however short it lives; we
            // see what lives long enough, no matter which process started it.
            threads: message.threads.max(peak.threads),
            children: message.children.max(peak.children),
            files,
        }
    }

    /// Lines of the project it executed.
    pub fn covered_lines(&self) -> Option<u64> {
        self.files.as_ref().map(|files| files.values().map(CoveredFile::count).sum())
    }

    /// Those that are not in files of tests.
    pub fn source_covered_lines(&self) -> Option<u64> {
        let source = |files: &BTreeMap<PathBuf, CoveredFile>| {
            files.values().filter(|file| !file.is_test).map(CoveredFile::count).sum()
        };
        self.files.as_ref().map(source)
    }

    /// As features; those of the test's source, and how often what it covers
    /// changed, are for others to fill in.
    #[expect(clippy::cast_precision_loss, reason = "no count is near 2^53, and a model does not mind")]
    pub fn features(&self) -> BehaviourFeatures {
        let number = |count: Option<u64>| count.map(|count| count as f64);
        BehaviourFeatures {
            read_count: number(self.reads),
            write_count: number(self.writes),
            run_time: self.run_time.map(|time| time.as_secs_f64()),
            wait_time: self.wait_time.map(|time| time.as_secs_f64()),
            context_switches: number(self.context_switches),
            covered_lines: number(self.covered_lines()),
            source_covered_lines: number(self.source_covered_lines()),
            max_threads: number(self.threads),
            max_children: number(self.children),
            max_memory: number(self.memory),
            ..BehaviourFeatures::default()
        }
    }
}

impl Suite {
    /// Runs one test alone in a fork and measures how it behaves. The inner error
    /// says why that could not be.
    pub fn measure(&mut self, test: TestKey) -> Result<Result<Measured, String>, RunnerError> {
        let session = test.session as usize;
        let Some(zygote) = self.supervisor.sessions[session].zygote.filter(|_| self.can_fork(test.session))
        else {
            return Ok(Err("tests of this session cannot run in forks".to_owned()));
        };
        let worker = self.worker(session, "measured");
        let order = Job {
            tests: vec![test.number],
            phase: Some(AgentPhase::Fork),
            measure: Some(Measure::Everything),
            ..Job::default()
        };
        let job = self.start_job(session, worker, order);
        let deadline = Instant::now() + START_LIMIT;
        self.pump(&mut NothingAgain, |suite| {
            let state = suite.supervisor.jobs.get(&job);
            let is_known = state.is_none_or(|state| state.pid.is_some() || state.end.is_some());
            is_known || suite.supervisor.peers[zygote].settled || Instant::now() > deadline
        })?;
        let pid = self.supervisor.jobs.get(&job).and_then(|state| state.pid);
        let (stop, stopped) = channel();
        let peak = std::thread::scope(|scope| {
            let watcher = pid.map(|pid| scope.spawn(move || watch(pid, &stopped)));
            let finished = self.finish_job(job, &mut NothingAgain);
            drop(stop);
            let peak = watcher.and_then(|watcher| watcher.join().ok()).unwrap_or_default();
            finished.map(|()| peak)
        })?;
        let mut state = self.take_job(job);
        let message = state.measured.take().filter(|message| message.i == test.number);
        Ok(state.outcome_of(test, Phase::Fork).and_then(|execution| match message {
            Some(message) => Ok(Measured::new(execution.outcome, *message, peak)),
            None => Err(format!("the test {} without reporting measurements", execution.outcome)),
        }))
    }
}

/// The most of what can only be seen by looking.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Peak {
    threads: Option<u64>,
    children: Option<u64>,
}

/// Looks at a process again and again until it is gone or nobody wants to know:
/// often in the beginning, so that short tests are seen, and then ever less.
fn watch(pid: u32, stopped: &Receiver<()>) -> Peak {
    const FIRST: Duration = Duration::from_millis(1);
    const LAST: Duration = Duration::from_millis(50);
    let folder = PathBuf::from(format!("/proc/{pid}/task"));
    let began = Instant::now();
    let mut peak = Peak::default();
    while let Some(now) = look(&folder) {
        peak = Peak { threads: peak.threads.max(now.threads), children: peak.children.max(now.children) };
        let pause = (began.elapsed() / 50).clamp(FIRST, LAST);
        if stopped.recv_timeout(pause) != Err(RecvTimeoutError::Timeout) {
            break;
        }
    }
    peak
}

fn look(folder: &Path) -> Option<Peak> {
    let (mut threads, mut children) = (0, None);
    for task in std::fs::read_dir(folder).ok()?.flatten() {
        threads += 1;
        // Not every kernel tells; a thread may be gone by now.
        if let Ok(below) = std::fs::read_to_string(task.path().join("children")) {
            *children.get_or_insert(0) += below.split_ascii_whitespace().count() as u64;
        }
    }
    (threads > 0).then_some(Peak { threads: Some(threads), children })
}

/// Ranges in order that neither meet nor overlap. An agent says what it likes.
fn apart(mut lines: Vec<(u32, u32)>) -> Vec<(u32, u32)> {
    lines.retain(|(first, last)| 1 <= *first && first <= last);
    lines.sort_unstable();
    let mut merged: Vec<(u32, u32)> = Vec::with_capacity(lines.len());
    for (first, last) in lines {
        match merged.last_mut() {
            Some(before) if first <= before.1.saturating_add(1) => before.1 = before.1.max(last),
            _ => merged.push((first, last)),
        }
    }
    merged
}

#[cfg(test)]
mod tests {
    use flakewise_protocol::ToHost;

    use super::*;

    fn heard(text: &str) -> MeasuredMessage {
        match serde_json::from_str(text).expect("it is a message") {
            ToHost::Measured(message) => *message,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn what_is_not_said_is_missing_and_not_nought() {
        let message = heard(r#"{"t":"measured","i":3,"reads":0,"ns":5000000,"wait_ns":null}"#);
        let features = Measured::new(Outcome::Passed, message, Peak::default()).features();
        assert_eq!(features.read_count, Some(0.0));
        assert_eq!(features.run_time, Some(0.005));
        let missing = features.values().iter().filter(|value| value.is_none()).count();
        assert_eq!(missing, 16, "{features:?}");
    }

    #[test]
    fn lines_are_counted_once_whatever_an_agent_says() {
        let message = heard(
            r#"{"t":"measured","i":0,"files":[
                {"path":"/p/a.py","test":false,"lines":[[4,6],[1,2],[3,3],[6,9],[0,5],[9,1]]},
                {"path":"/p/test_a.py","test":true,"lines":[[7,7]]},
                {"path":"/p/a.py","test":false,"lines":[[4294967295,4294967295],[9,9]]}]}"#,
        );
        let measured = Measured::new(Outcome::Passed, message, Peak::default());
        let files = measured.files.as_ref().expect("lines were told");
        assert_eq!(files[Path::new("/p/a.py")].lines, [(1, 9), (u32::MAX, u32::MAX)]);
        assert_eq!(measured.covered_lines(), Some(11));
        assert_eq!(measured.source_covered_lines(), Some(10));
    }

    #[test]
    fn the_higher_of_what_was_told_and_what_was_seen_counts() {
        let peak = Peak { threads: Some(2), children: Some(3) };
        let message = heard(r#"{"t":"measured","i":0,"threads":4,"children":1}"#);
        let measured = Measured::new(Outcome::Passed, message, peak);
        assert_eq!((measured.threads, measured.children), (Some(4), Some(3)));
    }

    #[test]
    fn threads_are_seen_and_processes_that_are_gone_are_not() {
        let (stop, stopped) = channel::<()>();
        std::thread::scope(|scope| {
            scope.spawn(move || stopped.recv());
            let seen = look(Path::new("/proc/self/task")).expect("we live");
            assert!(seen.threads >= Some(2), "{seen:?}");
            drop(stop);
        });
        assert_eq!(look(Path::new("/proc/self/nothing")), None);
    }
}
