"""What surrounds tests in a process, other than objects and files: variables, the
working folder, modules, signals, settings of the standard library.

Each part is looked at before and after, compared, and can be put back, unless it
says otherwise.
"""

import contextvars
import gc
import locale
import os
import signal
import socket
import sys
import threading
import time
import types

from . import chance, errors, wire
from .heap import Change
from .values import MISSING, RUNNERS, described, isinstance_of, module_dict

_getcwd, _chdir, _umask, _readlink, _listdir, _close = os.getcwd, os.chdir, os.umask, os.readlink, os.listdir, os.close
_tzset = time.tzset
_getsignal, _signal = signal.getsignal, signal.signal
_enumerate = threading.enumerate
_setlocale, _all = locale.setlocale, locale.LC_ALL
_environ = os.environ
_data = os.environ._data

#: What pytest keeps there.
OWN_VARIABLES = frozenset((b"PYTEST_CURRENT_TEST", b"PYTEST_VERSION"))
#: What the runner imports when it first needs it.
LAZILY_IMPORTED = """difflib pprint bdb pdb cmd code codeop pygments pydoc doctest getpass pwd grp tempfile shutil
    _bootlocale""".split()


class Part:
    """One kind of state: by name, what it is."""

    kind = ""
    can_undo = True

    def look(self):
        raise NotImplementedError

    def key(self, name):
        return "%s:%s" % (self.kind, name) if name else self.kind

    def title(self, name):
        return name

    def words(self, value):
        return described(value)

    def is_same(self, before, now):
        return before == now

    def put_back(self, name, before, now):
        raise NotImplementedError

    def changes(self, before, now):
        """What is otherwise now."""
        for name in list(before) + [name for name in now if name not in before]:
            old, new = before.get(name, MISSING), now.get(name, MISSING)
            if old is MISSING or new is MISSING or not self.is_same(old, new):
                yield Change(
                    self.key(name),
                    self.kind,
                    self.title(name),
                    self.words(old),
                    self.words(new),
                    self.undo(name, old, new) if self.can_undo else None,
                    attribute=name,
                )

    def undo(self, name, before, now):
        return lambda: self.put_back(name, before, now)


class Variables(Part):
    kind = "env"

    def look(self):
        return {os.fsdecode(name): os.fsdecode(value) for name, value in _data.items() if name not in OWN_VARIABLES}

    def title(self, name):
        return "os.environ[%r]" % name

    def put_back(self, name, before, now):
        if before is MISSING:
            _environ.pop(name, None)
        else:
            _environ[name] = before


class Folder(Part):
    kind = "cwd"

    def look(self):
        try:
            return {"": _getcwd()}
        except OSError:
            return {"": "a deleted directory"}

    def title(self, name):
        return "the working directory"

    def put_back(self, name, before, now):
        _chdir(before)


class Mask(Part):
    kind = "umask"

    def look(self):
        mask = _umask(0o22)
        _umask(mask)
        return {"": mask}

    def title(self, name):
        return "the umask"

    def words(self, value):
        return "0o%03o" % value

    def put_back(self, name, before, now):
        _umask(before)


class Path(Part):
    kind = "path"

    def look(self):
        return {"": [entry for entry in sys.path if type(entry) is str]}

    def title(self, name):
        return "sys.path"

    def changes(self, before, now):
        for change in super().changes(before, now):
            old, new = before[""], now[""]
            added = [entry for entry in new if entry not in old]
            removed = [entry for entry in old if entry not in new]
            if added:
                change.before, change.after = "without it", "with %s" % described(added[0])
            elif removed:
                change.before, change.after = "with %s" % described(removed[0]), "without it"
            else:
                change.before, change.after = "in another order", "reordered"
            yield change

    def put_back(self, name, before, now):
        sys.path[:] = before


