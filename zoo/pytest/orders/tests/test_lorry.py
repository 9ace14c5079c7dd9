"""Lorries."""
from depot import plugins, yard


def test_lorry_enters():
    # The second of three.
    yard.enter()
    assert yard.PLACE["lorry"] in ("inside", "outside")


def test_lorry_has_a_speed():
    assert plugins.speed("lorry") == 80


def test_unknown_carrier_is_slow():
    assert plugins.speed("donkey") == 50
