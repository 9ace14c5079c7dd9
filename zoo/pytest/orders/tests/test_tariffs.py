"""Tariffs."""
import depot


class TestTariffs:
    def test_price_of_a_way(self):
        # The only state-setter: the first import.
        from depot import tariffs

        assert tariffs.price(3) == 21

    def test_name_of_the_depot(self):
        assert depot.__name__ == "depot"


def test_rate():
    # Brittle: fails unless somebody has imported the module.
    assert depot.tariffs.RATE == 7
