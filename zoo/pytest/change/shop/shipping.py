"""Shipping costs; imported only when needed."""


def cost(weight):
    return 7 if weight < 10 else 9
