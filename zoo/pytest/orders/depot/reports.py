"""Reports over what was sold."""
_TABLE = {}


def month(number):
    """Loads the table with the first report."""
    if not _TABLE:
        _TABLE.update({month: month * 10 for month in range(1, 13)})
    return _TABLE[number]


def year():
    # Forgets to load it.
    return sum(_TABLE[month] for month in range(1, 13))


def share(part, whole):
    return round(100 * part / whole) if whole else 0
