"""Five tests that fail for one reason that is outside of the repository."""
import pytest

from shop.licence import take_seat


@pytest.mark.parametrize("module", ["accounts", "billing", "claims", "deals", "export"])
def test_licensed(module):
    # undecided, all five: one failure for all, throughout, which depends on nothing
    # that changed. But all pass in a checkout of the base, so it is no outage.
    take_seat()
