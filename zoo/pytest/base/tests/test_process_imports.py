import shop.vouchers
from shop.registry import WAYS


def test_registry_with_vouchers():
    # passes; the import above is what test_process.py suffers from.
    assert "voucher" in WAYS and shop.vouchers
