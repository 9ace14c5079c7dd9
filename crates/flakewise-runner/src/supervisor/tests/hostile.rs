//! Agents that say what no agent should.

use flakewise_model::Phase;

use super::*;

/// A suite that names these tests and announces a number of them.
fn announced(ids: &[&str], total: u32) -> Stage {
    let mut stage = Stage::new();
    stage.connects(0, hello("main", COMMAND, 0));
    stage.hears(0, [json!({"t": "tests", "ids": ids}), ready(total)]);
    assert_eq!(
        stage.told()[1..],
        [(0, ToAgent::Go { skip: Vec::new() })],
        "it waits for an answer, whatever it said"
    );
    stage
}

#[test]
fn with_a_name_too_few_or_too_many_no_test_has_a_name() {
    for total in [3, 1, 0] {
        let mut stage = announced(&["test_a", "test_b"], total);
        let expected = format!("pytest announced {total} tests and named 2");
        assert_eq!(stage.supervisor.run.incomplete, [expected]);
        let names = &stage.script.names[0];
        assert_eq!(names.len(), total as usize);
        assert!(names.iter().all(|name| name.starts_with("unknown::test number ")), "{names:?}");
        stage.hears(0, [start(0, "first"), passed(0)]);
        assert_eq!(stage.outcomes().len(), usize::from(total > 0));
    }
}

#[test]
fn a_number_beyond_the_list_is_told_and_answered() {
    let mut stage = announced(&["test_a", "test_b"], 2);
    stage.hears(0, [start(2, "first"), ask(2)]);
    assert_eq!(stage.told(), [(0, ToAgent::Next)]);
    stage.hears(0, [failed(2), start(u32::MAX, "first"), passed(u32::MAX)]);
    assert_eq!(stage.outcomes(), []);
    let reasons = ["pytest reported test number 2 of 2", "pytest reported test number 4294967295 of 2"];
    assert_eq!(stage.supervisor.run.incomplete, reasons);
    // A process that dies in it leaves all others without a result.
    stage.hears(0, [start(5, "first")]);
    stage.closes(0);
    stage.ends(COMMAND, libc::SIGSEGV);
    assert_eq!(stage.lost(0), [0, 1]);
}

#[test]
fn tests_that_run_before_they_are_announced_have_no_result() {
    let mut stage = Stage::new();
    stage.connects(0, hello("main", COMMAND, 0));
    stage.hears(0, [json!({"t": "tests", "ids": ["a"]}), start(0, "first"), passed(0)]);
    assert_eq!(stage.supervisor.run.incomplete, ["pytest reported test number 0 of 0"]);
}

#[test]
fn names_after_all_were_announced_change_nothing() {
    let mut stage = announced(&["test_a"], 1);
    stage.hears(0, [json!({"t": "tests", "ids": ["test_b"]})]);
    assert_eq!(stage.supervisor.sessions[0].names, ["test_a"]);
    assert_eq!(
        stage.supervisor.run.incomplete,
        ["a pytest process collected other tests than it had announced"]
    );
}

#[test]
fn a_plugin_may_repeat_a_suite_but_not_change_it() {
    let mut stage = announced(&["test_a", "test_b"], 2);
    stage.hears(0, [start(0, "first"), passed(0), start(1, "first"), passed(1), suite_end()]);
    stage.told();
    for _ in 0..2 {
        stage.hears(0, [json!({"t": "tests", "ids": ["test_a"]}), json!({"t": "tests", "ids": ["test_b"]})]);
        stage.hears(0, [ready(2)]);
        assert_eq!(stage.told(), [(0, ToAgent::Go { skip: Vec::new() })]);
    }
    assert_eq!(stage.lost(0), [0; 0], "no result is taken back");
    assert_eq!(stage.supervisor.run.incomplete, [""; 0]);
    stage.hears(0, [ready(2)]);
    assert_eq!(stage.told(), [(0, ToAgent::Go { skip: Vec::new() })]);
    assert_eq!(
        stage.supervisor.run.incomplete,
        ["a pytest process collected other tests than it had announced"]
    );
}

