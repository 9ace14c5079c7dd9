"""Who departs, and when."""
import logging
import os
import time

from depot import audit


def test_departure_to_chatham():
    # A polluter.
    os.environ["TZ"] = "CHAST-12:45"
    time.tzset()
    assert time.timezone == -(12 * 60 + 45) * 60


def test_departure_of_somebody_quiet():
    # A polluter: of the audit.
    audit.quieten()
    assert not audit.LOGGER.isEnabledFor(logging.WARNING)


def test_departure_is_not_late():
    # Innocent: sets the zone back.
    before = os.environ.get("TZ")
    os.environ["TZ"] = "UTC0"
    time.tzset()
    try:
        assert time.timezone == 0
    finally:
        if before is None:
            del os.environ["TZ"]
        else:
            os.environ["TZ"] = before
        time.tzset()
