//! Suites that go as they should.

use flakewise_model::Phase;

use super::*;

#[test]
fn a_green_session_is_told_to_begin_and_to_finish() {
    let mut stage = Stage::new();
    stage.connects(0, hello("main", COMMAND, 0));
    assert!(matches!(&stage.told()[..], [(0, ToAgent::Job(Job { ask: true, session: 0, .. }))]));
    stage.collects(0, 2);
    assert_eq!(stage.told(), [(0, ToAgent::Go { skip: Vec::new() })]);
    assert_eq!(stage.script.names, [["test_it.py::test_0", "test_it.py::test_1"]]);
    stage.hears(0, [start(0, "first"), passed(0), start(1, "first"), passed(1), suite_end()]);
    assert_eq!(stage.told(), [(0, ToAgent::Finish { forgive: false })]);
    stage.hears(0, [finished(0), word("bye")]);
    stage.closes(0);
    assert!(!stage.supervisor.all_settled(Role::Main), "its end is not known yet");
    stage.ends(COMMAND, 0);
    assert!(stage.supervisor.all_settled(Role::Main) && stage.supervisor.command_status.is_some());
    assert_eq!(stage.outcomes(), [(0, Phase::First, Outcome::Passed), (1, Phase::First, Outcome::Passed)]);
    assert_eq!(*stage.end_of(0), SessionEnd { status: Some(0), ..SessionEnd::default() });
    assert_eq!(stage.supervisor.run, SuiteRun::default());
    assert_eq!(stage.lost(0), [0; 0]);
}

#[test]
fn a_failing_test_runs_again_as_long_as_somebody_wants_it() {
    let mut stage = Stage::running(2);
    stage.script.again = [true, true, false].into();
    stage.hears(0, [start(0, "first"), ask(0)]);
    assert_eq!(stage.told(), [(0, ToAgent::Again)]);
    stage.hears(0, [failed(0), start(0, "rerun"), ask(0)]);
    assert_eq!(stage.told(), [(0, ToAgent::Again)]);
    stage.hears(0, [failed(0), start(0, "rerun"), ask(0)]);
    assert_eq!(stage.told(), [(0, ToAgent::Next)]);
    stage.hears(0, [failed(0), start(1, "first"), passed(1)]);
    let rerun = (0, Phase::Rerun, Outcome::Failed);
    let all = [(0, Phase::First, Outcome::Failed), rerun, rerun, (1, Phase::First, Outcome::Passed)];
    assert_eq!(stage.outcomes(), all);
    let positions: Vec<u32> = stage.script.ended.iter().map(|one| one.position).collect();
    assert_eq!(positions, [0, 1, 2, 3]);
    assert_eq!(stage.told(), []);
}

#[test]
fn an_error_around_a_test_is_asked_about_as_such() {
    let mut stage = Stage::running(1);
    let failure = json!({"message": "refused", "when": "setup"});
    stage.hears(0, [start(0, "first"), json!({"t": "ask", "i": 0, "failure": failure})]);
    stage.hears(0, [json!({"t": "end", "i": 0, "outcome": "errored", "ns": 1, "failure": failure})]);
    assert_eq!(stage.script.asked, [(0, Outcome::Errored)]);
    assert_eq!(stage.outcomes(), [(0, Phase::First, Outcome::Errored)]);
}

/// A suite with a failure, up to where its process waits.
fn held() -> Stage {
    let mut stage = Stage::running(2);
    stage.script.postponed = [vec![0]].into();
    stage.script.holds = true;
    stage.hears(0, [start(0, "first"), ask(0), failed(0), start(1, "first"), passed(1), suite_end()]);
    assert_eq!(
        stage.told(),
        [(0, ToAgent::Next), (0, ToAgent::Run { tests: vec![0], phase: AgentPhase::Postpone })]
    );
    stage.hears(0, [start(0, "postpone"), ask(0), failed(0), word("ran")]);
    assert_eq!(stage.told(), [(0, ToAgent::Next), (0, ToAgent::Hold)]);
    assert!(!stage.supervisor.sessions[0].waits, "it is still about to");
    assert!(!stage.supervisor.release(0, true), "nobody is let go who does not wait");
    stage.hears(0, [word("held")]);
    assert!(stage.supervisor.sessions[0].waits);
    assert_eq!(stage.supervisor.waiting.pop_front(), Some(0));
    stage
}

