"""Each passes alone and fails after a test in `test_b_polluters`: `test_reads_x` after
`test_leaves_x`."""

import asyncio
import decimal
import importlib.util
import locale
import logging
import os
import pathlib
import random
import signal
import sys
import tempfile
import threading
import warnings

import pytest

import shop.clock
import shop.state

CLOCK = shop.clock
ROOT = pathlib.Path(__file__).resolve().parent.parent


def test_nothing():
    pass


def test_does_much_but_leaves_nothing(monkeypatch, tmp_path, caplog):
    monkeypatch.setenv("SHOP_REGION", "us")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(shop.state, "currency", "USD")
    monkeypatch.syspath_prepend(str(tmp_path))
    caplog.set_level(logging.DEBUG)
    logging.getLogger("shop.clean").warning("seen")
    (tmp_path / "file").write_text("x")
    with tempfile.TemporaryFile() as file:
        file.write(b"x")
    shop.state.CART.append("pen")
    shop.state.CART.pop()
    thread = threading.Thread(target=int)
    thread.start()
    thread.join()
    assert shop.clock.region() == "us"


def test_reads_global():
    assert shop.state.price(3) == "3 EUR"


def test_reads_list():
    assert shop.state.CART == []


def test_reads_nested():
    assert shop.state.in_stock("red") == 3


def test_reads_object():
    assert not shop.state.TILL.open


def test_reads_thread_local():
    assert shop.state.customer() == "nobody"


def test_reads_class_attribute():
    assert shop.state.Basket.limit == 10


def test_reads_class_container():
    assert not shop.state.Basket().names


def test_reads_method():
    assert shop.state.Basket().total() == 42


def test_reads_cache():
    shop.state.RATES["EUR"] = 2.0
    try:
        assert shop.state.rate("EUR") == 2.0
    finally:
        shop.state.RATES["EUR"] = 1.0


def test_reads_default_argument():
    assert shop.state.remember("a") == 1


def test_reads_counter():
    assert next(shop.state.ORDER_NUMBERS) == 1


def test_reads_env():
    assert shop.clock.region() == "eu"


def test_reads_cwd():
    assert pathlib.Path("pytest.ini").exists()


def test_reads_module():
    assert "shop.plugin" not in sys.modules


def test_reads_removed_module():
    assert sys.modules["shop.clock"] is CLOCK


def test_reads_path():
    assert importlib.util.find_spec("shop_extra") is None


def test_reads_locale():
    assert locale.setlocale(locale.LC_NUMERIC) == "C"


def test_reads_timezone():
    assert shop.clock.hour(0) == 0


def test_reads_signal():
    assert signal.getsignal(signal.SIGUSR1) == signal.SIG_DFL


def test_reads_umask():
    mask = os.umask(0o022)
    os.umask(mask)
    assert mask != 0o077


def test_reads_project_file():
    assert (ROOT / "shop" / "config.txt").read_text() == "price=3\n"


def test_reads_new_file():
    assert not (ROOT / "orders.txt").exists()


def test_reads_temporary_file():
    assert not os.path.exists(os.path.join(tempfile.gettempdir(), "shop-leak-%d" % os.getuid()))


def test_reads_patch():
    assert shop.clock.stamp() > 1


def test_reads_logging_level():
    assert not logging.getLogger("shop").isEnabledFor(logging.DEBUG)


def test_reads_logging_disabled():
    assert logging.getLogger("shop").isEnabledFor(logging.ERROR)


def test_reads_random():
    assert random.random() != random.Random(7).random()


def test_reads_warnings():
    with warnings.catch_warnings(record=True) as seen:
        warnings.warn("old", UserWarning)
    assert seen


def test_reads_decimal():
    assert str(decimal.Decimal(1) / 3) == "0." + "3" * 28


def test_reads_recursion():
    assert sys.getrecursionlimit() < 4000


@pytest.mark.skipif(sys.version_info >= (3, 14), reason="no loop is made for who asks for one")
def test_reads_loop():
    asyncio.get_event_loop_policy().get_event_loop().close()


def test_reads_thread():
    assert threading.active_count() == 1


def test_reads_open_file():
    opened = [os.readlink("/proc/self/fd/" + name) for name in os.listdir("/proc/self/fd") if os.path.exists("/proc/self/fd/" + name)]
    assert str(ROOT / "shop" / "config.txt") not in opened


def test_reads_two():
    assert (shop.clock.region(), shop.state.currency) != ("asia", "JPY")


def test_needs_a_basket():
    # Fails alone: it needs what `test_opens_a_basket` leaves.
    assert shop.state.Basket.opened
