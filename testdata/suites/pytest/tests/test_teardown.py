"""Errors after the test: pytest reports such a test twice."""

import pytest


@pytest.fixture
def broken_teardown():
    yield
    raise RuntimeError("tear-down broke")


def test_passes_then_teardown_breaks(broken_teardown):
    # The body passes, the fixture's tear-down raises.
    pass


def test_fails_then_teardown_breaks(broken_teardown):
    # The body fails, and then the tear-down raises too.
    assert 1 == 2, "the body failed"
