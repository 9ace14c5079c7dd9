"""How a test behaves: what it reads, writes, runs, waits for and starts.

Two amounts of it. *counters* are what the kernel counts anyway: two looks at them
per test, cheap enough to be always on. *everything* adds the lines of the project
that the test executed and the most threads and children it had at once; that makes
tests slower, so it is for runs whose outcomes nobody counts.

What cannot be measured here is `None`, never 0.
"""

import os
import resource
import sys
import sysconfig
import threading
import time

from . import wire

_clock, _getpid, _getrusage, _self = time.perf_counter_ns, os.getpid, resource.getrusage, resource.RUSAGE_SELF
_open, _read, _write, _close, _listdir = os.open, os.read, os.write, os.close, os.listdir
_realpath, _settrace, _gettrace = os.path.realpath, sys.settrace, sys.gettrace

#: How much of a message may be lines; the rest of its megabyte is for the others.
LINES_LIMIT = 768 * 1024
#: Told before a thread or process begins; threads from Python 3.12 on.
THREAD_EVENTS = frozenset(("_thread.start_new_thread", "_thread.start_joinable_thread"))
CHILD_EVENTS = frozenset(("subprocess.Popen", "os.fork", "os.forkpty", "os.posix_spawn", "os.system"))


class Measurer:
    """Measures one test after another in this process."""

    #: Where the kernel tells about a process.
    process = "/proc/self"
    #: Whether the kernel accounts for delays.
    accounting = "/proc/sys/kernel/task_delayacct"

    def __init__(self, kind, root, test_files):
        self._everything = kind == "everything"
        self._lines = Lines(root, test_files) if self._everything else None
        self._pid = _getpid()
        self._running = False
        # What we read ourselves is not the test's doing.
        self._own_reads = 0
        self._has_wait = self._look(self.accounting) in (b"1\n", b"1")
        self._tick = 1_000_000_000 // os.sysconf("SC_CLK_TCK")
        self._threads = self._children = None
        if self._everything:
            sys.addaudithook(self._audit)
            if sys.version_info < (3, 12):
                self._watch_threads()

    def start(self):
        """The test is about to begin."""
        self._threads, self._children = self._thread_count(), self._child_count()
        self._has_memory = self._forget_peak()
        if self._lines is not None:
            self._lines.start()
        self._running = True
        self._before = self._counters()

    def stop(self):
        """The test has ended: its measures, by name."""
        after = self._counters()
        self._running = False
        files = None if self._lines is None else self._lines.stop()
        names = ("ns", "switches", "wait_ns", "reads", "writes")
        measures = {
            name: None if before is None or now is None else max(now - before, 0)
            for name, before, now in zip(names, self._before, after)
        }
        measures["memory"] = self._peak_memory() if self._has_memory else None
        if self._everything:
            self._note(self._thread_count(), self._child_count())
            measures.update(threads=self._threads, children=self._children, files=files)
        return measures

    def _counters(self):
        now = _clock()
        switches = _getrusage(_self).ru_nvcsw
        wait = self._wait_time()
        # The counts in it are from before this look itself.
        own = self._own_reads
        reads, writes = self._calls()
        return now, switches, wait, None if reads is None else reads - own, writes

    # What the kernel tells

    def _look(self, path):
        try:
            descriptor = _open(path, os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            return None
        try:
            self._own_reads += 1
            return _read(descriptor, 16384)
        except OSError:
            return None
        finally:
            _close(descriptor)

    def _calls(self):
        """How often this process has read and written, whatever from and to."""
        text = self._look(self.process + "/io")
        return number_after(b"syscr:", text), number_after(b"syscw:", text)

    def _wait_time(self):
        if not self._has_wait:
            return None
        try:
            # The 42nd field; the second may hold blanks.
            return int((self._look(self.process + "/stat") or b"").rpartition(b")")[2].split()[39]) * self._tick
        except (IndexError, ValueError):
            return None

    def _forget_peak(self):
        try:
            descriptor = _open(self.process + "/clear_refs", os.O_WRONLY | os.O_CLOEXEC)
        except OSError:
            return False
        try:
            return _write(descriptor, b"5") == 1
        except OSError:
            return False
        finally:
            _close(descriptor)

    def _peak_memory(self):
        kibibytes = number_after(b"VmHWM:", self._look(self.process + "/status"))
        return None if kibibytes is None else kibibytes * 1024

    def _thread_count(self):
        try:
            return len(_listdir(self.process + "/task")) if self._everything else None
        except OSError:
            return None

    def _child_count(self):
        """Direct children, of whichever thread. Those that have ended count until
        somebody has asked how."""
        if not self._everything:
            return None
        try:
            tasks = _listdir(self.process + "/task")
        except OSError:
            return None
        known = [self._look("%s/task/%s/children" % (self.process, task)) for task in tasks]
        counts = [len(children.split()) for children in known if children is not None]
        # A thread may end while we look; all of them do not.
        return sum(counts) if counts else None

    # Threads and children

    def _note(self, threads, children):
        if threads is not None and self._threads is not None:
            self._threads = max(self._threads, threads)
        if children is not None and self._children is not None:
            self._children = max(self._children, children)

    def _watch_threads(self):
        original = threading._start_new_thread

        def start_new_thread(*arguments):
            self._audit("_thread.start_new_thread", arguments)
            return original(*arguments)

        threading._start_new_thread = start_new_thread

    def _audit(self, event, _):
        # There are never more than right after one more has begun.
        if event in THREAD_EVENTS:
            if self._running and _getpid() == self._pid and self._threads is not None:
                self._note((self._thread_count() or 0) + 1, None)
        elif event in CHILD_EVENTS:
            if self._running and _getpid() == self._pid and self._children is not None:
                self._note(None, (self._child_count() or 0) + 1)


class Lines:
    """Which lines of the project's files are executed."""

    def __init__(self, root, test_files):
        self._root = os.path.join(_realpath(root), "")
        self._test_files = frozenset(map(_realpath, test_files))
        paths = sysconfig.get_paths()
        names = ("stdlib", "platstdlib", "purelib", "platlib")
        self._foreign = tuple({os.path.join(_realpath(paths[name]), "") for name in names if name in paths})
        self._found = {}
        self._names = {}
        self._functions = {}
        self._tool = None
        # One function, so that it can be distinguished from somebody else's.
        self._trace = self._make_trace()

    def start(self):
        self._found = {}
        self._names = {}
        self._functions.clear()
        if hasattr(sys, "monitoring"):
            self._monitor()
        else:
            threading.settrace(self._trace)
            _settrace(self._trace)

    def stop(self):
        """The files with their lines as ranges; none if somebody else took over,
        or there are too many to tell."""
        if hasattr(sys, "monitoring"):
            seen = self._end_monitoring()
        else:
            seen = _gettrace() is self._trace
            _settrace(None)
            threading.settrace(None)
        return self._told() if seen else None

    def _told(self):
        files, length = [], 0
        for path, lines in sorted(self._found.items()):
            ranges = as_ranges(sorted(lines))
            length += len(path) + 64 + sum(len(str(last)) * 2 + 4 for _, last in ranges)
            if length > LINES_LIMIT:
                return None
            if ranges:
                files.append({"path": wire.text(path, 4096), "test": path in self._test_files, "lines": ranges})
        return files

    def _lines_of(self, file):
        """Where to note the lines of a file; nowhere if it is not the project's."""
        try:
            return self._names[file]
        except KeyError:
            pass
        lines = None
        if file.endswith(".py"):
            path = _realpath(file)
            foreign = path.startswith(self._foreign) or "/site-packages/" in path or "/dist-packages/" in path
            if path.startswith(self._root) and not foreign:
                lines = self._found.setdefault(path, set())
        self._names[file] = lines
        return lines

    def _make_trace(self):
        """For Python before 3.12: called for every call, and for every line of
        the project's files."""

        def in_file(add):
            def line(frame, event, _):
                if event == "line":
                    add(frame.f_lineno)
                return line

            return line

        def trace(frame, _, __):
            file = frame.f_code.co_filename
            try:
                return functions[file]
            except KeyError:
                lines = self._lines_of(file)
                function = functions[file] = None if lines is None else in_file(lines.add)
                return function

        functions = self._functions
        return trace

    def _monitor(self):
        """Each line of the project's files is reported once; everything else is left
        alone after its first call."""
        from . import observe

        monitoring = sys.monitoring
        self._tool = tool = observe.free_tool()
        if tool is None:
            return
        monitoring.use_tool_id(tool, "flakewise")
        events = monitoring.events

        def started(code, _):
            if self._lines_of(code.co_filename) is not None:
                monitoring.set_local_events(tool, code, events.LINE)
            return monitoring.DISABLE

        def line(code, number):
            lines = self._lines_of(code.co_filename)
            if lines is not None:
                lines.add(number)
            return monitoring.DISABLE

        monitoring.register_callback(tool, events.PY_START, started)
        monitoring.register_callback(tool, events.LINE, line)
        # What is reported once per test was reported before.
        monitoring.restart_events()
        monitoring.set_events(tool, events.PY_START)

    def _end_monitoring(self):
        monitoring, tool = sys.monitoring, self._tool
        if tool is None or monitoring.get_tool(tool) != "flakewise":
            return False
        monitoring.set_events(tool, 0)
        for event in (monitoring.events.PY_START, monitoring.events.LINE):
            monitoring.register_callback(tool, event, None)
        monitoring.free_tool_id(tool)
        return True


def number_after(name, text):
    """The number that follows a name at the beginning of a line."""
    # Looked for rather than taken apart: this is done for every test.
    begin = -1 if text is None else (b"\n" + text).find(b"\n" + name)
    if begin < 0:
        return None
    try:
        return int(text[begin + len(name) : begin + len(name) + 24].split(None, 1)[0])
    except (IndexError, ValueError):
        return None


def as_ranges(lines):
    """Pairs of first and last of consecutive numbers."""
    ranges = []
    for line in lines:
        if ranges and line == ranges[-1][1] + 1:
            ranges[-1][1] = line
        else:
            ranges.append([line, line])
    return ranges
