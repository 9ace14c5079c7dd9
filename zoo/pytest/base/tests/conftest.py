"""Never changed: every test depends on it."""
import os

import pytest


def pytest_configure(config):
    if not os.environ.get("ZOO_STATE"):
        raise pytest.UsageError("set ZOO_STATE to an empty folder, a new one for every run")
