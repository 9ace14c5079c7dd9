"""Waiting for an answer."""
import secrets

SEEN = []


class TestPoll:
    def test_poll_is_noted(self):
        # Innocent: the one below does not look at it.
        SEEN.append("poll")
        assert SEEN

    def test_answer_is_there_at_once(self):
        # By chance: fails in 30 of 100 runs, alone and after any other.
        assert secrets.randbelow(10) >= 3

    def test_answer_is_there_at_last(self):
        # Innocent: asks often enough.
        assert any(secrets.randbelow(10) >= 3 for _ in range(200))
