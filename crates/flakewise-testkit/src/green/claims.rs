//! What is claimed of failures that never pass: none of these is green, and the
//! headline must not say more than the evidence.

use super::Headline::{BrokenBefore, Environment, Flaky, Infrastructure, NewFlake, Regression, Undecided};
use super::{BROKEN, HARMLESS, MIRROR, MIRROR_FILE, Past, Scenario, TOTAL};

/// A test that always fails, and depends on nothing that changes.
const ALWAYS: &str = "def test_mirror():\n    assert False, \"the mirror did not answer\"\n";
/// A test that fails in the run that is judged and not before.
const SINCE: &str = r#"from scripted import RUN


def test_mirror():
    assert RUN != "change", "the certificate has expired"
"#;
const PYPROJECT: &str = "[project]\nname = \"shop\"\nversion = \"1.0.0\"\n";

/// Tests that fail alike.
fn five(name: &str, body: &str) -> String {
    (1..=5).map(|number| format!("\n\ndef test_{name}_{number}():\n    {body}\n")).collect()
}

pub(super) fn scenarios() -> Vec<Scenario> {
    [before(), elsewhere(), many(), monorepo()].concat()
}

/// Broken at the base already.
fn before() -> Vec<Scenario> {
    let bumped = PYPROJECT.replace("1.0.0", "1.0.1");
    vec![
        Scenario::new("broken-before", "it failed at the base, as the history knows")
            .file(MIRROR_FILE, ALWAYS)
            .known()
            .exits([1, 1, 1])
            .says(MIRROR, BrokenBefore),
        Scenario::new("broken-before-verified", "it fails at the base, as a run there shows")
            .file(MIRROR_FILE, ALWAYS)
            .options(&["--verify-base"])
            .exits([1, 1, 1])
            .says(MIRROR, BrokenBefore),
        Scenario::new("broken-before-and-changed", "it fails at the base, and executes the change")
            .file("shop/prices.py", BROKEN)
            .change("shop/prices.py", BROKEN.replace("- 1", "- 2"))
            .options(&["--verify-base"])
            .exits([1, 1, 1])
            .says(TOTAL, BrokenBefore),
        Scenario::new("version-bump", "a version in pyproject.toml changed, and a test was broken before (U3)")
            .file(MIRROR_FILE, ALWAYS)
            .file("pyproject.toml", PYPROJECT)
            .change("pyproject.toml", bumped.clone())
            .known()
            .exits([1, 1, 1])
            .says(MIRROR, BrokenBefore),
        Scenario::new("version-bump-without-history", "the same where nothing is known of the base")
            .file(MIRROR_FILE, ALWAYS)
            .file("pyproject.toml", PYPROJECT)
            .change("pyproject.toml", bumped.clone())
            .exits([1, 1, 1])
            .says_any(MIRROR, &[BrokenBefore, Environment, Undecided]),
        Scenario::new("version-bump-flake", "a version in pyproject.toml changed, and a known flake fails")
            .mirror()
            .file("pyproject.toml", PYPROJECT)
            .change("pyproject.toml", bumped)
            .known()
            .exits([1, 0, 0])
            .says(MIRROR, Flaky),
        Scenario::new("base-lacks-artefact", "at the base it fails for want of a generated file (H4)")
            .file("tests/test_prices.py", "import generated\nfrom shop.prices import total\n\n\ndef test_total():\n    assert total([1, 2]) == generated.THREE\n")
            .ignored("generated.py", "THREE = 3\n")
            .change("shop/prices.py", BROKEN)
            .options(&["--verify-base"])
            .exits([1, 1, 1])
            .says(TOTAL, Regression),
    ]
}

/// Broken by something else than the change.
fn elsewhere() -> Vec<Scenario> {
    vec![
        Scenario::new("environment", "fails always, touches nothing that changed, passed at the base (C5)")
            .file(MIRROR_FILE, SINCE)
            .known()
            .exits([1, 1, 1])
            .says(MIRROR, Environment),
        Scenario::new("environment-without-history", "fails always and touches nothing that changed")
            .file(MIRROR_FILE, SINCE)
            .exits([1, 1, 1])
            .says_any(MIRROR, &[Environment, BrokenBefore, Undecided]),
        Scenario::new("environment-beside-known", "a known flake does not hide it")
            .mirror()
            .file("tests/test_certificate.py", SINCE.replace("test_mirror", "test_certificate"))
            .known()
            .exits([1, 1, 1])
            .says(MIRROR, Flaky)
            .says_any("tests/test_certificate.py::test_certificate", &[Environment, Undecided]),
        Scenario::new("java-in-a-process-always", "fails always, starts a process, and Java changed")
            .file(
                MIRROR_FILE,
                SINCE
                    .replace("from scripted", "import subprocess\n\nfrom scripted")
                    .replace("    assert", "    subprocess.run([\"true\"], check=True)\n    assert"),
            )
            .file("src/Mirror.java", "class Mirror {}\n")
            .change("src/Mirror.java", "class Mirror { int port = 80; }\n")
            .exits([1, 1, 1])
            .says(MIRROR, Undecided),
    ]
}

