"""Who comes in."""
import pytest
from depot import users


def test_login():
    # A state-setter.
    users.login("ada")
    assert users.CURRENT == ["ada"]


class TestToken:
    def test_login_by_token(self):
        # Another state-setter.
        users.login("grace")
        assert users.CURRENT[-1] == "grace"

    @pytest.mark.parametrize("name, may", [("ada", True), ("", False), ("x1", False)])
    def test_may_enter(self, name, may):
        assert users.may_enter(name) is may
