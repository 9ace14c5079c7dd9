"""Reports."""
import pytest
from depot import reports


class TestMonth:
    def test_report_of_a_month(self):
        # The only state-setter: the first report loads the table.
        assert reports.month(3) == 30

    @pytest.mark.parametrize("part, whole, share", [(1, 2, 50), (1, 3, 33), (1, 0, 0)])
    def test_share(self, part, whole, share):
        assert reports.share(part, whole) == share


class TestYear:
    def test_report_of_the_year(self):
        # Brittle: needs the table.
        assert reports.year() == 780

    def test_share_of_the_year(self):
        assert reports.share(780, 780) == 100
