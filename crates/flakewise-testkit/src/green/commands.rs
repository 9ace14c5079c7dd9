//! Commands that start pytest: each exit code is corrected where it arises, and
//! the command's own exit code is kept.

use super::Headline::{Flaky, Regression};
use super::{BROKEN, MIRROR, MIRROR_TEST, Policy, Scenario, TOTAL};

/// A flake in `unit`.
const UNIT: &str = "unit/test_mirror.py::test_mirror";
/// A test of the changed code in `integration`.
const INTEGRATION: &str = "integration/test_shop.py::test_shop";
const INTEGRATION_TEST: &str =
    "from shop.prices import total\n\n\ndef test_shop():\n    assert total([1, 2]) == 3\n";

const STEPS: &str = "test:\n\t$(PY) -m pytest unit\n\t$(PY) -m pytest integration\n";
const TARGETS: &str =
    "test: unit integration\n.PHONY: test unit integration\nunit integration:\n\t$(PY) -m pytest $@\n";
const LINT: &str = "test:\n\t$(PY) -m pytest tests; sh lint.sh\n";

const TOX: &str = "[tox]\nno_package = true\nenv_list = tests\n\n[testenv]\nskip_install = true\n\
    pass_env = *\nallowlist_externals = *\ncommands =\n    \
    {env:PY} -m pytest unit\n    {env:PY} -m pytest integration\n";
const NOX: &str = r#"import os

import nox


@nox.session(venv_backend="none")
@nox.parametrize("folder", ["unit", "integration"])
def tests(session, folder):
    session.run(os.environ["PY"], "-m", "pytest", folder, external=True)
"#;

/// Two suites: a known flake in the first, and tests of the changed code in the
/// second, which pass.
fn two_suites(name: &'static str, about: &'static str) -> Scenario {
    Scenario::new(name, about)
        .file("unit/test_mirror.py", MIRROR_TEST)
        .file("integration/test_shop.py", INTEGRATION_TEST)
        .known()
        .says(UNIT, Flaky)
}

/// The same with a regression in the second suite, which is only reached if
/// nothing stops after the first.
fn two_suites_broken(name: &'static str, about: &'static str) -> Scenario {
    two_suites(name, about).change("shop/prices.py", BROKEN)
}

pub(super) fn scenarios() -> Vec<Scenario> {
    [direct(), make(), shell(), tools()].concat()
}

fn direct() -> Vec<Scenario> {
    vec![
        Scenario::new("program", "the program `pytest` instead of the module")
            .mirror()
            .known()
            .command(&["pytest", "-q", "tests"])
            .exits([1, 0, 0])
            .says(MIRROR, Flaky),
        Scenario::new("by-id", "the flaky test alone, by its id")
            .mirror()
            .known()
            .pytest(&[MIRROR])
            .exits([1, 0, 0])
            .says(MIRROR, Flaky),
        Scenario::new("usage-error", "pytest does not know an option")
            .mirror()
            .pytest(&["--no-such-option"])
            .exits([4, 4, 4]),
        Scenario::new("no-tests", "nothing is selected").mirror().pytest(&["-k", "nothing"]).exits([5, 5, 5]),
        Scenario::new("subfolder", "the command runs in a folder of the repository")
            .file("backend/pytest.ini", "[pytest]\naddopts = -p no:cacheprovider\npythonpath = ..\n")
            .file("backend/tests/test_mirror.py", MIRROR_TEST)
            .folder("backend")
            .known()
            .exits([1, 0, 0])
            .says(MIRROR, Flaky),
        Scenario::new("subfolder-regression", "the same with a regression beside the flake")
            .file("backend/pytest.ini", "[pytest]\naddopts = -p no:cacheprovider\npythonpath = ..\n")
            .file("backend/tests/test_mirror.py", MIRROR_TEST)
            .file("backend/tests/test_shop.py", INTEGRATION_TEST)
            .change("shop/prices.py", BROKEN)
            .folder("backend")
            .known()
            .exits([1, 1, 1])
            .says(MIRROR, Flaky)
            .says("tests/test_shop.py::test_shop", Regression),
    ]
}

