"""Exact division."""
from decimal import Decimal


def split(amount, people):
    return Decimal(amount) / Decimal(people)
