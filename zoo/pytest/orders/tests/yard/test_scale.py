"""The scale."""
import pytest
from depot import yard


@pytest.mark.parametrize("weight", [1, 10, 100])
def test_calibrate(weight):
    # Three state-setters.
    assert yard.calibrate(weight) == weight


def test_scale_of_another_yard():
    # Innocent: another scale.
    scale = {"unit": 2}
    assert scale["unit"] == 2
