"""Tests that mean harm, and what must be left of them: nothing.

Each is a whole project as text. What a test makes on purpose is named `own-…`
and is not counted as left over.
"""

import dataclasses

# What a run may end in. A run that is never interrupted must never die of a
# signal: that would be the test killing us.
GREEN = "0"
RED = "not 0"
ANY = "any"


@dataclasses.dataclass(frozen=True)
class Case:
    name: str
    test: str
    expected: str = RED
    # More arguments for pytest.
    pytest: tuple = ()
    # A signal for us: its name, and `group` (as a terminal sends it) or `alone`.
    signal: str = ""
    target: str = ""
    # How often, at random moments; 0 sends it once `own-ready` exists.
    moments: int = 0
    # Where a file system of two megabytes is mounted, and whether it is full.
    disk: str = ""
    full: bool = False
    # Whether the run is written to a history in the project.
    store: bool = False
    # Whether the JSON on stdout must be whole.
    report: bool = True
    # Seconds in which it must have ended.
    limit: int = 120


# Some quick tests, one that always fails and one that fails now and then, so
# that every part of a run is there to be interrupted.
ORDINARY = """
import os, pytest

@pytest.mark.parametrize("n", range(30))
def test_passes(n, tmp_path):
    (tmp_path / "file").write_text("x")
    assert sum(range(20000)) > n

def test_fails():
    assert 1 == 2

def test_flaky():
    assert os.getpid() % 2

def test_leaves_a_child():
    import subprocess
    subprocess.Popen(["sleep", "600"])
    assert False
"""

# Every process leaves the session, ignores what can be ignored, and execs
# something without our environment half of the time.
BOMB = """
import os, signal, time

def test_bomb():
    reading, writing = os.pipe()
    for n in range(COUNT):
        if os.fork() == 0:
            os.setsid()
            for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
                signal.signal(number, signal.SIG_IGN)
            if os.fork():
                os._exit(0)
            os.write(writing, b"x")
            if n % 2:
                os.execve("/bin/sleep", ["sleep", "600"], {})
            while True:
                signal.pause()
    for n in range(COUNT):
        os.read(reading, 1)
    assert False
"""

GARBAGE = """
import os, random, socket, stat

def flood(send):
    noise = random.Random(1)
    send(b'{"t": "no such thing", "seq": -1}\\n' * 1000)
    send(b"\\x00\\xff\\xfe" * 1000 + b"\\n")
    send(b"[" * 100000 + b"\\n")
    send(noise.randbytes(100000))
    for _ in range(MEGABYTES):
        send(b"x" * 1000000)  # a line that never ends

def test_garbage():
    # Into whatever is open: our end of the protocol is among it.
    for name in os.listdir("/proc/self/fd"):
        number = int(name)
        try:
            mode = os.fstat(number).st_mode
        except OSError:
            continue
        if number > 2 and (stat.S_ISSOCK(mode) or stat.S_ISFIFO(mode)):
            try:
                os.set_blocking(number, False)
                flood(lambda data: os.write(number, data))
            except OSError:
                pass
    # And into every socket that our variables name.
    for name, value in os.environ.items():
        for path in value.split(os.pathsep) if name.startswith("FLAKEWISE") else ():
            if os.path.exists(path) and stat.S_ISSOCK(os.stat(path).st_mode):
                for _ in range(3):
                    try:
                        with socket.socket(socket.AF_UNIX) as plug:
                            plug.settimeout(2)
                            plug.connect(path)
                            flood(plug.sendall)
                    except OSError:
                        pass
    assert FINE
"""


