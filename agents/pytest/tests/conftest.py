import json
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from host import LIMIT, PYTHON, Host, bare, environment  # noqa: E402

ASK = """
import importlib.util, json, sys, pytest
plugins = ["xdist", "pytest_asyncio", "anyio", "pytest_randomly", "pytest_rerunfailures", "flaky", "pytest_timeout",
           "pytest_cov", "pytest_subtests"]
present = [name for name in plugins if importlib.util.find_spec(name)]
print(json.dumps([sys.version_info[:2], int(pytest.__version__.split(".")[0]), present]))
"""


def _ask():
    done = subprocess.run([PYTHON, "-c", ASK], env=environment(), stdout=subprocess.PIPE, timeout=LIMIT, check=True)
    version, runner, plugins = json.loads(done.stdout)
    return tuple(version), runner, plugins


VERSION, RUNNER, PLUGINS = _ask()


def pytest_report_header():
    return "agent in: Python %d.%d, pytest %d, plugins: %s" % (*VERSION, RUNNER, ", ".join(PLUGINS) or "none")


def pytest_configure(config):
    # Whoever starts us in the background may have it ignored, and what is ignored
    # is inherited.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    config.addinivalue_line("markers", "plugin(name): needs a plugin in the target")
    config.addinivalue_line("markers", "python(major, minor): needs a newer target")
    config.addinivalue_line("markers", "runner(major): needs a newer pytest in the target")


def pytest_runtest_setup(item):
    for mark in item.iter_markers("plugin"):
        if mark.args[0] not in PLUGINS:
            pytest.skip("%s is not in the target" % mark.args[0])
    for mark in item.iter_markers("python"):
        if VERSION < mark.args:
            pytest.skip("needs Python %d.%d" % mark.args)
    for mark in item.iter_markers("runner"):
        if RUNNER < mark.args[0]:
            pytest.skip("needs pytest %d" % mark.args[0])


class Project:
    """A folder with tests in it."""

    def __init__(self, folder):
        self.folder = folder
        # Plugins of the target speak up where they are asked to only.
        self.options = []
        if "pytest_randomly" in PLUGINS:
            self.options += ["-p", "no:randomly"]
        self.write("pytest.ini", "[pytest]\n")

    def write(self, name, text):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text).lstrip("\n"), encoding="utf-8")
        return path

    def host(self, *arguments, variables=None, **policy):
        return Host(self.folder, variables=variables, **policy).run(*self.options, *arguments)

    def bare(self, *arguments, **variables):
        return bare(self.folder, *self.options, *arguments, **variables)


@pytest.fixture
def project(tmp_path):
    return Project(tmp_path)


@pytest.fixture
def run(project):
    """Runs a project, or only one file with this text, under a host."""
    hosts = []

    def run(text=None, *arguments, **policy):
        if text is not None:
            project.write("test_it.py", text)
        host = Host(project.folder, **policy)
        hosts.append(host)
        return host.run(*project.options, *arguments)

    yield run
    for host in hosts:
        host.__exit__()
