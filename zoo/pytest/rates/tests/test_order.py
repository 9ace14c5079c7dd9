"""Tests that need others, or suffer from them."""

STATE = {"logged_in": False, "cart": []}


def test_logs_in():
    STATE["logged_in"] = True
    assert STATE["logged_in"]


def test_needs_the_login():
    # Brittle: passes only after the one above.
    assert STATE["logged_in"]


def test_leaves_a_cart():
    STATE["cart"].append("apple")
    assert len(STATE["cart"]) == 1


def test_wants_an_empty_cart():
    # A victim of the one above.
    assert STATE["cart"] == []