fn make() -> Vec<Scenario> {
    vec![
        two_suites_broken("make-second-step-fails", "a flake stops make before a step that fails (C1)")
            .make(STEPS, &["test"])
            .exits([2, 2, 2])
            .says_under(&Policy::TOLERANT, INTEGRATION, Regression),
        two_suites("make-second-step-passes", "the second step runs and passes")
            .make(STEPS, &["test"])
            .exits([2, 0, 0]),
        Scenario::new("make-ignored-then-exit", "`-pytest` is forgiven, the next step is not (U4)")
            .mirror()
            .known()
            .make("test:\n\t-$(PY) -m pytest tests\n\texit 3\n", &["test"])
            .exits([2, 2, 2])
            .says(MIRROR, Flaky),
        Scenario::new("make-ignored", "`-pytest` is forgiven by make itself, whatever fails")
            .change("shop/prices.py", BROKEN)
            .make("test:\n\t-$(PY) -m pytest tests\n", &["test"])
            .exits([0, 0, 0])
            .says(TOTAL, Regression),
        Scenario::new("make-lint-fails", "`pytest; ./lint.sh`, and lint fails (U4)")
            .mirror()
            .file("lint.sh", "echo line too long\nexit 1\n")
            .known()
            .make(LINT, &["test"])
            .exits([2, 2, 2])
            .says(MIRROR, Flaky),
        Scenario::new("make-lint-passes", "`pytest && ./lint.sh`, and lint passes")
            .mirror()
            .file("lint.sh", "exit 0\n")
            .known()
            .make(&LINT.replace("tests;", "tests &&"), &["test"])
            .exits([2, 0, 0])
            .says(MIRROR, Flaky),
        two_suites_broken("make-keep-going-fails", "`make -k` runs both targets, one is broken")
            .make(TARGETS, &["-k", "test"])
            .exits([2, 2, 2])
            .says(INTEGRATION, Regression),
        two_suites("make-keep-going-passes", "`make -k` runs both targets, one has a known flake")
            .make(TARGETS, &["-k", "test"])
            .exits([2, 0, 0]),
        two_suites_broken("make-parallel-fails", "`make -j2 -k` runs both at a time, one is broken")
            .make(TARGETS, &["-j2", "-k", "test"])
            .exits([2, 2, 2])
            .says(INTEGRATION, Regression),
        two_suites("make-parallel-passes", "`make -j2` runs both at a time, one has a known flake")
            .make(TARGETS, &["-j2", "test"])
            .exits([2, 0, 0]),
    ]
}

