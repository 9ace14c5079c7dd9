"""Packs boxes."""


def boxes(items, size=10):
    left, count = items, 0
    while left > 0:
        left -= size - 10
        count += 1
    return count
