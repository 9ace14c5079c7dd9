from shop.settings import currency
from zoohelp import nth


def test_default_currency():
    # regression: the change edits this file, and this line wrongly.
    assert currency().lower() == "eur"


def test_flaky_in_a_changed_file():
    # transient: fails once. That its file changed does not matter.
    assert nth("in-changed-file") > 1, "first time in a changed file"


def test_stable_in_a_changed_file():
    # passes.
    assert True
