"""A host for the agent, in Python and without any policy of its own.

It does what `crates/flakewise-runner` does: hands the agent to pytest through
the environment, listens on a unix socket, and answers. Everything an agent says
is kept in order, so that a test can compare it with what it should have said.
"""

import json
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

#: The interpreter under test.
PYTHON = os.environ.get("AGENT_PYTHON") or sys.executable
AGENT = Path(__file__).resolve().parent.parent / "flakewise_agent"
#: Nothing here takes more than a few seconds unless something hangs.
LIMIT = float(os.environ.get("AGENT_LIMIT", "300"))

#: The longest message that the host takes, in bytes.
LINE_LIMIT = 1 << 20

#: What the host sends even where it means nothing, as serde does.
JOB = {
    "t": "job",
    "job": 0,
    "session": 0,
    "tests": [],
    "names": [],
    "files": [],
    "ask": False,
    "stay": False,
    "observe": False,
    "trail": "",
    "changed": {},
}


def environment(**more):
    """Ours, without what would steer Python or pytest."""
    foreign = ("PYTEST", "PYTHON", "FLAKEWISE", "COV", "AGENT", "NO_COLOR", "FORCE_COLOR", "PY_COLORS", "CI", "VIRTUAL_ENV")
    clean = {name: value for name, value in os.environ.items() if not name.startswith(foreign)}
    clean.update(COLUMNS="100", PYTHONDONTWRITEBYTECODE="1", PYTHONHASHSEED="1")
    clean.update(more)
    return clean


class Peer:
    """A process that speaks to us."""

    def __init__(self, connection, hello):
        self.hello = hello
        self.role, self.pid, self.job = hello["role"], hello["pid"], hello["job"]
        self.connections = [connection]
        self.messages = []
        self.open = 1
        self.resumed = 0

    @property
    def said_bye(self):
        return bool(self.messages) and self.messages[-1]["t"] == "bye"

    def all(self, kind):
        return [message for message in self.messages if message["t"] == kind]

    def send(self, message):
        self.connections[-1].sendall(json.dumps(message).encode() + b"\n")


class Story(list):
    """What happened, a word or two per message."""


