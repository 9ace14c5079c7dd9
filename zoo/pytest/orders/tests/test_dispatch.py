"""What has left the depot."""
from depot import yard


def test_nothing_is_dispatched():
    # A victim of three, one after the other: test_gate_opens, test_lorry_enters,
    # test_lorry_is_loaded. No two of them do it, nor another order.
    assert yard.dispatched() is None


def test_place_of_everything():
    assert set(yard.PLACE) == {"gate", "lorry", "cargo"}
