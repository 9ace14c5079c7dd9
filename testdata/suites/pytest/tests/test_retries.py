"""What a retrying plugin is for."""

import os
import pathlib


def first_time(name):
    """True the first time that it is asked about `name` in this run."""
    marker = pathlib.Path(os.environ["FLAKEWISE_MARKERS"], name)
    if marker.exists():
        return False
    marker.touch()
    return True


def test_passes_on_retry():
    # Fails on the first attempt and passes on the second.
    assert not first_time("passes_on_retry"), "failed on the first attempt"


def test_fails_on_every_attempt():
    # No number of retries helps.
    print("one more attempt")
    assert 1 == 2, "fails on every attempt"
