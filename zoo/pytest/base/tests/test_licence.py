"""Five tests that fail for one reason that is outside of the repository."""
import pytest

from shop.licence import take_seat


@pytest.mark.parametrize("module", ["accounts", "billing", "claims", "deals", "export"])
def test_licensed(module):
    # infrastructure, all five: no environmental type, but one failure for all,
    # throughout, which passes at the base and touches nothing that changed.
    take_seat()
