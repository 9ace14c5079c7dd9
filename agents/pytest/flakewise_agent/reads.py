"""Which changes a test reads, and where.

Variables and files are seen as they are asked for. For the rest, the lines of the
project that the test executed are searched for names that stand for a change. That
is a hint, not a proof: undoing a change is the proof.
"""

import builtins
import dis
import os
import sys
import types

from . import errors, measure
from .values import MISSING, dict_of, isinstance_of, module_dict, type_dict, type_mro

_frame, _getpid, _fsdecode, _realpath = sys._getframe, os.getpid, os.fsdecode, os.path.realpath
_join, _normpath, _getcwd = os.path.join, os.path.normpath, os.getcwd
UNKNOWN = object()
#: Names whose use reads a kind of state, wherever they come from.
NAMES = {
    "cwd": "getcwd getcwdb cwd abspath realpath resolve absolute curdir".split(),
    "timezone": """localtime mktime strftime tzname timezone altzone daylight now today fromtimestamp astimezone ctime
        asctime""".split(),
    "locale": """localeconv getlocale setlocale format_string currency atof atoi delocalize strcoll strxfrm strftime
        getpreferredencoding nl_langinfo""".split(),
    "random": """random randint randrange choice choices sample shuffle uniform gauss normalvariate getrandbits randbytes
        betavariate expovariate triangular getstate rand randn normal permutation""".split(),
    "decimal": "getcontext localcontext Decimal quantize sqrt".split(),
    "logging": """getLogger isEnabledFor debug info warning error critical exception log getEffectiveLevel hasHandlers
        handlers level manager root getLoggerClass records text messages""".split(),
    "warnings": "warn warn_explicit filters simplefilter filterwarnings catch_warnings warns".split(),
    "signal": "getsignal raise_signal kill pause sigwait signal alarm setitimer".split(),
    "timer": "alarm getitimer setitimer".split(),
    "thread": "active_count activeCount enumerate main_thread current_thread".split(),
    "open": "listdir scandir iterdir num_fds open_files".split(),
    "umask": "umask open mkdir makedirs touch write_text write_bytes mkstemp chmod st_mode".split(),
    "path": "path import_module find_spec __import__".split(),
    "interpreter": """getrecursionlimit getswitchinterval isenabled get_threshold getdefaulttimeout create_connection urlopen
        collect""".split(),
    "loop": "get_event_loop get_running_loop new_event_loop run_until_complete run".split(),
    "context": ["get"],
}
KINDS = {}
for _kind, _names in NAMES.items():
    for _name in _names:
        KINDS.setdefault(_name, []).append(_kind)


class Lines(measure.Lines):
    """Executed lines of the project, and of packages that have changes in them."""

    def __init__(self, root, test_files, more):
        super().__init__(root, test_files)
        self._more = more

    def _lines_of(self, file):
        if file not in self._names and file.startswith(self._more) and file.endswith(".py"):
            self._names[file] = self._found.setdefault(_realpath(file), set())
        return super()._lines_of(file)

    def executed(self):
        """By real path."""
        return self._found


class Variables(dict):
    """What `os.environ` keeps its variables in, which tells who asks."""

    def __init__(self, data, tell):
        super().__init__(data)
        self._tell = tell

    def __getitem__(self, key):
        self._tell(key)
        return super().__getitem__(key)


