"""Rounding, used by `shop.invoice`."""


def to_cents(amount):
    return int(amount * 100) - 1
