"""The environments and the real test suites of the demonstrations."""

import dataclasses
import pathlib
import shutil

import cache

# The last release of each, and the interpreters that it runs on: pytest 9
# wants 3.10, and 7.4 was made before 3.13 but runs on all of them.
PYTESTS = {
    "7": ("7.4.4", ("3.9", "3.10", "3.11", "3.12", "3.13", "3.14")),
    "8": ("8.4.2", ("3.9", "3.10", "3.11", "3.12", "3.13", "3.14")),
    "9": ("9.2.0", ("3.10", "3.11", "3.12", "3.13", "3.14")),
}

# Plug-ins whose tests are coroutines. The newest that each pair of versions
# takes, so without versions of their own.
ASYNC_PLUGINS = ["pytest-asyncio", "anyio"]

# Plug-ins that run tests elsewhere, again, or in another order.
ORDER_PLUGINS = ["pytest-xdist", "pytest-rerunfailures", "pytest-randomly", "flaky"]


def cells():
    """Every pair of versions of CPython and pytest that go together."""
    return [(minor, major) for minor in cache.PYTHONS for major, (_, minors) in PYTESTS.items() if minor in minors]


def pytest(minor, major, plugins=()):
    """The interpreter of an environment with that pytest and these plug-ins."""
    version = PYTESTS[major][0]
    name = f"pytest{major}" + ("-plugins" if plugins else "")
    return cache.environment(minor, name, [f"pytest=={version}", *plugins])


@dataclasses.dataclass(frozen=True)
class Real:
    """The test suite of a released package, as its source distribution has it."""

    name: str
    version: str
    # What its tests import, beyond the package and what that needs itself.
    requirements: tuple = ()
    minors: tuple = ("3.11", "3.12", "3.13", "3.14")
    # Where in its tree the tests are to be started.
    start: str = "."
    # The newest pytest that its tests can be imported with.
    major: str = "9"

    def tree(self):
        return cache.sdist(self.name, self.version)[0]

    def interpreter(self, minor="3.11", major=None, more=()):
        """An environment with the package installed from that source, and with more."""
        major = major or self.major
        wheel = cache.sdist(self.name, self.version)[1]
        requirements = [f"pytest=={PYTESTS[major][0]}", *self.requirements, wheel, *more]
        return cache.environment(minor, f"{self.name}-pytest{major}", requirements)

    def copy(self, folder):
        """A copy of the tree to run the tests in, as they write beside themselves."""
        place = pathlib.Path(folder, self.name)
        shutil.copytree(self.tree(), place, symlinks=True)
        return place


REAL = {
    suite.name: suite
    for suite in (
        Real("marshmallow", "4.4.0", ("pytz", "simplejson")),
        Real("pyramid", "2.1", ("webtest", "zope.component"), ("3.10", "3.11", "3.12", "3.13", "3.14")),
        # With the brokers' libraries that its tests cannot be collected without;
        # the tests of the other brokers are skipped.
        Real("kombu", "5.7.0", ("hypothesis<7", "Pyro4", "pytest-freezer", "boto3", "pycurl", "azure-storage-queue",
                                "azure-identity", "google-cloud-pubsub", "google-cloud-monitoring", "redis", "PyYAML",
                                "msgpack", "sqlalchemy"), ("3.10", "3.11", "3.12", "3.13", "3.14")),
    )
}

# Suites with tests that depend on their order, small enough to try each test
# before each of those.
ORDERED = {
    suite.name: suite
    for suite in (
        # Green in its own order; 139 of 167 tests are not in others, or alone.
        Real("pypubsub", "4.0.7", start="tests/suite"),
    )
}

# Suites of maintained packages in which nothing is known to be flaky.
CALM = {
    suite.name: suite
    for suite in (
        Real("click", "8.5.1"),
        Real("attrs", "26.1.0", ("hypothesis<7", "cloudpickle")),
        # Later versions of Werkzeug fail one of its tests.
        Real("flask", "3.1.3", ("asgiref", "python-dotenv", "werkzeug==3.1.3"), major="8"),
        # Its server fixture listens at a fixed port.
        Real("httpx", "0.28.1", ("uvicorn", "trio", "trustme", "chardet", "brotli", "zstandard>=0.18", "h2>=3,<5",
                                 "socksio==1.*", "click", "pygments", "rich", "cryptography")),
    )
}

# The cells of the matrix that CI runs: the ends of both lists.
SHORT = (("3.9", "7"), ("3.11", "8"), ("3.13", "9"))
