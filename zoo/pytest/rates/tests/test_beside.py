"""Tests that cannot run beside each other."""

import os
import socket
import time

import pytest

# A name in the kernel, of this checkout alone.
ADDRESS = "\0flakewise-rates-" + os.path.dirname(os.path.abspath(__file__))


@pytest.mark.parametrize("number", range(2))
def test_listens_at_a_fixed_address(number):
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        listener.bind(ADDRESS)
        listener.listen()
        time.sleep(0.002)
