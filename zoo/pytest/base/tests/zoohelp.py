"""What the tests remember outside of the repository, in the folder ZOO_STATE. Never changed.

One run has one folder: the suite, the reruns in other processes and the runs
at the base revision share it. So a test that fails "once" fails once per run.
"""
import os
from pathlib import Path


def state(name):
    return Path(os.environ["ZOO_STATE"]) / name


def nth(name):
    """Counts executions: 1 the first time in this run, whatever the process.

    The count is with the kernel when this returns, so a crash does not lose it.
    """
    file = os.open(state(f"count-{name}"), os.O_CREAT | os.O_APPEND | os.O_WRONLY)
    try:
        os.write(file, b".")
        return os.fstat(file).st_size
    finally:
        os.close(file)


def same_as_first(name, value):
    """Whether `value` is the one this was called with first in this run."""
    try:
        with open(state(f"first-{name}"), "x") as file:
            file.write(str(value))
    except FileExistsError:
        pass
    return state(f"first-{name}").read_text() == str(value)


def checkout():
    """The folder of the project: another one for a run at the base revision."""
    return str(Path(__file__).parents[1])
