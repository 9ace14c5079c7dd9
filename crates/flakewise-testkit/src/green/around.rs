//! What happens around tests: plug-ins, thresholds, crashes, hangs, tests that
//! give no result, and more tests than a message holds.

use super::Headline::{Flaky, NewFlake, Regression, Undecided};
use super::{BROKEN, MIRROR, MIRROR_FILE, Policy, Scenario, TOTAL};

/// A test that ends its process at the first attempt of every run.
const CRASH_TEST: &str = r#"import os

from scripted import steady


def test_crash():
    if not steady("crash"):
        os.abort()
"#;
const CRASH_FILE: &str = "tests/test_crash.py";
const CRASH: &str = "tests/test_crash.py::test_crash";

const DIED: &str = "a pytest that died cannot correct its exit code, and what the command around it would have \
    made of another one is unknown";

/// A test that hangs at the first attempt of every run.
const HANG_TEST: &str = r#"import signal

from scripted import steady


def test_hang():
    if not steady("hang"):
        while True:
            signal.pause()
"#;
const HANG_FILE: &str = "tests/test_hang.py";
const HANG: &str = "tests/test_hang.py::test_hang";

/// A plug-in that finds unused snapshots when the session finishes.
const SNAPSHOTS: &str = "import pytest


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session):
    session.exitstatus = 1
";

const CANNOT_BE_IMPORTED: &str = "import nowhere\n";

pub(super) fn scenarios() -> Vec<Scenario> {
    [plugins(), deaths(), incomplete(), outcomes(), sizes()].concat()
}

fn plugins() -> Vec<Scenario> {
    let cover = |missing: &str| {
        format!(
            "from shop.prices import total\n\n\ndef test_total():\n    assert total([1, 2]) == 3\n{missing}"
        )
    };
    vec![
        Scenario::new("coverage-below", "a known flake, and too little is covered")
            .mirror()
            .file("shop/unused.py", "def unused():\n    return 1\n")
            .known()
            .pytest(&["--cov=shop", "--cov-fail-under=90", "tests"])
            .tools()
            .exits([1, 1, 1])
            .says(MIRROR, Flaky),
        Scenario::new("coverage-reached", "a known flake, and enough is covered")
            .mirror()
            .known()
            .pytest(&["--cov=shop", "--cov-fail-under=90", "tests"])
            .tools()
            .exits([1, 0, 0])
            .says(MIRROR, Flaky),
        Scenario::new("coverage-of-everything", "`--cov` without a source does not measure the agent (H3)")
            .file("tests/test_prices.py", cover(""))
            .pytest(&["--cov", "--cov-fail-under=100", "tests"])
            .tools(),
        Scenario::new("snapshot-plugin", "a plug-in sets the exit status as the session finishes (H2)")
            .mirror()
            .file("conftest.py", SNAPSHOTS)
            .known()
            .exits([1, 1, 1])
            .says(MIRROR, Flaky),
        Scenario::new("snapshot-plugin-alone", "the same, and no test fails")
            .file("conftest.py", SNAPSHOTS)
            .exits([1, 1, 1]),
        Scenario::new("snapshot-plugin-wrapped", "the same below a shell")
            .mirror()
            .file("conftest.py", SNAPSHOTS)
            .known()
            .shell("\"$PY\" -m pytest tests; exit $?")
            .exits([1, 1, 1])
            .says(MIRROR, Flaky),
        Scenario::new("sessionfinish-raises", "a plug-in fails as the session finishes")
            .mirror()
            .file(
                "conftest.py",
                "def pytest_sessionfinish():\n    raise RuntimeError(\"the report could not be sent\")\n",
            )
            .known()
            .exits([1, 1, 1])
            .says(MIRROR, Flaky),
        Scenario::new("session-teardown-fails", "a fixture of the session cannot be torn down")
            .mirror()
            .file(
                "conftest.py",
                "import pytest\n\n\n@pytest.fixture(scope=\"session\", autouse=True)\ndef database():\n    \
                 yield\n    raise RuntimeError(\"still in use\")\n",
            )
            .known()
            .exits([1, 1, 1])
            .open(),
        Scenario::new("internal-error", "a plug-in breaks pytest in the midst of the suite")
            .mirror()
            .file(
                "conftest.py",
                "def pytest_runtest_logreport(report):\n    \
                 assert \"test_total\" not in report.nodeid, \"a bug of the plug-in\"\n",
            )
            .known()
            .exits([3, 3, 3])
            .open(),
        Scenario::new("plugin-hides-a-failure", "a plug-in forgives a regression, by its own design")
            .file(
                "conftest.py",
                "import pytest\n\n\n@pytest.hookimpl(wrapper=True)\ndef pytest_runtest_makereport():\n    \
                 report = yield\n    if report.failed:\n        report.outcome = \"skipped\"\n        \
                 report.wasxfail = \"forgiven\"\n    return report\n",
            )
            .change("shop/prices.py", BROKEN),
    ]
}