#[test]
fn a_failing_session_is_postponed_then_held_then_forgiven() {
    let mut stage = held();
    assert!(stage.supervisor.release(0, true));
    assert_eq!(stage.told(), [(0, ToAgent::Finish { forgive: true })]);
    assert!(!stage.supervisor.release(0, true), "once is enough");
    stage.hears(0, [finished(0), word("bye")]);
    stage.closes(0);
    stage.ends(COMMAND, 0);
    let end = SessionEnd { status: Some(0), forgiven: true, ..SessionEnd::default() };
    assert_eq!(*stage.end_of(0), end);
    assert!(!stage.supervisor.run.broken);
}

#[test]
fn a_failing_session_may_be_let_go_as_it_is() {
    let mut stage = held();
    assert!(stage.supervisor.release(0, false));
    assert_eq!(stage.told(), [(0, ToAgent::Finish { forgive: false })]);
    stage.hears(0, [finished(1), word("bye")]);
    stage.closes(0);
    stage.ends(COMMAND, 1 << 8);
    assert_eq!(*stage.end_of(0), SessionEnd { status: Some(1), ..SessionEnd::default() });
    assert!(!stage.supervisor.run.broken, "it failed because of its tests");
}

#[test]
fn a_test_runs_again_in_a_process_that_waits() {
    let mut stage = held();
    let test = TestKey { session: 0, number: 0 };
    for _ in 0..2 {
        assert!(stage.supervisor.run_in_main(test));
        assert!(!stage.supervisor.has_rerun(0));
        let run = ToAgent::Run { tests: vec![0], phase: AgentPhase::Postpone };
        assert_eq!(stage.told(), [(0, run)]);
        stage.hears(0, [start(0, "postpone"), passed(0), word("ran")]);
        assert!(stage.supervisor.has_rerun(0));
    }
    assert_eq!(stage.told(), [], "the director is not asked for more");
    assert_eq!(stage.outcomes().last(), Some(&(0, Phase::Postpone, Outcome::Passed)));
    assert!(stage.supervisor.release(0, true));
    assert!(!stage.supervisor.run_in_main(test), "it is on its way out");
}

#[test]
fn a_session_waits_while_another_one_runs() {
    let mut stage = Stage::new();
    stage.script.holds = true;
    for (connection, pid) in [(0, 201), (1, 202)] {
        stage.connects(connection, hello("main", pid, 0));
        stage.collects(connection, 1);
    }
    stage.told();
    stage.hears(0, [start(0, "first"), ask(0), failed(0)]);
    stage.hears(1, [start(0, "first")]);
    stage.hears(0, [suite_end(), word("held")]);
    assert_eq!(stage.told(), [(0, ToAgent::Next), (0, ToAgent::Hold)]);
    assert_eq!(stage.supervisor.waiting, [0]);
    // The other session is heard meanwhile, and waits for its turn.
    stage.hears(1, [ask(0), failed(0), suite_end(), word("held")]);
    assert_eq!(stage.told(), [(1, ToAgent::Next), (1, ToAgent::Hold)]);
    assert_eq!(stage.supervisor.waiting, [0, 1]);
    let tests: Vec<TestKey> = stage.script.ended.iter().map(|one| one.test).collect();
    assert_eq!(tests, [TestKey { session: 0, number: 0 }, TestKey { session: 1, number: 0 }]);
    assert!(stage.supervisor.release(1, false));
    assert_eq!(stage.told(), [(1, ToAgent::Finish { forgive: false })]);
    assert!(stage.supervisor.sessions[0].waits && !stage.supervisor.sessions[1].waits);
    assert!(stage.supervisor.release(0, true));
    assert_eq!(stage.told(), [(0, ToAgent::Finish { forgive: true })]);
    assert!(stage.end_of(0).forgiven && !stage.end_of(1).forgiven);
}

