def test_adult(customer):
    # regression: the fixture in conftest.py changed.
    assert customer["age"] >= 18, "the customer is too young"


def test_name(customer):
    # passes.
    assert customer["name"] == "Ada"
