"""What somebody who is logged in may do."""
from depot import users


def test_somebody_is_there():
    # Brittle: needs one of two logins.
    assert users.CURRENT


def test_somebody_is_there_by_himself():
    # Innocent: logs in nobody else, and looks at nothing of others.
    current = ["linus"]
    assert current[0] == "linus"
