"""Tests that take their process with them. Last of all: what comes after a
crash runs in another process, which knows nothing of the tests before it.
"""
import os
import signal

from shop import engine
from zoohelp import nth


def die(number):
    os.kill(os.getpid(), number)
    signal.pause()  # The signal may take a moment.


def test_segmentation_fault_once():
    # transient: SIGSEGV once, passes alone after.
    if nth("segv") == 1:
        die(signal.SIGSEGV)


def test_after_a_crash():
    # passes: is not lost with the process before it.
    assert True


def test_exit_once():
    # transient: os._exit once, with output that is not flushed.
    if nth("exit") == 1:
        print("never seen", end="")
        os._exit(3)


def test_exit_zero_once():
    # transient: os._exit(0) is no success of anything.
    if nth("exit-zero") == 1:
        os._exit(0)


def test_killed_once():
    # transient: SIGKILL, as from the kernel when memory is short.
    if nth("kill") == 1:
        die(signal.SIGKILL)


def test_abort_always():
    # broken-before: SIGABRT always, at the base too.
    os.abort()


def test_engine_starts():
    # regression: shop/engine.py changed; it now dies of SIGILL.
    assert engine.start() == "started"


def test_last_after_crashes():
    # passes.
    assert True
