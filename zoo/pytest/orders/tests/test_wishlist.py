"""Wish lists, which are baskets."""
from depot.basket import Wishlist


def test_wish_has_a_name():
    # A polluter.
    wishes = Wishlist()
    wishes.add("boat")
    assert "boat" in wishes.names()


def test_wishes_are_ordered():
    # A cleaner, by the way: whoever orders has no wishes any more.
    wishes = Wishlist()
    wishes.add("kite")
    wishes.clear()
    assert wishes.names() == []


def test_wishlist_is_a_basket():
    assert Wishlist.__bases__[0].__name__ == "Basket"
