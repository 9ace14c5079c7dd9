"""Tests that never end. Needs a time limit: `--test-timeout 2s`.

Grandchildren write their process id to ZOO_STATE/grandchild-*: whoever ends a
hanging test must end them too. They end by themselves after five minutes.
"""
import signal
import subprocess
import threading
import time

import pytest

from shop import solver
from zoohelp import nth, state


def test_sleeps_once():
    # transient: hangs once, passes alone after.
    if nth("sleep") == 1:
        time.sleep(3600)


def test_deadlock_once():
    # transient: waits for a lock it holds, deaf to SIGTERM and SIGINT.
    lock = threading.Lock()
    lock.acquire()
    if nth("deadlock") == 1:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        lock.acquire()


def test_grandchild_once():
    # transient: waits for a child that inherits its output.
    if nth("grandchild") == 1:
        child = subprocess.Popen(["sleep", "300"])
        state("grandchild-same-group").write_text(str(child.pid))
        child.wait()


def test_grandchild_in_a_session_of_its_own_once():
    # transient: likewise, in a session and process group of its own (setsid).
    if nth("grandchild-session") == 1:
        child = subprocess.Popen(["sleep", "300"], start_new_session=True)
        state("grandchild-own-session").write_text(str(child.pid))
        child.wait()


@pytest.fixture
def slow_to_leave():
    yield
    if nth("slow-to-leave") == 1:
        time.sleep(3600)


def test_tear_down_hangs_once(slow_to_leave):
    # transient: the test passes; its tear-down hangs, once.
    pass


def test_hangs_always():
    # broken-before: hangs always, at the base too.
    threading.Event().wait()


def test_boxes():
    # regression: shop/solver.py changed; it now loops for ever, without a pause.
    assert solver.boxes(25) == 3


def test_last_after_hangs():
    # passes.
    assert True
