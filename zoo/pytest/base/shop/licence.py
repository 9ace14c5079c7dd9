"""A licence server whose seats are counted by checkout, outside of the repository."""
import os
from pathlib import Path


class NoSeats(Exception):
    pass


def take_seat():
    # The first checkout that asks is the one without seats.
    here = str(Path(__file__).parents[1])
    record = Path(os.environ["ZOO_STATE"]) / "licence-without-seats"
    try:
        with open(record, "x") as file:
            file.write(here)
    except FileExistsError:
        pass
    if record.read_text() == here:
        raise NoSeats("the licence server has no seats for this checkout")
