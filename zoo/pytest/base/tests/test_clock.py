from zoohelp import nth


def clock():
    """A faked clock, in seconds of the day: one second before midnight at first, a second later each time."""
    return (86_399 + nth("clock") - 1) % 86_400


def test_same_day_in_a_second():
    # transient: time of day. Fails in the last second of a day, which is when
    # the first execution falls.
    now = clock()
    assert (now + 1) % 86_400 > now, "tomorrow began in between"
