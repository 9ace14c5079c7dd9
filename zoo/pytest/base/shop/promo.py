"""A promotion, which is on or off for the whole process."""
ACTIVE = False


def price(amount):
    return amount // 2 if ACTIVE else amount
