"""Tests that fail by chance, at the rate in their name."""

import random
import time
import uuid

import pytest
from conftest import fails_in


def test_fails_2_percent():
    assert not fails_in(2)


def test_fails_3_percent():
    values = [random.randrange(100) for _ in range(3)]
    assert values[0] >= 3, values


def test_fails_5_percent():
    assert random.random() >= 0.05


def test_fails_10_percent(basket):
    random.shuffle(order := list(range(10)))
    assert order[0] != 7, basket


def test_fails_20_percent():
    assert uuid.uuid4().int % 5 != 0


def test_fails_50_percent():
    assert random.choice(["heads", "tails"]) == "heads"


def test_fails_90_percent():
    assert fails_in(10)


def test_fails_2_percent_by_the_clock():
    assert time.perf_counter_ns() // 1000 % 50 != 0


class TestSetUp:
    """Fails around the test instead of in it."""

    @pytest.fixture
    def connection(self):
        if fails_in(10):
            raise ConnectionError("refused")
        yield object()

    def test_set_up_fails_10_percent(self, connection):
        assert connection is not None

    @pytest.fixture
    def record(self):
        yield []
        assert not fails_in(5)

    def test_tear_down_fails_5_percent(self, record):
        record.append(1)


@pytest.mark.parametrize("size", [1, 2, 3])
def test_one_parameter_fails_10_percent(size):
    assert size != 2 or not fails_in(10)


def test_crashes_5_percent():
    if fails_in(5):
        import os

        os.abort()
