"""Tags of a product, in whatever order the set has them."""
# Built when the module runs: a constant set would come in the order of the
# process that compiled it.
TAGS = set("red green blue small large new old sale rare soft hard warm".split())


def listed():
    return " ".join(TAGS)
