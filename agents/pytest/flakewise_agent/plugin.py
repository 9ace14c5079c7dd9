"""The pytest plugin: main, zygote, child and fresh processes."""

import faulthandler
import gc
import io
import os
import posix
import select
import signal
import sys
import threading
import time
import types

import pytest
from _pytest.doctest import DoctestItem
from _pytest.junitxml import xml_key

from . import chance, errors, temporary, wire

_clock, _sleep, _now = time.perf_counter_ns, time.sleep, time.time_ns
_fork, _getpid, _setsid, _setpgid = os.fork, os.getpid, os.setsid, os.setpgid
# Coverage can be told to replace the one in `os` by one that saves what was
# recorded. What is recorded in our processes is not part of the user's run.
_exit = posix._exit
_wait4, _waitpid, _nohang = os.wait4, os.waitpid, os.WNOHANG
_select = select.select

#: Hooks through which a report reaches other plugins. Only the first attempt is
#: theirs; what we run again must not show up in their counts and files.
REPORTING_HOOKS = frozenset(
    (
        "pytest_runtest_logstart",
        "pytest_runtest_logreport",
        "pytest_runtest_logfinish",
        "pytest_exception_interact",
        "pytest_warning_recorded",
    )
)

#: Plugins that run failing tests again themselves and so hide failures. By
#: entry point, with the marker they register and the option that turns them on.
RETRYING_PLUGINS = {
    "rerunfailures": ("flaky", "reruns"),
    "flaky": ("flaky", "force_flaky"),
    "pytest_retry": ("flaky", "global_retries"),
    "pytest-retry": ("flaky", "global_retries"),
    "pytest_forked": ("forked", "forked"),
    "forked": ("forked", "forked"),
}


def facts(variables):
    """What the host must know to start another process like this one."""
    return {
        "runner": "pytest",
        "runner_version": pytest.__version__,
        "lang_version": ".".join(map(str, sys.version_info[:3])),
        "job": int(variables.get("FLAKEWISE_AGENT_JOB", "0")),
        "executable": wire.text(sys.executable),
        "argv": _command_line(),
        "cwd": wire.text(os.getcwd()),
        "path": [wire.text(entry) for entry in sys.path],
    }


def _command_line():
    try:
        with open("/proc/self/cmdline", "rb") as file:
            parts = file.read().split(b"\0")[:-1]
        return [wire.text(part.decode("utf-8", "surrogateescape"), wire.WORD_LIMIT) for part in parts]
    except OSError:
        return [wire.text(part, wire.WORD_LIMIT) for part in getattr(sys, "orig_argv", ())]


def start(role, connection, job, observer):
    """The agent for a process of this role."""
    return {"main": Main, "fresh": Fresh}[role](connection, job, observer)


class Attempt:
    """One execution of one test, as seen through its reports."""

    __slots__ = ("index", "item", "phase", "outcome", "failure", "kind", "nanoseconds", "asked", "again")

    def __init__(self, index, item, phase):
        self.index = index
        self.item = item
        self.phase = phase
        self.outcome = "passed"
        self.failure = self.kind = None
        self.nanoseconds = 0
        self.asked = False
        self.again = False

    def add(self, report, kind):
        """Takes in one report: set-up, call, tear-down or a sub-test."""
        is_part = hasattr(report, "context")
        if not is_part:
            self.nanoseconds += nanoseconds(report.duration)
        if report.failed:
            # A failure in the call is the test's own; set-up and tear-down are
            # around it. The first that went wrong is the one to tell.
            if self.outcome not in ("failed", "errored"):
                self.outcome = "failed" if report.when == "call" else "errored"
                self.failure, self.kind = report, kind
        elif report.skipped and not is_part and self.outcome == "passed":
            self.outcome = "skipped"
            self.failure = report

    @property
    def has_failed(self):
        return self.outcome in ("failed", "errored")


def nanoseconds(seconds):
    """As the host takes them. Tests that freeze the clock make pytest measure
    less than nothing, and plugins write down what they like."""
    try:
        return min(max(int(seconds * 1e9), 0), 1 << 60)
    except (TypeError, ValueError, OverflowError):
        return 0


def exit_code(status):
    """What becomes of the status that pytest returns, or a plugin set."""
    try:
        return 0 if status is None else int(status) & 0xFF
    except (TypeError, ValueError):
        return 1


