"""Tags of a product, in whatever order the set has them."""
TAGS = {"red", "green", "blue", "small", "large", "new", "old", "sale", "rare", "soft", "hard", "warm"}


def listed():
    return " ".join(TAGS)
