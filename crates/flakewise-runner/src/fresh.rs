//! Tests in newly started processes.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use flakewise_model::Phase;
use flakewise_protocol::{AgentPhase, Job};

use crate::RunnerError;
use crate::execution::{Execution, Observation, Relocation, TestKey};
use crate::jobs::JobState;
use crate::suite::{Director, NothingAgain, Suite};
use crate::sys;
use crate::trail;
use crate::watch::Watch;

/// How much of what a process printed last is kept.
const TAIL: usize = 8 * 1024;

/// What a process printed last.
type Tail = Arc<Mutex<Vec<u8>>>;

/// How to run a test in a new process.
#[derive(Clone, Default)]
pub struct FreshOptions<'a> {
    /// The hash seed.
    pub hash_seed: u32,
    /// Tests to run before it in the same process, in this order.
    pub before: Vec<TestKey>,
    /// Whether to watch what it depends on.
    pub observe: bool,
    /// Source files whose executed lines are wanted, as absolute paths, with
    /// the lines that were only inserted.
    pub changed: BTreeMap<String, Vec<(u32, u32)>>,
    /// Files whose opening by any process the kernel shall tell.
    pub watch: Vec<PathBuf>,
    /// Where files and folders are in another copy of the project, to run it
    /// there. What is not part of the copy stays where it is.
    pub elsewhere: Option<Elsewhere<'a>>,
}

/// Where a file or folder of the project is in a copy of it.
pub type Elsewhere<'a> = &'a dyn Fn(&Path) -> PathBuf;

/// What a new process reported.
#[derive(Clone, Debug)]
pub struct FreshRun {
    /// The execution; or why there was none, often what the process printed
    /// last.
    pub execution: Result<Execution, String>,
    /// What it depends on, if that was asked.
    pub observation: Option<Observation>,
}

impl Suite {
    /// Runs one test in a newly started process.
    pub fn fresh(&mut self, test: TestKey, options: &FreshOptions<'_>) -> Result<FreshRun, RunnerError> {
        self.fresh_under(test, options, &mut NothingAgain)
    }

    /// As [`Suite::fresh`], while other sessions of the command may be under way:
    /// what happens in them is reported to a director.
    pub fn fresh_under(
        &mut self,
        test: TestKey,
        options: &FreshOptions<'_>,
        director: &mut dyn Director,
    ) -> Result<FreshRun, RunnerError> {
        let worker = self.worker(test.session as usize, "fresh");
        // Only the tests' own files are collected; if that does not bring them
        // to light, everything is.
        let files = self.files_of(options.before.iter().chain([&test]));
        let mut run = self.fresh_once(test, options, &files, &worker, director)?;
        if run.execution.is_err() && !files.is_empty() && options.elsewhere.is_none() {
            run = self.fresh_once(test, options, &[], &worker, director)?;
        }
        Ok(run)
    }

    /// Runs tests after others, each list in a newly started process, all of these
    /// in parallel: how the last of each list ended, or why it was not run.
    pub fn fresh_together(
        &mut self,
        lists: &[Vec<TestKey>],
        hash_seed: u32,
    ) -> Result<Vec<Result<Execution, String>>, RunnerError> {
        let mut jobs = Vec::new();
        for list in lists {
            let worker = self.worker(list[0].session as usize, "fresh");
            let files = self.files_of(list.iter());
            let (order, state) = self.fresh_job(list, &files, &worker);
            jobs.push(self.start_fresh(order, state, hash_seed, None)?.0);
        }
        self.finish_jobs(&jobs, &mut NothingAgain)?;
        let ended = jobs.into_iter().zip(lists).map(|(job, list)| {
            let asked = list[list.len() - 1];
            let state = self.take_job(job);
            self.note_files(list, &state);
            state.outcome_of(asked, Phase::Fresh)
        });
        Ok(ended.collect())
    }

