"""Coupons from a data file."""
from pathlib import Path

COUPONS = Path(__file__).parent / "data" / "coupons.txt"


def is_valid(code):
    return code in COUPONS.read_text().split()
