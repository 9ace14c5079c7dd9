"""Running commands and saying what that took; what all demonstrations share."""

import argparse
import contextlib
import dataclasses
import datetime
import io
import json
import os
import pathlib
import select
import signal
import subprocess
import sys
import tempfile
import time

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
RESULTS = REPOSITORY / "bench" / "results"


def arguments(text, **own):
    """Reads the command line: what every demonstration takes, and its own.

    `own` names further options, with what `add_argument` wants to know.
    """
    parser = argparse.ArgumentParser(
        prog=f"bench/{pathlib.Path(sys.argv[0]).name}", description=text,
        formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False)
    parser.add_argument("--short", action="store_true", help="a small version, for CI")
    parser.add_argument("--record", action="store_true", help="write what is printed to bench/results, too")
    parser.add_argument("--flakewise", metavar="PATH", help="the binary; built from this clone unless given")
    parser.add_argument("--seed", type=int, default=20261115, help="where everything random begins")
    for name, options in own.items():
        parser.add_argument("--" + name.replace("_", "-"), **options)
    return parser.parse_args()


def binary(given):
    """The binary to measure, as an absolute path."""
    if given:
        path = pathlib.Path(given).resolve()
        if not os.access(path, os.X_OK):
            sys.exit(f"{given} is not a binary")
        return path
    return built("-p", "flakewise") / "flakewise"


def example(name, package="flakewise-eval"):
    """An example of a package that does not need the engine, built from this clone."""
    return built("-p", package, "--example", name) / "examples" / name


def built(*what):
    """The folder with what cargo built, in the profile that the environment names."""
    profile = os.environ.get("PROFILE", "release")
    subprocess.run(["cargo", "build", "--quiet", "--profile", profile, *what], cwd=REPOSITORY, check=True)
    metadata = subprocess.run(
        ["cargo", "metadata", "--format-version", "1", "--no-deps"],
        cwd=REPOSITORY, check=True, stdout=subprocess.PIPE).stdout
    return pathlib.Path(json.loads(metadata)["target_directory"], "debug" if profile == "dev" else profile)


class _Tee:
    def __init__(self, *streams):
        self.streams = streams

    def write(self, text):
        for stream in self.streams:
            stream.write(text)

    def flush(self):
        for stream in self.streams:
            stream.flush()


@contextlib.contextmanager
def recorded(name, wanted):
    """Copies stdout to bench/results/NAME.txt, if that is wanted. A run that does not end leaves the record as it was."""
    if not wanted:
        yield
        return
    text = io.StringIO()
    with contextlib.redirect_stdout(_Tee(sys.stdout, text)):
        yield
    (RESULTS / f"{name}.txt").write_text(text.getvalue())


def header(name, about=None, path=None):
    """Prints what a result is worth nothing without."""
    try:
        cpu = next(line.split(":", 1)[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name"))
    except (OSError, StopIteration):
        cpu = "unknown processor"
    print(f"bench/{name}" + (f", {about}" if about else ""))
    print(f"date     {datetime.datetime.now(datetime.timezone.utc):%Y-%m-%d %H:%M} UTC")
    print(f"machine  {os.cpu_count()} cores, {cpu}")
    if path:
        print(f"build    {path.parent.name}", flush=True)


def clean_environment(**more):
    """The environment without what would change how pytest behaves."""
    kept = {
        name: value for name, value in os.environ.items()
        if not name.startswith(("PYTEST_", "PYTHON", "FLAKEWISE_", "COV_", "COVERAGE_", "VIRTUAL_ENV"))
    }
    # No bytecode beside the suites: whoever ran first would pay for all.
    return {**kept, "PYTHONDONTWRITEBYTECODE": "1", **more}


@dataclasses.dataclass
class Done:
    """A process that has ended, with all descendants that were waited for."""

    status: int
    wall: float
    cpu: float
    # The most memory of one of them, in megabytes.
    peak: int
    # Page faults that needed no disk.
    faults: int
    # CPU time of the process itself and of its worker, without others', if it was watched.
    ours: float
    stdout: str
    stderr: str


# How often a watched process is looked at. What it does after the last look is not seen.
LOOK = 0.02


def usage(pid):
    """The CPU seconds of one process, without its children's, and its peak memory in megabytes; none if it has ended."""
    try:
        fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        status = pathlib.Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return None
    peak = [line for line in status.splitlines() if line.startswith("VmHWM:")]
    if not peak:
        return None
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK"), int(peak[0].split()[1]) // 1024


def watched(pid, limit):
    """Waits for a child as `ended` does; whether it ended, and the last usage of it and of its worker, by number."""
    seen = {}
    until = now() + limit
    while not (is_over := ended(pid, LOOK)) and now() < until:
        for one in {pid, worker_of(pid)}:
            if found := usage(one):
                seen[one] = found
    return is_over, seen


def run(command, cwd, environment, limit=600, watch=False):
    """Runs a command in a session of its own and waits for it.

    The CPU time is that of `wait4`: the process's own, and that of all whom it
    or a descendant has waited for. Whoever is never waited for is not in it;
    that nobody is left over is what bench/hostile-tests shows.
    """
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        started = now()
        child = subprocess.Popen(
            [str(part) for part in command], cwd=cwd, env=environment,
            stdin=subprocess.DEVNULL, stdout=out, stderr=err, start_new_session=True)
        # A pidfd becomes readable when the process ends: a wait with a limit.
        is_over, seen = False, {}
        try:
            if watch:
                is_over, seen = watched(child.pid, limit)
            else:
                is_over = ended(child.pid, limit)
        finally:
            # Not in time, or somebody does not want to wait for it.
            if not is_over:
                os.killpg(child.pid, signal.SIGKILL)
        _, status, spent = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        wall = now() - started
        texts = []
        for file in (out, err):
            file.seek(0)
            texts.append(file.read().decode("utf-8", "replace"))
        ours = sum(cpu for cpu, _ in seen.values())
        cpu, peak = spent.ru_utime + spent.ru_stime, spent.ru_maxrss // 1024
        return Done(child.returncode, wall, cpu, peak, spent.ru_minflt, ours, *texts)


def ended(pid, limit):
    """Waits until a child has ended, but not longer than the limit in seconds."""
    descriptor = os.pidfd_open(pid)
    try:
        ready, _, _ = select.select([descriptor], [], [], limit)
        return bool(ready)
    finally:
        os.close(descriptor)


def worker_of(pid):
    """The process that does the work for the one that was started; that one itself before there is another."""
    try:
        children = pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        for child in children:
            if pathlib.Path(f"/proc/{child}/cmdline").read_bytes().startswith(b"flakewise-worker-of-"):
                return int(child)
    except OSError:
        pass
    return pid


def now():
    return time.monotonic()
