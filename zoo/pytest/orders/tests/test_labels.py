"""Labels."""
import pytest
from depot import labels


class TestLabels:
    def test_printer_by_default(self):
        # A victim of whoever leaves DEPOT_PRINTER set.
        assert labels.printer() == "office"

    @pytest.mark.parametrize("name", ["apple", "pear", "a very long name indeed"])
    def test_label_has_its_width(self, name):
        assert len(labels.label(name)) == 12

    def test_label_is_in_capitals(self):
        assert labels.label("fig").strip() == "FIG"