def describe(report, kind=None):
    """A failing or skipped report as a message."""
    longrepr = report.longrepr
    crash = getattr(longrepr, "reprcrash", None)
    when = str(report.when or "")
    if report.skipped:
        reason = longrepr[2] if isinstance(longrepr, tuple) else getattr(report, "wasxfail", "") or longrepr
        return {"kind": None, "message": wire.text(reason, 1024), "trace": "", "when": when}
    try:
        trace = report.longreprtext
    except Exception as error:  # A hostile __repr__ may raise anything.
        trace = "the failure could not be rendered: %s" % type(error).__name__
    message = getattr(crash, "message", None) or last_error(trace)
    file, line = getattr(crash, "path", None), getattr(crash, "lineno", None)
    return {
        "kind": None if kind is None else wire.text(kind, 200),
        "message": wire.text(message, 8192),
        "trace": wire.text(trace),
        "when": when,
        "file": None if file is None else wire.text(file, 4096),
        "line": line if isinstance(line, int) and 0 <= line < 1 << 32 else None,
    }


def worded(error):
    return "%s: %s" % (type(error).__name__, error)


def last_error(trace):
    """What a failure without a place of its own says, such as one of collecting."""
    lines = [line for line in trace.splitlines() if line.strip()]
    errors = [line[1:].strip() for line in lines if line.startswith("E ")]
    return errors[-1] if errors else (lines[-1].strip() if lines else trace)


class Chain:
    """Stands in for the next test: what is on its chain is not torn down."""

    def __init__(self, nodes):
        self._nodes = nodes

    def listchain(self):
        return self._nodes


