"""A depot: things are stored, counted, labelled and sent away."""
from depot import audit, settings


def start(currency, quiet=False):
    """Starts the depot, for the whole process."""
    settings.OPTIONS["currency"] = currency
    if quiet:
        audit.quieten()
