"""Failures that are hard to report. Each is transient: it happens once."""
import os
import sys

from zoohelp import nth


class Unprintable(Exception):
    def __str__(self):
        raise RuntimeError("cannot be shown")

    __repr__ = __str__


def test_message_that_is_no_text():
    # transient: a lone surrogate, a NUL and an escape sequence in the message.
    if nth("surrogate") == 1:
        raise ValueError("bad byte \udcff, nul \x00 and colour \x1b[31m in a name")


def test_message_that_is_long():
    # transient: a message of two million characters.
    if nth("long") == 1:
        raise ValueError("long " + "x" * 2_000_000)


def test_message_that_raises():
    # transient: an exception that cannot be shown.
    if nth("unprintable") == 1:
        raise Unprintable


def test_system_exit():
    # transient: SystemExit is a failure of the test, not the end of the suite.
    if nth("system-exit") == 1:
        sys.exit("the shop is closed")


def test_base_exception():
    # transient: not even an Exception.
    class Closed(BaseException):
        pass

    if nth("base-exception") == 1:
        raise Closed("closed for good")


def test_chain_and_deep_trace():
    # transient: an exception with a cause, and a deep trace.
    def down(depth):
        if depth == 0:
            raise KeyError("deep down")
        down(depth - 1)

    if nth("deep") == 1:
        try:
            down(300)
        except KeyError as error:
            raise LookupError("far up") from error


def test_recursion():
    # transient: a RecursionError, once.
    def forever():
        return forever()

    if nth("recursion") == 1:
        forever()


def test_noisy():
    # passes: prints a lot, and bytes that are no text to the descriptors.
    print("noise " * 20_000)
    os.write(1, b"\xff\xfe\x00 raw\n")
    os.write(2, b"\xff\xfe\x00 raw\n")