class Agent:
    """What main, child and fresh processes have in common."""

    def __init__(self, connection, job, observer=None):
        self.connection = connection
        self.job = job
        self.observer = observer
        self.config = None
        self.session = None
        self.attempt = None
        self.items = []
        self.index = {}
        self.doctest_names = {}
        self.asks = bool(job.get("ask"))
        self.kind = None
        self.measurer = None
        # When all was collected and no test had run.
        self.began = 0
        # As pytest counts them, to notice what others add.
        self.failed_reports = 0
        # Whether pytest-xdist was set aside.
        self.is_distributed = False
        # Whether fixtures of the session must outlive the last test.
        self.holds_session = False
        # Whether something besides the tests failed.
        self.is_broken = False

    # Configuration

    def prepare(self, config):
        """Before any other plugin has begun."""

    def configure(self, config):
        self.config = config
        manager = config.pluginmanager
        manager.register(self, "flakewise")
        for name, plugin in manager.list_name_plugin():
            if plugin is not None and name in RETRYING_PLUGINS:
                marker, option = RETRYING_PLUGINS[name]
                manager.unregister(plugin)
                config.addinivalue_line("markers", "%s(**arguments): reruns are done by flakewise" % marker)
                if getattr(config.option, option, None):
                    self.notice("retries by `%s` are disabled: flakewise reruns failing tests" % name)

    @pytest.hookimpl(tryfirst=True)
    def pytest_configure(self, config):
        option = config.option
        if getattr(option, "dist", "no") != "no" or getattr(option, "tx", None):
            # As in `3*popen`.
            counts = [str(spec).partition("*") for spec in getattr(option, "tx", None) or ()]
            count = sum(int(times) if star and times.isdigit() else 1 for times, star, _ in counts)
            self.notice("pytest-xdist is disabled: the suite runs in one process instead of %d" % max(count, 1))
            option.dist, option.tx, option.numprocesses = "no", [], None
            self.is_distributed = True
        if getattr(option, "looponfail", False):
            option.looponfail = False

    def notice(self, message, warning=False):
        self.connection.send({"t": "notice", "text": wire.text(message, 1024), "warning": warning})

    def broken(self, text):
        """Something failed for which no test answers."""
        self.is_broken = True
        self.connection.send({"t": "broken", "text": wire.text(text, 1024)})

    def returned(self, outcome):
        """pytest has returned from everything it did."""

    def trouble(self, error):
        """Something around the tests of a job went wrong."""
        self.connection.send({"t": "trouble", "text": wire.text(worded(error), 1024)})

    @pytest.hookimpl
    def pytest_collectreport(self, report):
        if report.failed:
            self.failed_reports += 1
            failure = describe(report)
            failure["when"] = "collect"
            self.connection.send({"t": "collect_error", "id": wire.text(report.nodeid, 4096), "failure": failure})

    # Items

    def take_items(self, session):
        """Gives every item a number; equal node ids are distinguished."""
        self.began = _now()
        self.session = session
        self.items = session.items
        seen = {}
        names = []
        for number, item in enumerate(self.items):
            self.index[item] = number
            name = wire.text(item.nodeid, 4096)
            count = seen[name] = seen.get(name, 0) + 1
            names.append(name if count == 1 else "%s#%d" % (name, count))
            if isinstance(item, DoctestItem) and item.dtest is not None:
                # Whoever runs it empties it.
                self.doctest_names[item] = dict(item.dtest.globs)
        self.watch_setup_state()
        self.measure()
        return names

    def measure(self):
        """Begins to measure tests, if this job is for that."""
        self.measurer = None
        kind = self.job.get("measure")
        if kind:
            from . import measure

            files = {str(item.path) for item in self.items}
            self.measurer = measure.Measurer(kind, str(self.config.rootpath), files)

    def state(self):
        """What watches the state that tests leave, if this job is for that."""
        order = self.job.get("state")
        if not order:
            return None
        from . import state

        return state.State(order, self)

    def tidied(self):
        """What puts files back when this job ends, if that is wanted."""
        if not self.job.get("tidy"):
            return None
        from . import files

        return files.Files(str(self.config.rootpath), looks=False, since=self.began)

    def send_tests(self, names):
        for part in wire.parts(names):
            self.connection.send({"t": "tests", "ids": part})

    # Attempts

    def watch_setup_state(self):
        """Lets us choose, once a test has run, which fixtures stay."""
        state = self.session._setupstate
        original = state.teardown_exact

        def teardown_exact(nextitem):
            return original(self.keep(nextitem))

        state.teardown_exact = teardown_exact

    def keep(self, nextitem):
        attempt = self.attempt
        if attempt is not None and attempt.has_failed and not attempt.asked and self.ask(attempt):
            # Function fixtures go, outer ones stay, but for those that are
            # broken themselves.
            stack = self.session._setupstate.stack
            chain = []
            for node in attempt.item.listchain()[:-1]:
                if node not in stack or stack[node][1] is not None:
                    break
                chain.append(node)
            return Chain(chain)
        if nextitem is None and (self.holds_session or (attempt is not None and attempt.has_failed and self.asks)):
            return Chain([self.session])
        return nextitem

    def ask(self, attempt):
        """Whether the host wants this test again, at once."""
        attempt.asked = True
        if not self.asks:
            return False
        self.holds_session = True
        self.connection.send({"t": "ask", "i": attempt.index, "failure": describe(attempt.failure, attempt.kind)})
        answer = self.connection.receive()
        attempt.again = answer is not None and answer.get("t") == "again"
        return attempt.again

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item, nextitem):
        if self.attempt is not None:
            # An attempt of ours, which comes through here again.
            yield
            return
        attempt = self.begin(item, "first")
        result = yield
        if result.excinfo is not None:
            self.abandon(attempt, result.excinfo[1])
            return
        self.end(attempt)
        while attempt.again:
            attempt = self.run_again(item, nextitem, "rerun")

    def begin(self, item, phase):
        attempt = self.attempt = Attempt(self.index[item], item, phase)
        # Sent before the test runs: if it takes the process along, the host
        # knows whom to blame.
        self.connection.send_line(b'{"t":"start","i":%d,"phase":"%s"}\n' % (attempt.index, phase.encode()))
        if self.measurer is not None:
            self.measurer.start()
        return attempt

    def tell_measures(self, attempt):
        if self.measurer is not None:
            self.connection.later(wire.encoded(dict(self.measurer.stop(), t="measured", i=attempt.index)))

    def end(self, attempt):
        self.tell_measures(attempt)
        if attempt.has_failed and not attempt.asked:
            # It failed in its tear-down.
            self.ask(attempt)
        self.attempt = None
        if attempt.failure is None:
            # The common case goes out with the next test's start.
            self.connection.later(
                b'{"t":"end","i":%d,"outcome":"passed","ns":%d}\n' % (attempt.index, attempt.nanoseconds)
            )
        else:
            self.connection.send(
                {
                    "t": "end",
                    "i": attempt.index,
                    "outcome": attempt.outcome,
                    "ns": attempt.nanoseconds,
                    "failure": describe(attempt.failure, attempt.kind),
                }
            )

    def abandon(self, attempt, error):
        """The test's exception went through pytest itself."""
        self.tell_measures(attempt)
        self.attempt = None
        kind = wire.text(type(error).__name__, 200)
        if not attempt.has_failed:
            attempt.outcome = "errored"
        failure = {"kind": kind, "message": wire.text(worded(error), 8192), "trace": "", "when": "call"}
        self.connection.send(
            {"t": "end", "i": attempt.index, "outcome": attempt.outcome, "ns": attempt.nanoseconds, "failure": failure}
        )

    def run_again(self, item, nextitem, phase):
        """Runs a test once more, unseen by other plugins' reports."""
        reset(item)
        if item in self.doctest_names:
            item.dtest.globs.update(self.doctest_names[item])
        attempt = self.begin(item, phase)
        with Unseen(self.config, self), Unrecorded():
            try:
                self.config.hook.pytest_runtest_protocol(item=item, nextitem=nextitem)
            except BaseException as error:
                self.abandon(attempt, error)
                self.tear_down_abandoned(nextitem)
                if isinstance(error, KeyboardInterrupt):
                    self.interrupted()
                return attempt
        self.end(attempt)
        return attempt

    def tear_down_abandoned(self, nextitem):
        """Ends the fixtures of a test that pytest gave up on, for the next."""
        try:
            self.session._setupstate.teardown_exact(nextitem)
        except BaseException as error:
            self.notice("a tear-down failed with %s" % worded(error))

    def interrupted(self):
        """Somebody pressed a key, or a test did as if."""

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_makereport(self, call):
        # For the report that comes next; it does not tell by itself.
        self.kind = None if call.excinfo is None else call.excinfo.typename

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report):
        attempt = self.attempt
        if attempt is not None:
            attempt.add(report, self.kind)
            if report.failed and attempt.phase == "first" and not hasattr(report, "wasxfail"):
                self.failed_reports += 1

    # After the suite

    def serve_runs(self, tears_down=False):
        """Runs what the host asks for; what it says when it has had enough."""
        while True:
            message = self.connection.receive()
            if message is None or message["t"] != "run":
                return message
            for index in message["tests"]:
                # Every fixture but the session's goes, as between modules.
                self.run_again(self.items[index], None, message["phase"])
            if tears_down:
                self.tear_down()
            self.connection.send({"t": "ran"})

    def tear_down(self):
        """Ends the session's fixtures; what breaks there has no test to blame."""
        self.holds_session = False
        capture = self.config.pluginmanager.getplugin("capturemanager")
        if capture is not None:
            capture.resume_global_capture()
        try:
            self.session._setupstate.teardown_exact(None)
        except BaseException as error:
            self.broken("the session's tear-down failed with %s" % worded(error))
        if capture is not None:
            capture.suspend_global_capture()
            capture.read_global_capture()

    # Processes of their own

    def tidy_up(self):
        """Before a process ends that pytest does not clean up after."""

    def leave(self):
        """No other plugin may write its report: this run is not the user's."""
        self.tidy_up()
        sys.stdout.flush()
        sys.stderr.flush()
        _exit(0)

    def run_job(self):
        """Runs a list of tests in order, in a process of their own."""
        job = self.job
        self.asks = bool(job.get("ask"))
        stays = bool(job.get("stay"))
        self.holds_session = stays
        items = [self.items[index] for index in job["tests"]]
        if job.get("terse"):
            # Its source is then neither read nor parsed for a failure's report.
            self.config.option.tbstyle = "no"
        with Unseen(self.config, self):
            if self.observer is not None:
                # Now, in case the first test takes the process along.
                self.observer.note_loaded()
            state, tidied = self.state(), self.tidied()
            for place, item in enumerate(items):
                following = items[place + 1] if place + 1 < len(items) else None
                if state is not None and following is None:
                    state.before_last()
                attempt = self.run_again(item, following, job["phase"])
                while attempt.again:
                    attempt = self.run_again(item, following, "rerun")
                if state is not None:
                    state.left(self.index[item]) if following is not None else state.after_last()
            if stays:
                self.connection.send({"t": "suite_end", "stopped": None, "wanted": True})
                self.serve_runs()
                self.tear_down()
            count = tidied.restore() if tidied is not None else 0
            if count:
                self.connection.send({"t": "tidied", "files": count})
        if self.observer is not None:
            self.observer.stop()
            self.observer.report(self.connection, self.config)
        self.connection.close()


