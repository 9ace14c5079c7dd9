"""The catalogue, found from the folder that the tests were started in."""
import os

from depot import catalog


def test_catalog_is_read():
    # A victim of whoever goes elsewhere.
    assert catalog.read()["apple"] == 3


def test_catalog_of_another_file(tmp_path):
    file = tmp_path / "catalog.txt"
    file.write_text("plum 9\n")
    assert catalog.read(file) == {"plum": 9}


class TestElsewhere:
    def test_goes_and_comes_back(self, monkeypatch, tmp_path):
        # Innocent: monkeypatch comes back.
        (tmp_path / "data").mkdir()
        (tmp_path / "data" / "catalog.txt").write_text("fig 2\n")
        monkeypatch.chdir(tmp_path)
        assert catalog.read() == {"fig": 2}

    def test_goes_and_comes_back_by_hand(self):
        # Innocent: comes back to where it was.
        here = os.getcwd()
        os.chdir(catalog.ROOT / "data")
        try:
            assert catalog.read("catalog.txt")["pear"] == 1
        finally:
            os.chdir(here)