    /// The files that tests of one session are in.
    fn files_of<'a>(&self, tests: impl Iterator<Item = &'a TestKey>) -> Vec<PathBuf> {
        let mut files: Vec<PathBuf> = Vec::new();
        for file in tests.filter_map(|test| self.test_file(*test)) {
            if !files.contains(&file) {
                files.push(file);
            }
        }
        files
    }

    /// What a new process is told to run these tests.
    fn fresh_job(&self, tests: &[TestKey], files: &[PathBuf], worker: &str) -> (Job, JobState) {
        let names: Vec<String> = tests.iter().map(|test| self.name(*test).to_owned()).collect();
        let order = Job {
            names: names.clone(),
            files: files.iter().map(|file| file.to_string_lossy().into_owned()).collect(),
            phase: Some(AgentPhase::Fresh),
            tidy: self.searches,
            terse: self.searches,
            ..Job::default()
        };
        let state = JobState {
            session: tests[0].session,
            worker: worker.to_owned(),
            numbers: names.into_iter().zip(tests.iter().map(|test| test.number)).collect(),
            ..JobState::default()
        };
        (order, state)
    }

    fn fresh_once(
        &mut self,
        test: TestKey,
        options: &FreshOptions<'_>,
        files: &[PathBuf],
        worker: &str,
        director: &mut dyn Director,
    ) -> Result<FreshRun, RunnerError> {
        let all: Vec<TestKey> = options.before.iter().copied().chain([test]).collect();
        let watch = Watch::new(&options.watch);
        let trail = self.folder.trail();
        let place = |file: &PathBuf| options.elsewhere.map_or_else(|| file.clone(), |map| map(file));
        let files: Vec<PathBuf> = files.iter().map(place).collect();
        let (order, state) = self.fresh_job(&all, &files, worker);
        let order = Job {
            observe: options.observe,
            trail: trail.to_string_lossy().into_owned(),
            changed: options.changed.clone(),
            ..order
        };
        let started = self.start_fresh(order, state, options.hash_seed, options.elsewhere);
        let (job, printed) = match started {
            Ok(started) => started,
            // A test may have removed the folder it would start in.
            Err(RunnerError::Start { program, source }) => {
                let execution = Err(format!("failed to start `{program}`: {source}"));
                return Ok(FreshRun { execution, observation: None });
            }
            Err(error) => return Err(error),
        };
        let began = Instant::now();
        self.finish_job(job, director)?;
        let mut state = self.take_job(job);
        if let Some(end) = &mut state.end {
            end.cost.wall = began.elapsed();
        }
        if state.executions.is_empty() && state.trouble.is_none() {
            let printed = printed.lock().map(|tail| String::from_utf8_lossy(&tail).into_owned());
            let printed = printed.unwrap_or_default();
            let last = printed.lines().rev().find(|line| !line.trim().is_empty());
            state.trouble = last.map(str::to_owned);
        }
        let observation = options.observe.then(|| {
            let mut observation = trail::read(&trail, state.observed);
            observation.watched = watch.and_then(Watch::finish);
            observation
        });
        let _ = std::fs::remove_file(&trail);
        let phase = if options.elsewhere.is_some() { Phase::Base } else { Phase::Fresh };
        Ok(FreshRun { execution: state.outcome_of(test, phase), observation })
    }

    /// Watches what some tests of one file depend on together, in one new
    /// process.
    pub fn observe_together(
        &mut self,
        tests: &[TestKey],
        options: &FreshOptions<'_>,
    ) -> Result<Observation, RunnerError> {
        let (state, trail) = self.observe_file(tests, options, false, &mut NothingAgain)?;
        let together = trail::read(&trail, state.observed);
        let _ = std::fs::remove_file(&trail);
        Ok(together)
    }

    /// Watches what each of some tests of one file depends on: in a new process
    /// that collects the file, each in a fork. What happens in other sessions
    /// meanwhile is reported to a director.
    pub fn observe_each(
        &mut self,
        tests: &[TestKey],
        options: &FreshOptions<'_>,
        director: &mut dyn Director,
    ) -> Result<Vec<(TestKey, Observation)>, RunnerError> {
        let (state, trail) = self.observe_file(tests, options, true, director)?;
        let parent = trail::read(&trail, state.observed);
        let _ = std::fs::remove_file(&trail);
        let mut found = Vec::new();
        for (number, name) in state.names.iter().enumerate() {
            let own = trail.with_extension(number.to_string());
            let observation = trail::joined(&parent, trail::read(&own, None));
            let _ = std::fs::remove_file(&own);
            if let Some(test) = tests.iter().find(|test| self.name(**test) == name) {
                found.push((*test, observation));
            }
        }
        Ok(found)
    }

    fn observe_file(
        &mut self,
        tests: &[TestKey],
        options: &FreshOptions<'_>,
        each: bool,
        director: &mut dyn Director,
    ) -> Result<(JobState, PathBuf), RunnerError> {
        let trail = self.folder.trail();
        let Some(first) = tests.first() else { return Ok((JobState::default(), trail)) };
        let session = first.session as usize;
        let names: Vec<String> = tests.iter().map(|test| self.name(*test).to_owned()).collect();
        let file = self.supervisor.sessions[session].file_of(&names[0]);
        let order = Job {
            names: names.clone(),
            files: file.into_iter().map(|file| file.to_string_lossy().into_owned()).collect(),
            phase: Some(AgentPhase::Fresh),
            observe: true,
            each,
            limit: self.options.test_timeout.as_secs().max(1),
            trail: trail.to_string_lossy().into_owned(),
            changed: options.changed.clone(),
            ..Job::default()
        };
        let state = JobState {
            session: first.session,
            worker: self.worker(session, "watched"),
            numbers: names.into_iter().zip(tests.iter().map(|test| test.number)).collect(),
            patient: true,
            ..JobState::default()
        };
        let (job, _) = self.start_fresh(order, state, options.hash_seed, None)?;
        self.finish_job(job, director)?;
        Ok((self.take_job(job), trail))
    }

    /// Goes on with a suite in a new process.
    pub(crate) fn start_fresh_suite(
        &mut self,
        session: usize,
        rest: &[u32],
        worker: String,
    ) -> Result<u32, RunnerError> {
        let names: Vec<String> = rest
            .iter()
            .map(|number| self.supervisor.sessions[session].names[*number as usize].clone())
            .collect();
        let order = Job {
            names: names.clone(),
            phase: Some(AgentPhase::First),
            ask: true,
            stay: true,
            ..Job::default()
        };
        let state = JobState {
            session: u32::try_from(session).unwrap_or(u32::MAX),
            worker,
            in_suite: true,
            numbers: names.into_iter().zip(rest.iter().copied()).collect(),
            ..JobState::default()
        };
        let seed = self.hash_seed();
        Ok(self.start_fresh(order, state, seed, None)?.0)
    }

    /// Starts a process like a session's main one.
    fn start_fresh(
        &mut self,
        order: Job,
        mut state: JobState,
        hash_seed: u32,
        elsewhere: Option<Elsewhere<'_>>,
    ) -> Result<(u32, Tail), RunnerError> {
        let job = self.job_number();
        let hello = &self.supervisor.sessions[state.session as usize].hello;
        let environment = environment(&hello.env);
        let old = |name: &str| environment.get(name).cloned().filter(|value| !value.is_empty());
        let mut variables: BTreeMap<OsString, OsString> =
            self.folder.variables("fresh", job, "", old).into_iter().collect();
        let mut folder = PathBuf::from(&hello.cwd);
        if let Some(map) = elsewhere {
            state.relocation = Relocation::new(&folder, map);
            folder = map(&folder);
            // Where the suite found modules in the project, this process finds
            // those of the copy first.
            let mut path = variables.get(&OsString::from("PYTHONPATH")).cloned().unwrap_or_default();
            for entry in hello.path.iter().map(Path::new) {
                let mapped = map(entry);
                if mapped != entry {
                    path.push(":");
                    path.push(mapped);
                }
            }
            variables.insert("PYTHONPATH".into(), path);
        }
        let data_file = self.folder.coverage_file().to_string_lossy().into_owned();
        let (reader, writer) = std::io::pipe()
            .map_err(|source| RunnerError::Start { program: hello.executable.clone(), source })?;
        let failed = |source| RunnerError::Start { program: hello.executable.clone(), source };
        let mut command = Command::new(&hello.executable);
        command
            .args(with_data_file(&hello.argv, &data_file).iter().skip(1).map(|word| moved(word, elsewhere)))
            .current_dir(folder)
            .env_clear()
            .envs(&environment)
            .envs(&variables)
            .env("PYTHONHASHSEED", hash_seed.to_string())
            .stdin(Stdio::null())
            .stdout(writer.try_clone().map_err(failed)?)
            .stderr(writer);
        let child = sys::own_group(&mut command).spawn().map_err(failed)?;
        let printed = Arc::new(Mutex::new(Vec::new()));
        keep_tail(reader, &printed);
        state.pid = Some(child.id());
        state.begin(job, order.names.len());
        state.order = Some(Job { job, session: state.session, ..order });
        self.supervisor.jobs.insert(job, state);
        self.hub.watch_child(child.id());
        Ok((job, printed))
    }
}

