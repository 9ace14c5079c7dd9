//! What tests share, on `zoo/pytest/leaks` with the real pytest:
//! `FLAKEWISE_TEST_PYTHON` names its interpreter.
//!
//! One test only: a suite ends every process below this one when it is dropped.

use std::fs;
use std::time::Duration;

use flakewise_hunt::shared;
use flakewise_model::Outcome;
use flakewise_runner::{Director, RunnerCommand, Suite, SuiteOptions, TestKey};
use flakewise_testkit::zoo::copy_suite;

/// What is planted: the part of the names that a victim and its polluter share, and
/// the keys of what the one leaves and the other reads.
const PLANTED: [(&str, &[&str]); 34] = [
    ("global", &["global:shop.state:currency"]),
    ("list", &["global:shop.state:CART"]),
    ("nested", &["global:shop.state:STOCK"]),
    ("object", &["global:shop.state:TILL"]),
    ("thread_local", &["global:shop.state:WHO"]),
    ("class_attribute", &["class:shop.state.Basket:limit"]),
    ("class_container", &["class:shop.state.Basket:names"]),
    ("method", &["patch:shop.state.Basket:total"]),
    ("cache", &["cache:shop.state:rate"]),
    ("default_argument", &["global:shop.state:remember"]),
    ("counter", &["global:shop.state:ORDER_NUMBERS"]),
    ("env", &["env:SHOP_REGION"]),
    ("cwd", &["cwd"]),
    ("module", &["module:shop.plugin"]),
    ("removed_module", &["module:shop.clock"]),
    ("path", &["path"]),
    ("locale", &["locale"]),
    ("timezone", &["timezone"]),
    ("signal", &["signal:SIGUSR1"]),
    ("umask", &["umask"]),
    ("project_file", &["file:shop/config.txt"]),
    ("new_file", &["file:orders.txt"]),
    ("temporary_file", &["file:TMP/shop-leak"]),
    ("patch", &["patch:time:time"]),
    ("logging_level", &["logging:shop.level"]),
    ("logging_disabled", &["logging:disable"]),
    ("random", &["random"]),
    ("warnings", &["warnings"]),
    ("decimal", &["decimal"]),
    ("recursion", &["interpreter:recursion limit"]),
    ("loop", &["loop"]),
    ("open_file", &["open:shop/config.txt"]),
    ("thread", &["thread:worker"]),
    ("two", &["global:shop.state:currency", "env:SHOP_REGION"]),
];

struct Collect;

impl Director for Collect {
    fn runs(&mut self) -> bool {
        false
    }
}

#[test]
fn every_planted_leak_is_named_and_proved_and_nothing_else() {
    let folder = tempfile::tempdir().expect("a folder");
    copy_suite("leaks", folder.path());
    let python = std::env::var("FLAKEWISE_TEST_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let temporary = folder.path().join("temporary");
    fs::create_dir(&temporary).expect("a folder");
    let script = format!(
        "cd {} && TMPDIR={} TZ=UTC exec {python} -m pytest -q -p no:cacheprovider",
        folder.path().display(),
        temporary.display()
    );
    let words = ["sh".into(), "-c".into(), script.into()];
    let command = RunnerCommand::new(&words).expect("a command that is not interactive");
    let options = SuiteOptions {
        test_timeout: Duration::from_mins(1),
        hash_seed: 1,
        output_to_stderr: true,
        collect_only: false,
    };
    let mut suite = Suite::start(&command, options).expect("it starts");
    suite.run(&mut Collect).expect("it is collected");

    let quiet = [test(&suite, "test_nothing"), test(&suite, "test_does_much_but_leaves_nothing")];
    let run = suite.state(&quiet, quiet[0], &[]).expect("the runner works").expect("it runs");
    assert_eq!((run.execution.outcome, run.changes), (Outcome::Passed, vec![]), "clean tests leave nothing");

    let mut wrong = Vec::new();
    for (name, planted) in PLANTED {
        let victim = test(&suite, &format!("test_reads_{name}"));
        let culprits = match name {
            "two" => {
                vec![test(&suite, "test_leaves_one_of_two"), test(&suite, "test_leaves_the_other_of_two")]
            }
            _ => vec![test(&suite, &format!("test_leaves_{name}"))],
        };
        if name == "loop"
            && suite.versions().is_some_and(|versions| versions.language_version.starts_with("3.14"))
        {
            // No loop is made for who asks for one.
            continue;
        }
        let found = shared(&mut suite, &culprits, victim, false, 1, None).expect("the runner works");
        let keys: Vec<String> =
            found.iter().map(|state| state.change.key.replace("temporary/", "TMP/")).collect();
        let names_all = keys.len() == planted.len()
            && keys.iter().zip(planted).all(|(key, planted)| key.starts_with(planted));
        // A thread cannot be stopped by anybody else.
        let is_proved = found.iter().all(|state| state.is_proved != (name == "thread"));
        let is_placed = found.iter().all(|state| state.read_at.is_some());
        if !names_all || !is_proved || !is_placed {
            wrong.push(format!("{name}: {found:#?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));

    let (setter, brittle) = (test(&suite, "test_opens_a_basket"), test(&suite, "test_needs_a_basket"));
    let found = shared(&mut suite, &[setter], brittle, true, 1, None).expect("the runner works");
    assert_eq!(found.len(), 1, "{found:#?}");
    assert_eq!((found[0].change.key.as_str(), found[0].is_proved), ("class:shop.state.Basket:opened", true));
    assert_eq!(found[0].left_by.name, "tests/test_0_setter.py::test_opens_a_basket");

    // Files are as they were, however many forks wrote to them.
    let text = fs::read_to_string(folder.path().join("shop/config.txt")).expect("it is there");
    assert_eq!((text.as_str(), folder.path().join("orders.txt").exists()), ("price=3\n", false));
    let names =
        fs::read_dir(&temporary).expect("it is there").map(|entry| entry.expect("listed").file_name());
    let left: Vec<_> = names.filter(|name| !name.to_string_lossy().starts_with("pytest-of-")).collect();
    assert!(left.is_empty(), "{left:?}");
}

fn test(suite: &Suite, name: &str) -> TestKey {
    let is_it = |test: &TestKey| suite.name(*test).ends_with(&format!("::{name}"));
    suite.tests().into_iter().find(is_it).unwrap_or_else(|| panic!("no test is called {name}"))
}
