"""Customs."""
from depot import prices, settings


class TestDuty:
    def test_duty_in_dollars(self):
        # A polluter, far from its victim.
        settings.OPTIONS["currency"] = "USD"
        assert prices.duty(50) == 2

    def test_duty_at_home(self):
        # A cleaner, by the way.
        settings.OPTIONS["currency"] = "EUR"
        assert prices.duty(50) == 0
