use std::time::Duration;

use flakewise_model::{
    Culprit, CulpritAnswer, CulpritReport, NamedTest, PlainCommand, Probability, SharedState, StateChange,
    StateKind, Tally, TestId,
};
use flakewise_report::{culprit_json, culprit_text};

use crate::sample;

fn named(file: &str, name: &str) -> NamedTest {
    let full = format!("{file}::{name}");
    NamedTest { test: TestId::builder("pytest", file).finish(name, None), name: full.clone(), argument: full }
}

fn shared(kind: StateKind, key: &str, name: &str, before: &str, after: &str) -> SharedState {
    SharedState {
        change: StateChange {
            key: key.to_owned(),
            kind,
            name: name.to_owned(),
            before: before.to_owned(),
            after: after.to_owned(),
            can_undo: true,
        },
        left_by: named("tests/test_login.py", "test_login"),
        is_read: true,
        read_at: Some(("shop/cart.py".to_owned(), 12)),
        is_proved: true,
    }
}

fn zone() -> SharedState {
    shared(StateKind::Variable, "env:TZ", "os.environ['TZ']", "unset", "'Asia/Tokyo'")
}

fn report(fails_alone: bool, shared: Vec<SharedState>) -> CulpritReport {
    let (alone, after) = (Tally { passed: 10, failed: 0 }, Tally { passed: 0, failed: 10 });
    let (alone, after) = if fails_alone { (after, alone) } else { (alone, after) };
    let tests = vec![named("tests/test_login.py", "test_login")];
    let culprits =
        vec![Culprit { tests, forks: after, fresh: after, confidence: Probability::clamped(0.999), shared }];
    let usual = sample::green();
    CulpritReport {
        run: usual.run,
        command: vec!["pytest".to_owned()],
        plain: PlainCommand::new(vec!["pytest".to_owned()]),
        seed: 7,
        test: named("tests/test_cart.py", "test_total"),
        alone,
        answer: if fails_alone { CulpritAnswer::Brittle(culprits) } else { CulpritAnswer::Victim(culprits) },
        cleaners: Vec::new(),
        exhaustive: true,
        forks: 42,
        known: 0,
        pairs: None,
        first_proof: None,
        spent: None,
        duration: Duration::from_secs(2),
        notices: Vec::new(),
    }
}

fn plain(report: &CulpritReport) -> String {
    anstream::adapter::strip_str(&culprit_text(report)).to_string()
}

/// One of each kind, as the agent tells of it.
fn every_kind() -> Vec<SharedState> {
    use StateKind as Kind;
    let mut all = vec![
        zone(),
        shared(Kind::Variable, "env:HOME", "os.environ['HOME']", "'/root'", "unset"),
        shared(Kind::Global, "global:shop.cart:CART", "shop.cart.CART", "[]", "['pen']"),
        shared(Kind::Global, "global:shop.cart:STOCK", "shop.cart.STOCK", "{'a': 1}", "{}"),
        shared(Kind::Class, "class:shop.cart.Cart:limit", "shop.cart.Cart.limit", "10", "3"),
        shared(
            Kind::Patch,
            "patch:time:time",
            "time.time",
            "built-in function time",
            "a unittest.mock.MagicMock",
        ),
        shared(Kind::Cache, "cache:shop.cart:rate", "shop.cart.rate", "0 kept", "1 kept"),
        shared(Kind::Folder, "cwd", "the working directory", "'/project'", "'/tmp'"),
        shared(Kind::Module, "module:shop.extra", "sys.modules['shop.extra']", "not imported", "imported"),
        shared(Kind::Module, "module:shop.cart", "sys.modules['shop.cart']", "imported", "removed"),
        shared(Kind::Path, "path", "sys.path", "without it", "with '/project/extra'"),
        shared(Kind::Locale, "locale", "the locale", "LC_NUMERIC=C", "LC_NUMERIC=de_DE.UTF-8"),
        shared(Kind::Zone, "timezone", "the time zone", "UTC", "JST (TZ=Asia/Tokyo)"),
        shared(
            Kind::Signal,
            "signal:SIGUSR1",
            "the handler of SIGUSR1",
            "SIG_DFL",
            "function shop.cart.stop",
        ),
        shared(Kind::Timer, "timer", "an alarm", "not set", "set"),
        shared(Kind::Mask, "umask", "the umask", "0o022", "0o077"),
        shared(Kind::Open, "open:shop/prices.csv", "shop/prices.csv", "not open", "open"),
        shared(Kind::Thread, "thread:worker", "the thread 'worker'", "not running", "running"),
        shared(Kind::File, "file:orders.txt", "orders.txt", "not there", "made"),
        shared(Kind::File, "file:prices.csv", "prices.csv", "8 bytes", "9 bytes, changed"),
        shared(Kind::Logging, "logging:shop.level", "the level of the logger 'shop'", "the default", "DEBUG"),
        shared(Kind::Logging, "logging:disable", "logging.disable", "nothing", "CRITICAL"),
        shared(
            Kind::Warnings,
            "warnings",
            "the warning filters",
            "none",
            "1, the first of which says 'ignore'",
        ),
        shared(Kind::Random, "random", "the generator of random", "as it was before", "seeded"),
        shared(Kind::Random, "random", "the generator of random", "as it was before", "numbers were drawn"),
        shared(Kind::Decimal, "decimal", "the decimal context", "prec=28", "prec=5"),
        shared(Kind::Context, "context:user", "the context variable 'user'", "unset", "'ann'"),
        shared(
            Kind::Loop,
            "loop",
            "the current event loop of asyncio",
            "created on first use",
            "none, on purpose",
        ),
        shared(Kind::Interpreter, "interpreter:recursion limit", "the recursion limit", "1000", "5000"),
    ];
    all[1].read_at = None;
    (all[2].is_read, all[2].read_at) = (false, None);
    all
}

