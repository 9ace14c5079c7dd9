"""Printers."""
import os

from depot import labels


def test_printer_of_the_environment():
    # A polluter.
    os.environ["DEPOT_PRINTER"] = "cellar"
    assert labels.printer() == "cellar"


def test_printer_for_a_while(monkeypatch):
    # Innocent.
    monkeypatch.setenv("DEPOT_PRINTER", "attic")
    assert labels.printer() == "attic"


def test_printer_is_forgotten():
    # A cleaner, made for it.
    os.environ.pop("DEPOT_PRINTER", None)
    assert labels.printer() == "office"


def test_other_variable():
    # Innocent: nobody reads it.
    os.environ["DEPOT_PRINTER_TRAY"] = "2"
    assert os.environ["DEPOT_PRINTER_TRAY"] == "2"
