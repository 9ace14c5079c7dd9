//! Which flakes are tolerated: those that are known, those that the change does
//! not touch, and none that are new with it.

use super::Headline::{BrokenBefore, Environment, Flaky, NewFlake, Regression, Undecided};
use super::{BROKEN, Checkout, HARMLESS, MIRROR, MIRROR_FILE, Past, Scenario, TOTAL};

/// `shop/prices.py` so that [`TOTAL`] fails at the first attempt of every run.
const TOTAL_NOW_AND_THEN: &str = r#"from scripted import steady


def total(prices):
    if not steady("total"):
        return 0
    return sum(prices)
"#;

/// A module that answers wrongly at the first attempt, and its test.
const STOCK: &str = r#"from scripted import steady


def in_stock(name):
    if not steady("stock"):
        raise TimeoutError("the warehouse did not answer")
    return name != ""
"#;
const STOCK_TEST: &str =
    "from shop.stock import in_stock\n\n\ndef test_stock():\n    assert in_stock(\"tea\")\n";
const STOCK_NAME: &str = "tests/test_stock.py::test_stock";

/// A test that depends on a global which an earlier test may leave changed.
const CURRENCY: &str = "CURRENCY = \"EUR\"\n";
const CURRENCY_TEST: &str =
    "from shop import settings\n\n\ndef test_victim():\n    assert settings.CURRENCY == \"EUR\"\n";
const VICTIM: &str = "tests/test_victim.py::test_victim";

pub(super) fn scenarios() -> Vec<Scenario> {
    [known(), unrelated(), new()].concat()
}

