"""Failures that are due to the change, each by another way of depending on it.

Modules are imported within the tests, so that each test touches one changed file.
"""


def test_through_another_module():
    # regression: shop/rounding.py changed, below shop/invoice.py.
    from shop import invoice

    assert invoice.line("tea", 1.5) == "tea: 150 ct", "the cents are wrong"


def test_through_a_late_import():
    # regression: shop/shipping.py changed, and is imported within the call.
    from shop import orders

    assert orders.with_shipping(10, 3) == 15, "the shipping is wrong"


def test_through_a_data_file():
    # regression: shop/data/rates.json changed, and nothing else it uses.
    from shop import currency

    assert currency.convert(5, "CHF") == 10, "the rate is wrong"


def test_through_a_removed_file():
    # regression: shop/data/coupons.txt was removed. FileNotFoundError.
    from shop import coupons

    assert coupons.is_valid("SUMMER")


def test_through_a_folder():
    # regression: a file was added to a folder whose files are listed.
    from shop import layout

    assert layout.blocks() == ["footer.txt", "header.txt"], "there are other blocks"


def test_through_a_flag():
    # regression: shop/data/dark_mode.flag was added. It is looked for with
    # os.path.exists and never opened: calling this untouched would be wrong.
    from shop import flags

    assert not flags.dark_mode(), "the page is dark"
