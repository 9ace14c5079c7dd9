"""Payment, of which tests replace the gateway."""


def gateway(amount):
    return f"paid {amount}"


def pay(amount):
    return gateway(amount)
