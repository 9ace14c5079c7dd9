"""What somebody wants to order."""


class Basket:
    # One list for all of them.
    lines = []

    def add(self, name, count=1):
        self.lines.append((name, count))

    def clear(self):
        del self.lines[:]


class Wishlist(Basket):
    def names(self):
        return [name for name, _ in self.lines]
