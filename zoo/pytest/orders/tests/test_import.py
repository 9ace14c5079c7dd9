"""Reading catalogues of others."""
import os

import pytest
from depot import catalog


@pytest.mark.parametrize("form", ["text", "table", "list"])
def test_import_from_its_folder(form):
    # Three polluters: they stay in the folder.
    os.chdir(catalog.ROOT / "data")
    assert catalog.read("catalog.txt"), form


def test_import_from_the_root():
    # A cleaner, by the way.
    os.chdir(catalog.ROOT)
    assert catalog.read()["pear"] == 1


@pytest.mark.parametrize("text, count", [("apple 3", 1), ("a 1\nb 2", 2), ("", 0)])
def test_lines(tmp_path, text, count):
    file = tmp_path / "list.txt"
    file.write_text(text)
    assert len(catalog.read(file)) == count
