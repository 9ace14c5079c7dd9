import pytest

from zoohelp import nth


@pytest.fixture(scope="module")
def connection():
    # The first connection of a run is bad for as long as it lives.
    return "bad" if nth("bad-connection") == 1 else "good"


def test_connection_is_good(connection):
    # bursty: fails with the first connection, and again at once, since fixtures
    # of the module are kept then; after the suite the fixture is made anew.
    assert connection == "good", "the connection of the module went bad"


def test_connection_exists(connection):
    # passes with any connection.
    assert connection