#[test]
fn only_main_says_what_is_collected_and_how_it_ended() {
    let mut stage = announced(&["test_a"], 1);
    stage.connects(1, hello("zygote", 300, 0));
    stage.hears(1, [json!({"t": "tests", "ids": ["x"]}), ready(9), json!({"t": "more", "argv": ["x"]})]);
    stage.hears(1, [word("held"), finished(0)]);
    let session = &stage.supervisor.sessions[0];
    assert_eq!((&session.names[..], session.hello.argv.len()), (&["test_a".to_owned()][..], 0));
    assert!(!session.waits && session.end.status.is_none() && stage.supervisor.waiting.is_empty());
    assert_eq!(stage.told(), []);
}

#[test]
fn an_oversized_message_makes_the_run_incomplete() {
    let mut stage = announced(&["test_a"], 1);
    stage.hears(0, [word("oversized"), word("oversized")]);
    let reasons = &stage.supervisor.run.incomplete;
    assert_eq!(reasons[..], ["a message of pytest was too long to send"]);
}

#[test]
fn an_unreadable_message_makes_the_run_incomplete_and_the_next_one_is_heard() {
    let mut stage = announced(&["test_a"], 1);
    let reason = "`x` is not a message".to_owned();
    stage.happens(Event::Unreadable { connection: 0, reason }).expect("it goes on");
    let expected = "a message of pytest could not be read: `x` is not a message";
    assert_eq!(stage.supervisor.run.incomplete, [expected]);
    stage.hears(0, [start(0, "first"), passed(0), suite_end()]);
    assert_eq!(stage.outcomes(), [(0, Phase::First, Outcome::Passed)]);
    stage.passes(2 * TIMEOUT, &[]).expect("it goes on");
    assert_eq!(stage.told(), [(0, ToAgent::Finish { forgive: false })]);
}

#[test]
fn who_waits_for_an_answer_that_cannot_come_is_ended() {
    let mut stage = Stage::new();
    stage.connects(0, hello("main", COMMAND, 0));
    stage.told();
    // What could not be read may have been `ready`.
    for _ in 0..2 {
        let reason = "a message is too long".to_owned();
        stage.happens(Event::Unreadable { connection: 0, reason }).expect("it goes on");
        stage.passes(TIMEOUT / 2, &[]).expect("it goes on");
    }
    assert_eq!(stage.effects(), []);
    stage.passes(TICK, &[]).expect("it goes on");
    assert_eq!(stage.effects(), [Effect::Abort { pid: COMMAND }]);
    stage.passes(GRACE + TICK, &[]).expect("it goes on");
    assert_eq!(stage.effects(), [Effect::Kill { pid: COMMAND }]);
}

#[test]
fn a_question_about_another_test_is_answered_with_no() {
    let mut stage = announced(&["test_a", "test_b"], 2);
    stage.script.again = [true, true].into();
    stage.hears(0, [ask(0), start(0, "first"), ask(1)]);
    assert_eq!(stage.told(), [(0, ToAgent::Next), (0, ToAgent::Next)]);
    assert_eq!(stage.script.asked, []);
    // An end without a beginning is none.
    stage.hears(0, [passed(1)]);
    assert_eq!(stage.outcomes(), []);
}

#[test]
fn to_wait_twice_is_to_wait_once() {
    let mut stage = announced(&["test_a"], 1);
    stage.hears(0, [word("held"), word("held"), word("held")]);
    assert_eq!(stage.supervisor.waiting, [0]);
}

