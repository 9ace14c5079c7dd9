"""Who is logged in."""
CURRENT = []


def login(name):
    CURRENT[:] = [name]


def may_enter(name):
    return bool(name) and name.isalpha()
