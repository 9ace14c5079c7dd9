"""A stock with a race: it looks, and then acts on what it saw."""


class Stock:
    def __init__(self, left, between=lambda: None):
        self.left = left
        self.between = between

    def take(self):
        seen = self.left
        self.between()
        self.left = seen - 1
