"""How much is there of everything."""
SHELVES = {"apple": 3, "pear": 1}
# Counts that were made before.
COUNTED = {}


def count(name):
    if name not in COUNTED:
        return SHELVES.get(name, 0)
    return COUNTED[name]


def warm_up():
    """Counts some things ahead, as of yesterday."""
    COUNTED["apple"] = SHELVES["apple"] - 1


def missing(wanted):
    return sorted(name for name in wanted if name not in SHELVES)
