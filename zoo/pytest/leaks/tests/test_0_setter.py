"""Runs first: a test of `test_a_victims` needs what this one leaves."""

import shop.state


def test_opens_a_basket():
    shop.state.Basket.opened = True
