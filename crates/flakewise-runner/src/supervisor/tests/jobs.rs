//! Children of a zygote, and new processes.

use flakewise_model::Phase;

use super::*;

/// A session with two tests and a zygote on connection 1, and a job for which the zygote
/// was told to fork a child.
fn with_job(in_suite: bool) -> Stage {
    let mut stage = Stage::running(2);
    stage.connects(1, hello("zygote", 300, 0));
    let state = JobState { worker: "fork-1".to_owned(), in_suite, ..JobState::default() };
    stage.supervisor.jobs.insert(7, state);
    assert!(!stage.is_over(7));
    stage
}

impl Stage {
    fn is_over(&self, job: u32) -> bool {
        self.supervisor.is_over(job, self.now.instant)
    }

    fn executions(&self, job: u32) -> Vec<(u32, Outcome)> {
        self.supervisor.jobs[&job].executions.iter().map(|one| (one.test.number, one.outcome)).collect()
    }
}

fn forked(job: u32, pid: u32) -> serde_json::Value {
    json!({"t": "forked", "job": job, "pid": pid})
}

fn exited(job: u32, status: i32) -> serde_json::Value {
    json!({"t": "exited", "job": job, "status": status, "wall_ns": 7, "cpu_ns": 3})
}

#[test]
fn a_child_runs_its_test_outside_of_the_suite() {
    let mut stage = with_job(false);
    stage.hears(1, [forked(7, 301)]);
    stage.connects(2, hello("child", 301, 7));
    stage.hears(2, [start(1, "fork"), failed(1), word("bye")]);
    stage.closes(2);
    assert!(!stage.is_over(7), "its end is not known yet");
    stage.hears(1, [exited(7, 0)]);
    assert!(stage.is_over(7));
    assert_eq!(stage.executions(7), [(1, Outcome::Failed)]);
    assert_eq!((stage.outcomes(), stage.lost(0)), (vec![], vec![0, 1]));
    let end = stage.supervisor.jobs[&7].end.clone().expect("it ended");
    assert_eq!((end.cost.wall.as_nanos(), end.cost.cpu.as_nanos()), (7, 3));
    assert_eq!(stage.told(), []);
}

#[test]
fn a_child_that_goes_on_with_the_suite_is_part_of_it() {
    let mut stage = with_job(true);
    stage.script.holds = true;
    stage.hears(1, [forked(7, 301)]);
    stage.connects(2, hello("child", 301, 7));
    stage.hears(2, [start(0, "first"), ask(0), failed(0), start(1, "first"), passed(1), suite_end()]);
    // It does not wait for verdicts: nobody sees its exit code.
    assert_eq!(stage.told(), [(2, ToAgent::Next), (2, ToAgent::Finish { forgive: false })]);
    assert_eq!(stage.outcomes(), [(0, Phase::First, Outcome::Failed), (1, Phase::First, Outcome::Passed)]);
    assert_eq!(stage.script.ended[0].worker, "fork-1");
    assert_eq!(stage.lost(0), [0; 0]);
}

#[test]
fn the_end_of_a_child_may_be_known_before_its_first_words() {
    let mut stage = with_job(false);
    stage.hears(1, [forked(7, 301), exited(7, 0)]);
    assert!(!stage.is_over(7));
    stage.connects(2, hello("child", 301, 7));
    stage.hears(2, [start(0, "fork"), passed(0), word("bye")]);
    stage.closes(2);
    assert!(stage.is_over(7));
    assert_eq!(stage.executions(7), [(0, Outcome::Passed)]);
    // One that never speaks is not waited for without end.
    let mut stage = with_job(false);
    stage.hears(1, [forked(7, 301), exited(7, libc::SIGKILL)]);
    stage.passes(FIRST_WORDS + TICK, &[]).expect("it goes on");
    assert!(stage.is_over(7));
    assert!(stage.supervisor.jobs[&7].trouble.as_ref().is_some_and(|text| text.contains("signal: 9")));
}

#[test]
fn a_child_that_could_not_be_forked_is_over_at_once() {
    let mut stage = with_job(false);
    stage.hears(1, [json!({"t": "exited", "job": 7, "error": "out of memory"})]);
    assert!(stage.is_over(7));
    let state = stage.supervisor.jobs.remove(&7).expect("a job");
    let test = TestKey { session: 0, number: 0 };
    assert_eq!(state.outcome_of(test, Phase::Fork), Err("out of memory".to_owned()));
}

