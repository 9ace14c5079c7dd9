"""Failures around tests: set-up and tear-down."""
import pytest

from zoohelp import nth


@pytest.fixture
def set_up_breaks_once():
    if nth("function-setup") == 1:
        raise OSError("the scratch disk was not there yet")


def test_set_up_breaks_once(set_up_breaks_once):
    # transient: error in a fixture of the function, once.
    pass


@pytest.fixture
def tear_down_breaks_once():
    yield
    if nth("teardown-once") == 1:
        raise OSError("the scratch disk could not be cleaned")


def test_tear_down_breaks_once(tear_down_breaks_once):
    # transient: the test itself passes; its tear-down fails, once.
    pass


@pytest.fixture
def tear_down_breaks_always():
    yield
    raise RuntimeError("this fixture never ends well")


def test_tear_down_breaks_always(tear_down_breaks_always):
    # broken-before: likewise, always.
    pass


def test_scratch_folder_is_new(tmp_path):
    # transient: fails once, and asks for a new tmp_path the second time:
    # FileExistsError otherwise, always.
    with open(tmp_path / "order", "x"):
        pass
    assert nth("tmp-path") > 1, "first time in a scratch folder"


def test_patches_are_undone(monkeypatch, capsys):
    # transient: fails once, and asks for function fixtures to be made anew.
    from shop import settings

    assert settings.currency() == "EUR", "the patch of the first attempt is still there"
    monkeypatch.setenv("SHOP_CURRENCY", "JPY")
    print("printed")
    assert capsys.readouterr().out == "printed\n", "the output of the first attempt is still there"
    assert nth("monkeypatch") > 1, "first time with a patch"


@pytest.fixture
def everything(request):
    request.addfinalizer(lambda: None)
    return request.node.name


def test_fixture_knows_its_test(everything):
    # passes.
    assert everything == "test_fixture_knows_its_test"
