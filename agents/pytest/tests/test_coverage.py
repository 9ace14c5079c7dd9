"""What coverage records with the agent is what it records without."""

import json
import subprocess

import pytest
from host import LIMIT, PYTHON, Host, bare, environment

pytestmark = pytest.mark.plugin("pytest_cov")

SHOP = """
def total(prices):
    if not prices:
        return 0
    return sum(prices)


def unused(price):
    if price:
        return 1
    return 2
"""
TESTS = """
import shop

def test_total(): assert shop.total([1, 2]) == 3
def test_nothing(): assert shop.total([]) == 0
"""
#: Fails at first; its second attempt executes more.
FLAKE = """
import pathlib, shop

def test_flake():
    marker = pathlib.Path("marker")
    if marker.exists():
        marker.unlink()
        shop.unused(1)
    else:
        marker.write_text("")
        assert 0

def test_total(): assert shop.total([1, 2]) == 3
"""


def coverage(project, *arguments):
    done = subprocess.run(
        [PYTHON, "-m", "coverage", *arguments],
        cwd=project.folder,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=LIMIT,
    )
    assert done.returncode == 0, done.stdout.decode()
    return done.stdout.decode()


def recorded(project, combine=False, contexts=False):
    """What coverage reports, by file. Fails if a report does."""
    if combine:
        coverage(project, "combine", "--quiet")
    coverage(project, "json", "-q", "-o", "report.json", *(["--show-contexts"] if contexts else []))
    report = json.loads((project.folder / "report.json").read_text())
    return {"files": report["files"], "totals": report["totals"], "table": coverage(project, "report")}


@pytest.fixture
def shop(project):
    project.write("shop.py", SHOP)
    project.write("test_it.py", TESTS)
    return project


#: Whether data is combined, what Python gets before `-m pytest`, what pytest gets.
RUN = ("-m", "coverage", "run")
WAYS = {
    "without a source": (False, (), ("--cov",)),
    "a package": (False, (), ("--cov=shop",)),
    "branches": (False, (), ("--cov", "--cov-branch")),
    "a threshold": (False, (), ("--cov", "--cov-fail-under=70")),
    "contexts": (False, (), ("--cov", "--cov-context=test")),
    "coverage run": (False, RUN, ()),
    "coverage run, branches": (False, (*RUN, "--branch"), ()),
    "coverage run, a source": (False, (*RUN, "--source=."), ()),
    "coverage run, parallel": (True, (*RUN, "-p"), ()),
    "coverage run, a context": (False, (*RUN, "--context=all"), ()),
    "coverage run, in Python": (False, (*RUN, "--timid"), ()),
}


@pytest.mark.parametrize("way", WAYS)
def test_a_green_run_records_what_it_records_without_us(shop, run, way):
    combine, python, arguments = WAYS[way]
    code, text = bare(shop.folder, *shop.options, *arguments, python=python)
    assert code == 0, text
    expected = recorded(shop, combine, "context" in way)
    (shop.folder / ".coverage").unlink()
    with Host(shop.folder) as host:
        host.run(*shop.options, *arguments, python=python)
        assert host.exit_code == 0, host.text
    # With its folder gone, as after a run.
    assert recorded(shop, combine, "context" in way) == expected
    assert set(expected["files"]) >= {"shop.py"}


@pytest.mark.parametrize("patches", ["_exit", "_exit, fork, subprocess"])
def test_our_processes_leave_no_data(shop, patches):
    shop.write(".coveragerc", "[run]\npatch = %s\nparallel = true\ndynamic_context = test_function\n" % patches)
    code, text = bare(shop.folder, *shop.options, python=RUN)
    assert code == 0, text
    files = len(list(shop.folder.glob(".coverage.*")))
    expected = recorded(shop, combine=True, contexts=True)
    (shop.folder / ".coverage").unlink()
    with Host(shop.folder) as host:
        host.run(*shop.options, python=RUN)
        assert host.exit_code == 0, host.text
        assert host.fork("test_total")[1]["status"] == 0
    assert len(list(shop.folder.glob(".coverage.*"))) == files
    assert recorded(shop, combine=True, contexts=True) == expected


@pytest.mark.parametrize("way", ["without a source", "contexts", "coverage run", "coverage run, in Python"])
def test_reruns_add_nothing(shop, way):
    combine, python, arguments = WAYS[way]
    shop.write("test_it.py", FLAKE)
    code, text = bare(shop.folder, *shop.options, *arguments, python=python)
    assert code == 1, text
    expected = recorded(shop, combine, "context" in way)
    (shop.folder / ".coverage").unlink()
    (shop.folder / "marker").unlink()
    with Host(shop.folder, again=lambda name, phase: phase == "first") as host:
        host.run(*shop.options, *arguments, python=python)
        assert host.ends() == [("test_flake", "failed"), ("test_flake", "passed"), ("test_total", "passed")], host.text
        # Neither do forks and new processes.
        host.fork("test_flake")
        fresh = host.fresh("test_flake", arguments=[*shop.options, *arguments], python=python)
        assert host.ends(fresh) == [("test_flake", "passed")], host.text
    assert recorded(shop, combine, "context" in way) == expected


def test_a_new_process_has_the_variables_of_the_user(project):
    project.write("test_it.py", "import os\ndef test_a(): assert os.environ.get('COVERAGE_FILE') == 'data'\n")
    with Host(project.folder, variables={"COVERAGE_FILE": "data"}) as host:
        host.run(*project.options)
        fresh = host.fresh("test_a", arguments=project.options)
    assert host.ends() == host.ends(fresh) == [("test_a", "passed")]
