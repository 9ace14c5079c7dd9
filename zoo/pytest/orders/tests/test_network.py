"""Quotes from elsewhere, which come in time or not."""
import uuid


def quote_is_late():
    """One time in five."""
    return uuid.uuid4().int % 5 == 0


def test_quote_comes_in_time():
    # By chance: fails in 20 of 100 runs, whatever ran before.
    assert not quote_is_late()


def test_quote_has_a_number():
    # Innocent: as random, but that matters to nobody.
    assert len(str(uuid.uuid4())) == 36
