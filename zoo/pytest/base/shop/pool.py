"""A pool of four connections."""
FREE = ["one", "two", "three", "four"]


class PoolExhausted(Exception):
    pass


def lease():
    if not FREE:
        raise PoolExhausted("all connections are leased")
    return FREE.pop()


def give_back(connection):
    FREE.append(connection)
