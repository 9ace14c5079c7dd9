"""Invoices. Does not change; `shop.rounding` below it does."""
from shop.rounding import to_cents


def line(name, amount):
    return f"{name}: {to_cents(amount)} ct"
