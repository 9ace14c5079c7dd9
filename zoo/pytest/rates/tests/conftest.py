"""What the tests share."""

import random

import pytest


def fails_in(share):
    """Whether this run is one of those that fail: so many of a hundred."""
    return random.random() * 100 < share


@pytest.fixture
def basket():
    return {"apple": 3, "pear": 1}
