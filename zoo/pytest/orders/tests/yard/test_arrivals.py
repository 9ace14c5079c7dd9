"""Who arrives, and when."""
import os
import random
import time

from depot import clock


def test_arrival_from_kathmandu():
    # A polluter.
    os.environ["TZ"] = "NPT-5:45"
    time.tzset()
    assert time.tzname[0] == "NPT"


class TestOrder:
    def test_arrivals_in_a_known_order(self):
        # A polluter: of the tickets.
        random.seed(2026)
        order = random.sample(range(5), 5)
        assert sorted(order) == [0, 1, 2, 3, 4]

    def test_arrivals_in_any_order(self):
        # Innocent: a generator of its own.
        order = random.Random(2026).sample(range(5), 5)
        assert sorted(order) == [0, 1, 2, 3, 4]

    def test_arrival_is_late(self):
        assert clock.is_late(19 * 60)
