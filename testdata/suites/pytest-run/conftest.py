"""What the tests share: a memory for each process, and one that outlives it."""

import os
import pathlib

import pytest


class Process:
    """What tests of one process leave behind for each other."""

    polluted = False


@pytest.fixture
def burst():
    """A file that is there once the burst is over, in whichever process."""
    return pathlib.Path(os.environ["FLAKEWISE_MARKERS"], "burst-is-over")


@pytest.fixture
def process():
    return Process


@pytest.fixture
def first_time(request):
    """True the first time that a test asks, in whichever process.

    It is remembered by a file in the directory `FLAKEWISE_MARKERS`.
    """
    name = request.node.name.replace("/", "_").replace("[", "_").replace("]", "_")
    marker = pathlib.Path(os.environ["FLAKEWISE_MARKERS"], name)
    if marker.exists():
        return False
    marker.touch()
    return True
