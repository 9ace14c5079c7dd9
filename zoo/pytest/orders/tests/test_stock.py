"""The stock, and what was counted before."""
import random

import pytest
from depot import stock


def test_apples_are_counted():
    # A victim of the warm-up, when it warms up.
    assert stock.count("apple") == 3


def test_pears_are_counted():
    assert stock.count("pear") == 1


@pytest.mark.parametrize("wanted, missing", [(["apple"], []), (["fig"], ["fig"]), (["b", "a"], ["a", "b"])])
def test_missing(wanted, missing):
    assert stock.missing(wanted) == missing


def test_service_starts():
    # A polluter in 30 of 100 runs: the warm-up is slow, so not all do it.
    if random.SystemRandom().random() < 0.3:
        stock.warm_up()
    assert stock.count("apple") > 0


def test_pears_are_warmed_up():
    # Innocent: what it leaves is right.
    stock.COUNTED["pear"] = stock.SHELVES["pear"]
    assert stock.count("pear") == 1