/// With the project's past.
fn known() -> Vec<Scenario> {
    vec![
        Scenario::new("known", "a flake that failed in the same way at the base")
            .mirror()
            .known()
            .exits([1, 0, 0])
            .says(MIRROR, Flaky),
        Scenario::new("known-earlier", "it failed in the same way at an ancestor of the base")
            .mirror()
            .past(Past::Earlier)
            .calm(Past::Base)
            .exits([1, 0, 0])
            .says(MIRROR, Flaky),
        Scenario::new("known-and-unrelated", "one flake is known, another one is not and is untouched")
            .mirror()
            .file(
                "tests/test_printer.py",
                "from scripted import RUN, steady\n\n\ndef test_printer():\n    \
                 assert RUN != \"change\" or steady(\"printer\"), \"out of paper\"\n",
            )
            .known()
            .exits([1, 1, 0])
            .says(MIRROR, Flaky)
            .says("tests/test_printer.py::test_printer", Flaky),
        Scenario::new("known-beside-regression", "a known flake does not hide a regression")
            .mirror()
            .change("shop/prices.py", BROKEN)
            .known()
            .exits([1, 1, 1])
            .says(MIRROR, Flaky)
            .says(TOTAL, Regression),
        Scenario::new("known-executes-change", "it executes changed lines and fails as it did before them")
            .file("shop/stock.py", STOCK)
            .file("tests/test_stock.py", STOCK_TEST)
            .change("shop/stock.py", STOCK.replace("return name != \"\"", "return len(name) > 0"))
            .known()
            .exits([1, 0, 0])
            .says(STOCK_NAME, Flaky),
        Scenario::new("known-test-changed", "the test itself changed and fails as it did before")
            .file("shop/stock.py", STOCK)
            .file("tests/test_stock.py", STOCK_TEST)
            .change("tests/test_stock.py", STOCK_TEST.replace("\"tea\"", "\"coffee\""))
            .known()
            .exits([1, 0, 0])
            .says(STOCK_NAME, Flaky),
        Scenario::new("known-more-frequent", "a known flake fails twice in a row where it failed once")
            .file("shop/stock.py", STOCK)
            .file("tests/test_stock.py", STOCK_TEST)
            .change("shop/stock.py", STOCK.replace("steady(\"stock\")", "steady(\"stock\", (1, 2))"))
            .known()
            .exits([1, 0, 0])
            .says(STOCK_NAME, Flaky),
        Scenario::new("known-bursty", "fails at once again and passes after the suite, as before")
            .file(MIRROR_FILE, super::MIRROR_TEST.replace("\"mirror\")", "\"mirror\", (1, 2))"))
            .known()
            .exits([1, 0, 0])
            .says(MIRROR, Flaky),
        Scenario::new("known-unlucky", "fails three times in a row by chance and passes alone; it has passed before")
            .file(MIRROR_FILE, super::MIRROR_TEST.replace("\"mirror\")", "\"mirror\", (1, 2, 3))"))
            .known()
            .exits([1, 0, 0])
            .says(MIRROR, Flaky),
        Scenario::new("known-victim", "fails in every whole run of the suite and passes alone")
            .file("shop/settings.py", CURRENCY)
            .file(
                "tests/test_polluter.py",
                "from shop import settings\n\n\ndef test_dollars():\n    settings.CURRENCY = \"USD\"\n",
            )
            .file("tests/test_victim.py", CURRENCY_TEST)
            .known()
            .exits([1, 1, 1])
            .says(VICTIM, Flaky),
        Scenario::new("known-other-type", "a known flake fails with another type, because of the change")
            .file("shop/stock.py", STOCK)
            .file("tests/test_stock.py", STOCK_TEST)
            .change("shop/stock.py", STOCK.replace("TimeoutError", "LookupError").replace("name != \"\"", "bool(name)"))
            .known()
            .exits([1, 1, 1])
            .says(STOCK_NAME, NewFlake),
        Scenario::new(
            "known-other-assertion",
            "a test with a known flake now and then fails another assertion, because of the change",
        )
        .file("shop/stock.py", "from scripted import RUN, steady\n\n\ndef in_stock():\n    return 3\n")
        .file(
            "tests/test_stock.py",
            "from scripted import RUN, steady\nfrom shop.stock import in_stock\n\n\ndef test_stock():\n    \
             assert RUN == \"change\" or steady(\"stock\"), \"the warehouse did not answer\"\n    \
             assert in_stock() == 3\n",
        )
        .change(
            "shop/stock.py",
            "from scripted import RUN, steady\n\n\ndef in_stock():\n    return 3 if steady(\"stock\") else 0\n",
        )
        .known()
        .exits([1, 1, 1])
        .says(STOCK_NAME, NewFlake),
        Scenario::new("known-other-type-untouched", "it fails with another type, and not because of the change")
            .file(
                MIRROR_FILE,
                "from scripted import RUN, steady\n\n\ndef test_mirror():\n    if not steady(\"mirror\"):\n        \
                 raise (OSError if RUN == \"history\" else LookupError)(\"the mirror did not answer\")\n",
            )
            .known()
            .exits([1, 1, 0])
            .says(MIRROR, Flaky),
        Scenario::new("known-now-always", "a known flake that the change makes fail always, in the same way")
            .file("shop/stock.py", STOCK)
            .file("tests/test_stock.py", STOCK_TEST)
            .change("shop/stock.py", STOCK.replace("not steady(\"stock\")", "name"))
            .known()
            .exits([1, 1, 1])
            .says_any(STOCK_NAME, &[Regression, Undecided]),
        Scenario::new("known-now-always-untouched", "it fails always, and not because of the change")
            .file(MIRROR_FILE, super::MIRROR_TEST.replace("import", "import RUN,").replace(
                "assert steady",
                "assert RUN != \"change\" and steady",
            ))
            .known()
            .exits([1, 1, 1])
            .says_any(MIRROR, &[Environment, Undecided]),
        Scenario::new("known-from-this-change", "it failed so before, in an earlier build of the same change")
            .change("shop/prices.py", TOTAL_NOW_AND_THEN)
            .past(Past::Change)
            .exits([1, 1, 1])
            .says(TOTAL, NewFlake),
        Scenario::new("known-from-a-stacked-branch", "it failed so in a branch that has the change too")
            .change("shop/prices.py", TOTAL_NOW_AND_THEN)
            .past(Past::Stacked)
            .exits([1, 1, 1])
            .says(TOTAL, NewFlake),
        Scenario::new("known-from-uncommitted-work", "it failed so at the base, with the change as work on it")
            .change("shop/prices.py", TOTAL_NOW_AND_THEN)
            .past(Past::Uncommitted)
            .exits([1, 1, 1])
            .says(TOTAL, NewFlake),
        Scenario::new("known-by-base-runs", "it executes the change, and fails and passes at the base too")
            .file("shop/stock.py", per_checkout(STOCK))
            .file("tests/test_stock.py", STOCK_TEST)
            .change(
                "shop/stock.py",
                per_checkout(STOCK).replace("return name != \"\"", "return len(name) > 0"),
            )
            .options(&["--verify-base"])
            .exits([1, 0, 0])
            .says(STOCK_NAME, Flaky),
        Scenario::new("known-renamed", "the change renames the test: nothing is known of the new one")
            .mirror()
            .delete(MIRROR_FILE)
            .change("tests/test_network.py", super::MIRROR_TEST)
            .known()
            .exits([1, 1, 1])
            .says("tests/test_network.py::test_mirror", NewFlake),
        Scenario::new("known-uncommitted", "a known flake beside uncommitted work")
            .mirror()
            .checkout(Checkout::Uncommitted)
            .known()
            .exits([1, 0, 0])
            .says(MIRROR, Flaky),
    ]
}

