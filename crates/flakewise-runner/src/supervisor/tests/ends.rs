//! How processes end, and what follows.

use flakewise_model::Phase;

use super::*;

const TOO_EARLY: &str = "a pytest process ended before it had collected its tests";

/// A pytest that says this and ends.
fn without_ready(messages: &[serde_json::Value], status: i32) -> Stage {
    let mut stage = Stage::new();
    stage.connects(0, hello("main", COMMAND, 0));
    stage.hears(0, messages.iter().cloned());
    stage.closes(0);
    stage.ends(COMMAND, status << 8);
    assert!(stage.supervisor.all_settled(Role::Main));
    stage
}

#[test]
fn a_session_that_never_gets_ready_is_not_complete() {
    // A conftest that cannot be imported.
    let stage = without_ready(&[], 4);
    assert_eq!(stage.supervisor.run.incomplete, [TOO_EARLY]);
    assert!(stage.end_of(0).died);
    // A file that does not exist.
    let stage = without_ready(&[finished(4), word("bye")], 4);
    assert_eq!(stage.supervisor.run.incomplete, [TOO_EARLY]);
    assert!(!stage.end_of(0).died);
}

#[test]
fn a_pytest_that_is_not_asked_for_tests_is_complete() {
    // As for `--version` and `--markers`.
    let stage = without_ready(&[word("bye")], 0);
    assert_eq!(stage.supervisor.run, SuiteRun::default());
    // As for `--cache-show`.
    let stage = without_ready(&[finished(0), word("bye")], 0);
    assert_eq!(stage.supervisor.run, SuiteRun::default());
}

#[test]
fn collection_errors_are_reason_enough() {
    let error = json!({"t": "collect_error", "id": "test_a.py", "failure": {"message": "ImportError: x"}});
    let stage = without_ready(&[error, finished(2), word("bye")], 2);
    assert_eq!(stage.supervisor.run.incomplete, [""; 0]);
    let errors = stage.supervisor.run.collect_errors.iter();
    assert_eq!(errors.map(|error| error.name.as_str()).collect::<Vec<_>>(), ["test_a.py"]);
}

#[test]
fn a_plugin_that_changes_the_exit_status_breaks_the_run() {
    let mut stage = Stage::running(1);
    stage.script.holds = true;
    stage.hears(0, [start(0, "first"), ask(0), failed(0), suite_end(), word("held")]);
    assert!(stage.supervisor.release(0, true));
    stage.hears(0, [json!({"t": "finished", "status": 9, "changed": true}), word("bye")]);
    assert!(stage.supervisor.run.broken && stage.end_of(0).broken);
    assert_eq!(stage.end_of(0).status, Some(9));
    assert_eq!(stage.warnings(), ["pytest's exit status became 9 at the end of the session"]);
    // The last word counts, and a plug-in that is content breaks nothing.
    let mut stage = Stage::running(1);
    stage.hears(0, [start(0, "first"), passed(0), suite_end(), finished(1)]);
    stage.hears(0, [json!({"t": "finished", "status": 0, "changed": true}), word("bye")]);
    assert!(!stage.supervisor.run.broken);
    assert_eq!(stage.end_of(0).status, Some(0));
}

#[test]
fn what_broke_is_known_before_the_session_waits() {
    let mut stage = Stage::running(1);
    stage.script.holds = true;
    stage.hears(0, [start(0, "first"), ask(0), failed(0), suite_end()]);
    stage.hears(0, [json!({"t": "broken", "text": "the session's tear-down failed"}), word("held")]);
    assert!(stage.end_of(0).broken && stage.supervisor.run.broken);
    assert_eq!(stage.supervisor.waiting, [0]);
}

#[test]
fn what_breaks_one_session_does_not_break_the_other() {
    let mut stage = Stage::new();
    for (connection, pid) in [(0, 201), (1, 202)] {
        stage.connects(connection, hello("main", pid, 0));
        stage.collects(connection, 1);
    }
    stage.hears(1, [json!({"t": "broken", "text": "too little coverage"})]);
    assert!(!stage.end_of(0).broken && stage.end_of(1).broken);
}