class Host:
    """Runs pytest on a project, with the agent in it."""

    def __init__(self, project, again=None, postpone=(), variables=None, runs=True, measure=None, held=None, forgive=False):
        self.project = Path(project)
        #: Whether the suite is to run once it is collected.
        self.runs = runs
        #: What to measure in main.
        self.measure = measure
        #: Whether to run a failed test again at once: by name and phase.
        self.again = again or (lambda name, phase: False)
        #: Names of tests to run after the suite, list by list.
        self.postponed = [list(names) for names in postpone]
        #: Names of tests to run while main waits for verdicts, list by list; none if
        #: it need not wait.
        self.held = None if held is None else [list(names) for names in held]
        #: Whether main exits as if its failing tests had passed.
        self.forgive = forgive
        self.variables = variables or {}
        self.folder = Path(tempfile.mkdtemp(prefix="flakewise-", dir="/tmp"))
        shutil.copytree(AGENT, self.folder / "agent" / "flakewise_agent", ignore=shutil.ignore_patterns("__pycache__"))
        self.socket = str(self.folder / "socket")
        self.token = secrets.token_hex(8)
        self.peers = []
        self.orders = {}
        self.names = []
        self.processes = []
        self.output = {}
        self.strangers = []
        self.jobs = 1
        #: Connections whose first message was not read yet.
        self.unread = 0
        #: Numbers of the connections of `settle` that were accepted.
        self.settled = set()
        self.changed = threading.Condition()
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(self.socket)
        self.listener.listen(16)
        threading.Thread(target=self._accept, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.go_away()
        for process in self.processes:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        for peer in self.peers:
            self._wait(lambda: not peer.open, "%s to end" % peer.role)
        shutil.rmtree(self.folder, ignore_errors=True)

    def go_away(self):
        """As if the host had died."""
        self.listener.close()
        with self.changed:
            for peer in self.peers:
                for connection in peer.connections:
                    try:
                        connection.shutdown(socket.SHUT_RDWR)
                    except OSError:
                        pass

    # Processes

    def start(self, arguments, role="main", job=0, variables=None, options=""):
        original = environment(**dict(self.variables, **(variables or {})))
        agent = {
            "FLAKEWISE_SOCKET": self.socket,
            "FLAKEWISE_TOKEN": self.token,
            "FLAKEWISE_AGENT_ROLE": role,
            "FLAKEWISE_AGENT_JOB": str(job),
        }
        added = (("PYTHONPATH", str(self.folder / "agent"), ":"), ("PYTEST_ADDOPTS", "-p flakewise_agent" + options, " "))
        for name, value, separator in added:
            old = original.get(name)
            if old:
                value += separator + old
                agent["FLAKEWISE_AGENT_OLD_" + name] = old
            agent[name] = value
        if role == "fresh":
            if "COVERAGE_FILE" in original:
                agent["FLAKEWISE_AGENT_OLD_COVERAGE_FILE"] = original["COVERAGE_FILE"]
            agent["COVERAGE_FILE"] = str(self.folder / "coverage")
        printed = open(self.folder / ("printed-%d" % len(self.processes)), "w+b")
        process = subprocess.Popen(
            arguments,
            cwd=self.project,
            env=dict(original, **agent),
            stdin=subprocess.DEVNULL,
            stdout=printed,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        self.processes.append(process)
        self.output[process.pid] = printed
        return process

    def printed(self, process):
        file = self.output[process.pid]
        file.seek(0)
        return file.read().decode("utf-8", "replace")

    def finish(self, process):
        try:
            process.wait(LIMIT)
        except subprocess.TimeoutExpired:
            raise AssertionError("pytest did not end\n" + self.explain()) from None
        return process.returncode

    def run(self, *arguments, python=(), **keywords):
        """Runs the suite to its end. Only the zygote is left."""
        process = self.start([PYTHON, *python, "-m", "pytest", *arguments], **keywords)
        self.exit_code = self.finish(process)
        self.text = self.printed(process)
        self.settle()
        mains = [peer for peer in self.peers if peer.role == "main"]
        self._wait(lambda: all(not peer.open for peer in mains), "main to close its connection")
        return self

    # What was said

    @property
    def main(self):
        return next(peer for peer in self.peers if peer.role == "main")

    @property
    def zygote(self):
        self._wait(lambda: any(peer.role == "zygote" for peer in self.peers), "a zygote")
        return next(peer for peer in self.peers if peer.role == "zygote")

    def name_of(self, peer, index):
        tests = peer.all("tests") or self.main.all("tests")
        return [name for message in tests for name in message["ids"]][index].split("::", 1)[-1]

    def story(self, peer=None):
        """`test_a first`, `test_a failed`: starts, questions and ends."""
        peer = peer or self.main
        story = []
        for message in peer.messages:
            kind = message["t"]
            if kind == "start":
                story.append("%s %s" % (self.name_of(peer, message["i"]), message["phase"]))
            elif kind == "ask":
                story.append("%s ask" % self.name_of(peer, message["i"]))
            elif kind == "end":
                story.append("%s %s" % (self.name_of(peer, message["i"]), message["outcome"]))
            elif kind in ("suite_end", "ran", "held", "bye", "observed"):
                story.append(kind)
        return story

    def ends(self, peer=None):
        """How each execution ended: pairs of name and outcome."""
        peer = peer or self.main
        return [(self.name_of(peer, message["i"]), message["outcome"]) for message in peer.all("end")]

    def failures(self, name, peer=None):
        peer = peer or self.main
        return [m["failure"] for m in peer.all("end") if self.name_of(peer, m["i"]) == name and m.get("failure")]

    def notices(self):
        return [message["text"] for message in self.main.all("notice")]

    # More to run

    def fork(self, *names, wait=True, **order):
        """Runs tests in a child of the zygote; the child and its `exited`."""
        job = self._number()
        tests = [self.names.index(self._full(name)) for name in names]
        zygote = self.zygote
        zygote.send(dict(JOB, job=job, tests=tests, phase="fork", **order))
        if not wait:
            return job
        ended = self.message(zygote, "exited", lambda message: message["job"] == job)
        return self.peer(job), ended

    def peer(self, job):
        self.settle()
        self._wait(lambda: any(peer.job == job and peer.role != "zygote" for peer in self.peers), "job %d" % job)
        peer = next(peer for peer in self.peers if peer.job == job and peer.role != "zygote")
        self._wait(lambda: not peer.open, "job %d to close its connection" % job)
        return peer

    def fresh(self, *names, arguments=(), python=(), file=None, changed=None, observe=False, variables=None, options="", **order):
        """Runs tests in a new interpreter. If nothing was collected before,
        names are taken as they are."""
        job = self._number()
        names = [self._full(name) for name in names]
        files = [file] if file else [str(self.project / names[0].split("::")[0])]
        trail = self.folder / ("trail-%d" % job)
        self.orders[job] = dict(
            JOB, job=job, names=names, files=files, phase="fresh", observe=observe, trail=str(trail), changed=changed or {}, **order
        )
        process = self.start([PYTHON, *python, "-m", "pytest", *arguments], role="fresh", job=job, variables=variables, options=options)
        self.exit_code = self.finish(process)
        self.text = self.printed(process)
        peer = self.peer(job)
        peer.trail = [json.loads(line) for line in trail.read_text().splitlines()] if trail.exists() else []
        return peer

    def _full(self, name):
        matching = [known for known in self.names if known == name or known.split("::", 1)[-1] == name]
        return matching[0] if matching else name

    def _number(self):
        self.jobs += 1
        return self.jobs

    # Waiting

    def message(self, peer, kind, which=lambda message: True):
        def found():
            return next((m for m in peer.messages if m["t"] == kind and which(m)), None)

        self._wait(lambda: found() or not peer.open, "`%s` from %s" % (kind, peer.role))
        if found() is None:
            raise AssertionError("%s ended without `%s`\n%s" % (peer.role, kind, self.explain()))
        return found()

    def _wait(self, condition, what):
        with self.changed:
            if not self.changed.wait_for(condition, LIMIT):
                raise AssertionError("waited in vain for %s\n%s" % (what, self.explain()))

    def settle(self):
        """Waits until all connections that processes made before this call are known.
        They are accepted in order, so a connection of our own comes after them."""
        number = secrets.token_hex(8)
        with socket.socket(socket.AF_UNIX) as own:
            try:
                own.connect(self.socket)
            except OSError:
                # Nobody is listening.
                return
            own.sendall(json.dumps({"t": "settle", "number": number}).encode() + b"\n")
            self._wait(lambda: number in self.settled and not self.unread, "all connections to be read")

    def explain(self):
        lines = []
        for peer in self.peers:
            lines.append("%s %d (job %d, %s)" % (peer.role, peer.pid, peer.job, "open" if peer.open else "closed"))
            lines += ["  " + json.dumps(message)[:300] for message in peer.messages]
        for process in self.processes:
            lines.append("process %d ended with %s and printed:" % (process.pid, process.poll()))
            lines.append(self.printed(process))
        return "\n".join(lines)

    # Listening

    def _accept(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            with self.changed:
                self.unread += 1
            threading.Thread(target=self._listen, args=(connection,), daemon=True).start()

    def _listen(self, connection):
        peer, is_read = None, False
        try:
            with connection.makefile("rb") as lines:
                for line in lines:
                    assert len(line) <= LINE_LIMIT, "a message of %d bytes" % len(line)
                    message = json.loads(line)
                    if message["t"] == "settle":
                        with self.changed:
                            self.settled.add(message["number"])
                        return
                    if peer is None:
                        peer = self._greet(connection, message)
                        is_read = True
                        with self.changed:
                            self.unread -= 1
                            self.changed.notify_all()
                    else:
                        with self.changed:
                            peer.messages.append(message)
                            self.changed.notify_all()
                        self._answer(peer, message)
        except OSError:
            pass
        finally:
            with self.changed:
                if peer is not None:
                    peer.open -= 1
                if not is_read:
                    self.unread -= 1
                self.changed.notify_all()

    def _greet(self, connection, hello):
        assert hello["t"] == "hello" and hello["token"] == self.token and hello["proto"] == [1, 0], hello
        with self.changed:
            if hello.get("resumed"):
                known = [peer for peer in self.peers if peer.pid == hello["pid"] and peer.role == hello["role"]]
                if known:
                    # All that was said on the old one comes before.
                    self.changed.wait_for(lambda: not known[0].open, LIMIT)
                    known[0].connections.append(connection)
                    known[0].open += 1
                    known[0].resumed += 1
                    return known[0]
            peer = Peer(connection, hello)
            self.peers.append(peer)
            self.changed.notify_all()
        if peer.role == "main":
            peer.send(dict(JOB, ask=True, **({"measure": self.measure} if self.measure else {})))
        elif peer.role == "fresh":
            peer.send(self.orders[peer.job])
        return peer

    def _answer(self, peer, message):
        kind = message["t"]
        try:
            if kind == "ready":
                self.names = [name for part in peer.all("tests") for name in part["ids"]]
                peer.send({"t": "go" if self.runs else "finish"})
            elif kind == "ask":
                phase = peer.all("start")[-1]["phase"]
                # Nobody runs a test again without end.
                again = len(peer.all("ask")) < 50 and self.again(self.name_of(peer, message["i"]), phase)
                peer.send({"t": "again" if again else "next"})
            elif kind in ("suite_end", "ran", "held"):
                is_main, is_held = peer.role == "main", bool(peer.all("held"))
                lists = self.held if is_held else self.postponed
                wanted = lists.pop(0) if lists and is_main else []
                tests = [self.names.index(name) for name in map(self._full, wanted) if name in self.names]
                if tests:
                    peer.send({"t": "run", "tests": tests, "phase": "postpone"})
                elif is_main and self.held is not None and not is_held:
                    peer.send({"t": "hold"})
                else:
                    # As serde does: what is false is left out.
                    peer.send({"t": "finish", "forgive": True} if self.forgive else {"t": "finish"})
            elif kind == "more":
                peer.hello.setdefault("argv", []).extend(message.get("argv", ()))
                peer.hello.setdefault("env", {}).update(message.get("env", {}))
        except OSError:
            # It is gone; its end will tell.
            pass


def bare(project, *arguments, python=(), **variables):
    """pytest without the agent: exit code and what it printed."""
    done = subprocess.run(
        [PYTHON, *python, "-m", "pytest", *arguments],
        cwd=project,
        env=environment(**variables),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=LIMIT,
    )
    return done.returncode, done.stdout.decode("utf-8", "replace")


def is_alive(pid):
    try:
        stat = Path("/proc/%d/stat" % pid).read_text()
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] not in "ZX"


def wait_for_death(pid):
    """Of a process that is nobody's child here: there is nothing to wait on
    but a look at it from time to time."""
    limit = time.monotonic() + LIMIT
    while is_alive(pid):
        assert time.monotonic() < limit, "process %d lives on" % pid
        time.sleep(0.01)