class Modules(Part):
    """Modules that were imported, removed or replaced; with a package, all that
    is below it."""

    kind = "module"

    def look(self):
        return {
            name: module
            for name, module in list(sys.modules.items())
            if type(name) is str and name.partition(".")[0] not in RUNNERS and not name.startswith("pytest_")
        }

    def is_same(self, before, now):
        return before is now

    def title(self, name):
        return "sys.modules[%r]" % name

    def words(self, value):
        if value is MISSING:
            return "not imported"
        if isinstance_of(value, types.ModuleType):
            return "imported"
        return described(value)

    def changes(self, before, now):
        names = {name for name in before.keys() | now.keys() if before.get(name, MISSING) is not now.get(name, MISSING)}
        for name in sorted(names):
            parts = name.split(".")
            if any(".".join(parts[:count]) in names for count in range(1, len(parts))):
                continue
            old, new = before.get(name, MISSING), now.get(name, MISSING)
            below = [other for other in names if other == name or other.startswith(name + ".")]
            after = self.words(new)
            if old is not MISSING and after == "imported":
                after = "imported again"
            elif new is MISSING:
                after = "removed"
            change = Change(self.key(name), self.kind, self.title(name), self.words(old), after, attribute=name, ids=[id(new)])
            if not any(is_compiled(now.get(other)) for other in below):
                change.undo = self._undo(below, before, now)
            yield change

    def _undo(self, names, before, now):
        def undo():
            for name in names:
                old, new = before.get(name, MISSING), now.get(name, MISSING)
                if old is MISSING:
                    sys.modules.pop(name, None)
                else:
                    sys.modules[name] = old
                above, _, last = name.rpartition(".")
                parent = before.get(above)
                if parent is not None and isinstance_of(parent, types.ModuleType):
                    attributes = module_dict(parent)
                    if attributes.get(last) is new:
                        attributes.pop(last) if old is MISSING else attributes.update({last: old})

        return undo


def is_compiled(module):
    """Some of these refuse to be imported twice."""
    if module is None or not isinstance_of(module, types.ModuleType):
        return False
    file = module_dict(module).get("__file__")
    return type(file) is str and not file.endswith(".py")


class Locale(Part):
    kind = "locale"

    def look(self):
        return {"": _setlocale(_all)}

    def title(self, name):
        return "the locale"

    def changes(self, before, now):
        for change in super().changes(before, now):
            # With several of them, only what differs is worth telling.
            old, new = before[""].split(";"), now[""].split(";")
            change.before = ";".join(part for part in old if part not in new)
            change.after = ";".join(part for part in new if part not in old)
            yield change

    def put_back(self, name, before, now):
        _setlocale(_all, before)


class Zone(Part):
    kind = "timezone"

    def look(self):
        zone = _data.get(b"TZ")
        return {"": (tuple(time.tzname), time.timezone, time.altzone, None if zone is None else os.fsdecode(zone))}

    def is_same(self, before, now):
        # A variable that nobody has acted upon is only that.
        return before[:3] == now[:3]

    def title(self, name):
        return "the time zone"

    def words(self, value):
        return "/".join(dict.fromkeys(value[0])) + (" (TZ=%s)" % value[3] if value[3] is not None else "")

    def put_back(self, name, before, now):
        current = _environ.get("TZ")
        set_or_remove("TZ", before[3])
        _tzset()
        set_or_remove("TZ", current)


def set_or_remove(name, value):
    if value is None:
        _environ.pop(name, None)
    else:
        _environ[name] = value


class Signals(Part):
    kind = "signal"

    def look(self):
        return {signal.Signals(number).name: _getsignal(number) for number in signal.Signals}

    def is_same(self, before, now):
        return before is now or (type(before) is type(now) and isinstance_of(before, int) and before == now)

    def title(self, name):
        return "the handler of %s" % name

    def words(self, value):
        if value is None:
            return "one that is not Python's"
        return getattr(value, "name", "SIG_DFL") if isinstance_of(value, signal.Handlers) else described(value)

    def undo(self, name, before, now):
        return None if before is None else lambda: _signal(getattr(signal, name), before)


class Timer(Part):
    kind = "timer"

    def look(self):
        return {"": signal.getitimer(signal.ITIMER_REAL)[0] > 0}

    def title(self, name):
        return "an alarm"

    def words(self, value):
        return "set" if value else "not set"

    def put_back(self, name, before, now):
        signal.setitimer(signal.ITIMER_REAL, 0)


class Descriptors(Part):
    """What is open; by what it is, since numbers come and go."""

    kind = "open"

    def __init__(self, connection, root):
        self._connection = connection
        self._root = os.path.join(os.path.realpath(root), "")

    def look(self):
        found = {}
        for number in _listdir("/proc/self/fd"):
            try:
                target = _readlink("/proc/self/fd/" + number)
            except OSError:
                # The one we list with.
                continue
            if int(number) != self._connection.fileno():
                for kind in ("socket:", "pipe:", "anon_inode:", "/memfd:"):
                    if target.startswith(kind):
                        target = "a " + kind.strip("/:").replace("anon_inode", "event descriptor")
                if target.startswith(self._root):
                    target = target[len(self._root) :]
                found.setdefault(target, []).append(int(number))
        return {name: tuple(sorted(numbers)) for name, numbers in found.items()}

    def title(self, name):
        return name

    def words(self, value):
        count = 0 if value is MISSING else len(value)
        return "open" if count == 1 else "not open" if count == 0 else "open %d times" % count

    def undo(self, name, before, now):
        new = [] if now is MISSING else [number for number in now if before is MISSING or number not in before]
        if not new:
            return None

        def close():
            for number in new:
                _close(number)

        return close


