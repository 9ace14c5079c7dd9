"""Five tests with one failure that is due to the change: no outage."""
import pytest

from shop.catalog import price_of


@pytest.mark.parametrize("name", ["apple", "bread", "cheese", "dates", "eggs"])
def test_price(name):
    # regression, all five: shop/catalog.py changed. Same type, frame and
    # message, yet the type is no environmental one and the file is touched.
    assert price_of(name) > 0
