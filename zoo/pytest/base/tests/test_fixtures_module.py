import pytest

from zoohelp import nth


@pytest.fixture(scope="module")
def server():
    if nth("module-setup") == 1:
        raise TimeoutError("the server of the module did not come up")
    return "up"


def test_server_is_up(server):
    # transient if a rerun makes a failed fixture anew; bursty if a rerun gets
    # the error that pytest keeps with fixtures of the module.
    assert server == "up"
