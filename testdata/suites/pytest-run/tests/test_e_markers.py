"""A test whose own marker asks for retries, where a plug-in heeds it."""

import pytest

pytest.importorskip("pytest_rerunfailures")


@pytest.mark.flaky(reruns=2)
def test_marked_fails_once(first_time):
    assert not first_time