#[test]
fn every_kind_of_shared_state_has_words_and_a_remedy() {
    let mut lines = Vec::new();
    for state in every_kind() {
        let text = plain(&report(false, vec![state]));
        let told = text
            .lines()
            .map(str::trim)
            .filter(|line| line.starts_with("why:") || line.starts_with("remedy:"));
        lines.extend(told.map(str::to_owned));
    }
    insta::assert_snapshot!(lines.join("\n"));
}

#[test]
fn several_things_are_told_in_order_and_not_too_many() {
    let text = plain(&report(false, every_kind()));
    assert_eq!((text.matches("why:").count(), text.matches("remedy:").count()), (5, 5), "{text}");
    assert!(text.contains("proof: once these are undone, it passes"), "{text}");
}

#[test]
fn a_brittle_test_is_told_to_do_it_itself() {
    insta::assert_snapshot!(plain(&report(true, vec![zone()])));
}

#[test]
fn where_nothing_differs_it_is_said_what_was_tried() {
    let text = |orders| {
        let answer = CulpritAnswer::NoDifference { orders };
        plain(&CulpritReport { answer, ..report(false, vec![]) })
    };
    assert!(text(1).contains("alone, and had the same outcome in 1 order of all tests\n"), "{}", text(1));
    assert!(text(64).contains("alone, and had the same outcome in 64 orders of all tests\n"), "{}", text(64));
    assert!(text(0).contains("alone, and there is no other test\n"), "{}", text(0));
}

#[test]
fn a_search_that_ran_out_of_time_says_so_and_how_to_continue() {
    let spent = Some(Duration::from_mins(1));
    let text = |orders| {
        let answer = CulpritAnswer::Undecided { orders };
        plain(&CulpritReport { answer, spent, ..report(false, vec![]) })
    };
    insta::assert_snapshot!(text(12), @"
    UNDECIDED  tests/test_cart.py::test_total
           passed all 10 times it ran alone, and had the same outcome in 12 orders of all tests

    42 forks in 2.0s
    stopped: budget of 1m 00s exhausted; run the same command to continue, or pass a longer `--budget`
    ");
    assert!(text(0).contains("passed all 10 times it ran alone\n"), "{}", text(0));
    let found = plain(&CulpritReport { spent, ..report(false, vec![]) });
    assert!(found.contains("why: budget exhausted before the shared state was found"), "{found}");
    let document: serde_json::Value =
        serde_json::from_str(&culprit_json(&CulpritReport { spent, ..report(false, vec![]) })).expect("JSON");
    assert_eq!(document["budget_exhausted"], true);
}

#[test]
fn what_is_not_proved_is_called_likely_and_what_is_not_seen_is_said() {
    let mut likely =
        shared(StateKind::Thread, "thread:worker", "the thread 'worker'", "not running", "running");
    likely.is_proved = false;
    let text = plain(&report(false, vec![likely]));
    assert!(text.contains("proof: likely, not proved"), "{text}");
    assert!(plain(&report(false, Vec::new())).contains("why: the shared state could not be determined"));
}

#[test]
fn machines_get_what_is_shared() {
    let document: serde_json::Value =
        serde_json::from_str(&culprit_json(&report(false, vec![zone()]))).expect("JSON");
    insta::assert_snapshot!(format!("{:#}", document["culprits"][0]["shared"]));
}

#[test]
fn what_a_test_leaves_cannot_move_the_cursor() {
    let mut state = zone();
    state.change.name = "os.environ['\u{1b}[2J\n::error::']".to_owned();
    state.change.key = "env:\u{1b}[2J".to_owned();
    state.change.after = "x".repeat(10_000);
    state.read_at = Some(("\u{202e}shop.py".to_owned(), 1));
    let text = plain(&report(false, vec![state]));
    assert!(!text.contains(|character: char| character.is_control() && character != '\n'), "{text}");
    assert!(!text.contains('\u{202e}') && text.len() < 2000, "{text}");
}
