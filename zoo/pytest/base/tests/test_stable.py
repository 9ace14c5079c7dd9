"""Tests that pass, always."""
import pytest


@pytest.mark.parametrize("number", range(20))
def test_number(number):
    assert number * 2 % 2 == 0


def test_addition():
    assert 1 + 1 == 2


def test_text():
    assert "shop".upper() == "SHOP"


def test_list():
    assert [*range(3)] == [0, 1, 2]


def test_mapping():
    assert {"a": 1}["a"] == 1


def test_raises():
    with pytest.raises(ZeroDivisionError):
        1 / 0


def test_approximately():
    assert 0.1 + 0.2 == pytest.approx(0.3)


def test_scratch(tmp_path):
    (tmp_path / "a").write_text("a")
    assert (tmp_path / "a").read_text() == "a"


def test_output(capfd):
    print("hello")
    assert capfd.readouterr().out == "hello\n"


def test_warning():
    with pytest.warns(UserWarning):
        import warnings

        warnings.warn("careful")


def test_log(caplog):
    import logging

    logging.getLogger("shop").warning("careful")
    assert "careful" in caplog.text


class TestGroup:
    def test_in_a_class(self):
        assert self

    @staticmethod
    def test_static():
        assert True
