"""Tests of every kind that pytest has, most of which fail once."""

import os
import pathlib
import unittest

import pytest

import product

PYTEST = int(pytest.__version__.split(".")[0])


def test_passes():
    assert True


def test_fails_by_the_change():
    # The only one that is to blame on `product`.
    assert product.total([1, 2]) == 3


def test_fails_once(first_time):
    assert not first_time


@pytest.mark.parametrize("text", ["plain", "a::b[0]", "two words", "é/\n"])
def test_parametrised(text):
    assert text


@pytest.mark.parametrize("text", ["a::b[0]"])
def test_parametrised_fails_once(text, first_time):
    assert not first_time


@pytest.mark.skip(reason="on purpose")
def test_skipped():
    raise AssertionError("must not run")


@pytest.mark.xfail(reason="on purpose")
def test_fails_as_expected():
    raise AssertionError("expected")


@pytest.fixture
def broken_once(first_time):
    assert not first_time, "set-up broke"


def test_set_up_fails_once(broken_once):
    pass


@pytest.fixture
def left_broken_once(first_time):
    yield
    assert not first_time, "tear-down broke"


def test_tear_down_fails_once(left_broken_once):
    pass


@pytest.fixture(scope="class")
def shared():
    return []


class TestShared:
    def test_first_of_class(self, shared):
        shared.append(1)

    def test_fails_once_in_class(self, shared, first_time):
        # The fixture of the class must survive until the test's second attempt.
        seen = pathlib.Path(os.environ["FLAKEWISE_MARKERS"], "survived")
        if "here before" in shared:
            seen.touch()
        shared.append("here before")
        assert not first_time
        assert seen.exists()


class Legacy(unittest.TestCase):
    tries = 0

    @classmethod
    def setUpClass(cls):
        cls.ready = True

    def test_legacy_passes(self):
        self.assertTrue(self.ready)

    def test_legacy_fails_once(self):
        Legacy.tries += 1
        self.assertGreater(Legacy.tries, 1)

    def test_sub_tests(self):
        for number in (1, 2):
            with self.subTest(number=number):
                self.assertTrue(number)


if PYTEST >= 9:

    def test_subtest_fails_once(subtests, first_time):
        # The test's own report says that it passed.
        for number in (1, 2):
            with subtests.test(number=number):
                assert number == 1 or not first_time
