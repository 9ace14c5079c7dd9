"""Polluters and their victims. The polluters pass; each victim fails in the
suite's process, at any time after its polluter, and passes alone.

What leaks matters to the victim only.
"""
import decimal
import os
import random
import resource
import sys
import time
import types

from shop import basket, hours, ids, money, newsletter, payment, pool, settings

LEAKED = []


def test_mock_a_is_left():
    # passes; leaves a module attribute patched.
    payment.gateway = lambda amount: "mocked"
    assert payment.pay(3) == "mocked"


def test_mock_b():
    # state-dependent: a leaked mock.
    assert payment.pay(3) == "paid 3", "the gateway is still a mock"


def test_environment_a_is_left():
    # passes; leaves an environment variable.
    os.environ["SHOP_REGION"] = "asia"
    assert settings.region() == "asia"


def test_environment_b():
    # state-dependent: a leaked environment variable.
    assert settings.region() == "europe", "the region is set in the environment"


def test_singleton_a_is_filled():
    # passes; leaves an item in the basket of the process.
    assert basket.add("apple") >= 1


def test_singleton_b():
    # state-dependent: one basket for all. The victim cleans up after itself, so
    # that its own attempts do not fill the basket.
    count = basket.add("bread")
    basket.ITEMS.remove("bread")
    assert count == 1, "the basket was not empty"


def test_timezone_a_is_set():
    # passes; leaves the process in a zone nobody lives in.
    os.environ["TZ"] = "ZOO-09:17"
    time.tzset()
    assert time.tzname[0] == "ZOO"


def test_timezone_b():
    # state-dependent: a leaked time zone.
    assert hours.shift() == 0, "local time has moved"


def test_precision_a_is_low():
    # passes; leaves the decimal context with two digits.
    decimal.getcontext().prec = 2
    assert money.split(1, 3) == decimal.Decimal("0.33")


def test_precision_b():
    # state-dependent: a leaked decimal context.
    assert len(str(money.split(1, 3))) > 10, "the split is not exact"


def test_seed_a_is_fixed():
    # passes; leaves the seed of the order ids fixed.
    ids.SEED = 7
    assert ids.new_id() == ids.new_id()


def test_seed_b():
    # state-dependent: a leaked random seed makes all ids the same.
    state = random.getstate()
    try:
        assert ids.new_id() != ids.new_id(), "two orders have one id"
    finally:
        random.setstate(state)


def test_pool_a_is_emptied():
    # passes; never gives back its connections.
    while pool.FREE:
        LEAKED.append(pool.lease())


def test_pool_b():
    # state-dependent: a resource leak, of connections. PoolExhausted.
    pool.give_back(pool.lease())


def test_descriptors_a_are_leaked():
    # passes; never closes 160 files.
    LEAKED.extend(os.open(os.devnull, os.O_RDONLY) for _ in range(160))


def test_descriptors_b():
    # state-dependent: a resource leak, of file descriptors. 120 files fit below
    # a limit of 256 in a new process with room to spare, and not beside 160.
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    opened = []
    resource.setrlimit(resource.RLIMIT_NOFILE, (256, hard))
    try:
        for _ in range(120):
            opened.append(os.open(os.devnull, os.O_RDONLY))
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        for file in opened:
            os.close(file)


def test_module_a_is_replaced():
    # passes; leaves a stub in sys.modules.
    stub = types.ModuleType("shop.mailer")
    stub.send = lambda to: "nothing sent"
    sys.modules["shop.mailer"] = stub
    assert newsletter.publish("me") == "nothing sent"


def test_module_b():
    # state-dependent: a module replaced by a stub.
    assert newsletter.publish("me") == "sent to me", "the mailer is a stub"


def test_method_a_is_wrapped():
    # passes; wraps a method of a class of this project for good.
    original = LeakyPrinter.show
    LeakyPrinter.show = lambda self: original(self) + "!"
    assert LeakyPrinter().show().endswith("!")


def test_method_b():
    # state-dependent: a patched method.
    assert LeakyPrinter().show() == "shown", "the method is wrapped"


class LeakyPrinter:
    def show(self):
        return "shown"
