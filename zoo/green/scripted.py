"""Scripts when a test fails. Attempts are counted over all processes of a run,
in a folder outside of the repository."""

import os

# What the run is: "history", in which tests fail as scripted, "calm", in which none
# does, or "change", which is judged.
RUN = os.environ["RUN"]


def attempt(name):
    """The number of this attempt in this run, from 1."""
    number = 1
    while True:
        path = os.path.join(os.environ["STATE"], f"{name}-{number}")
        try:
            os.close(os.open(path, os.O_CREAT | os.O_EXCL))
            return number
        except FileExistsError:
            number += 1


def steady(name, failing=(1,)):
    """False at these attempts of this run, unless it is calm."""
    return attempt(name) not in failing or RUN == "calm"