/// Without a past: proved flakes that the change does not touch.
fn unrelated() -> Vec<Scenario> {
    vec![
        Scenario::new("green", "nothing fails"),
        Scenario::new("unrelated", "a flake that depends on nothing that changed")
            .mirror()
            .exits([1, 1, 0])
            .says(MIRROR, Flaky),
        Scenario::new("unrelated-readme", "the change is one of the documentation")
            .mirror()
            .file("README.md", "# Shop\n")
            .change("README.md", "# The shop\n")
            .exits([1, 1, 0])
            .says(MIRROR, Flaky),
        Scenario::new("nothing-changed", "a flake where there is no change")
            .mirror()
            .checkout(Checkout::Unchanged)
            .options(&["--base", "HEAD"])
            .exits([1, 1, 0])
            .says(MIRROR, Flaky),
        Scenario::new("nothing-changed-always", "fails always where there is no change")
            .file(MIRROR_FILE, "def test_mirror():\n    assert False, \"the mirror did not answer\"\n")
            .checkout(Checkout::Unchanged)
            .options(&["--base", "HEAD"])
            .exits([1, 1, 1])
            .says_any(MIRROR, &[BrokenBefore, Environment]),
        Scenario::new("no-git", "without git nobody knows what changed")
            .mirror()
            .checkout(Checkout::NoGit)
            .exits([1, 1, 1])
            .says(MIRROR, Flaky),
        Scenario::new("shallow", "with a single commit nobody knows what changed")
            .mirror()
            .checkout(Checkout::Shallow)
            .exits([1, 1, 1])
            .says(MIRROR, Flaky),
        Scenario::new("java-apart", "Java changed, and the test starts no process that could run it")
            .mirror()
            .file("src/Mirror.java", JAVA)
            .change("src/Mirror.java", JAVA.replace("{}", "{ int port = 80; }"))
            .exits([1, 1, 0])
            .says(MIRROR, Flaky),
        Scenario::new(
            "java-in-a-process",
            "Java changed, and the test starts a process: who knows what it runs",
        )
        .file(MIRROR_FILE, STARTS_PROCESS)
        .file("src/Mirror.java", JAVA)
        .change("src/Mirror.java", JAVA.replace("{}", "{ int port = 80; }"))
        .exits([1, 1, 1])
        .says(MIRROR, Flaky),
        Scenario::new("requirements-changed", "what is installed changed: any test may depend on it")
            .mirror()
            .file("requirements.txt", "pytest>=8\n")
            .change("requirements.txt", "pytest>=9\n")
            .exits([1, 1, 1])
            .says(MIRROR, Flaky),
        Scenario::new("loads-changed-file", "it imports a changed file and executes none of what changed")
            .file(MIRROR_FILE, format!("import shop.prices\n{}\n\nassert shop.prices\n", super::MIRROR_TEST))
            .exits([1, 1, 0])
            .says(MIRROR, Flaky)
            .needlessly_red("what an import of a changed file leaves behind cannot be seen"),
    ]
}

