"""The user's own run is what it would be without us: everything pytest prints
and writes is compared, with only times taken out."""

import re
import xml.etree.ElementTree as ElementTree

import pytest

SUITE = """
import logging
import sys
import warnings
import pytest

@pytest.fixture(scope="session", autouse=True)
def whole():
    print("session begins")
    yield

@pytest.fixture(scope="module")
def shared():
    print("module begins")
    yield 1

def test_passes(shared): print("passing output")

def test_fails(shared, record_property):
    record_property("colour", "blue")
    print("failing output")
    sys.stderr.write("failing error output")
    logging.getLogger("it").warning("a record")
    assert {"a": 1} == {"a": 2}

def test_warns(): warnings.warn("take care")

@pytest.mark.skip(reason="not today")
def test_skips(): pass

@pytest.mark.xfail(reason="known")
def test_xfails(): assert 0

@pytest.mark.xfail
def test_xpasses(): pass

@pytest.fixture
def broken(record_xml_attribute):
    record_xml_attribute("odd", "yes")
    raise ValueError("set-up")

def test_is_not_set_up(broken): pass

@pytest.fixture
def leaves(): yield; raise OSError("tear-down")

def test_is_not_torn_down(leaves): pass

class TestClass:
    def test_fails_too(self, tmp_path, capsys, record_testsuite_property):
        record_testsuite_property("size", 3)
        print("captured")
        with capsys.disabled():
            pass
        warnings.warn("take more care")
        assert capsys.readouterr().out == ""
"""


def plain(text):
    text = re.sub(r"\b\d+\.\d+s( \(\d+:\d\d:\d\d\))?", "T", text)
    text = re.sub(r"/pytest-\d+/", "/pytest-N/", text)
    text = re.sub(r"0x[0-9a-f]+", "0xN", text)
    # Lines are filled up according to the length of the time.
    return [re.sub(r"={3,}", "===", line).rstrip() for line in text.splitlines()]


def compare(project, run, *arguments, again=None, postpone=(), sort=False, **variables):
    cache = project.folder / ".pytest_cache"
    code, expected = project.bare(*arguments, **variables)
    kept = (cache / "v/cache/lastfailed").read_text() if (cache / "v/cache/lastfailed").exists() else None
    host = run(None, *arguments, again=again, postpone=postpone, variables=variables)
    change = sorted if sort else list
    assert change(plain(host.text)) == change(plain(expected))
    assert host.exit_code == code
    if kept is not None:
        assert (cache / "v/cache/lastfailed").read_text() == kept
    return host


RERUNS = {
    "again": lambda name, phase: phase == "first",
    "postpone": [["test_fails", "test_passes"], ["test_is_not_set_up"]],
}


@pytest.mark.parametrize(
    "arguments",
    [
        ["-rA", "-v", "--capture=fd"],
        ["--capture=sys", "--durations=0", "-vv"],
        ["--capture=no"],
        ["-p", "no:terminal"],
        ["-q", "-x"],
        ["--maxfail=2", "--tb=short"],
        ["--log-cli-level=INFO"],
        ["--setup-show"],
        ["--capture=tee-sys", "--show-capture=stdout", "--tb=line"],
    ],
    ids=" ".join,
)
def test_pytest_prints_and_returns_the_same(project, run, arguments):
    project.write("test_it.py", SUITE)
    policy = RERUNS
    if arguments[0] in ("--capture=no", "--capture=tee-sys", "--setup-show"):
        # What tests print is not held back, so that of reruns is not either;
        # and outer fixtures end after the last rerun.
        policy = {}
    compare(project, run, *arguments, sort="--durations=0" in arguments, **policy)


def test_last_failed_and_stepwise_work(project, run):
    project.write("test_it.py", SUITE)
    project.bare("-q")
    compare(project, run, "--lf", "-q", **RERUNS)
    project.bare("--sw", "-q")
    compare(project, run, "--sw", "-q", **RERUNS)


def test_the_report_is_the_same(project, run):
    project.write("test_it.py", SUITE)

    def report():
        text = (project.folder / "report.xml").read_text(encoding="utf-8")
        tree = ElementTree.fromstring(text)
        for element in tree.iter():
            for name in ("time", "timestamp"):
                element.attrib.pop(name, None)
            element.text = "\n".join(plain(element.text or ""))
        return ElementTree.tostring(tree, encoding="unicode")

    project.bare("--junitxml=report.xml", "-o", "junit_logging=all")
    expected = report()
    host = run(None, "--junitxml=report.xml", "-o", "junit_logging=all", **RERUNS)
    assert report() == expected
    host.fork("test_fails")
    host.fresh("test_fails", arguments=["--junitxml=report.xml", *project.options])
    assert report() == expected


def test_a_green_run_is_the_same_to_the_last_teardown(project, run):
    project.write(
        "test_it.py",
        """
        import pytest
        @pytest.fixture(scope="session", autouse=True)
        def whole():
            yield
            raise OSError("session tear-down")
        def test_a(): pass
        def test_b(): pass
        """,
    )
    host = compare(project, run, "-rA")
    assert host.ends() == [("test_a", "passed"), ("test_b", "errored")]


def test_a_session_teardown_error_after_a_failure_is_told(project, run):
    project.write(
        "test_it.py",
        """
        import pytest
        @pytest.fixture(scope="session", autouse=True)
        def whole():
            yield
            raise OSError("session tear-down")
        def test_a(): assert 0
        def test_b(): pass
        """,
    )
    host = run(None)
    assert host.ends() == [("test_a", "failed"), ("test_b", "passed")]
    (broken,) = host.main.all("broken")
    assert "session tear-down" in broken["text"]
    assert host.exit_code == 1


def test_what_the_session_prints_at_its_end_is_held_back(project, run):
    project.write(
        "test_it.py",
        """
        import pytest
        @pytest.fixture(scope="session", autouse=True)
        def whole():
            yield
            print("session ends")
        def test_a(): assert 0
        def test_b(): pass
        """,
    )
    compare(project, run, **RERUNS)