#[test]
fn a_test_that_takes_its_process_along_crashed() {
    for (status, message) in [
        (libc::SIGSEGV, "the process was killed by SIGSEGV while the test ran"),
        (64, "the process was killed by signal 64 while the test ran"),
        (3 << 8, "the process ended with exit code 3 while the test ran"),
        (0, "the process ended with exit code 0 while the test ran"),
    ] {
        let mut stage = Stage::running(3);
        stage.hears(0, [start(0, "first"), passed(0), start(1, "first")]);
        stage.ends(COMMAND, status);
        assert!(!stage.supervisor.all_settled(Role::Main), "its last messages may be under way");
        stage.closes(0);
        assert!(stage.supervisor.all_settled(Role::Main));
        assert_eq!(stage.outcomes()[1..], [(1, Phase::First, Outcome::Crashed)]);
        let crashed = &stage.script.ended[1];
        assert_eq!(crashed.failure.as_ref().map(|failure| failure.message.as_str()), Some(message));
        assert_eq!((crashed.duration, crashed.worker.as_str()), (None, "main"));
        assert!(stage.end_of(0).died && !stage.supervisor.sessions[0].over);
        assert_eq!(stage.lost(0), [2]);
        assert!(!stage.supervisor.run.broken, "the test answers for it");
    }
}

#[test]
fn a_connection_that_somebody_else_holds_open_is_not_waited_for() {
    let mut stage = Stage::running(1);
    stage.hears(0, [start(0, "first")]);
    stage.ends(COMMAND, 1 << 8);
    stage.passes(LAST_WORDS, &[]).expect("it goes on");
    assert_eq!(stage.outcomes(), []);
    stage.passes(Duration::from_millis(1), &[]).expect("it goes on");
    assert_eq!(stage.outcomes(), [(0, Phase::First, Outcome::Crashed)]);
}

#[test]
fn a_pytest_below_a_wrapper_is_looked_after() {
    let mut stage = Stage::new();
    stage.connects(0, hello("main", 201, 0));
    stage.collects(0, 1);
    stage.hears(0, [start(0, "first")]);
    assert_eq!(stage.supervisor.unwaited(), [0; 0]);
    stage.closes(0);
    assert_eq!(stage.supervisor.unwaited(), [201]);
    stage.passes(TICK, &[]).expect("it goes on");
    assert!(!stage.supervisor.all_settled(Role::Main), "it is alive");
    stage.passes(TICK, &[201]).expect("it goes on");
    let failure = stage.script.ended[0].failure.as_ref().map(|failure| failure.message.as_str());
    assert_eq!(failure, Some("the process died while the test ran"));
    assert!(stage.end_of(0).died);
}

#[test]
fn what_tests_left_running_does_not_keep_the_command_from_being_over() {
    let mut stage = Stage::new();
    stage.connects(0, hello("main", 201, 0));
    stage.collects(0, 1);
    stage.hears(0, [start(0, "first"), passed(0), suite_end(), finished(0), word("bye")]);
    // A daemon still has the connection open.
    assert_eq!(stage.supervisor.unwaited(), [0; 0]);
    stage.ends(COMMAND, 0);
    assert_eq!(stage.supervisor.unwaited(), [201]);
    stage.passes(TICK, &[201]).expect("it goes on");
    stage.passes(LAST_WORDS + TICK, &[]).expect("it goes on");
    assert!(stage.supervisor.all_settled(Role::Main));
    assert!(!stage.end_of(0).died && !stage.supervisor.run.broken);
}

#[test]
fn a_pytest_that_dies_outside_of_its_tests_is_broken() {
    let after = [start(0, "first"), ask(0), failed(0), suite_end()];
    for messages in [&after[..0], &after] {
        let mut stage = Stage::running(1);
        stage.hears(0, messages.iter().cloned());
        stage.closes(0);
        stage.ends(COMMAND, libc::SIGSEGV);
        assert!(stage.end_of(0).died && stage.end_of(0).broken && stage.supervisor.run.broken);
        assert_eq!(stage.warnings(), ["a pytest process died while no test was running"]);
    }
}