def cases(short):
    """All of them, or smaller ones for CI."""
    megabytes = 16 if short else 1024
    lines = 200_000 if short else 10_000_000
    moments = 5 if short else 100
    fewer = 2 if short else 25
    garbage = 8 if short else 300
    found = [
        Case("crash", "import os, signal\ndef test_it():\n    os.kill(os.getpid(), signal.SIGSEGV)\n"),
        Case("exit", "import os\ndef test_it():\n    os._exit(0)\n"),
        Case("hang, spinning", "def test_it():\n    while True:\n        pass\n"),
        Case("hang, deaf to signals", """
import signal

def test_it():
    signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65))
    signal.sigwait([signal.SIGUSR2])
"""),
        Case("fork bomb", BOMB.replace("COUNT", "40" if short else "200")),
        Case("closes descriptors from 3", "import os\ndef test_it():\n    os.closerange(3, 65536)\n    assert False\n"),
        Case("closes all descriptors", "import os\ndef test_it():\n    os.closerange(0, 65536)\n    assert False\n"),
        Case("closes all, and passes", "import os\ndef test_it():\n    os.closerange(0, 65536)\n", ANY),
        Case(f"prints {megabytes} MB", printing(megabytes), GREEN),
        Case(f"prints {megabytes} MB, -s", printing(megabytes), GREEN, ("-s",)),
        Case(f"writes {megabytes} MB", writing(megabytes), GREEN),
        Case(f"writes {megabytes} MB, -s", writing(megabytes), GREEN, ("-s",)),
        # Every attempt prints it, and pytest shows it again in its report.
        Case("prints 16 MB, and fails", printing(16) + "    assert False\n"),
        Case(f"{lines} short lines", f"def test_it():\n    for n in range({lines}):\n        print(n)\n", GREEN),
        Case(f"{lines} short lines, -s", f"def test_it():\n    for n in range({lines}):\n        print(n)\n", GREEN, ("-s",)),
        Case("a message of 64 MB", "def test_it():\n    raise ValueError('x' * 64_000_000)\n"),
        Case("kills its group", "import os, signal\ndef test_it():\n    os.killpg(0, signal.SIGKILL)\n"),
        Case("stops its group", "import os, signal\ndef test_it():\n    os.killpg(0, signal.SIGSTOP)\n"),
        Case("interrupts its group", "import os, signal\ndef test_it():\n    os.killpg(0, signal.SIGINT)\n"),
        Case("fills the disk of TMPDIR", filling("TMPDIR"), disk="tmp"),
        Case("fills the disk of the project", filling("PROJECT"), disk="project"),
        Case("fills it, with a history", filling("PROJECT"), disk="project", store=True),
        Case("a full disk in TMPDIR", "def test_it():\n    assert False\n", disk="tmp", full=True, report=False),
        Case("a full disk in the project", "def test_it():\n    assert False\n", disk="project", full=True, report=False),
        Case("removes TMPDIR", """
import os, shutil

def test_it():
    shutil.rmtree(os.environ["TMPDIR"])
    assert False
"""),
        Case("removes what is in TMPDIR", """
import os, shutil

def test_it():
    for name in os.listdir(os.environ["TMPDIR"]):
        shutil.rmtree(os.path.join(os.environ["TMPDIR"], name), ignore_errors=True)
"""
             , ANY),
        Case("removes its directory", "import os, shutil\ndef test_it():\n    shutil.rmtree(os.getcwd())\n    assert False\n"),
        Case("garbage, and passes", GARBAGE.replace("MEGABYTES", str(garbage)).replace("FINE", "True"), ANY),
        Case("garbage, and fails", GARBAGE.replace("MEGABYTES", str(garbage)).replace("FINE", "False")),
        Case("ctrl-C, test ignores it", """
import os, pathlib, signal

def test_it():
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    pathlib.Path("own-ready").touch()
    while True:
        signal.pause()
""", signal="SIGINT", target="group", report=False),
        Case("ctrl-C, as a terminal", ORDINARY, signal="SIGINT", target="group", moments=moments, report=False),
        Case("ctrl-C, to us alone", ORDINARY, signal="SIGINT", target="alone", moments=moments, report=False),
        Case("SIGTERM", ORDINARY, signal="SIGTERM", target="alone", moments=fewer, report=False),
        Case("SIGHUP, as a terminal", ORDINARY, signal="SIGHUP", target="group", moments=fewer, report=False),
        Case("SIGKILL", ORDINARY, signal="SIGKILL", target="alone", moments=fewer, report=False),
        Case("SIGKILL to the worker", ORDINARY, signal="SIGKILL", target="worker", moments=fewer, report=False),
        Case("ordinary", ORDINARY),
    ]
    # CI needs one of each kind.
    left_out = {"closes descriptors from 3", "closes all, and passes", "a full disk in the project",
                "garbage, and passes", "interrupts its group", f"prints {megabytes} MB, -s", f"writes {megabytes} MB",
                f"{lines} short lines", "ordinary", "SIGHUP, as a terminal"} if short else set()
    return [case for case in found if case.name not in left_out]


def printing(megabytes):
    return f"def test_it():\n    for n in range({megabytes}):\n        print('x' * 999999)\n"


def writing(megabytes):
    return f"""
import os

def test_it():
    data = b"x" * 999999 + b"\\n"
    for n in range({megabytes}):
        rest = data
        while rest:
            rest = rest[os.write(1, rest):]
"""


def filling(variable):
    return f"""
import os

def test_it():
    with open(os.path.join(os.environ["{variable}"], "own-filler"), "wb", buffering=0) as file:
        try:
            while True:
                file.write(b"x" * 4096)
        except OSError:
            pass
    assert False
"""
