"""Tests that fail in the suite's process and in its forks, and pass in a new process."""
from shop.registry import WAYS
from shop.session import TOKEN
from zoohelp import same_as_first


def test_token_made_at_import():
    # process-dependent: the token of the suite's process is bad. Forks have the
    # same, since it is made at import; a new process has another, with any seed.
    assert not same_as_first("token", TOKEN), "the token of this process is bad"


def test_registry_without_vouchers():
    # process-dependent: test_process_imports.py, collected with the suite, adds
    # a way to pay by being imported. Alone, only this file is imported.
    assert WAYS == ["card"], "another file has added a way to pay"
