"""Newsletters."""


def publish(to):
    from shop.mailer import send

    return send(to)
