"""Orders and the mail about them."""
from unittest import mock

from depot import mail


def test_order_is_confirmed():
    # A victim of whoever leaves `mail.send` replaced.
    assert mail.send("ada@example.com", "thanks") == "to ada@example.com: thanks"


def test_order_without_mail():
    # Innocent: the patch ends with the block.
    with mock.patch("depot.mail.send", return_value="nothing") as send:
        assert mail.remind("ada@example.com", 3) == "nothing"
    send.assert_called_once()


def test_address_is_parsed():
    assert mail.parse("ada@example.com") == ("ada", "example.com")


def test_address_without_host():
    assert mail.parse("ada") == ("ada", "")