/// Flakes that come with the change.
fn new() -> Vec<Scenario> {
    vec![
        Scenario::new("new-in-code", "the changed function answers wrongly now and then")
            .change("shop/prices.py", TOTAL_NOW_AND_THEN)
            .exits([1, 1, 1])
            .says(TOTAL, NewFlake),
        Scenario::new("new-half-of-the-time", "a regression that shows at every second attempt")
            .change("shop/prices.py", TOTAL_NOW_AND_THEN.replace("\"total\")", "\"total\", range(1, 99, 2))"))
            .exits([1, 1, 1])
            .says(TOTAL, NewFlake),
        Scenario::new("new-verified", "runs at the base do not show it")
            .change("shop/prices.py", TOTAL_NOW_AND_THEN)
            .options(&["--verify-base"])
            .exits([1, 1, 1])
            .says(TOTAL, NewFlake),
        Scenario::new("new-test", "the flaky test itself is new")
            .change(MIRROR_FILE, super::MIRROR_TEST)
            .exits([1, 1, 1])
            .says(MIRROR, NewFlake),
        Scenario::new("new-in-test", "the change makes the test flaky")
            .file(MIRROR_FILE, "def test_mirror():\n    assert True\n")
            .change(MIRROR_FILE, super::MIRROR_TEST)
            .exits([1, 1, 1])
            .says(MIRROR, NewFlake),
        Scenario::new("new-beside-known", "a known flake does not hide a new one")
            .mirror()
            .change("shop/prices.py", TOTAL_NOW_AND_THEN)
            .known()
            .exits([1, 1, 1])
            .says(MIRROR, Flaky)
            .says(TOTAL, NewFlake),
        Scenario::new("new-in-a-rare-path", "the change breaks code that a test loads only now and then")
            .file(MIRROR_FILE, RARE)
            .file("shop/fallback.py", "def answer():\n    return \"hello\"\n")
            .change("shop/fallback.py", "def answer():\n    return \"\"\n")
            .exits([1, 1, 1])
            .says_any(MIRROR, &[NewFlake, Flaky]),
        Scenario::new("new-in-a-rare-branch", "the changed lines run only where it fails; the file is loaded")
            .file("shop/stock.py", STOCK.replace("raise TimeoutError(\"the warehouse did not answer\")", "return True"))
            .file("tests/test_stock.py", STOCK_TEST)
            .change("shop/stock.py", STOCK)
            .exits([1, 1, 1])
            .says_any(STOCK_NAME, &[NewFlake, Flaky]),
        Scenario::new("new-in-fixture", "the change makes a fixture in conftest.py flaky")
            .file("tests/conftest.py", FIXTURE)
            .file("tests/test_table.py", "def test_table(table):\n    assert table == 4\n")
            .change(
                "tests/conftest.py",
                FIXTURE
                    .replace("import pytest", "import pytest\n\nfrom scripted import steady")
                    .replace("return 4", "return 4 if steady(\"table\") else 3"),
            )
            .exits([1, 1, 1])
            .says("tests/test_table.py::test_table", NewFlake),
        Scenario::new("new-in-data", "the change is in a data file that the flaky test reads")
            .file("shop/limit.txt", "1\n")
            .file(
                "tests/test_limit.py",
                "import pathlib\n\nfrom scripted import attempt\n\n\ndef test_limit():\n    \
                 limit = int(pathlib.Path(\"shop/limit.txt\").read_text())\n    \
                 assert attempt(\"limit\") >= limit\n",
            )
            .change("shop/limit.txt", "2\n")
            .exits([1, 1, 1])
            .says_any("tests/test_limit.py::test_limit", &[NewFlake, Flaky]),
        Scenario::new("new-by-hash-seed", "a list became a set: its order depends on the hash seed")
            .file("shop/tags.py", "def first(tags):\n    return tags[0]\n")
            .file(
                "tests/test_tags.py",
                "from shop.tags import first\n\n\ndef test_first():\n    \
                 assert first([\"tea\", \"sugar\"]) == \"tea\"\n",
            )
            .change("shop/tags.py", SEEDED)
            .exits([1, 1, 1])
            .says("tests/test_tags.py::test_first", NewFlake),
        Scenario::new("new-leak", "new code leaves state behind: the victim fails in every whole run")
            .file("shop/settings.py", CURRENCY)
            .file("tests/test_victim.py", CURRENCY_TEST)
            .change(
                "shop/prices.py",
                "from shop import settings\n\n\ndef total(prices):\n    settings.CURRENCY = \"USD\"\n    \
                 return sum(prices)\n",
            )
            .exits([1, 1, 1])
            .says(VICTIM, Flaky),
        Scenario::new("new-heals-itself", "the first attempt leaves the file that lets the second one pass")
            .change(
                "shop/prices.py",
                "import os\n\n\ndef total(prices):\n    cache = os.path.join(os.environ[\"STATE\"], \"cache\")\n    \
                 warm = os.path.exists(cache)\n    open(cache, \"w\").close()\n    \
                 return sum(prices) if warm else 0\n",
            )
            .exits([1, 1, 1])
            .says(TOTAL, NewFlake),
        Scenario::new("new-uncommitted", "the flake comes with uncommitted work")
            .change("shop/prices.py", TOTAL_NOW_AND_THEN)
            .checkout(Checkout::Uncommitted)
            .past(Past::Base)
            .exits([1, 1, 1])
            .says(TOTAL, NewFlake),
        Scenario::new("regression", "the change breaks a test")
            .change("shop/prices.py", BROKEN)
            .exits([1, 1, 1])
            .says(TOTAL, Regression),
        Scenario::new("regression-by-deletion", "the change removes a file that a test reads")
            .file("shop/names.txt", "tea\n")
            .file(
                "tests/test_names.py",
                "import pathlib\n\n\ndef test_names():\n    \
                 assert pathlib.Path(\"shop/names.txt\").read_text()\n",
            )
            .change("shop/prices.py", HARMLESS)
            .delete("shop/names.txt")
            .exits([1, 1, 1])
            .says("tests/test_names.py::test_names", Regression),
    ]
}

