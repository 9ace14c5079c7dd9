"""Settings."""
import depot
from depot import settings


def test_currency_can_be_changed():
    # A polluter.
    settings.OPTIONS["currency"] = "CHF"
    assert settings.OPTIONS["currency"] == "CHF"


class TestOverride:
    def test_override_by_mapping(self):
        # A polluter.
        settings.override({"currency": "JPY", "language": "ja"})
        assert settings.OPTIONS["currency"] == "JPY"

    def test_override_of_the_language(self):
        # Innocent: nobody looks at the language.
        settings.override({"language": "fr"})
        assert settings.OPTIONS["language"] == "fr"

    def test_override_with_nothing(self):
        settings.override({})
        assert set(settings.OPTIONS) == set(settings.DEFAULTS)


def test_reset_restores_all():
    # A cleaner, made for it.
    settings.reset()
    assert settings.OPTIONS == settings.DEFAULTS


def test_full_start():
    # A polluter of two: the currency, and the logger of the audit.
    depot.start("DKK", quiet=True)
    assert settings.OPTIONS["currency"] == "DKK"
