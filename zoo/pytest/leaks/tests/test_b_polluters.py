"""Each leaves something behind, for one test in `test_a_victims`."""

import asyncio
import decimal
import locale
import logging
import os
import pathlib
import random
import signal
import sys
import tempfile
import threading
import time
import warnings

import pytest

import shop.clock
import shop.state

ROOT = pathlib.Path(__file__).resolve().parent.parent


def test_leaves_global():
    shop.state.set_currency("USD")


def test_leaves_list():
    shop.state.CART.append("pen")


def test_leaves_nested():
    shop.state.STOCK["pens"]["red"] = 0


def test_leaves_object():
    shop.state.TILL.open = True


def test_leaves_thread_local():
    shop.state.WHO.customer = "ann"


def test_leaves_class_attribute():
    shop.state.Basket.limit = 3


def test_leaves_class_container():
    shop.state.Basket.names.add("mine")


def test_leaves_method():
    shop.state.Basket.total = lambda self: 0


def test_leaves_cache():
    shop.state.rate("EUR")


def test_leaves_default_argument():
    shop.state.remember("b")


def test_leaves_counter():
    next(shop.state.ORDER_NUMBERS)


def test_leaves_env():
    os.environ["SHOP_REGION"] = "us"


def test_leaves_module():
    import shop.plugin  # noqa: F401


def test_leaves_removed_module():
    del sys.modules["shop.clock"]
    import shop.clock  # noqa: F401


def test_leaves_path():
    sys.path.append(str(ROOT / "extra"))


def test_leaves_locale():
    try:
        locale.setlocale(locale.LC_NUMERIC, "C.UTF-8")
    except locale.Error:
        pytest.skip("there is no other locale here")


def test_leaves_timezone():
    os.environ["TZ"] = "Etc/GMT-9"
    time.tzset()


def test_leaves_signal():
    signal.signal(signal.SIGUSR1, lambda *_: None)


def test_leaves_umask():
    os.umask(0o077)


def test_leaves_project_file():
    (ROOT / "shop" / "config.txt").write_text("price=4\n")


def test_leaves_new_file():
    (ROOT / "orders.txt").write_text("1\n")


def test_leaves_temporary_file():
    with open(os.path.join(tempfile.gettempdir(), "shop-leak-%d" % os.getuid()), "w") as file:
        file.write("x")


def test_leaves_patch():
    time.time = lambda: 0.0


def test_leaves_logging_level():
    logging.getLogger("shop").setLevel(logging.DEBUG)


def test_leaves_logging_disabled():
    logging.disable(logging.CRITICAL)


def test_leaves_random():
    random.seed(7)


def test_leaves_warnings():
    warnings.simplefilter("ignore")


def test_leaves_decimal():
    decimal.getcontext().prec = 5


def test_leaves_recursion():
    sys.setrecursionlimit(5000)


def test_leaves_loop():
    asyncio.get_event_loop_policy().set_event_loop(None)


GATE = threading.Event()


def test_leaves_thread():
    threading.Thread(target=GATE.wait, name="worker", daemon=True).start()


def test_leaves_open_file():
    # Nobody can reach it, and nobody closes it.
    os.open(ROOT / "shop" / "config.txt", os.O_RDONLY)


def test_leaves_one_of_two():
    os.environ["SHOP_REGION"] = "asia"


def test_leaves_the_other_of_two():
    if shop.clock.region() == "asia":
        shop.state.set_currency("JPY")


def test_leaves_cwd():
    os.chdir(os.sep)