#[test]
fn a_test_that_takes_a_child_along_crashed() {
    let mut stage = with_job(false);
    stage.hears(1, [forked(7, 301)]);
    stage.connects(2, hello("child", 301, 7));
    stage.hears(2, [start(0, "fork")]);
    stage.hears(1, [exited(7, libc::SIGSEGV)]);
    stage.closes(2);
    assert!(stage.is_over(7));
    assert_eq!(stage.executions(7), [(0, Outcome::Crashed)]);
    assert!(!stage.supervisor.run.broken && *stage.end_of(0) == SessionEnd::default());
}

#[test]
fn a_child_that_hangs_is_killed_at_once() {
    let mut stage = with_job(false);
    stage.hears(1, [forked(7, 301)]);
    stage.connects(2, hello("child", 301, 7));
    stage.hears(2, [start(0, "fork")]);
    stage.passes(TIMEOUT + TICK, &[]).expect("it goes on");
    assert_eq!(stage.effects(), [Effect::Kill { pid: 301 }]);
    stage.hears(1, [exited(7, libc::SIGKILL)]);
    stage.closes(2);
    assert_eq!(stage.executions(7), [(0, Outcome::TimedOut)]);
}

#[test]
fn a_job_without_its_zygote_is_over() {
    let mut stage = with_job(false);
    stage.hears(1, [forked(7, 301)]);
    stage.connects(2, hello("child", 301, 7));
    stage.hears(2, [start(0, "fork")]);
    stage.closes(1);
    assert_eq!(stage.supervisor.unwaited(), [300], "nobody waits for a zygote");
    stage.passes(TICK, &[300]).expect("it goes on");
    assert!(stage.is_over(7));
    // Now nobody waits for its children either.
    stage.closes(2);
    assert_eq!(stage.supervisor.unwaited(), [301]);
    stage.passes(TICK, &[301]).expect("it goes on");
    assert_eq!(stage.executions(7), [(0, Outcome::Crashed)]);
}

#[test]
fn a_job_of_a_session_without_a_zygote_is_over() {
    let mut stage = Stage::running(1);
    stage.supervisor.jobs.insert(7, JobState::default());
    assert!(stage.is_over(7));
    assert!(stage.is_over(99), "so is one that nobody knows");
}

#[test]
fn a_forgotten_connection_means_nothing_even_if_its_slot_is_used_again() {
    let mut stage = with_job(false);
    stage.hears(1, [forked(7, 301)]);
    stage.connects(2, hello("child", 301, 7));
    stage.connects(3, resumed("child", 301));
    let place = stage.supervisor.jobs.remove(&7).and_then(|job| job.peer).expect("it has spoken");
    stage.supervisor.forget(place);
    assert_eq!(stage.effects(), [Effect::Close { connection: 2 }, Effect::Close { connection: 3 }]);
    stage.supervisor.forget(place);
    assert_eq!(stage.effects(), []);
    // Another process comes in its place.
    stage.supervisor.jobs.insert(8, JobState::default());
    stage.connects(4, hello("child", 302, 8));
    assert_eq!(stage.supervisor.jobs[&8].peer, Some(place));
    for connection in [2, 3] {
        stage.hears(connection, [start(0, "fork"), failed(0), word("bye")]);
        stage.happens(Event::Unreadable { connection, reason: "x".to_owned() }).expect("it goes on");
        stage.closes(connection);
    }
    stage.ends(301, 0);
    assert_eq!(stage.executions(8), []);
    assert_eq!(stage.supervisor.jobs[&8].trouble, None);
    assert!(!stage.is_over(8));
}

#[test]
fn a_connection_that_was_replaced_is_forgotten() {
    let mut stage = with_job(false);
    stage.hears(1, [forked(7, 301)]);
    stage.connects(2, hello("child", 301, 7));
    stage.connects(3, resumed("child", 301));
    stage.closes(2);
    let place = stage.supervisor.jobs.remove(&7).and_then(|job| job.peer).expect("it has spoken");
    stage.supervisor.forget(place);
    assert_eq!(stage.effects(), [Effect::Close { connection: 2 }, Effect::Close { connection: 3 }]);
    assert_eq!(stage.supervisor.connections.len(), 2, "those of main and the zygote");
}