class Unseen:
    """While this lasts, reports reach no plugin but one, nothing is said on the
    terminal, and what fixtures add to pytest's own report is taken back."""

    def __init__(self, config, plugin):
        self._config = config
        self._manager = config.pluginmanager
        self._plugin = plugin

    def __enter__(self):
        call = self._call = self._manager._inner_hookexec
        plugin = self._plugin

        def unseen(name, methods, arguments, firstresult):
            if name in REPORTING_HOOKS:
                methods = [method for method in methods if method.plugin is plugin]
            return call(name, methods, arguments, firstresult)

        self._manager._inner_hookexec = unseen
        report = self._config.stash.get(xml_key, None)
        self._kept = [] if report is None else [(report, lists_of(report))]
        terminal = self._manager.getplugin("terminalreporter")
        writer = getattr(terminal, "_tw", None)
        if hasattr(writer, "_file"):
            self._kept.append((writer, {"_file": writer._file, "_current_line": getattr(writer, "_current_line", "")}))
            self._kept.append((terminal, {"currentfspath": getattr(terminal, "currentfspath", None)}))
            writer._file = io.StringIO()

    def __exit__(self, *_):
        self._manager._inner_hookexec = self._call
        for thing, attributes in self._kept:
            vars(thing).update(attributes)


class Unrecorded:
    """While this lasts, coverage records nothing that the main thread executes: a
    test that runs again must not add lines to those of the first attempt.

    Coverage that uses `sys.monitoring` cannot be suspended and goes on."""

    def __enter__(self):
        self._trace = trace = sys.gettrace()
        owner = getattr(trace, "__self__", trace)
        self._is_coverage = type(owner).__module__.partition(".")[0] == "coverage"
        if self._is_coverage:
            self._thread_trace = getattr(threading, "_trace_hook", None)
            threading.settrace(None)
            sys.settrace(None)

    def __exit__(self, *_):
        if self._is_coverage:
            threading.settrace(self._thread_trace)
            sys.settrace(self._trace)
            # It takes over with the next call, and must see this frame's callers
            # return.
            called()


