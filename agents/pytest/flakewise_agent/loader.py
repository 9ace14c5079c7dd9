"""Compiles the agent's modules under names such as ``<flakewise plugin.py>``.

Coverage tools, debuggers and profilers leave code with such names out. A file of
the agent would be part of the user's coverage, and a later ``coverage report``
would fail, because the file is gone by then.
"""

import importlib.machinery
import marshal
import os
import sys

#: The folder of the package, set by the package itself.
folder: str

PACKAGE = __name__.partition(".")[0]
# Tests may replace these, and modules are loaded late.
_open, _replace, _getpid, _import = open, os.replace, os.getpid, __import__
_load, _dump = marshal.load, marshal.dump
_modules = frozenset(name[:-3] for name in os.listdir(folder) if name.endswith(".py"))
#: Code that was compiled is kept for further processes with the same interpreter.
KEPT = ".%s-%x.code" % (sys.implementation.cache_tag, sys.hexversion)


def code_of(name):
    """The code of a module, without the name of its file."""
    path = "%s/%s.py" % (folder, name)
    try:
        with _open(path + KEPT, "rb") as file:
            return _load(file)
    except (OSError, EOFError, ValueError, TypeError):
        pass
    with _open(path, encoding="utf-8") as file:
        code = compile(file.read(), "<flakewise %s.py>" % name, "exec", dont_inherit=True)
    if not sys.dont_write_bytecode:
        part = "%s%s-%d" % (path, KEPT, _getpid())
        try:
            with _open(part, "wb") as file:
                _dump(code, file)
            _replace(part, path + KEPT)
        except OSError:
            pass
    return code


class Loader:
    """Finds and loads the modules of the agent. Its modules have no `__file__`."""

    def find_spec(self, name, path=None, target=None):
        package, _, module = name.rpartition(".")
        if package != PACKAGE or module not in _modules:
            return None
        return importlib.machinery.ModuleSpec(name, self, origin="<flakewise %s.py>" % module)

    def create_module(self, spec):
        return None

    def exec_module(self, module):
        exec(code_of(module.__name__.rpartition(".")[2]), vars(module))


_loader = Loader()


def load(name):
    """A module of the agent. Nobody else meets our finder."""
    full = "%s.%s" % (PACKAGE, name)
    sys.meta_path.insert(0, _loader)
    try:
        _import(full)
    finally:
        sys.meta_path.remove(_loader)
    return sys.modules[full]


def install(package):
    """Makes a namespace the agent's package: `from . import plugin` loads a
    module by `load`."""

    def module(name):
        if name.startswith("_") or name not in _modules:
            raise AttributeError("module %r has no attribute %r" % (PACKAGE, name))
        return load(name)

    forget(package.pop("__file__"))
    package["__path__"] = []
    package["__getattr__"] = module
    sys.modules[PACKAGE + ".loader"] = package["loader"]
    exec(code_of("start"), package)


def forget(file):
    """Removes the file of the package from coverage that is being recorded, as
    under ``coverage run``. Coverage records the first line of the file
    before any of our code can run. What is executed later in it is not recorded
    either: for the frame that runs it, the lines go to the set removed here."""
    coverage = sys.modules.get("coverage")
    try:
        recorded = coverage.Coverage.current()._collector.data
        for name in [name for name in recorded if os.path.realpath(name) == os.path.realpath(file)]:
            del recorded[name]
    except AttributeError:
        # Nothing is recorded, or by other means.
        pass
