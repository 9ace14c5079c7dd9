"""Plug-ins of vendors."""
import sys
import types

from depot import catalog, plugins


def test_plugin_on_the_path():
    # A polluter: leaves its folder on the path, and the module.
    sys.path.insert(0, str(catalog.ROOT / "extra"))
    assert plugins.carrier() in ("balloon", "kite")


def test_plugin_made_up():
    # A polluter: leaves its module.
    sys.modules["depot_extra"] = types.SimpleNamespace(CARRIER="kite")
    assert plugins.carrier() == "kite"


def test_plugin_made_up_for_a_while(monkeypatch):
    # Innocent.
    monkeypatch.setitem(sys.modules, "depot_extra", types.SimpleNamespace(CARRIER="zeppelin"))
    assert plugins.carrier() == "zeppelin"