class Threads(Part):
    kind = "thread"
    can_undo = False

    def look(self):
        return {thread.name: True for thread in _enumerate()}

    def title(self, name):
        return "the thread %r" % name

    def words(self, value):
        return "not running" if value is MISSING else "running"


class Logging(Part):
    kind = "logging"

    def look(self):
        logging = sys.modules.get("logging")
        if logging is None:
            return {}
        manager = logging.Logger.manager
        found = {"disable": manager.disable, "class": manager.loggerClass or logging._loggerClass}
        loggers = [("root", logging.root)] + list(manager.loggerDict.items())
        for name, logger in loggers:
            if not isinstance_of(logger, logging.Logger):
                continue
            default = logging.WARNING if name == "root" else logging.NOTSET
            for what, usual in (("level", default), ("handlers", []), ("filters", []), ("propagate", True), ("disabled", False)):
                value = getattr(logger, what, usual)
                value = tuple(value) if isinstance(value, list) else value
                # Loggers are made as they are requested.
                if name == "root" or value != (tuple(usual) if isinstance(usual, list) else usual):
                    found["%s.%s" % (name, what)] = value
        return found

    def is_same(self, before, now):
        if type(before) is tuple and type(now) is tuple:
            return len(before) == len(now) and all(map(lambda a, b: a is b, before, now))
        return before is now or (type(before) is type(now) and type(before) in (int, bool) and before == now)

    def title(self, name):
        if name == "disable":
            return "logging.disable"
        logger, _, what = name.rpartition(".")
        if not logger:
            return "the logger class"
        return "the %s of %s" % (what, "the root logger" if logger == "root" else "the logger %r" % logger)

    def words(self, value):
        logging = sys.modules["logging"]
        if type(value) is int:
            return "nothing" if value == 0 else str(logging.getLevelName(value))
        return "the default" if value is MISSING else described(value)

    def put_back(self, name, before, now):
        logging = sys.modules["logging"]
        manager = logging.Logger.manager
        if name == "disable":
            manager.disable = before
        elif name == "class":
            logging._loggerClass = before
        else:
            logger, _, what = name.rpartition(".")
            logger = logging.root if logger == "root" else manager.loggerDict[logger]
            if before is MISSING:
                before = {"level": 0, "handlers": (), "filters": (), "propagate": True, "disabled": False}[what]
            if type(before) is tuple:
                getattr(logger, what)[:] = before
            else:
                setattr(logger, what, before)
        if hasattr(manager, "_clear_cache"):
            manager._clear_cache()


class Warnings(Part):
    kind = "warnings"

    def look(self):
        warnings = sys.modules.get("warnings")
        return {"": tuple(warnings.filters)} if warnings is not None else {}

    def is_same(self, before, now):
        return len(before) == len(now) and all(map(lambda a, b: a is b or a == b, before, now))

    def title(self, name):
        return "the warning filters"

    def words(self, value):
        return "none" if not value else "%d, the first of which says %r" % (len(value), value[0][0])

    def put_back(self, name, before, now):
        warnings = sys.modules["warnings"]
        warnings.filters[:] = before
        for tell in ("_filters_mutated", "_filters_mutated_lock_held"):
            if hasattr(warnings, tell):
                try:
                    getattr(warnings, tell)()
                    return
                except RuntimeError:
                    with warnings._lock:
                        getattr(warnings, tell)()


class Random(Part):
    kind = "random"

    def look(self):
        found = {"": chance._get()}
        numpy = sys.modules.get("numpy.random")
        if numpy is not None:
            state = numpy.get_state()
            found["numpy"] = (state[0], state[1].tobytes(), *state[2:])
        return found

    def title(self, name):
        return "the generator of %s" % ("numpy.random" if name else "random")

    def changes(self, before, now):
        for change in super().changes(before, now):
            if not change.attribute:
                drawn = chance.drawn(before[""], now[""])
                change.after = "numbers were drawn" if drawn else "seeded"
            else:
                change.after = "another state"
            change.before = "as it was before"
            yield change

    def put_back(self, name, before, now):
        if not name:
            chance._set(before)
        elif before is not MISSING:
            numpy = sys.modules["numpy"]
            keys = numpy.frombuffer(before[1], dtype=numpy.uint32)
            sys.modules["numpy.random"].set_state((before[0], keys, *before[2:]))