#[test]
fn a_fresh_process_is_told_its_order_and_numbers_its_own_tests() {
    let mut stage = Stage::running(3);
    let order = Job { job: 7, names: vec!["test_it.py::test_2".to_owned()], ..Job::default() };
    let numbers = [("test_it.py::test_2".to_owned(), 2)].into();
    let state = JobState { order: Some(order.clone()), numbers, pid: Some(400), ..JobState::default() };
    stage.supervisor.jobs.insert(7, state);
    stage.connects(2, hello("fresh", 400, 7));
    assert_eq!(stage.told(), [(2, ToAgent::Job(order))]);
    // A second process cannot take its place.
    stage.connects(3, hello("fresh", 401, 7));
    assert_eq!(stage.effects(), [Effect::Close { connection: 3 }]);
    stage.hears(2, [json!({"t": "tests", "ids": ["test_it.py::test_2"]})]);
    stage.hears(2, [start(0, "fresh"), passed(0), json!({"t": "observed", "entries": 4, "lines": true})]);
    stage.hears(2, [start(1, "fresh"), passed(1), word("bye")]);
    stage.closes(2);
    stage.ends(400, 0);
    assert!(stage.is_over(7));
    assert_eq!(stage.executions(7), [(2, Outcome::Passed)], "it has no second test");
    assert_eq!(stage.supervisor.jobs[&7].observed, Some((4, true)));
}

#[test]
fn what_goes_wrong_in_a_job_is_kept_with_it() {
    let mut stage = with_job(false);
    stage.connects(2, hello("child", 301, 7));
    stage.hears(
        2,
        [
            json!({"t": "collect_error", "id": "test_it.py", "failure": {"message": "ImportError: x\ny"}}),
            json!({"t": "trouble", "text": "later"}),
            json!({"t": "notice", "text": "a notice"}),
            json!({"t": "broken", "text": "broken"}),
            word("oversized"),
        ],
    );
    let trouble = stage.supervisor.jobs[&7].trouble.as_deref();
    assert_eq!(trouble, Some("`test_it.py` could not be collected: ImportError: x"));
    assert_eq!(stage.supervisor.run, SuiteRun::default(), "the suite has nothing to do with it");
}

#[test]
fn only_a_zygote_says_how_children_end() {
    let mut stage = with_job(false);
    stage.hears(0, [forked(7, 1), exited(7, 0)]);
    assert!(stage.supervisor.jobs[&7].pid.is_none() && !stage.is_over(7));
}

#[test]
fn a_child_of_the_suite_that_gets_into_trouble_is_told() {
    let mut stage = with_job(true);
    stage.connects(2, hello("child", 301, 7));
    stage.hears(2, [json!({"t": "trouble", "text": "OSError: x"})]);
    assert_eq!(stage.warnings(), ["a process of the suite ended early: OSError: x"]);
}

#[test]
fn a_job_with_more_results_than_are_taken_has_none() {
    let mut stage = with_job(false);
    stage.hears(1, [forked(7, 301)]);
    stage.connects(2, hello("child", 301, 7));
    for _ in 0..2 + MOST_MORE_RESULTS {
        stage.hears(2, [start(1, "fork"), passed(1)]);
    }
    assert_eq!(stage.executions(7).len(), 2 + MOST_MORE_RESULTS);
    // Not even those that came before: which of them is right is unknown.
    stage.hears(2, [start(1, "fork"), passed(1), start(0, "fork"), passed(0)]);
    assert_eq!(stage.executions(7), []);
    let job = stage.supervisor.jobs.remove(&7).expect("it is there");
    let test = TestKey { session: 0, number: 1 };
    assert_eq!(job.outcome_of(test, Phase::Fork), Err("it reported more than 1002 results".to_owned()));
}

#[test]
fn a_new_process_names_only_tests_that_it_was_told_to_run() {
    let mut stage = Stage::running(2);
    let numbers = [("test_it.py::test_1".to_owned(), 1)].into();
    let state = JobState { numbers, ..JobState::default() };
    stage.supervisor.jobs.insert(7, state);
    stage.connects(1, hello("fresh", 301, 7));
    let long = "x".repeat(1 << 20);
    stage.hears(1, [json!({"t": "tests", "ids": [long, "test_it.py::test_1"]})]);
    assert_eq!(stage.supervisor.jobs[&7].names, ["", "test_it.py::test_1"]);
    // Their indices are kept.
    stage.hears(1, [start(0, "fresh"), failed(0), start(1, "fresh"), passed(1)]);
    assert_eq!(stage.executions(7), [(1, Outcome::Passed)]);
    stage.hears(1, [json!({"t": "tests", "ids": vec![""; 2000]})]);
    let job = &stage.supervisor.jobs[&7];
    assert_eq!(
        (job.names.len(), job.trouble.as_deref()),
        (2, Some("it collected more tests than requested"))
    );
}