def called():
    """Does nothing."""


def lists_of(thing):
    """Copies of all lists and dictionaries that something has."""
    return {name: value.copy() for name, value in vars(thing).items() if type(value) in (list, dict)}


def reset(item):
    """Makes an item as good as new, so that it can be run again."""
    item._report_sections = []
    if isinstance(item, pytest.Function):
        if item.cls is not None:
            # A test method gets a new instance each time.
            item.__dict__.pop("_instance", None)
            item._obj = None
        for definitions in item._fixtureinfo.name2fixturedefs.values():
            for definition in definitions:
                cached = definition.cached_result
                if cached is not None and cached[2] is not None:
                    finish(definition, item)
    try:
        from _pytest.subtests import failed_subtests_key
    except ImportError:
        return
    counts = item.config.stash.get(failed_subtests_key, None)
    if counts:
        counts.pop(item.nodeid, None)
        counts.pop(getattr(item, "id", None), None)


def finish(definition, item):
    """Makes pytest forget a fixture that is broken, so that it is set up again."""
    request = types.SimpleNamespace(node=item, config=item.config, session=item.session)
    try:
        definition.finish(request)
    except BaseException:
        # It could not be set up; no wonder if it cannot be torn down.
        pass
    definition.cached_result = None


class Main(Agent):
    """The process the user requested."""

    is_interrupted = False
    #: How many reports of failures do not count.
    forgiven = 0
    #: The exit status, once the session is finished.
    status = None

    def interrupted(self):
        self.is_interrupted = True
        self.session.shouldstop = "interrupted while a test was rerun"

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtestloop(self, session):
        option = session.config.option
        blocked = session.testsfailed and not option.continue_on_collection_errors
        if option.collectonly and not blocked:
            self.announce(self.take_items(session), lambda: "tests are only collected")
        if blocked or option.collectonly or self.connection.lost:
            yield
            return
        self.announce(self.take_items(session), self.fork_zygote)
        answer = self.connection.receive()
        if answer is not None and answer["t"] == "finish":
            # The zygote is all that was wanted.
            self.connection.close()
            self.leave()
        if answer is None or answer["t"] != "go":
            self.connection.lost = True
        else:
            for number, reason in answer.get("skip", ()):
                # pytest's own way, so that it is reported like any other.
                self.items[number].add_marker(pytest.mark.skip(reason=reason))
        result = yield
        self.attempt = None
        stopped = session.shouldfail or session.shouldstop or None
        error = result.excinfo[1] if result.excinfo is not None else None
        if error is not None and not stopped:
            stopped = worded(error)
        wanted = error is None or bool(session.shouldfail or session.shouldstop) or isinstance(error, pytest.exit.Exception)
        wanted = wanted and not self.is_interrupted
        self.connection.send({"t": "suite_end", "stopped": stopped and wire.text(stopped, 1024), "wanted": wanted})
        message = self.serve_runs()
        if self.holds_session:
            self.tear_down()
        if session.testsfailed > self.failed_reports:
            # Such as too little coverage.
            self.broken("something other than a test made the run fail: see the output of pytest")
        if message is not None and message["t"] == "hold":
            self.connection.send({"t": "held"})
            message = self.serve_runs(tears_down=True)
        is_good = error is None and not self.is_broken and not self.is_interrupted
        if message is not None and message.get("forgive") and is_good:
            # From here on, pytest and every other plugin see a session without
            # failures; what they object to at its end still counts.
            self.forgiven = self.failed_reports
            session.testsfailed = 0

    def announce(self, names, forks):
        """Says what the host must know before the first test runs. What may be
        long goes first and in parts: without `ready`, the host never answers."""
        self.send_tests(names)
        option = self.config.option
        named = (wire.text(path, wire.WORD_LIMIT) for path in getattr(option, "file_or_dir", None) or ())
        for part in wire.parts(named):
            self.connection.send({"t": "more", "named": part})
        reason = forks()
        self.connection.send(
            {
                "t": "ready",
                "total": len(names),
                "forks": reason is None,
                "reason": None if option.collectonly else reason,
                "root": wire.text(self.config.rootpath, 4096),
                "seeds": self.seeds(),
                "finishers": self.finishers(),
                "packages": next(wire.parts(installed()), []),
            }
        )

    def finishers(self):
        """Plugins besides pytest's own that act at the end of a session."""
        names = set()
        manager = self.config.pluginmanager
        for hook in ("pytest_sessionfinish", "pytest_runtestloop"):
            for implementation in getattr(manager.hook, hook).get_hookimpls():
                plugin = implementation.plugin
                module = plugin.__name__ if isinstance(plugin, types.ModuleType) else type(plugin).__module__
                if plugin is not self and module.partition(".")[0] != "_pytest":
                    name = implementation.plugin_name
                    # One without a name has a number, which says nothing.
                    name = "%s.%s" % (module, type(plugin).__name__) if name.isdigit() else name
                    names.add(wire.text(name, 200))
        return sorted(names)[:100]

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_sessionfinish(self, session):
        before = exit_code(session.exitstatus)
        outcome = yield
        status = exit_code(session.exitstatus)
        error = outcome.excinfo[1] if outcome.excinfo is not None else None
        if isinstance(error, pytest.exit.Exception):
            status = status if error.returncode is None else exit_code(error.returncode)
        elif error is not None:
            status = 1
        self.finished(status, status != before)

    def finished(self, status, changed):
        self.status = status
        self.connection.send({"t": "finished", "status": status, "changed": changed})

    def returned(self, outcome):
        """The last word on the exit status, and the end of what is watched. A
        pytest that could not even begin a session says no goodbye."""
        error = outcome.excinfo[1] if outcome.excinfo is not None else None
        if error is None:
            status = exit_code(outcome.get_result())
        elif self.status is None:
            return
        else:
            # Only then does pytest itself make an exit code of it.
            status = int(pytest.ExitCode.USAGE_ERROR) if isinstance(error, pytest.UsageError) else 1
        if status != (self.status or 0):
            self.finished(status, self.status is not None)
        if not self.connection.lost:
            self.connection.close()

    @pytest.hookimpl
    def pytest_terminal_summary(self, terminalreporter):
        if self.forgiven:
            terminalreporter.write_line("flakewise: the failures of this run are tolerated; pytest exits as if they had passed")

    def seeds(self):
        """What other plugins drew or were told, and a reproduction must tell them."""
        seeds = {}
        for name in ("randomly_seed", "random_order_seed"):
            value = getattr(self.config.option, name, None)
            if value is not None:
                seeds[name] = wire.text(value, 64)
        if self.is_distributed:
            seeds["numprocesses"] = "0"
        return seeds

    def fork_zygote(self):
        """Leaves a process behind in which no test has run; or says why not."""
        threads = thread_count()
        if threads > 1:
            return "%d threads were running before the first test" % threads
        if not hasattr(os, "fork"):
            return "this platform cannot fork"
        sys.stdout.flush()
        sys.stderr.flush()
        seeded = chance.seeded()
        # Forked twice: tests that look at their children must not see it.
        child = _fork()
        if child == 0:
            try:
                if _fork() == 0:
                    Zygote(self, seeded).serve()
            finally:
                _exit(0)
        _waitpid(child, 0)
        return None


