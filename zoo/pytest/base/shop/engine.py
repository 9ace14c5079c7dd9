"""A part that stands for native code."""


def start():
    return "started"
