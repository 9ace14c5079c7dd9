import sys
import threading

from shop.stock import Stock
from zoohelp import nth


def take_twice(between):
    stock = Stock(2, between)
    threads = [threading.Thread(target=stock.take) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return stock.left


def test_forced_race():
    # transient: the first time, both threads look before either acts: the
    # barrier makes that certain. After that, one comes after the other.
    if nth("race") == 1:
        left = take_twice(threading.Barrier(2).wait)
    else:
        stock = Stock(2)
        stock.take()
        stock.take()
        left = stock.left
    assert left == 0, "an item was sold twice"


def test_real_race():
    # uncertain: a race with nothing forced. Passes nearly always; any flake is right.
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        left = take_twice(lambda: None)
    finally:
        sys.setswitchinterval(before)
    assert left == 0, "an item was really sold twice"
