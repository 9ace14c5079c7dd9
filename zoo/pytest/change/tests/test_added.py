"""Only in the change: there is nothing at the base to compare with."""
from zoohelp import nth


def test_new_feature():
    # regression: the file is part of the change.
    raise NotImplementedError("the new feature is not there yet")


def test_new_and_flaky():
    # transient.
    assert nth("new-and-flaky") > 1, "new, and flaky already"


def test_new_and_good():
    # passes.
    assert True