#[test]
fn memory_does_not_grow_with_what_an_agent_says() {
    let mut stage = announced(&["test_a"], 1);
    let long = "é".repeat(TEXT_LIMIT);
    let collect_error = json!({"t": "collect_error", "id": long, "failure": {"message": "ImportError"}});
    for number in (1_u32..).take(MOST_TEXTS + 10) {
        stage.hears(0, [json!({"t": "notice", "text": long}), collect_error.clone()]);
        stage.hears(0, [start(number, "first"), passed(number)]);
    }
    let run = &stage.supervisor.run;
    assert_eq!((run.notices.len(), run.collect_errors.len()), (MOST_TEXTS, MOST_TEXTS));
    assert_eq!(run.incomplete.len(), MOST_TEXTS);
    assert!(run.notices[0].text.len() <= TEXT_LIMIT && run.collect_errors[0].name.len() <= TEXT_LIMIT);
    // What matters is noted even then.
    stage.hears(0, [json!({"t": "broken", "text": "too little coverage"})]);
    assert!(stage.supervisor.run.broken && stage.end_of(0).broken);
    stage.supervisor.tell_dropped();
    let last: Vec<&str> =
        stage.supervisor.run.notices[MOST_TEXTS..].iter().map(|one| &one.text[..]).collect();
    let expected =
        ["11 further notices of pytest were dropped", "10 further collection errors of pytest were dropped"];
    assert_eq!(last, expected);
}

#[test]
fn results_without_end_are_not_kept_and_make_the_run_incomplete() {
    let mut stage = announced(&["test_a", "test_b"], 2);
    let limit = MOST_RESULTS + 2 * MOST_RESULTS_PER_TEST;
    stage.supervisor.sessions[0].results = limit - 1;
    stage.hears(0, [start(0, "first"), failed(0), start(1, "first"), passed(1)]);
    assert_eq!(stage.outcomes(), [(0, Phase::First, Outcome::Failed)]);
    assert_eq!(
        stage.supervisor.run.incomplete,
        [format!("a pytest process reported more than {limit} results")]
    );
    assert_eq!(stage.lost(0), [1], "a result that is dropped is no result");
}

#[test]
fn the_names_and_facts_of_all_sessions_together_are_limited() {
    let mut stage = Stage::new();
    stage.connects(0, hello("main", COMMAND, 0));
    stage.supervisor.name_bytes = MOST_NAMES - 2 * NAME_OVERHEAD;
    stage.hears(0, [json!({"t": "tests", "ids": ["test_a"]}), json!({"t": "tests", "ids": ["test_b"]})]);
    stage.hears(0, [ready(2)]);
    let names = "the names of all tests are too long";
    let announced = "pytest announced 2 tests and named 1";
    assert_eq!(stage.supervisor.run.incomplete, [names, announced]);
    assert!(stage.supervisor.name_bytes <= MOST_NAMES);

    stage.supervisor.fact_bytes = MOST_FACTS;
    stage.effects();
    stage.hears(0, [json!({"t": "more", "argv": ["x"]})]);
    stage.connects(1, hello("main", 300, 0));
    assert_eq!(stage.effects(), [Effect::Close { connection: 1 }]);
    assert_eq!((stage.supervisor.sessions.len(), stage.supervisor.sessions[0].hello.argv.len()), (1, 0));
    assert!(stage.supervisor.run.incomplete.iter().any(|text| text.starts_with("the command lines")));
}

#[test]
fn a_refused_connection_makes_the_run_incomplete() {
    let mut stage = announced(&["test_a"], 1);
    stage.happens(Event::Refused).expect("it goes on");
    assert_eq!(stage.supervisor.run.incomplete, ["more than 1000 processes connected at once"]);
}

#[test]
fn internal_errors_are_counted_and_the_first_are_named() {
    let mut stage = announced(&["test_a"], 1);
    assert_eq!(stage.supervisor.internal_errors(), None);
    let error = |site: &str, text: &str| json!({"t": "internal_error", "site": site, "error": text});
    stage.hears(0, [error("heap.py:7", "KeyError: 'a'\nmore")]);
    let one = "the pytest agent hit 1 internal error: KeyError: 'a' at heap.py:7; please report this";
    assert_eq!(stage.supervisor.internal_errors().as_deref(), Some(one));
    let long = "é".repeat(5000);
    for number in 0..2 * MOST_SITES {
        stage.hears(0, [error(&format!("reads.py:{number}"), &long), error("heap.py:7", "again")]);
    }
    let text = stage.supervisor.internal_errors().expect("there were some");
    assert!(
        text.starts_with("the pytest agent hit 4001 internal errors: KeyError: 'a' at heap.py:7; é"),
        "{text}"
    );
    assert!(
        text.ends_with("; and at 997 other locations; please report this") && text.len() < 1000,
        "{text}"
    );
    assert_eq!(stage.supervisor.run.incomplete, [""; 0], "results are not affected");
}

