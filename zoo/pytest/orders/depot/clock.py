"""The hours of the depot, in local time."""
import time

# Minutes west of Greenwich, where the depot was started.
HOME = time.timezone // 60


def opens(hour=8):
    """Minutes of the day at which it opens, as somebody at home sees it."""
    return hour * 60 + (time.timezone // 60 - HOME)


def is_late(minutes):
    return minutes > 18 * 60