fn deaths() -> Vec<Scenario> {
    let wrapped = "\"$PY\" -m pytest tests; exit $?";
    let exits = CRASH_TEST.replace("os.abort()", "os._exit(0)");
    vec![
        Scenario::new("crash-known", "a crash that was seen at the base; pytest was started directly")
            .file(CRASH_FILE, CRASH_TEST)
            .known()
            .exits([1, 0, 0])
            .says(CRASH, Flaky),
        Scenario::new("crash-unknown", "a crash that was never seen before")
            .file(CRASH_FILE, CRASH_TEST)
            .exits([1, 1, 1])
            .says(CRASH, Flaky),
        Scenario::new("crash-always", "the change makes a test crash")
            .file(
                "tests/test_prices.py",
                "from shop.prices import total\n\n\ndef test_total():\n    total([])\n",
            )
            .change("shop/prices.py", "import os\n\n\ndef total(prices):\n    os.abort()\n")
            .exits([1, 1, 1])
            .says_any(TOTAL, &[Regression, Undecided]),
        Scenario::new("crash-wrapped", "a known crash below a shell: its code cannot be corrected")
            .file(CRASH_FILE, CRASH_TEST)
            .known()
            .shell(wrapped)
            .exits([134, 0, 0])
            .says(CRASH, Flaky)
            .needlessly_red(DIED),
        Scenario::new("crash-make", "a known crash below make")
            .file(CRASH_FILE, CRASH_TEST)
            .known()
            .make("test:\n\t$(PY) -m pytest tests\n", &["test"])
            .exits([2, 0, 0])
            .says(CRASH, Flaky)
            .needlessly_red(DIED),
        Scenario::new("crash-beside-regression", "a known crash, and a regression in what runs after it")
            .file(CRASH_FILE, CRASH_TEST)
            .change("shop/prices.py", BROKEN)
            .known()
            .exits([1, 1, 1])
            .says(CRASH, Flaky)
            .says(TOTAL, Regression),
        Scenario::new("hang-known", "a hang that was seen at the base")
            .file(HANG_FILE, HANG_TEST)
            .options(&["--test-timeout", "10s"])
            .known()
            .exits([1, 0, 0])
            .says(HANG, Flaky),
        Scenario::new("hang-unknown", "a hang that was never seen before")
            .file(HANG_FILE, HANG_TEST)
            .options(&["--test-timeout", "10s"])
            .exits([1, 1, 1])
            .says(HANG, Flaky),
        Scenario::new("exit-0", "a test ends its process with 0: pytest says nothing of the tests after it")
            .file(CRASH_FILE, exits.clone())
            .exits([1, 1, 1])
            .says(CRASH, Flaky),
        Scenario::new("exit-0-wrapped", "the same below a shell, which says 0")
            .file(CRASH_FILE, exits)
            .shell(wrapped)
            .exits([1, 1, 1])
            .says(CRASH, Flaky),
    ]
}

fn incomplete() -> Vec<Scenario> {
    vec![
        Scenario::new("stop-at-first", "`-x` after a known flake: tests were not run")
            .mirror()
            .known()
            .pytest(&["-x", "tests"])
            .exits([1, 1, 1])
            .says(MIRROR, Flaky),
        Scenario::new(
            "stop-at-first-last",
            "`-x` after a known flake that is the last test: nothing is lost",
        )
        .file("tests/test_zeta.py", super::MIRROR_TEST)
        .known()
        .pytest(&["-x", "tests"])
        .exits([1, 0, 0])
        .says("tests/test_zeta.py::test_mirror", Flaky)
        .needlessly_red("`-x` ends the test loop with an exception, after which pytest keeps its code"),
        Scenario::new("lost-by-pytest-exit", "a test ends the session with `pytest.exit(…, returncode=0)`")
            .file(
                "tests/test_enough.py",
                "import pytest\n\n\ndef test_enough():\n    pytest.exit(\"enough\", returncode=0)\n",
            )
            .exits([1, 1, 1])
            .open(),
        Scenario::new("lost-by-hook", "a plug-in ends the process with 0 before the second test")
            .mirror()
            .file(
                "conftest.py",
                "import os\n\n\ndef pytest_runtest_logfinish(nodeid):\n    if \"mirror\" in nodeid:\n        \
                 os._exit(0)\n",
            )
            .known()
            .exits([1, 1, 1])
            .open(),
        Scenario::new("collection-error", "a file cannot be imported: no test runs")
            .mirror()
            .change("tests/test_broken.py", CANNOT_BE_IMPORTED)
            .known()
            .exits([2, 2, 2]),
        Scenario::new("collection-error-continued", "the other tests run, and a known flake among them")
            .mirror()
            .change("tests/test_broken.py", CANNOT_BE_IMPORTED)
            .known()
            .pytest(&["--continue-on-collection-errors", "tests"])
            .exits([1, 1, 1])
            .says(MIRROR, Flaky),
        Scenario::new("conftest-broken", "conftest.py cannot be imported")
            .mirror()
            .change("conftest.py", CANNOT_BE_IMPORTED)
            .known()
            .exits([4, 4, 4]),
        broken_conftest(
            "conftest-broken-first",
            "the first of two suites never starts, a known flake is in the second",
        )
        .shell("\"$PY\" -m pytest api; \"$PY\" -m pytest tests")
        .mirror()
        .known()
        .exits([1, 1, 1])
        .says(MIRROR, Flaky),
        broken_conftest("conftest-broken-second", "the second of two suites never starts")
            .shell("\"$PY\" -m pytest tests; \"$PY\" -m pytest api")
            .mirror()
            .known()
            .exits([4, 4, 4])
            .says(MIRROR, Flaky),
        broken_conftest(
            "conftest-broken-unseen",
            "the first of two suites never starts, the second is green",
        )
        .shell("\"$PY\" -m pytest api; \"$PY\" -m pytest tests")
        .exits([1, 1, 1]),
    ]
}

