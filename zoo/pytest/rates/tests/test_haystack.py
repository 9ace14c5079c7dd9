"""Tests that pass every time: the haystack."""

import json
import os
import tempfile
import threading

import pytest


class TestBasket:
    def test_add_basket(self):
        values = [1, 2]
        values.append(3)
        assert sum(values) == 6

    def test_remove_basket(self, basket):
        basket.pop("pear")
        assert list(basket) == ["apple"]

    def test_find_basket(self, basket):
        assert "basket".find("a") == 1

    def test_count_basket(self, basket):
        assert "basketbasket".count("basket") == 2

    def test_sort_basket(self, basket):
        assert sorted("basket") == sorted("teksab")

    def test_merge_basket(self, basket):
        assert {**basket, "basket": 1}["basket"] == 1

    def test_split_basket(self, basket):
        assert "a basket b".split() == ["a", "basket", "b"]

    def test_join_basket(self, basket):
        assert "-".join(["basket", "x"]) == "basket-x"

    def test_copy_basket(self, basket):
        copy = dict(basket)
        copy["basket"] = 1
        assert "basket" not in basket

    def test_clear_basket(self, basket):
        basket.clear()
        assert json.dumps(basket) == "{}"


class TestOrder:
    def test_add_order(self):
        values = [1, 2]
        values.append(3)
        assert sum(values) == 6

    def test_remove_order(self, basket):
        basket.pop("pear")
        assert list(basket) == ["apple"]

    def test_find_order(self):
        assert "order".find("r") == 1

    def test_count_order(self):
        assert "orderorder".count("order") == 2

    def test_sort_order(self):
        assert sorted("order") == sorted("redro")

    def test_merge_order(self, basket):
        assert {**basket, "order": 1}["order"] == 1

    def test_split_order(self):
        assert "a order b".split() == ["a", "order", "b"]

    def test_join_order(self):
        assert "-".join(["order", "x"]) == "order-x"

    def test_copy_order(self, basket):
        copy = dict(basket)
        copy["order"] = 1
        assert "order" not in basket

    def test_clear_order(self, basket):
        basket.clear()
        assert json.dumps(basket) == "{}"


class TestPrice:
    def test_add_price(self):
        values = [1, 2]
        values.append(3)
        assert sum(values) == 6

    def test_remove_price(self, basket):
        basket.pop("pear")
        assert list(basket) == ["apple"]

    def test_find_price(self):
        assert "price".find("r") == 1

    def test_count_price(self):
        assert "priceprice".count("price") == 2

    def test_sort_price(self):
        assert sorted("price") == sorted("ecirp")

    def test_merge_price(self, basket):
        assert {**basket, "price": 1}["price"] == 1

    def test_split_price(self):
        assert "a price b".split() == ["a", "price", "b"]

    def test_join_price(self):
        assert "-".join(["price", "x"]) == "price-x"

    def test_copy_price(self, basket):
        copy = dict(basket)
        copy["price"] = 1
        assert "price" not in basket

    def test_clear_price(self, basket):
        basket.clear()
        assert json.dumps(basket) == "{}"


class TestLabel:
    def test_add_label(self):
        values = [1, 2]
        values.append(3)
        assert sum(values) == 6

    def test_remove_label(self, basket):
        basket.pop("pear")
        assert list(basket) == ["apple"]

    def test_find_label(self):
        assert "label".find("a") == 1

    def test_count_label(self):
        assert "labellabel".count("label") == 2

    def test_sort_label(self):
        assert sorted("label") == sorted("lebal")

    def test_merge_label(self, basket):
        assert {**basket, "label": 1}["label"] == 1

    def test_split_label(self):
        assert "a label b".split() == ["a", "label", "b"]

    def test_join_label(self):
        assert "-".join(["label", "x"]) == "label-x"

    def test_copy_label(self, basket):
        copy = dict(basket)
        copy["label"] = 1
        assert "label" not in basket

    def test_clear_label(self, basket):
        basket.clear()
        assert json.dumps(basket) == "{}"


class TestStock:
    def test_add_stock(self):
        values = [1, 2]
        values.append(3)
        assert sum(values) == 6

    def test_remove_stock(self, basket):
        basket.pop("pear")
        assert list(basket) == ["apple"]

    def test_find_stock(self):
        assert "stock".find("t") == 1

    def test_count_stock(self):
        assert "stockstock".count("stock") == 2

    def test_sort_stock(self):
        assert sorted("stock") == sorted("kcots")

    def test_merge_stock(self, basket):
        assert {**basket, "stock": 1}["stock"] == 1

    def test_split_stock(self):
        assert "a stock b".split() == ["a", "stock", "b"]

    def test_join_stock(self):
        assert "-".join(["stock", "x"]) == "stock-x"

    def test_copy_stock(self, basket):
        copy = dict(basket)
        copy["stock"] = 1
        assert "stock" not in basket

    def test_clear_stock(self, basket):
        basket.clear()
        assert json.dumps(basket) == "{}"


@pytest.mark.parametrize("number", range(20))
def test_writes_and_reads(number, tmp_path):
    file = tmp_path / "note"
    file.write_text("%d" % number)
    assert int(file.read_text()) == number


@pytest.mark.parametrize("threads", [1, 2, 4])
def test_threads_count_under_a_lock(threads):
    lock, total = threading.Lock(), []

    def work():
        with lock:
            total.append(1)

    workers = [threading.Thread(target=work) for _ in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert len(total) == threads


@pytest.mark.parametrize("name", ["HOME", "PATH"])
def test_environment(name):
    assert os.environ.get(name, "x")


def test_temporary_folder():
    with tempfile.TemporaryDirectory() as folder:
        assert os.path.isdir(folder)