/// A suite with one failure, whose process waits.
fn waits() -> Stage {
    let mut stage = Stage::running(1);
    stage.script.holds = true;
    stage.hears(0, [start(0, "first"), ask(0), failed(0), suite_end(), word("held")]);
    stage.told();
    stage
}

const TEST: TestKey = TestKey { session: 0, number: 0 };

#[test]
fn a_main_that_dies_while_it_waits_is_not_there_to_be_forgiven() {
    // All is known of its end.
    let mut stage = waits();
    stage.closes(0);
    stage.ends(COMMAND, libc::SIGKILL);
    assert!(!stage.supervisor.sessions[0].waits);
    assert!(!stage.supervisor.release(0, true) && !stage.supervisor.run_in_main(TEST));
    assert_eq!(stage.told(), []);
    assert!(!stage.end_of(0).forgiven && stage.end_of(0).died && stage.supervisor.run.broken);
    // Its last messages are still under way.
    let mut stage = waits();
    stage.ends(COMMAND, libc::SIGKILL);
    assert!(!stage.supervisor.run_in_main(TEST) && !stage.supervisor.release(0, true));
    assert_eq!(stage.told(), []);
    assert!(!stage.end_of(0).forgiven);
}

#[test]
fn a_main_that_dies_in_a_test_that_runs_again_has_rerun_it() {
    let mut stage = waits();
    assert!(stage.supervisor.run_in_main(TEST));
    stage.hears(0, [start(0, "postpone")]);
    assert!(!stage.supervisor.has_rerun(0));
    stage.closes(0);
    stage.ends(COMMAND, libc::SIGSEGV);
    assert!(stage.supervisor.has_rerun(0));
    assert_eq!(stage.outcomes()[1..], [(0, Phase::Postpone, Outcome::Crashed)]);
    assert!(!stage.supervisor.release(0, true) && !stage.supervisor.run.broken);
}

#[test]
fn a_pytest_that_dies_after_it_was_forgiven_is_broken() {
    let mut stage = waits();
    assert!(stage.supervisor.release(0, true));
    stage.closes(0);
    stage.ends(COMMAND, libc::SIGSEGV);
    assert!(stage.end_of(0).died && stage.supervisor.run.broken, "no test answers for that");
}

#[test]
fn a_test_that_hangs_is_aborted_and_killed_after_a_grace() {
    let mut stage = Stage::running(2);
    stage.hears(0, [start(0, "first")]);
    let began = stage.now.instant;
    assert_eq!(stage.supervisor.next_deadline(began + TIMEOUT), began + TIMEOUT);
    stage.passes(TIMEOUT, &[]).expect("it goes on");
    assert_eq!(stage.effects(), []);
    stage.passes(Duration::from_millis(1), &[]).expect("it goes on");
    assert_eq!(stage.effects(), [Effect::Abort { pid: COMMAND }]);
    assert!(stage.supervisor.next_deadline(stage.now.instant) > stage.now.instant, "nothing is due");
    stage.passes(GRACE, &[]).expect("it goes on");
    assert_eq!(stage.effects(), []);
    stage.passes(Duration::from_millis(1), &[]).expect("it goes on");
    assert_eq!(stage.effects(), [Effect::Kill { pid: COMMAND }]);
    stage.passes(TIMEOUT, &[]).expect("it goes on");
    assert_eq!(stage.effects(), [], "once is enough");
    stage.closes(0);
    stage.ends(COMMAND, libc::SIGKILL);
    assert_eq!(stage.outcomes(), [(0, Phase::First, Outcome::TimedOut)]);
    let failure = stage.script.ended[0].failure.as_ref().map(|failure| failure.message.as_str());
    assert_eq!(failure, Some("timed out after 10s"));
    assert_eq!(stage.lost(0), [1]);
    assert!(stage.end_of(0).died && !stage.supervisor.run.broken);
}