/// Two suites, and the change makes that in `api` unable to start.
fn broken_conftest(name: &'static str, about: &'static str) -> Scenario {
    Scenario::new(name, about)
        .file("api/test_api.py", "def test_api():\n    assert True\n")
        .change("api/conftest.py", CANNOT_BE_IMPORTED)
}

fn outcomes() -> Vec<Scenario> {
    const XFAIL: &str = "import pytest\n\nfrom shop.prices import total\n\n\n\
        @pytest.mark.xfail(strict=True)\ndef test_total():\n    assert total([1, 2]) == 2\n";
    const FIXTURE: &str = "import pytest\n\nfrom scripted import steady\n\n\n@pytest.fixture\n\
        def mirror():\n    assert steady(\"mirror\"), \"the mirror did not start\"\n\n\n\
        def test_mirror(mirror):\n    assert mirror is None\n";
    const TEARDOWN: &str = "import pytest\n\nfrom scripted import steady\n\n\n@pytest.fixture\n\
        def mirror():\n    yield\n    assert steady(\"mirror\"), \"the mirror did not stop\"\n\n\n\
        def test_mirror(mirror):\n    assert mirror is None\n";
    vec![
        Scenario::new("xfail-strict", "the change lets a test pass that is expected to fail")
            .file("tests/test_prices.py", XFAIL)
            .change("shop/prices.py", BROKEN)
            .exits([1, 1, 1])
            .says(TOTAL, Regression),
        Scenario::new("fixture-known", "a fixture that fails now and then, as it did at the base")
            .file(MIRROR_FILE, FIXTURE)
            .known()
            .exits([1, 0, 0])
            .says(MIRROR, Flaky),
        Scenario::new("fixture-unrelated", "a fixture that fails now and then, and is untouched")
            .file(MIRROR_FILE, FIXTURE)
            .exits([1, 1, 0])
            .says(MIRROR, Flaky),
        Scenario::new("fixture-teardown-new", "the change makes a fixture's tear-down fail now and then")
            .file(
                MIRROR_FILE,
                TEARDOWN.replace("    assert steady(\"mirror\"), \"the mirror did not stop\"\n", ""),
            )
            .change(MIRROR_FILE, TEARDOWN)
            .exits([1, 1, 1])
            .says(MIRROR, NewFlake),
    ]
}

fn sizes() -> Vec<Scenario> {
    // Ids of 2 to 4 kB: 600 of them are more than a message of the protocol holds.
    let long = |body: &str| {
        format!(
            "import pytest\n\nfrom scripted import steady\nfrom shop.prices import total\n\n\n\
             @pytest.mark.parametrize(\n    \"number\",\n    range(600),\n    \
             ids=lambda number: f\"{{number:04}}-\" + \"x\" * (2000 + number * 7 % 2000),\n)\n\
             def test_long(number):\n    {body}\n"
        )
    };
    // In many files, because pytest compares each id with all tests of its file.
    let many = (0..240).map(|file| {
        let path = format!("tests/test_many_{file}.py");
        let text = format!(
            "import pytest\n\nfrom scripted import steady\n\n\n\
             @pytest.mark.parametrize(\"number\", range(50))\ndef test_many(number):\n    \
             assert {file} != 239 or number != 49 or steady(\"many\")\n"
        );
        (path, text)
    });
    let names: Vec<String> = (0..12_000)
        .map(|number| format!("tests/test_many_{}.py::test_many[{}]", number / 50, number % 50))
        .collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let many_ids = Scenario::new("many-ids", "12,000 ids on the command line, with a flake among them (M5)")
        .pytest(&names)
        .exits([1, 1, 0])
        .says("tests/test_many_239.py::test_many[49]", Flaky)
        .only(Policy::Flaky);
    vec![
        Scenario::new("long-ids-regression", "a regression among tests with very long ids (C2)")
            .file("tests/test_long.py", long("assert number != 550 or total([1]) == 1"))
            .file("tests/test_prices.py", "")
            .change("shop/prices.py", BROKEN)
            .exits([1, 1, 1])
            .says("tests/test_long.py::test_long[0550-*", Regression),
        Scenario::new("long-ids-known", "a known flake among tests with very long ids")
            .file("tests/test_long.py", long("assert number != 550 or steady(\"long\")"))
            .known()
            .exits([1, 0, 0])
            .says("tests/test_long.py::test_long[0550-*", Flaky),
        many.fold(many_ids, |scenario, (path, text)| scenario.file(&path, text)),
    ]
}
