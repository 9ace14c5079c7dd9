"""Order ids. `SEED` is for tests that want the same id every time."""
import random

SEED = None


def new_id():
    if SEED is not None:
        random.seed(SEED)
    return random.getrandbits(64)
