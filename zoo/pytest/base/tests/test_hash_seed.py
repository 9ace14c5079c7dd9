"""Tests that depend on PYTHONHASHSEED.

They fail in every process with the seed of the first one, and pass with any
other: certain, whatever the seeds and the version of Python are.
"""
from shop.tags import listed
from zoohelp import same_as_first


def test_hash_of_text():
    # hash-seed: the bucket of a name is overfull with the suite's seed.
    assert not same_as_first("hash", hash("shop")), "the bucket of this hash is full"


def test_order_of_a_set():
    # hash-seed: the order of the tags is wrong with the suite's seed.
    assert not same_as_first("order", listed()), "the tags are in the wrong order"


def test_sorted_set():
    # passes: does not depend on the order.
    assert sorted(listed().split())[0] == "blue"