/// Many tests that fail alike.
fn many() -> Vec<Scenario> {
    let migration = "import sqlite3\n\nfrom shop.schema import SCHEMA\n";
    let query = "database = sqlite3.connect(\":memory:\")\n    database.executescript(SCHEMA)\n    \
                 database.execute(\"SELECT price FROM goods\")";
    let refused = format!(
        "from scripted import RUN\n\n\ndef connect():\n    if RUN == \"change\":\n        \
         raise ConnectionRefusedError(\"db:5432\")\n{}",
        five("order", "connect()")
    );
    let migrated = (1..=5).fold(
        Scenario::new("migration", "five tests with OperationalError, because of a changed migration (H5)")
            .file("shop/schema.py", "SCHEMA = \"CREATE TABLE goods (price INTEGER)\"\n")
            .file("tests/test_goods.py", format!("{migration}{}", five("goods", query)))
            .change("shop/schema.py", "SCHEMA = \"CREATE TABLE goods (cost INTEGER)\"\n")
            .exits([1, 1, 1]),
        |scenario, number| scenario.says(&format!("tests/test_goods.py::test_goods_{number}"), Regression),
    );
    let outage = (1..=5).fold(
        Scenario::new(
            "outage",
            "five tests cannot reach their database, which has nothing to do with the change",
        )
        .file("tests/test_orders.py", refused)
        .known()
        .exits([1, 1, 1]),
        |scenario, number| {
            scenario.says(&format!("tests/test_orders.py::test_order_{number}"), Infrastructure)
        },
    );
    let known = (1..=3).fold(
        Scenario::new("three-known", "three tests fail at their first attempt, each as it did at the base")
            .file(
                MIRROR_FILE,
                (1..=3).fold("from scripted import steady\n".to_owned(), |text, number| {
                    format!(
                        "{text}\n\ndef test_mirror_{number}():\n    \
                         assert steady(\"mirror-{number}\"), \"mirror {number} did not answer\"\n"
                    )
                }),
            )
            .known()
            .exits([1, 0, 0]),
        |scenario, number| scenario.says(&format!("tests/test_mirror.py::test_mirror_{number}"), Flaky),
    );
    vec![migrated, outage, known]
}

/// Two services in one repository, whose tests have the same names (U2).
fn monorepo() -> Vec<Scenario> {
    const INI: &str = "[pytest]\naddopts = -p no:cacheprovider\npythonpath = . ..\n";
    const TEST: &str = "from value import value\n\n\ndef test_value():\n    assert value() == 3\n";
    const NAME: &str = "tests/test_value.py::test_value";
    const FLAKY: &str =
        "from scripted import steady\n\n\ndef value():\n    return 3 if steady(\"value\") else 0\n";
    let services = |name, about, one: &str, two: &str| {
        Scenario::new(name, about)
            .file("one/pytest.ini", INI)
            .file("one/value.py", one)
            .file("one/tests/test_value.py", TEST)
            .file("two/pytest.ini", INI)
            .file("two/value.py", two)
            .file("two/tests/test_value.py", TEST)
    };
    let fine = "def value():\n    return 3\n";
    vec![
        services("monorepo-new", "another service has a known flake of the same name", FLAKY, fine)
            .change("two/value.py", FLAKY)
            .folder("two")
            .past_in(Past::Base, "one")
            .known()
            .exits([1, 1, 1])
            .says(NAME, NewFlake),
        services("monorepo-known", "the flake is known of this service", FLAKY, fine)
            .change("shop/prices.py", HARMLESS)
            .folder("one")
            .past_in(Past::Base, "two")
            .known()
            .exits([1, 0, 0])
            .says(NAME, Flaky),
        services(
            "monorepo-broken",
            "another service passes a test of the same name",
            "def value():\n    return 4\n",
            fine,
        )
        .change("shop/prices.py", HARMLESS)
        .folder("one")
        .past_in(Past::Base, "two")
        .past_in(Past::Base, "one")
        .exits([1, 1, 1])
        .says(NAME, BrokenBefore),
    ]
}
