"""Blocks of the page: every file of a folder."""
import os

BLOCKS = os.path.join(os.path.dirname(__file__), "data", "blocks")


def blocks():
    return sorted(os.listdir(BLOCKS))
