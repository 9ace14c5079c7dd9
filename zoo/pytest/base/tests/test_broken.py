"""Tests that fail at the base too."""
import socket

import pytest


def test_always_wrong():
    # broken-before: a wrong expectation, as old as the test.
    assert "apple pie".title() == "Apple pie", "titles keep small letters"


def test_cheapest_of_nothing():
    # broken-before although it touches the change (shop/pricing.py): it failed
    # in the same way before. ValueError from min() of nothing.
    from shop.pricing import cheapest

    assert cheapest([]) is None


@pytest.mark.xfail(strict=True, reason="was fixed long ago")
def test_strict_xfail_that_passes():
    # broken-before: passes, which a strict xfail makes a failure.
    assert True


def test_gateway_is_down():
    # broken-before: one test alone that cannot connect, at the base neither.
    # One test is no outage. The message is its own, so that it is not taken for
    # one of test_database.py.
    with socket.socket() as deaf, socket.socket() as client:
        deaf.bind(("127.0.0.1", 0))
        try:
            client.connect(deaf.getsockname())
        except ConnectionRefusedError:
            raise ConnectionRefusedError("the payment gateway does not answer") from None
