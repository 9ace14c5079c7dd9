"""Rounding, used by `shop.invoice`."""


def to_cents(amount):
    return int(amount * 100 + 0.5)