#[test]
fn each_run_of_a_test_has_its_own_time() {
    let mut stage = Stage::running(1);
    stage.script.again = [true].into();
    stage.hears(0, [start(0, "first"), ask(0), failed(0)]);
    stage.passes(TIMEOUT, &[]).expect("it goes on");
    stage.hears(0, [start(0, "rerun")]);
    stage.passes(TIMEOUT, &[]).expect("it goes on");
    stage.hears(0, [passed(0), suite_end()]);
    stage.passes(10 * TIMEOUT, &[]).expect("it goes on");
    assert_eq!(stage.told(), [(0, ToAgent::Again), (0, ToAgent::Finish { forgive: false })]);
}

#[test]
fn a_test_is_not_blamed_for_the_one_before() {
    let mut stage = Stage::running(2);
    stage.hears(0, [start(0, "first")]);
    stage.passes(TIMEOUT + TICK, &[]).expect("it goes on");
    assert_eq!(stage.effects(), [Effect::Abort { pid: COMMAND }]);
    // This was under way already.
    stage.hears(0, [passed(0), start(1, "first")]);
    stage.closes(0);
    stage.ends(COMMAND, libc::SIGABRT);
    assert_eq!(stage.outcomes(), [(0, Phase::First, Outcome::Passed)]);
    assert_eq!(stage.lost(0), [1], "it runs elsewhere");
}

#[test]
fn the_first_signal_is_passed_on_and_the_second_ends_everything() {
    for (signal, passed_on) in
        [(libc::SIGINT, libc::SIGINT), (libc::SIGTERM, libc::SIGTERM), (libc::SIGHUP, libc::SIGTERM)]
    {
        let mut stage = Stage::running(1);
        stage.script.holds = true;
        stage.happens(Event::Signal { signal, at_once: false }).expect("it goes on");
        assert_eq!(stage.effects(), [Effect::Signal { group: COMMAND, signal: passed_on }]);
        // Nothing more is run, and nobody waits.
        stage.script.postponed = [vec![0]].into();
        stage.hears(0, [start(0, "first"), ask(0), failed(0), suite_end()]);
        assert_eq!(stage.told().last(), Some(&(0, ToAgent::Finish { forgive: false })));
        let second = stage.happens(Event::Signal { signal, at_once: false });
        assert!(matches!(second, Err(RunnerError::Interrupted { signal: told }) if told == signal));
    }
}

#[test]
fn after_a_signal_the_end_of_the_command_or_ten_seconds_are_the_end() {
    let mut stage = Stage::running(1);
    stage.happens(Event::Signal { signal: libc::SIGINT, at_once: false }).expect("it goes on");
    stage.passes(STOP_GRACE, &[]).expect("it may take that long");
    assert!(matches!(stage.passes(TICK, &[]), Err(RunnerError::Interrupted { signal: libc::SIGINT })));

    let mut stage = Stage::running(1);
    stage.happens(Event::Signal { signal: libc::SIGINT, at_once: false }).expect("it goes on");
    let status = crate::sys::status(2 << 8);
    let ended = stage.happens(Event::Ended { pid: COMMAND, status, cpu: Duration::ZERO });
    assert!(matches!(ended, Err(RunnerError::Interrupted { signal: libc::SIGINT })));
}

#[test]
fn a_signal_after_the_command_ends_us_at_once() {
    let mut stage = Stage::running(0);
    stage.ends(COMMAND, 0);
    let signal = stage.happens(Event::Signal { signal: libc::SIGTERM, at_once: false });
    assert!(matches!(signal, Err(RunnerError::Interrupted { signal: libc::SIGTERM })));
}

#[test]
fn without_our_guard_the_first_signal_ends_everything() {
    let mut stage = Stage::running(1);
    let signal = stage.happens(Event::Signal { signal: libc::SIGTERM, at_once: true });
    assert!(matches!(signal, Err(RunnerError::Interrupted { signal: libc::SIGTERM })));
}

#[test]
fn an_agent_of_another_version_is_refused() {
    let mut stage = Stage::new();
    let version = stage.happens(Event::Version { theirs: 7 });
    assert!(matches!(version, Err(RunnerError::Version { theirs: 7, ours: 1 })));
}
