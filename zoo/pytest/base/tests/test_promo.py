from shop import promo


def test_promotion_halves():
    # passes. The change makes it leave the promotion on.
    promo.ACTIVE = True
    assert promo.price(10) == 5
    promo.ACTIVE = False