/// The environment of the suite; where it is not text, ours is used.
fn environment(told: &BTreeMap<String, String>) -> BTreeMap<String, OsString> {
    let own = |name: &str| std::env::var_os(name).filter(|value| value.to_str().is_none());
    told.iter().map(|(name, value)| (name.clone(), own(name).unwrap_or_else(|| value.into()))).collect()
}

/// A word of the command line that names a place in the project, moved along.
fn moved(word: &str, elsewhere: Option<Elsewhere<'_>>) -> OsString {
    match elsewhere {
        Some(map) if Path::new(word).is_absolute() => map(Path::new(word)).into(),
        _ => word.into(),
    }
}

/// Reads what a process prints, and keeps only the end of it.
fn keep_tail(mut reader: std::io::PipeReader, tail: &Tail) {
    let tail = Arc::clone(tail);
    std::thread::spawn(move || {
        let mut buffer = [0; TAIL];
        while let Ok(count) = reader.read(&mut buffer) {
            let Ok(mut tail) = tail.lock() else { return };
            if count == 0 {
                return;
            }
            tail.extend_from_slice(&buffer[..count]);
            let excess = tail.len().saturating_sub(TAIL);
            tail.drain(..excess);
        }
    });
}

impl crate::supervisor::Session {
    /// The file a test is in, if its name leads to one.
    pub(crate) fn file_of(&self, name: &str) -> Option<PathBuf> {
        let relative = name.split("::").next()?;
        let file = Path::new(self.root()).join(relative);
        (!self.root().is_empty() && file.is_file()).then_some(file)
    }
}

