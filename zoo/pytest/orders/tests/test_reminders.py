"""Reminders, without sending any."""
from unittest import mock

import pytest
from depot import mail


class TestReminders:
    def test_reminder_is_sent(self):
        # A polluter: what it replaces stays so.
        sent = []
        mail.send = lambda address, text: sent.append(address)
        mail.remind("ada@example.com", 1)
        assert sent == ["ada@example.com"]

    def test_reminder_is_sent_twice(self):
        # Another: nobody stops the patch.
        send = mock.patch("depot.mail.send").start()
        mail.remind("ada@example.com", 2)
        mail.remind("ada@example.com", 1)
        assert send.call_count == 2

    @pytest.mark.parametrize("days", [1, 7, 30])
    def test_reminder_tells_the_days(self, days):
        # Innocent: the patch ends with the block.
        with mock.patch.object(mail, "send") as send:
            mail.remind("ada@example.com", days)
        assert str(days) in send.call_args.args[1]
