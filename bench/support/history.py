"""A small repository in which it is known what every commit breaks."""

import subprocess

FILES = {
    "pytest.ini": "[pytest]\ntestpaths = tests\npythonpath = .\n",
    "shop/__init__.py": "",
    "shop/price.py": "def price(n):\n    return n * 2\n",
    "shop/order.py": "from shop.price import price\n\n\ndef order(n):\n    return price(n) + 1\n",
    "shop/late.py": "VALUE = 1\n",
    "shop/child.py": "VALUE = 1\n",
    "shop/unused.py": "VALUE = 1\n",
    "shop/data.json": '{"value": 1}\n',
    "plugins/one.txt": "one\n",
    "docs/index.md": "# Shop\n",
    "tests/test_price.py": "from shop.price import price\n\n\ndef test_price():\n    assert price(2) == 4\n",
    "tests/test_order.py": "from shop.order import order\n\n\ndef test_order():\n    assert order(2) == 5\n",
    "tests/test_late.py": """import importlib


def test_late():
    assert importlib.import_module("shop.late").VALUE == 1


def test_not_late():
    assert True
""",
    "tests/test_files.py": """import json
import os
import pathlib

SHOP = pathlib.Path(__file__).parent.parent


def test_data():
    assert json.loads((SHOP / "shop" / "data.json").read_text())["value"] == 1


def test_looks_for():
    assert not os.path.exists(SHOP / "optional.cfg")


def test_lists():
    assert os.listdir(SHOP / "plugins") == ["one.txt"]
""",
    "tests/test_child.py": """import pathlib
import subprocess
import sys


def test_child():
    code = "import shop.child; assert shop.child.VALUE == 1"
    subprocess.run([sys.executable, "-c", code], cwd=pathlib.Path(__file__).parent.parent, check=True)
""",
    "tests/conftest.py": "import pytest\n\n\n@pytest.fixture\ndef one():\n    return 1\n",
    "tests/test_fixture.py": "def test_fixture(one):\n    assert one == 1\n",
}

# Each breaks something, but for the last three, and undoes the one before.
CHANGES = [
    {"shop/price.py": "def price(n):\n    return n * 3\n"},
    {"shop/order.py": "def order(n):\n    return 0\n"},
    {"shop/late.py": "VALUE = 2\n"},
    {"shop/child.py": "VALUE = 2\n"},
    {"shop/data.json": '{"value": 2}\n'},
    {"optional.cfg": "x\n"},
    {"plugins/two.txt": "two\n"},
    {"tests/conftest.py": "import pytest\n\n\n@pytest.fixture\ndef one():\n    return 2\n"},
    {"shop/__init__.py": "raise ImportError('broken')\n"},
    {"tests/__init__.py": "", "shop/price.py": "def price(n):\n    return -n\n"},
    {"shop/unused.py": "raise ImportError('nobody will know')\n"},
    {"docs/index.md": "# The shop\n"},
    {"pytest.ini": "[pytest]\ntestpaths = tests\npythonpath = .\naddopts = -q\n"},
]


def build(folder):
    """Makes the repository, with a commit for each change."""
    git = ["git", "-c", "user.name=bench", "-c", "user.email=bench@localhost", "-c", "commit.gpgsign=false"]

    def run(*arguments):
        subprocess.run([*git, *arguments], cwd=folder, check=True, stdout=subprocess.DEVNULL)

    def commit(files, message):
        for path, text in files.items():
            (folder / path).parent.mkdir(exist_ok=True)
            (folder / path).write_text(text)
        run("add", "--all")
        run("commit", "--quiet", "--message", message)

    folder.mkdir()
    run("init", "--quiet")
    commit(FILES, "a shop")
    before = {}
    for change in CHANGES:
        for path in before.keys() - FILES.keys():
            (folder / path).unlink()
        undone = {path: FILES[path] for path in before.keys() & FILES.keys()}
        commit({**undone, **change}, f"change {' '.join(change)}")
        before = change
    return folder
