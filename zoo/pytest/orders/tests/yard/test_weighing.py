"""Weighing."""
from depot import yard


def test_lorry_is_weighed():
    # Brittle: needs a scale that is calibrated.
    assert yard.weigh(7) == 7


def test_weight_is_a_number():
    assert isinstance(7 * 1.5, float)
