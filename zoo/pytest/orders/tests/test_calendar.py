"""Opening hours."""
import pytest
from depot import clock


def test_opens_at_eight():
    # A victim of whoever moves the time zone.
    assert clock.opens() == 8 * 60


@pytest.mark.parametrize("minutes, late", [(0, False), (18 * 60, False), (18 * 60 + 1, True), (23 * 60, True)])
def test_is_late(minutes, late):
    assert clock.is_late(minutes) is late


def test_zone_in_the_environment(monkeypatch):
    # Innocent: nobody reads the variable until `tzset`, and it is set back.
    monkeypatch.setenv("TZ", "NPT-5:45")
    assert clock.opens(9) - clock.opens(8) == 60