#[test]
fn an_announced_number_sets_no_memory_aside() {
    let stage = announced(&["test_a"], u32::MAX);
    assert_eq!(stage.supervisor.sessions[0].names.len(), MOST_UNNAMED + 1);
    assert_eq!(stage.supervisor.sessions[0].done.len(), MOST_UNNAMED + 1);
    assert_eq!(stage.supervisor.run.incomplete, ["pytest announced 4294967295 tests and named 1"]);
}

#[test]
fn an_endless_command_line_is_not_kept() {
    let mut stage = Stage::new();
    stage.connects(0, hello("main", COMMAND, 0));
    let word = "x".repeat(1 << 20);
    for _ in 0..20 {
        stage.hears(0, [json!({"t": "more", "argv": [word], "named": [word], "env": {"A": word}})]);
    }
    assert!(stage.supervisor.sessions[0].hello.argv.len() <= MOST_WORDS >> 20);
    assert_eq!(stage.supervisor.run.incomplete, ["the command line of a pytest process is too long"]);
}

#[test]
fn who_is_not_expected_is_not_heard() {
    let mut stage = announced(&["test_a"], 1);
    // Two for jobs that nobody requested, a zygote of no session, and one that
    // resumes a connection that never was.
    stage.connects(5, hello("child", 300, 7));
    stage.connects(6, hello("fresh", 301, 8));
    stage.connects(7, hello("zygote", 302, 9));
    stage.connects(8, resumed("child", 303));
    assert_eq!(stage.effects(), [5, 6, 7, 8].map(|connection| Effect::Close { connection }));
    for connection in [5, 6, 7, 8, 99] {
        stage.hears(connection, [start(0, "first"), passed(0), suite_end(), word("bye")]);
        stage.happens(Event::Unreadable { connection, reason: String::new() }).expect("it goes on");
        stage.closes(connection);
    }
    assert_eq!((stage.outcomes(), stage.effects()), (vec![], vec![]));
    assert_eq!(stage.supervisor.run.incomplete, [""; 0]);
}

#[test]
fn only_so_many_processes_may_speak() {
    let mut stage = Stage::new();
    let main: Hello = serde_json::from_value(hello("main", 5, 0)).expect("a hello");
    for connection in (0_u32..).take(MOST_PEERS) {
        let event = Event::Connected { connection, hello: Box::new(main.clone()) };
        stage.supervisor.handle(event, stage.now, &mut stage.script).expect("it goes on");
    }
    stage.told();
    stage.connects(20_000, hello("main", 5, 0));
    assert_eq!(stage.effects(), [Effect::Close { connection: 20_000 }]);
    assert_eq!(stage.supervisor.run.incomplete, ["more than 10000 processes of pytest connected"]);
}

mod connections {
    use super::*;

    #[test]
    fn what_is_said_on_a_resumed_connection_comes_after_what_was_said_before() {
        let mut stage = announced(&["test_a", "test_b"], 2);
        stage.hears(0, [start(0, "first")]);
        stage.connects(1, resumed("main", COMMAND));
        stage.hears(1, [start(1, "first"), ask(1)]);
        assert_eq!(stage.told(), [], "it is not its turn");
        stage.hears(0, [passed(0)]);
        assert_eq!(stage.outcomes(), [(0, Phase::First, Outcome::Passed)]);
        stage.closes(0);
        let answer = Effect::Tell { connection: 1, message: ToAgent::Next };
        assert_eq!(stage.effects(), [Effect::Close { connection: 0 }, answer]);
        stage.hears(1, [failed(1)]);
        assert_eq!(stage.outcomes()[1..], [(1, Phase::First, Outcome::Failed)]);
        // The number of the old one means nothing any more.
        stage.hears(0, [start(0, "first"), failed(0)]);
        stage.closes(0);
        assert_eq!(stage.outcomes().len(), 2);
        stage.hears(1, [suite_end(), finished(1), word("bye")]);
        stage.closes(1);
        stage.ends(COMMAND, 1 << 8);
        assert!(stage.supervisor.all_settled(Role::Main) && !stage.end_of(0).died);
    }

