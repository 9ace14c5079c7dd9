"""Exceptions inside of the agent are survived, and told."""

import pytest
from host import Host

#: Breaks the agent in new processes that are observed.
PLANTED = """
import sys
observe = sys.modules.get("flakewise_agent.observe")
if observe is not None:
    def note(self, event, arguments):
        raise ZeroDivisionError("planted\\nin two lines")
    observe.Observer.note = note
"""
#: The same where it looks at state.
PLANTED_STATE = """
import sys
import pytest

@pytest.fixture(autouse=True, scope="session")
def planted():
    surroundings = sys.modules.get("flakewise_agent.surroundings")
    if surroundings is not None:
        class Odd(Exception):
            def __str__(self): raise ValueError
        def look(self): raise Odd
        surroundings.Zone.look = look
"""


@pytest.fixture
def host(project):
    project.write("test_it.py", "def test_a(): open('pytest.ini').close()\ndef test_b(): pass\n")
    with Host(project.folder) as host:
        yield host


def test_an_exception_is_told_once_with_its_count(project, host):
    project.write("conftest.py", PLANTED)
    host.run(*project.options)
    assert host.exit_code == 0 and not host.main.all("internal_error"), host.text
    fresh = host.fresh("test_a", arguments=project.options, observe=True)
    assert host.ends(fresh) == [("test_a", "passed")], host.explain()
    [message] = fresh.all("internal_error")
    assert message["site"].startswith("observe.py:") and message["site"].endswith(" in audit")
    assert message["error"] == "ZeroDivisionError: planted" and message["count"] > 1
    assert fresh.said_bye


def test_a_fork_tells_its_own(project, host):
    project.write("conftest.py", PLANTED_STATE)
    host.run(*project.options)
    child, _ = host.fork("test_a", "test_b", state={"undo": [], "reads": True})
    assert host.ends(child) == [("test_a", "passed"), ("test_b", "passed")]
    [message] = child.all("internal_error")
    assert (message["error"], message["count"]) == ("Odd", 1) and " in _look" in message["site"]
    # The next one begins with none.
    child, _ = host.fork("test_a")
    assert not child.all("internal_error")


def test_a_healthy_run_tells_nothing(project, host):
    host.run(*project.options)
    child, _ = host.fork("test_a", "test_b", state={"undo": [], "reads": True}, tidy=True)
    fresh = host.fresh("test_a", arguments=project.options, observe=True)
    assert not [peer for peer in (host.main, child, fresh) if peer.all("internal_error")]
