"""The ramp."""
import pytest
from depot import yard


def test_lorry_is_loaded():
    # The third of three.
    yard.load("apples")
    assert yard.PLACE["cargo"] in (None, "apples")


@pytest.mark.parametrize("height", range(3))
def test_ramp_is_low(height):
    assert height < 3
