"""The gate."""
from depot import yard


def test_gate_opens():
    # The first of three.
    yard.open_gate()
    assert yard.PLACE["gate"] == "open"


def test_gate_of_another_yard():
    # Innocent: a copy.
    place = dict(yard.PLACE, gate="locked")
    assert place["gate"] == "locked"


class TestKeys:
    KEYS = []

    def test_key_is_added(self):
        # Innocent: a list that only this class has, and nobody minds.
        self.KEYS.append("front")
        assert "front" in self.KEYS

    def test_keys_are_names(self):
        assert all(isinstance(key, str) for key in self.KEYS)
