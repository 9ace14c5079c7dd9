"""Mail to customers."""


def send(address, text):
    """Puts a message on its way; gives what was sent."""
    return f"to {address}: {text}"


def remind(address, days):
    return send(address, f"{days} days left")


def parse(address):
    name, _, host = address.partition("@")
    return name, host
