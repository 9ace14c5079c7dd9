"""Everything of the shop that can be left otherwise than it was."""

import functools
import itertools
import threading

# Rebound by `global`.
currency = "EUR"
# Changed in place, also deep inside.
CART = []
STOCK = {"pens": {"red": 3}}
# Each thread has its own.
WHO = threading.local()
# Counts for as long as the process lives.
ORDER_NUMBERS = itertools.count(1)


class Basket:
    limit = 10
    names = set()

    def total(self):
        return 42


class Till:
    def __init__(self):
        self.open = False


TILL = Till()


@functools.lru_cache(maxsize=None)
def rate(name):
    return RATES[name]


RATES = {"EUR": 1.0}


def remember(value, seen=[]):  # noqa: B006
    seen.append(value)
    return len(seen)


def set_currency(name):
    global currency
    currency = name


def customer():
    return getattr(WHO, "customer", "nobody")


def price(amount):
    return "%d %s" % (amount, currency)


def in_stock(colour):
    return STOCK["pens"].get(colour, 0)