class Reads:
    """Watches one test."""

    def __init__(self, tiers, root, test_files, changes):
        self._tiers = tiers
        self._root = _realpath(root)
        self._test_files = frozenset(map(_realpath, test_files))
        self._changes = changes
        self._found = {}
        self._variables = {change.attribute.encode(): change.key for change in changes if change.kind == "env"}
        self._paths = {path: change.key for change in changes if change.kind == "file" for path in change.ids}
        self._has_folder = any(change.kind == "cwd" for change in changes)
        self._pid = _getpid()
        self._running = self._busy = False
        self._lines = Lines(root, test_files, tuple(packages(tiers, changes)))

    def start(self):
        self._data = os.environ._data
        if self._variables:
            os.environ._data = Variables(self._data, self._asked)
        asking = ("stat", "lstat", "access") if self._paths or self._has_folder else ()
        self._wrapped = {name: getattr(os, name) for name in asking}
        for name, original in self._wrapped.items():
            setattr(os, name, self._telling(original))
        sys.addaudithook(self._hear)
        self._lines.start()
        self._running = True

    def stop(self):
        """Keys that were read, each with file and line or neither."""
        self._running = False
        self._lines.stop()
        if type(os.environ._data) is Variables:
            # It may have been added to.
            self._data.clear()
            self._data.update(os.environ._data)
            os.environ._data = self._data
        for name, original in self._wrapped.items():
            setattr(os, name, original)
        try:
            self._search()
        except Exception as error:
            errors.note(error)
        return self._found

    # What is seen as it happens

    def _asked(self, name):
        key = self._variables.get(name)
        if key is not None and key not in self._found and self._running:
            self._note(key, *self._place())

    def _telling(self, original):
        def tell(path, *arguments, **keywords):
            if self._running and not self._busy and not isinstance(path, int):
                self._touched(path)
            return original(path, *arguments, **keywords)

        return tell

    def _hear(self, event, arguments):
        if not self._running or self._busy or _getpid() != self._pid:
            return
        if event in ("open", "os.listdir", "os.scandir", "os.remove", "os.rename", "os.mkdir", "sqlite3.connect"):
            path = arguments[0]
            if not isinstance(path, int):
                self._touched("." if path is None else path, event in ("os.listdir", "os.scandir"))

    def _touched(self, path, is_listed=False):
        self._busy = True
        try:
            try:
                path = _fsdecode(path)
            except (TypeError, ValueError):
                # The function that is called with it raises an error.
                return
            if not path.startswith("/"):
                if self._has_folder and self._found.get("cwd", (None,))[0] is None:
                    self._note("cwd", *self._place())
                path = _join(_getcwd(), path)
            path = _normpath(path)
            key = self._paths.get(path)
            if key is None and is_listed:
                key = next((key for changed, key in self._paths.items() if os.path.dirname(changed) == path), None)
            if key is not None and self._found.get(key, (None,))[0] is None:
                self._note(key, *self._place())
        except FileNotFoundError:
            # The working folder is gone.
            pass
        except Exception as error:
            errors.note(error)
        finally:
            self._busy = False

    def _place(self):
        """Where the project asks for something."""
        try:
            frame = _frame(2)
        except ValueError:
            return None, None
        for _ in range(80):
            if frame is None:
                break
            file = frame.f_code.co_filename
            # Frozen modules have names that look relative.
            if file.endswith(".py") and self._tiers.is_project_file(_realpath(file)):
                return self._shown(_realpath(file)), frame.f_lineno
            frame = frame.f_back
        return None, None

    def _shown(self, path):
        if path.startswith(self._root + "/"):
            return path[len(self._root) + 1 :]
        # In a package that is installed.
        return path.rpartition("/site-packages/")[2]

    def _note(self, key, file, line):
        known = self._found.get(key)
        if known is None or (known[0] is None and file is not None):
            self._found[key] = (file, line)

    # What is looked for afterwards

    def _search(self):
        names = {}
        for module in list(sys.modules.values()):
            if isinstance_of(module, types.ModuleType):
                namespace = module_dict(module)
                file = namespace.get("__file__")
                if type(file) is str:
                    names.setdefault(_realpath(file), namespace)
        # Code under test says more than the test itself.
        files = sorted(self._lines.executed().items(), key=lambda entry: (entry[0] in self._test_files, entry[0]))
        hints = {}
        for path, lines in files:
            if not lines:
                continue
            try:
                with open(path, "rb") as file:
                    code = compile(file.read(), path, "exec", dont_inherit=True)
            except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
                # It changed since it was executed.
                continue
            for line, is_import, owner, name, value in sorted(loads(code, names.get(path, {}), lines), key=lambda load: load[:2]):
                self._match((path, line), is_import, owner, name, value, hints)
        for key, (path, line) in hints.items():
            self._note(key, self._shown(path), line)

    def _match(self, place, is_import, owner, name, value, hints):
        kinds = KINDS.get(name, ())
        for change in self._changes:
            if change.key in self._found:
                continue
            if change.owner is not None:
                is_it = (owner is change.owner and name == change.attribute) or id(value) in change.ids
                if is_it and not is_import:
                    self._note(change.key, self._shown(place[0]), place[1])
                elif is_it or (owner is UNKNOWN and name == change.attribute):
                    hints.setdefault(change.key, place)
            elif change.kind == "module":
                if is_import and (name == change.attribute or name.startswith(change.attribute + ".")):
                    self._note(change.key, self._shown(place[0]), place[1])
                elif (owner is sys and name == "modules") or name == change.attribute.rpartition(".")[2]:
                    hints.setdefault(change.key, place)
            elif change.kind in kinds:
                hints.setdefault(change.key, place)