    #[test]
    fn an_old_connection_that_somebody_holds_open_is_left_after_a_while() {
        let mut stage = announced(&["test_a"], 1);
        stage.hears(0, [start(0, "first")]);
        stage.connects(1, resumed("main", COMMAND));
        stage.hears(1, [passed(0), suite_end()]);
        stage.passes(LAST_WORDS, &[]).expect("it goes on");
        assert_eq!(stage.outcomes(), []);
        stage.passes(TICK, &[]).expect("it goes on");
        assert_eq!(stage.outcomes(), [(0, Phase::First, Outcome::Passed)]);
        let finish = Effect::Tell { connection: 1, message: ToAgent::Finish { forgive: false } };
        assert_eq!(stage.effects(), [Effect::Close { connection: 0 }, finish]);
    }

    #[test]
    fn each_of_several_connections_has_its_turn() {
        let mut stage = announced(&["test_a", "test_b", "test_c"], 3);
        stage.hears(0, [start(0, "first")]);
        stage.connects(1, resumed("main", COMMAND));
        stage.connects(2, resumed("main", COMMAND));
        stage.hears(2, [start(2, "first"), passed(2)]);
        stage.closes(2);
        stage.hears(1, [start(1, "first"), passed(1)]);
        stage.hears(0, [passed(0)]);
        stage.closes(1);
        stage.closes(0);
        let order: Vec<u32> = stage.outcomes().iter().map(|(number, ..)| *number).collect();
        assert_eq!(order, [0, 1, 2]);
        // The last one is closed too: only the end of the process is open.
        stage.ends(COMMAND, 0);
        assert!(stage.supervisor.all_settled(Role::Main));
    }

    #[test]
    fn a_process_that_ends_on_a_resumed_connection_is_looked_after() {
        let mut stage = Stage::new();
        stage.connects(0, hello("main", 201, 0));
        stage.collects(0, 1);
        stage.connects(1, resumed("main", 201));
        stage.hears(1, [start(0, "first")]);
        // Something that the test left running holds the first one open.
        stage.closes(1);
        assert_eq!(stage.supervisor.unwaited(), [0; 0]);
        stage.passes(LAST_WORDS + TICK, &[]).expect("it goes on");
        assert_eq!(stage.supervisor.unwaited(), [201]);
        stage.passes(TICK, &[201]).expect("it goes on");
        assert_eq!(stage.outcomes(), [(0, Phase::First, Outcome::Crashed)]);
    }

    #[test]
    fn messages_do_not_pile_up_behind_an_old_connection() {
        let mut stage = announced(&["test_a"], 1);
        stage.connects(1, resumed("main", COMMAND));
        for _ in 0..=MOST_HELD {
            stage.hears(1, [start(0, "first")]);
        }
        assert!(stage.supervisor.peers.iter().all(|(_, peer)| peer.next.is_empty()));
        // Nor behind several of them.
        for connection in 2..100 {
            stage.connects(connection, resumed("main", COMMAND));
            for _ in 0..10 {
                stage.hears(connection, [start(0, "first")]);
            }
            let next = stage.supervisor.peers.iter().map(|(_, peer)| &peer.next).next().expect("main");
            let held: usize = next.iter().map(|next| next.held.len()).sum();
            assert!(next.len() <= MOST_NEXT && held <= MOST_HELD, "{} with {held}", next.len());
        }
    }
}
