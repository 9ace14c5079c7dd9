"""Carriers of others."""
import sys

from depot import plugins


def test_lorry_without_plugins():
    # A victim of whoever makes `depot_extra` importable.
    assert plugins.carrier() == "lorry"


def test_path_that_is_not_there(monkeypatch):
    # Innocent: sets the path back.
    monkeypatch.syspath_prepend("/nowhere")
    assert sys.path[0] == "/nowhere"
    assert plugins.speed("train") == 120
