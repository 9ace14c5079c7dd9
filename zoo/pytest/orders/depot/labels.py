"""Labels, and the printer they go to."""
import os


def printer():
    return os.environ.get("DEPOT_PRINTER", "office")


def label(name, width=12):
    return name.upper()[:width].center(width)
