"""Fails every time."""

import pytest


def test_always_fails():
    assert 2 + 2 == 5


@pytest.mark.skip(reason="not on this planet")
def test_skipped():
    assert False


@pytest.mark.xfail(strict=True)
def test_expected_to_fail():
    assert False
