"""What the tests are about. `bench/matrix` commits it whole, then breaks it."""


def total(prices):
    return sum(prices)