class Decimal(Part):
    kind = "decimal"

    def look(self):
        decimal = sys.modules.get("decimal")
        if decimal is None:
            return {}
        context = decimal.getcontext()
        traps = tuple(sorted(kind.__name__ for kind, is_set in context.traps.items() if is_set))
        return {"": (context.prec, context.rounding, context.Emin, context.Emax, context.capitals, context.clamp, traps)}

    def changes(self, before, now):
        # It may have been imported since.
        return super().changes(before, now) if before else ()

    def title(self, name):
        return "the decimal context"

    def words(self, value):
        return "prec=%s, rounding=%s" % value[:2]

    def put_back(self, name, before, now):
        decimal = sys.modules["decimal"]
        context = decimal.getcontext()
        context.prec, context.rounding, context.Emin, context.Emax, context.capitals, context.clamp = before[:6]
        for kind in context.traps:
            context.traps[kind] = kind.__name__ in before[6]


class Calm:
    """While this lasts, garbage is not collected: what tests can no longer reach but
    a weak reference still finds must not go because we look around."""

    was = True

    def __enter__(self):
        Calm.was = gc.isenabled()
        gc.disable()

    def __exit__(self, *_):
        if Calm.was:
            gc.enable()


class Settings(Part):
    """Numbers that Python keeps for itself."""

    kind = "interpreter"
    _settings = {
        "recursion limit": (sys.getrecursionlimit, sys.setrecursionlimit),
        "switch interval": (sys.getswitchinterval, sys.setswitchinterval),
        "garbage collection": (lambda: Calm.was, lambda on: setattr(Calm, "was", on)),
        "garbage collection threshold": (gc.get_threshold, lambda threshold: gc.set_threshold(*threshold)),
        "default timeout of sockets": (socket.getdefaulttimeout, socket.setdefaulttimeout),
    }

    def look(self):
        return {name: get() for name, (get, _) in self._settings.items()}

    def title(self, name):
        return "the " + name

    def put_back(self, name, before, now):
        self._settings[name][1](before)


class Context(Part):
    """Context variables."""

    kind = "context"

    def look(self):
        # That of decimal is made on first use, and has a part of its own.
        items = contextvars.copy_context().items()
        return {variable.name: (variable, value) for variable, value in items if variable.name != "decimal_context"}

    def is_same(self, before, now):
        return before[1] is now[1] or described(before[1]) == described(now[1])

    def title(self, name):
        return "the context variable %r" % name

    def words(self, value):
        return "unset" if value is MISSING else described(value[1])

    def undo(self, name, before, now):
        return None if before is MISSING else lambda: before[0].set(before[1])


class Loop(Part):
    """The event loop that a thread that runs none would get."""

    kind = "loop"

    def look(self):
        events = sys.modules.get("asyncio.events")
        if events is None:
            return {}
        policy = getattr(events, "_event_loop_policy", None)
        local = getattr(policy, "_local", None)
        names = dict(vars(local)) if local is not None else {}
        return {"": (policy, names.get("_loop"), bool(names.get("_set_called")))}

    def changes(self, before, now):
        if not before or not now or before[""][1:] == now[""][1:] == (None, False):
            return ()
        return super().changes(before, now)

    def is_same(self, before, now):
        return all(map(lambda a, b: a is b, before, now))

    def title(self, name):
        return "the current event loop of asyncio"

    def words(self, value):
        policy, loop, is_set = value
        return described(loop) if loop is not None else "none, on purpose" if is_set else "created on first use"

    def put_back(self, name, before, now):
        events = sys.modules["asyncio.events"]
        events._event_loop_policy = policy = before[0]
        local = getattr(policy, "_local", None)
        if local is not None:
            local._loop, local._set_called = before[1], before[2]


def prepare():
    """Imports what the runner would import in between."""
    for name in LAZILY_IMPORTED:
        try:
            __import__(name)
        except Exception:  # The project may have a module of that name, which may raise anything.
            pass


class Surroundings:
    """All parts, as they were at one moment."""

    def __init__(self, connection, root):
        self._parts = [
            Modules(),
            Path(),
            Variables(),
            Zone(),
            Folder(),
            Mask(),
            Locale(),
            Signals(),
            Timer(),
            Descriptors(connection, root),
            Threads(),
            Logging(),
            Warnings(),
            Random(),
            Decimal(),
            Settings(),
            Context(),
            Loop(),
        ]
        self._before = [self._look(part) for part in self._parts]

    def changes(self):
        """What is otherwise now, by key."""
        found = {}
        for part, before in zip(self._parts, self._before):
            now = self._look(part)
            if before is None or now is None:
                continue
            try:
                for change in part.changes(before, now):
                    found[change.key] = change
            except Exception as error:
                errors.note(error)
                continue
        return found

    def _look(self, part):
        try:
            return part.look()
        except Exception as error:
            errors.note(error)
            return None


def text(value, limit=160):
    """For people, on one line."""
    return wire.text(value, limit).replace("\n", " ")
