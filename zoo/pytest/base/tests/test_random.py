"""Random for real: the outcome is not known, the rate is."""
import os


def test_half():
    # uncertain: fails with a probability of 1/2 each time.
    assert os.urandom(1)[0] >= 128, "heads"


def test_one_in_eight():
    # uncertain: fails with a probability of 1/8 each time.
    assert os.urandom(1)[0] >= 32, "an unlucky die"
