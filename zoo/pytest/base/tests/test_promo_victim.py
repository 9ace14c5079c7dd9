from shop import promo


def test_full_price():
    # state-dependent: victim of test_promotion_halves, since the change. The
    # ladder rightly says that it passes alone.
    assert promo.price(10) == 10, "the promotion is still on"
