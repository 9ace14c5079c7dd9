import pytest

from zoohelp import nth


@pytest.mark.skipif(not hasattr(pytest, "Subtests"), reason="pytest 9 brought subtests")
def test_subtests(request):
    # transient: one of three subtests fails, once. Skipped before pytest 9.
    subtests = request.getfixturevalue("subtests")
    first = nth("subtests") == 1
    for name in ["one", "two", "three"]:
        with subtests.test(msg=name):
            assert not (first and name == "two"), "the second subtest fails once"


@pytest.mark.skipif(not hasattr(pytest, "Subtests"), reason="pytest 9 brought subtests")
def test_subtests_that_pass(request):
    # passes. Skipped before pytest 9.
    subtests = request.getfixturevalue("subtests")
    for name in ["one", "two"]:
        with subtests.test(msg=name):
            assert name
