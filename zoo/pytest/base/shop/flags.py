"""A feature is on if a file is there. Nothing is opened: the file is only looked for."""
import os

FLAG = os.path.join(os.path.dirname(__file__), "data", "dark_mode.flag")


def dark_mode():
    return os.path.exists(FLAG)
