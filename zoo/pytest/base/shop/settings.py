"""Settings from the environment."""
import os


def currency():
    return os.environ.get("SHOP_CURRENCY", "EUR")


def region():
    return os.environ.get("SHOP_REGION", "europe")
