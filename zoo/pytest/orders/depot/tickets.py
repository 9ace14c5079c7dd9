"""Numbers of tickets, drawn by chance."""
import random


def draw():
    return random.getrandbits(32)


def guess(seed, count=100):
    """The first numbers that somebody gets who knows the seed."""
    generator = random.Random(seed)
    return [generator.getrandbits(32) for _ in range(count)]
