"""Five tests that cannot reach their database: an outage."""
from shop.database import connect

# infrastructure, all five: one type (an environmental one), one frame, one
# message, throughout. At the base they fail too, since the outage lasts; that
# does not make them broken before.


def test_customers():
    connect()


def test_orders():
    connect()


def test_products():
    connect()


def test_suppliers():
    connect()


def test_returns():
    connect()
