"""Prices."""
import pytest
from depot import prices, settings


def test_total_is_in_euro():
    # A victim of whoever changes the currency.
    assert prices.total([1, 2.5]) == "3.50 EUR"


def test_duty_on_nothing():
    assert prices.duty(0) == 0


@pytest.mark.parametrize("currency, duty", [("EUR", 0), ("USD", 4), ("GBP", 10)])
def test_duty_of_a_currency(monkeypatch, currency, duty):
    # Innocent: monkeypatch sets it back.
    monkeypatch.setitem(settings.OPTIONS, "currency", currency)
    assert prices.duty(100) == duty


def test_total_in_another_currency():
    # Innocent: sets back what it found.
    before = settings.OPTIONS["currency"]
    settings.OPTIONS["currency"] = "SEK"
    try:
        assert prices.total([1]).endswith("SEK")
    finally:
        settings.OPTIONS["currency"] = before