const JAVA: &str = "class Mirror {}\n";

const STARTS_PROCESS: &str = r#"import subprocess

from scripted import steady


def test_mirror():
    subprocess.run(["true"], check=True)
    assert steady("mirror"), "the mirror did not answer"
"#;

/// Takes another way at its first attempt, which always worked at the base.
const RARE: &str = r#"from scripted import steady


def test_mirror():
    if not steady("mirror"):
        from shop.fallback import answer

        assert answer() == "hello"
"#;

const FIXTURE: &str = "import pytest\n\n\n@pytest.fixture\ndef table():\n    return 4\n";

/// Fails with the hash seed of the suite and passes with any other, whatever
/// the order of a real set would be in this version of Python.
const SEEDED: &str = r#"import os


def first(tags):
    path = os.path.join(os.environ["STATE"], "hash")
    if not os.path.exists(path):
        with open(path, "w") as file:
            file.write(str(hash("tea")))
    with open(path) as file:
        swapped = file.read() == str(hash("tea"))
    return list(tags)[1 if swapped else 0]
"#;

/// Counts attempts in each checkout for itself, so that the first one at the
/// base fails too.
fn per_checkout(source: &str) -> String {
    source.replace("steady(\"stock\")", "steady(\"stock-\" + __file__.replace(\"/\", \"-\"))")
}