/// A command line whose `coverage run`, if there is one, has its data in this file.
/// The option outweighs the environment.
fn with_data_file(argv: &[String], file: &str) -> Vec<String> {
    const OPTION: &str = "--data-file";
    let mut words = argv.to_vec();
    // What follows is pytest's.
    let is_pytest = |word: &String| word.ends_with("pytest") && !word.starts_with(OPTION);
    let end = words.iter().position(is_pytest).unwrap_or(0);
    for place in 0..end {
        if words[place] == OPTION {
            file.clone_into(&mut words[place + 1]);
        } else if words[place].strip_prefix(OPTION).is_some_and(|rest| rest.starts_with('=')) {
            words[place] = format!("{OPTION}={file}");
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coverage_of_a_new_process_has_a_data_file_of_its_own() {
        let with = |line: &str| {
            let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
            with_data_file(&words, "/own").join(" ")
        };
        for (line, expected) in [
            ("python -m pytest --data-file=x", "python -m pytest --data-file=x"),
            ("python -m coverage run -p -m pytest -q", "python -m coverage run -p -m pytest -q"),
            (
                "coverage run --data-file=a -m pytest --data-file=b",
                "coverage run --data-file=/own -m pytest --data-file=b",
            ),
            ("coverage run --data-file a -mpytest", "coverage run --data-file /own -mpytest"),
            ("coverage run --data-file=for-pytest -m pytest", "coverage run --data-file=/own -m pytest"),
        ] {
            assert_eq!(with(line), expected);
        }
    }
}
