"""Baskets, which share one list by mistake."""
from depot.basket import Basket


class TestBasket:
    def test_add(self):
        # A polluter.
        basket = Basket()
        basket.add("apple")
        assert ("apple", 1) in basket.lines

    def test_clear(self):
        # A cleaner, made for it. Without it the suite would be red.
        basket = Basket()
        basket.clear()
        assert basket.lines == []

    def test_list_of_its_own(self):
        # Innocent: this basket has a list of its own.
        basket = Basket()
        basket.lines = []
        basket.add("pear", 2)
        assert basket.lines == [("pear", 2)]


def test_new_basket_is_empty():
    # A victim of whoever adds something.
    assert Basket().lines == []


def test_basket_has_lines():
    assert hasattr(Basket(), "lines")