def packages(tiers, changes):
    """Folders of installed packages that have something changed in them."""
    for home in {home_of(change.owner) for change in changes if change.owner is not None}:
        module = sys.modules.get(home) if type(home) is str else None
        if module is None or not isinstance_of(module, types.ModuleType):
            continue
        file = module_dict(module).get("__file__")
        if type(file) is str and tiers.of(home, module_dict(module)) == "other":
            for _ in range(home.count(".") + (os.path.basename(file) == "__init__.py")):
                file = os.path.dirname(file)
            yield file


def home_of(owner):
    if isinstance_of(owner, type):
        return type_dict(owner).get("__module__")
    return module_dict(owner).get("__name__") if isinstance_of(owner, types.ModuleType) else None


def loads(code, namespace, lines):
    """What executed lines load: line, whether it is an import, owner, name and
    value."""
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from loads(constant, namespace, lines)
    starts = dict(dis.findlinestarts(code))
    line, current = None, UNKNOWN
    for instruction in dis.get_instructions(code):
        line = starts.get(instruction.offset) or line
        operation = instruction.opname
        if operation in ("PUSH_NULL", "CACHE", "NOP", "RESUME", "PRECALL", "EXTENDED_ARG"):
            continue
        name = instruction.argval
        if operation in ("LOAD_GLOBAL", "LOAD_NAME"):
            value = namespace.get(name, MISSING)
            owner = sys.modules.get(namespace.get("__name__"))
            if value is MISSING:
                owner, value = builtins, vars(builtins).get(name, MISSING)
            current = value
        elif operation in ("LOAD_ATTR", "LOAD_METHOD", "IMPORT_FROM"):
            owner = current
            current = value = attribute(owner, name)
        elif operation == "IMPORT_NAME":
            owner, value = None, sys.modules.get(name, MISSING)
            current = value
        else:
            current = UNKNOWN
            continue
        if current is MISSING:
            current = UNKNOWN
        if line in lines:
            yield line, operation.startswith("IMPORT"), owner, name, value


def attribute(owner, name):
    """What an attribute is, without asking for it."""
    if owner is UNKNOWN or owner is None:
        return MISSING
    if isinstance_of(owner, types.ModuleType):
        return module_dict(owner).get(name, MISSING)
    if isinstance_of(owner, type):
        return next((type_dict(base)[name] for base in type_mro(owner) if name in type_dict(base)), MISSING)
    own = dict_of(owner)
    if own is not None and name in own:
        return own[name]
    return next((type_dict(base)[name] for base in type_mro(type(owner)) if name in type_dict(base)), MISSING)