def installed():
    """Installed distributions, by the names of their folders: as `name==version`."""
    found = set()
    for folder in sys.path:
        try:
            names = os.listdir(folder or ".")
        except OSError:
            continue
        for name in names:
            stem, _, suffix = name.rpartition(".")
            if suffix == "egg-info":
                # As in `shop-1.0-py3.11.egg-info`.
                stem = stem.partition("-py3")[0]
            project, dash, version = stem.rpartition("-")
            if dash and suffix in ("dist-info", "egg-info"):
                project = project.lower().replace("_", "-").replace(".", "-")
                found.add(wire.text("%s==%s" % (project, version), 200))
    return sorted(found)


def thread_count():
    try:
        return len(os.listdir("/proc/self/task"))
    except OSError:
        return threading.active_count()


class Zygote:
    """Forks a child for every job. Lives in a session of its own, so that a
    test that kills its process group does not take it along; kills that group
    if the host goes away."""

    def __init__(self, main, seeded):
        self.agent = main
        self.seeded = seeded
        self.connection = main.connection
        self.children = {}
        self.suite_group = os.getpgrp()
        # Main's, if something requested it while tests were collected.
        self.temporary = temporary.base(main.config)

    def serve(self):
        errors.clear()
        self.connection.if_gone = None
        _setsid()
        capture = self.agent.config.pluginmanager.getplugin("capturemanager")
        if capture is not None and capture._global_capturing is not None:
            # A child starts over. The files are main's, offsets included: not
            # to be read here.
            capture._global_capturing.stop_capturing()
            capture._global_capturing = None
        nothing = os.open(os.devnull, os.O_RDWR)
        for descriptor in (0, 1, 2):
            os.dup2(nothing, descriptor)
        os.close(nothing)
        if faulthandler.is_enabled():
            faulthandler.enable(file=2)
        # What exists now is never garbage in a child; not to look at it keeps
        # its pages shared.
        gc.freeze()
        self.handlers = {
            number: signal.signal(number, handler)
            for number, handler in (
                (signal.SIGINT, signal.SIG_IGN),
                (signal.SIGTERM, signal.SIG_DFL),
                (signal.SIGCHLD, lambda *_: None),
            )
        }
        reader, writer = os.pipe()
        os.set_blocking(writer, False)
        os.set_blocking(reader, False)
        self.pipe = (reader, writer)
        signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
        self.connection.open("zygote", job=self.agent.job.get("session", 0))
        while True:
            if not self.connection.has_unread():
                ready, _, _ = _select([self.connection.fileno(), reader], [], [])
                if reader in ready:
                    try:
                        os.read(reader, 4096)
                    except BlockingIOError:
                        pass
                    self.reap()
                if self.connection.fileno() not in ready:
                    continue
            message = self.connection.receive()
            if message is None:
                self.kill_everything()
                return
            if message["t"] == "quit":
                self.kill_children()
                self.connection.close()
                return
            if message["t"] == "job":
                self.fork_child(message)

    def fork_child(self, job):
        if job.get("measure"):
            # Not in the child, where it would be part of what is measured.
            from . import measure  # noqa: F401
        if job.get("state"):
            from . import state  # noqa: F401
        if job.get("tidy"):
            from . import files

            files.remember(str(self.agent.config.rootpath))
        try:
            child = _fork()
        except OSError as error:
            self.connection.send({"t": "exited", "job": job["job"], "error": wire.text(error, 1024)})
            return
        if child == 0:
            try:
                self.become_child(job)
            except BaseException as error:
                self.agent.trouble(error)
            finally:
                _exit(0)
        self.children[child] = (job["job"], _clock())
        self.connection.send({"t": "forked", "job": job["job"], "pid": child})

    def become_child(self, job):
        errors.clear()
        _setpgid(0, 0)
        chance.restore(self.seeded)
        signal.set_wakeup_fd(-1)
        for number, handler in self.handlers.items():
            signal.signal(number, handler if handler is not None else signal.SIG_DFL)
        for descriptor in self.pipe:
            os.close(descriptor)
        agent = self.agent
        self.connection.open("child", job=job["job"])
        capture = agent.config.pluginmanager.getplugin("capturemanager")
        if capture is not None:
            capture.start_global_capturing()
            capture.suspend_global_capture()
        agent.job = job
        agent.measure()
        try:
            agent.run_job()
        finally:
            temporary.remove(agent.config, self.temporary)

    def reap(self):
        for child in list(self.children):
            pid, status, usage = _wait4(child, _nohang)
            if pid:
                job, began = self.children.pop(child)
                if os.WIFSIGNALED(status):
                    temporary.remove_of(child)
                self.connection.send(
                    {
                        "t": "exited",
                        "job": job,
                        "status": status,
                        "wall_ns": _clock() - began,
                        "cpu_ns": int((usage.ru_utime + usage.ru_stime) * 1e9),
                    }
                )

    def kill_children(self):
        for child in self.children:
            for target in (-child, child):
                try:
                    os.kill(target, signal.SIGKILL)
                except OSError:
                    pass
        for child in self.children:
            _waitpid(child, 0)
            temporary.remove_of(child)

    def kill_everything(self):
        """The host was killed: what it cannot do any more is done here."""
        self.kill_children()
        try:
            os.killpg(self.suite_group, signal.SIGKILL)
        except OSError:
            pass
        self.connection.remove_folder()


