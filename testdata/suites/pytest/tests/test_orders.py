"""One test for each thing pytest's JUnit report can express."""

import os
import sys
import unittest

import pytest


def test_passes():
    # Nothing to see: the plain green case, with no output.
    assert 2 + 2 == 4


def test_fails_with_awkward_message():
    # Everything an XML writer must escape, over more than one line.
    print("to stdout: \x1b[31mred\x1b[0m <tag> & \"quotes\" café 日本語")
    print("a control char: [\x01] and ]]> the end of a CDATA section")
    print("to stderr: \x1b[1;33mwarning\x1b[0m", file=sys.stderr)
    assert False, (
        "expected <total> & \"tax\" to be 'équal': 3 ≠ 4\n"
        "second line: \x1b[32mnaïve\x1b[0m café 日本語 🦀\n"
        "\tthird line with a control char [\x01]"
    )


def test_raises():
    # An exception in the body: pytest calls this a failure, not an error.
    raise ValueError("no such order: <42>")


@pytest.fixture
def broken_fixture():
    raise RuntimeError("set-up broke: cannot reach <db> & co")


def test_error_in_setup(broken_fixture):
    # Never runs: its fixture raises, which pytest reports as an error.
    pass


@pytest.mark.skip(reason="not on <this> platform & \"never\" — é")
def test_skipped():
    # Skipped by a mark, with a reason.
    raise AssertionError("must not run")


def test_skipped_while_running():
    # Skipped from inside the body.
    pytest.skip("decided at run time")


@pytest.mark.xfail(reason="known bug #12")
def test_expected_failure():
    # Fails as foretold: reported as a kind of skip.
    assert 1 == 2


@pytest.mark.xfail(reason="known bug #13", strict=True)
def test_unexpected_pass():
    # Passes although it was foretold to fail, which `strict` makes a failure.
    assert 1 == 1


@pytest.mark.parametrize(
    "text",
    [
        "plain",
        "two words",
        "a::b[0]",
        "x/y.py::test_z",
        "ünï→日本",
        "<&>\"'",
        "",
        "tab\tnew\nline",
    ],
)
def test_parametrised(text):
    # One case of several fails; the texts are awkward for anyone who splits
    # names at '::' or '['.
    assert text != "a::b[0]"


@pytest.mark.parametrize("left", [1, 2], ids=["one [1]", "two :: 2"])
@pytest.mark.parametrize("right", [3.5], ids=["three and a half"])
def test_two_parameters(left, right):
    # Stacked parameters with names of their own; the second case fails.
    assert left < 2


class TestOuter:
    def test_in_class(self):
        # A method of a test class.
        pass

    class TestInner:
        def test_in_nested_class(self):
            # A method of a class within a class.
            pass

        def test_fails_in_nested_class(self):
            # The same, failing.
            assert {"a": 1} == {"a": 2}


class TestLegacy(unittest.TestCase):
    def test_sub_tests(self):
        # unittest's subTest: two of the three fail, one with awkward text.
        for text in ("ok", "not ok :: [1]", "naïve"):
            with self.subTest("case", text=text):
                self.assertEqual(text, "ok")


def test_subtests_fixture(subtests):
    # pytest's own subtests: the first passes, the second fails.
    for number in (1, 2):
        with subtests.test("number", number=number):
            assert number == 1


def test_output(record_property):
    # A green test which writes to both streams and records a property.
    record_property("ticket", "ACME-7 <&>")
    print("hello from stdout")
    print("hello from stderr", file=sys.stderr)


def test_flaky_by_round():
    # Fails in round 1 only, so that two runs of one commit differ.
    # (By way of a variable, lest pytest show the whole environment.)
    this_round = os.environ.get("FLAKEWISE_ROUND")
    assert this_round != "1", "failed in round 1"
