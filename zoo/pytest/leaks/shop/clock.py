"""The shop's time."""

import os
import time


def hour(seconds):
    return time.localtime(seconds).tm_hour


def region():
    return os.environ.get("SHOP_REGION", "eu")


def stamp():
    return time.time()