#[test]
fn a_long_command_line_comes_in_parts() {
    let mut stage = Stage::new();
    stage.connects(0, hello("main", COMMAND, 0));
    stage.hears(
        0,
        [
            json!({"t": "more", "argv": ["python", "-m"]}),
            json!({"t": "more", "argv": ["pytest", "a.py"]}),
            json!({"t": "more", "env": {"A": "1"}}),
            json!({"t": "more", "env": {"B": "2"}}),
            json!({"t": "more", "named": ["a.py"]}),
        ],
    );
    stage.collects(0, 1);
    let session = &stage.supervisor.sessions[0];
    assert_eq!(session.hello.argv, ["python", "-m", "pytest", "a.py"]);
    assert_eq!(session.hello.env.len(), 2);
    assert_eq!(session.ready.as_ref().map(|ready| ready.named.clone()), Some(vec!["a.py".to_owned()]));
    assert_eq!(stage.supervisor.run.incomplete, [""; 0]);
}

#[test]
fn names_come_in_parts_and_in_order() {
    let mut stage = Stage::new();
    stage.connects(0, hello("main", COMMAND, 0));
    stage.hears(0, [json!({"t": "tests", "ids": ["a", "b"]}), json!({"t": "tests", "ids": ["c"]})]);
    stage.hears(0, [json!({"t": "tests", "ids": []}), ready(3)]);
    assert_eq!(stage.script.names, [["a", "b", "c"]]);
    assert_eq!(stage.lost(0), [0, 1, 2]);
    assert_eq!(stage.supervisor.run.incomplete, [""; 0]);
}

#[test]
fn a_suite_that_is_only_collected_is_finished_at_once() {
    let mut stage = Stage::new();
    stage.script.runs = false;
    stage.connects(0, hello("main", COMMAND, 0));
    stage.told();
    stage.collects(0, 1);
    assert_eq!(stage.told(), [(0, ToAgent::Finish { forgive: false })]);
    stage.hears(0, [word("bye")]);
    stage.closes(0);
    stage.ends(COMMAND, 0);
    assert_eq!(*stage.end_of(0), SessionEnd::default());
    assert_eq!(stage.warnings(), [""; 0]);
}

#[test]
fn why_there_are_no_forks_is_said() {
    let mut stage = Stage::new();
    stage.connects(0, hello("main", COMMAND, 0));
    stage.hears(0, [json!({"t": "ready", "total": 0, "forks": false, "reason": "2 threads were running"})]);
    let text = "tests are rerun in new processes instead of forks: 2 threads were running";
    assert_eq!(stage.warnings(), [text]);
    assert!(!stage.supervisor.sessions[0].forks());
}

#[test]
fn a_suite_that_stops_early_says_why_if_tests_are_left() {
    let stopped = json!({"t": "suite_end", "stopped": "stopping after 1 failures", "wanted": true});
    let mut stage = Stage::running(2);
    stage.hears(0, [start(0, "first"), ask(0), failed(0), stopped.clone()]);
    assert_eq!(stage.supervisor.run.stopped.as_deref(), Some("stopping after 1 failures"));
    assert!(stage.supervisor.sessions[0].over, "nobody goes on with it");
    assert_eq!(stage.lost(0), [1]);
    // After its last test, nothing is lost.
    let mut stage = Stage::running(1);
    stage.hears(0, [start(0, "first"), ask(0), failed(0), stopped]);
    assert_eq!(stage.supervisor.run.stopped, None);
}
