"""Random numbers in forks: as a new process would draw them.

A fork that inherits the generator of the `random` module would draw the same
numbers each time, so Python seeds it anew in every fork. That is right unless
the project has set a seed while it was imported: a new process would set it too,
and draw the same numbers each time.
"""

import random

_get, _set, _Random = random.getstate, random.setstate, random.Random
_first = _get()
#: So often the generator's numbers are looked for in what it may have drawn.
TURNS = 200
#: It makes this many numbers at a time.
NUMBERS = 624


def seeded():
    """The state of the generator, if somebody has set it since we were imported:
    then drawing alone did not lead to it."""
    state = _get()
    return None if drawn(_first, state) else state


def drawn(first, last):
    """Whether drawing alone leads from one state to another."""
    numbers = last[1][:-1]
    generator = _Random()
    generator.setstate(first)
    for _ in range(TURNS):
        if generator.getstate()[1][:-1] == numbers:
            return True
        generator.getrandbits(32 * NUMBERS)
    return False


def restore(state):
    """What a new process would begin with."""
    if state is not None:
        _set(state)
