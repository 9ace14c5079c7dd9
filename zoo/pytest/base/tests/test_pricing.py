import pytest

from shop.pricing import total


def test_total():
    # regression: shop/pricing.py changed.
    assert total([100, 50]) == 180, "the tax is wrong"


@pytest.mark.parametrize("prices", [[100], []], ids=["50 % off::sommerschluß", "nothing"])
def test_total_of(prices):
    # regression for the first, whose name is hard to pass on; the second passes.
    assert total(prices) == sum(prices) + sum(prices) // 5, "the tax of the sale is wrong"
