"""Random numbers from a seed: the same in every run, whatever runs before."""

import random

random.seed(20)
DRAWN = random.random()


def test_draws_what_the_seed_says():
    generator = random.Random(20)
    assert generator.random() == DRAWN


def test_its_own_generator():
    assert random.Random(7).randrange(10_000) == random.Random(7).randrange(10_000)
