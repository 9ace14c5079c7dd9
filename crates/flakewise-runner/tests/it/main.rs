//! A suite with the real pytest: `FLAKEWISE_TEST_PYTHON` names its interpreter.
//!
//! One test only: a suite ends every process below this one when it is dropped.

use std::path::Path;
use std::time::Duration;

use flakewise_model::Outcome;
use flakewise_runner::{
    Execution, Forks, Measured, NothingAgain, RunnerCommand, Suite, SuiteOptions, TestKey,
};

const SHOP: &str = "def total(prices):
    result = 0
    for price in prices:
        result += price
    return result

def unused():
    return None
";

const TESTS: &str = "import os, subprocess, threading
import shop

def test_nothing():
    pass

def test_total():
    assert shop.total([1, 2]) == 3

def test_writes():
    with open(os.devnull, 'wb', buffering=0) as file:
        for _ in range(100):
            file.write(b'x')

def test_threads():
    gate = threading.Barrier(4)
    threads = [threading.Thread(target=gate.wait) for _ in range(3)]
    for thread in threads:
        thread.start()
    gate.wait()
    for thread in threads:
        thread.join()

def test_process():
    process = subprocess.Popen(['cat'], stdin=subprocess.PIPE)
    process.communicate()

def test_fails():
    assert shop.unused()

def test_leaves_a_file():
    open('left', 'w').close()

def test_dies():
    if os.path.exists('now'):
        os._exit(3)
";

#[test]
fn a_test_is_measured_in_a_fork_and_forks_of_a_search_know_who_leaves_files() {
    let folder = tempfile::tempdir().expect("a folder");
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).expect("written");
    write("shop.py", SHOP);
    write("test_shop.py", TESTS);
    write("pytest.ini", "[pytest]\n");
    let python = std::env::var("FLAKEWISE_TEST_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let folder_name = folder.path().to_str().expect("a plain name");
    let script = format!("cd {folder_name} && exec {python} -m pytest -q -p no:cacheprovider");
    let words = ["sh".into(), "-c".into(), script.into()];
    let command = RunnerCommand::new(&words).expect("a command that is not interactive");
    let options = SuiteOptions {
        test_timeout: Duration::from_mins(1),
        hash_seed: 1,
        output_to_stderr: true,
        collect_only: false,
    };
    let mut suite = Suite::start(&command, options).expect("it starts");
    suite.run(&mut NothingAgain).expect("it runs");
    write("now", "");

    let nothing = measured(&mut suite, "test_nothing").expect("measured");
    assert_eq!(nothing.outcome, Outcome::Passed);
    assert_eq!((nothing.threads, nothing.children), (Some(1), Some(0)));
    assert!(nothing.run_time > Some(Duration::ZERO) && nothing.memory > Some(1 << 20), "{nothing:?}");

    let total = measured(&mut suite, "test_total").expect("measured");
    let files = total.files.as_ref().expect("lines were seen");
    let lines_of = |name: &str| {
        let found = files.iter().find(|(path, _)| path.ends_with(Path::new(name)));
        found.map(|(_, file)| (file.is_test, file.lines.clone()))
    };
    assert_eq!(lines_of("shop.py"), Some((false, vec![(2, 5)])));
    assert_eq!(lines_of("test_shop.py"), Some((true, vec![(8, 8)])));
    assert_eq!((total.covered_lines(), total.source_covered_lines()), (Some(5), Some(4)));

    let writes = measured(&mut suite, "test_writes").expect("measured");
    assert_eq!(writes.writes, nothing.writes.map(|count| count + 100));
    assert_eq!(measured(&mut suite, "test_threads").expect("measured").threads, Some(4));
    assert_eq!(measured(&mut suite, "test_process").expect("measured").children, Some(1));
    assert_eq!(measured(&mut suite, "test_fails").expect("measured").outcome, Outcome::Failed);
    assert_eq!(
        measured(&mut suite, "test_dies").expect_err("it died"),
        "the test crashed without reporting measurements"
    );
    // What went wrong with one does not keep the next from being measured.
    assert_eq!(measured(&mut suite, "test_nothing").expect("measured").writes, nothing.writes);

    let features = nothing.features();
    assert_eq!(features.max_threads, Some(1.0));
    assert_eq!(features.covered_changes, None);
    let accounts = std::fs::read_to_string("/proc/sys/kernel/task_delayacct").unwrap_or_default();
    assert_eq!(features.wait_time.is_some(), accounts.trim() == "1");

    for_a_search(&mut suite, folder.path());
}

/// Forks of a search put files back, know who left some, and tell outcomes alone.
fn for_a_search(suite: &mut Suite, folder: &Path) {
    std::fs::remove_file(folder.join("left")).expect("the suite itself left it");
    suite.search();
    let fails = named(suite, "test_fails");
    assert_eq!(suite.fork(fails).expect("the runner works").expect("it ran").outcome, Outcome::Failed);

    let [nothing, leaves, total] =
        ["test_nothing", "test_leaves_a_file", "test_total"].map(|name| named(suite, name));
    let before = suite.forks();
    let mut one_by_one = OneByOne(vec![vec![nothing, leaves, total]]);
    suite.fork_many(1, &mut one_by_one).expect("the runner works");
    // Any of them may have been it.
    assert_eq!([nothing, leaves, total].map(|test| suite.leaves_files(test)), [true; 3]);
    assert!(!folder.join("left").exists());
    let mut one_by_one = OneByOne(vec![vec![nothing, total], vec![leaves]]);
    suite.fork_many(1, &mut one_by_one).expect("the runner works");
    assert_eq!([nothing, leaves, total].map(|test| suite.leaves_files(test)), [false, true, false]);
    assert_eq!(suite.forks() - before, 3);
}

/// Lists of tests for forks, the last one first.
struct OneByOne(Vec<Vec<TestKey>>);

impl Forks for OneByOne {
    fn next(&mut self) -> Option<Vec<TestKey>> {
        self.0.pop()
    }

    fn ended(&mut self, _: &[TestKey], result: Result<Execution, String>) {
        assert_eq!(result.expect("it ran").outcome, Outcome::Passed);
    }
}

fn named(suite: &Suite, name: &str) -> TestKey {
    let is_it = |test: &TestKey| suite.name(*test).ends_with(&format!("::{name}"));
    suite.tests().into_iter().find(is_it).expect("it was collected")
}

fn measured(suite: &mut Suite, name: &str) -> Result<Measured, String> {
    let test = named(suite, name);
    suite.measure(test).expect("the runner works")
}
