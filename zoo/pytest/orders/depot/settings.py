"""What the depot is told, for the whole process."""
DEFAULTS = {"currency": "EUR", "places": 2, "language": "en"}
OPTIONS = dict(DEFAULTS)


def override(values):
    OPTIONS.update(values)


def reset():
    OPTIONS.clear()
    OPTIONS.update(DEFAULTS)