def ends(child, limit):
    """Whether a child ends within this many seconds."""
    deadline = _clock() + limit * 1e9
    while _clock() < deadline:
        if _waitpid(child, _nohang)[0]:
            return True
        _sleep(0.001)
    return False


class Fresh(Agent):
    """A new interpreter for a few tests."""

    def tidy_up(self):
        temporary.remove(self.config)

    def prepare(self, config):
        options = config.known_args_namespace
        if hasattr(options, "no_cov"):
            # It would begin by wiping out the data of the user's own run.
            options.no_cov = True

    def configure(self, config):
        super().configure(config)
        option = config.option
        if option.maxfail:
            option.maxfail = 0
        # The user's own files stay as they are.
        option.cacheclear = False
        option.xmlpath = None
        files = self.job.get("files")
        if files:
            # As if the user had named only these; everything else about the
            # command line stays.
            config.args = list(files)
            option.pyargs = False

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_collection(self):
        result = yield
        if result.excinfo is not None:
            error = result.excinfo[1]
            self.trouble(error)

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_sessionfinish(self):
        # It did not come to running anything.
        self.leave()
        yield

    def take_wanted(self, session):
        """Only what the host named, in its order."""
        found = dict(zip(self.take_items(session), session.items))
        names = [name for name in self.job["names"] if name in found]
        self.items = session.items = [found[name] for name in names]
        self.index = {item: number for number, item in enumerate(self.items)}
        return names

    def observe_each(self):
        """Runs every test in a fork of its own, each with a trail of its own
        that continues ours."""
        observer = self.observer
        observer.note_loaded()
        # That we fork is not the tests' doing.
        observer.stop()
        inherited = temporary.base(self.config)
        for number, item in enumerate(self.items):
            child = _fork()
            if child == 0:
                try:
                    _setpgid(0, 0)
                    self.connection.lost = True
                    observer.branch(number)
                    self.run_again(item, None, "fresh")
                    observer.note_loaded()
                    observer.trail.write("outcome", "told")
                finally:
                    temporary.remove(self.config, inherited)
                    _exit(0)
            if not ends(child, self.job["limit"]):
                os.killpg(child, signal.SIGKILL)
                _waitpid(child, 0)
                temporary.remove_of(child)
        observer.report(self.connection, self.config)
        self.connection.close()

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session):
        try:
            names = self.take_wanted(session)
            self.send_tests(names)
            if names and self.job.get("each"):
                self.observe_each()
            elif names:
                self.job["tests"] = list(range(len(names)))
                self.run_job()
            else:
                self.connection.close()
        except BaseException as error:
            self.trouble(error)
        finally:
            self.leave()