fn shell() -> Vec<Scenario> {
    let both = "\"$PY\" -m pytest unit; \"$PY\" -m pytest integration";
    vec![
        two_suites_broken("sh-second-fails", "`pytest unit; pytest integration`, the second is broken")
            .shell(both)
            .exits([1, 1, 1])
            .says(INTEGRATION, Regression),
        Scenario::new("sh-first-fails", "`pytest a; pytest b` ends as the second does, by its own design")
            .file("unit/test_shop.py", INTEGRATION_TEST)
            .file("integration/test_fine.py", "def test_fine():\n    assert True\n")
            .change("shop/prices.py", BROKEN)
            .shell(both)
            .exits([0, 0, 0])
            .says("unit/test_shop.py::test_shop", Regression),
        Scenario::new("sh-second-flakes", "`pytest a; pytest b` with a known flake in the second")
            .file("unit/test_shop.py", INTEGRATION_TEST)
            .file("integration/test_mirror.py", MIRROR_TEST)
            .known()
            .shell(both)
            .exits([1, 0, 0])
            .says("integration/test_mirror.py::test_mirror", Flaky),
        two_suites_broken("sh-and-fails", "`pytest unit && pytest integration`, the second is broken")
            .shell(&both.replace(';', " &&"))
            .exits([1, 1, 1])
            .says_under(&Policy::TOLERANT, INTEGRATION, Regression),
        two_suites("sh-and-passes", "`pytest unit && pytest integration`, the second passes")
            .shell(&both.replace(';', " &&"))
            .exits([1, 0, 0]),
        Scenario::new("sh-or-true", "`pytest || true` forgives a regression, by its own design")
            .change("shop/prices.py", BROKEN)
            .shell("\"$PY\" -m pytest || true")
            .exits([0, 0, 0])
            .says(TOTAL, Regression),
        Scenario::new("sh-or-exit", "`pytest || exit 7` has a code of its own")
            .mirror()
            .known()
            .shell("\"$PY\" -m pytest || exit 7")
            .exits([7, 0, 0])
            .says(MIRROR, Flaky),
        Scenario::new("sh-exit", "the last step fails though all tests pass")
            .shell("\"$PY\" -m pytest; exit 7")
            .exits([7, 7, 7]),
        two_suites("sh-script", "a script as npm would run it: two suites, then a step that passes")
            .file(
                "scripts/test.sh",
                "set -e\n\"$PY\" -m pytest unit\n\"$PY\" -m pytest integration\necho done\n",
            )
            .command(&["sh", "scripts/test.sh"])
            .exits([1, 0, 0]),
        Scenario::new("sh-version-first", "`pytest --version` runs no tests and is no suite that is missing")
            .mirror()
            .known()
            .shell("\"$PY\" -m pytest --version && \"$PY\" -m pytest tests")
            .exits([1, 0, 0])
            .says(MIRROR, Flaky),
        Scenario::new("sh-collect-first", "`pytest --collect-only` runs no tests and loses none")
            .mirror()
            .known()
            .shell("\"$PY\" -m pytest --collect-only -q && \"$PY\" -m pytest tests")
            .exits([1, 0, 0])
            .says(MIRROR, Flaky),
        Scenario::new("sh-reads-report", "the script decides by pytest's report, where the flake failed")
            .mirror()
            .known()
            .shell("\"$PY\" -m pytest --junitxml=report.xml tests; ! grep -q '<failure' report.xml")
            .exits([1, 1, 1])
            .says(MIRROR, Flaky),
        Scenario::new("sh-twice", "`pytest || pytest`: the second run passes, by the command's own design")
            .mirror()
            .shell("\"$PY\" -m pytest || \"$PY\" -m pytest")
            .exits([0, 0, 0])
            .says(MIRROR, Flaky),
    ]
}

fn tools() -> Vec<Scenario> {
    let uv = ["uv", "run", "--no-project", "--offline", "--active", "python", "-m", "pytest"];
    vec![
        two_suites("tox-passes", "tox with two commands, the second passes")
            .file("tox.ini", TOX)
            .command(&["tox", "-q"])
            .tools()
            .exits([1, 0, 0]),
        two_suites_broken("tox-second-command-fails", "a flake stops tox before a command that fails")
            .file("tox.ini", TOX)
            .command(&["tox", "-q"])
            .tools()
            .exits([1, 1, 1])
            .says_under(&Policy::TOLERANT, INTEGRATION, Regression),
        two_suites("nox-passes", "nox with two sessions, one has a known flake")
            .file("noxfile.py", NOX)
            .command(&["nox"])
            .tools()
            .exits([1, 0, 0]),
        two_suites_broken("nox-second-session-fails", "nox with two sessions, one of which is broken")
            .file("noxfile.py", NOX)
            .command(&["nox"])
            .tools()
            .exits([1, 1, 1])
            .says(INTEGRATION, Regression),
        Scenario::new("uv-passes", "uv run, with a known flake")
            .mirror()
            .known()
            .command(&uv)
            .tools()
            .exits([1, 0, 0])
            .says(MIRROR, Flaky),
        Scenario::new("uv-fails", "uv run, with a regression beside a known flake")
            .mirror()
            .change("shop/prices.py", BROKEN)
            .known()
            .command(&uv)
            .tools()
            .exits([1, 1, 1])
            .says(MIRROR, Flaky)
            .says(TOTAL, Regression),
    ]
}
