"""Brittle tests: red alone, green in the suite. So they are green here."""
import os

SETTINGS = {}


def test_a_sets_up():
    # passes, and leaves behind what the two others need.
    SETTINGS["shop"] = "open"
    os.environ["ZOO_BRITTLE"] = "yes"


def test_b_needs_the_settings():
    # passes in the suite; fails alone.
    assert SETTINGS["shop"] == "open"


def test_c_needs_the_environment():
    # passes in the suite; fails alone.
    assert os.environ["ZOO_BRITTLE"] == "yes"
