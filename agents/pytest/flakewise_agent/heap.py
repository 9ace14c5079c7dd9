"""What modules and classes hold: remembered, compared, and put back.

Every object that can change has a shallow copy of its own, so that nothing is
copied deeply and each can be put back in place. Objects are told apart by who they
are; only plain values are compared. No method of the project's is called: its
`__eq__`, `__repr__` and `__hash__` may do anything.
"""

import collections
import functools
import itertools
import os
import sys
import sysconfig
import threading
import time
import types

_clock = time.perf_counter
_realpath = os.path.realpath

#: How deep, how many and how long. What is beyond is not compared.
DEPTH = 6
OBJECTS = 400_000
ITEMS = 20_000
SECONDS = 3.0
#: Packages that change while tests run because tests run.
RUNNERS = frozenset(
    """pytest _pytest pluggy py iniconfig exceptiongroup flakewise_agent pygments tomli coverage pytest_cov xdist execnet
    pytest_asyncio anyio pytest_timeout pytest_mock pytest_randomly random_order pytest_rerunfailures flaky pytest_subtests
    hypothesis _hypothesis_pytestplugin __main__""".split()
)
#: Names that Python, pytest and unittest give values to as they go.
NOISE = frozenset(
    """last_type last_value last_traceback last_exc _class_cleanups tearDown_exceptions _classSetupFailed
    _previousTestClass __warningregistry__ __pytest_wrapped__ __abstractmethods__ __doc__ __dict__ __weakref__
    __annotations__ __annotations_cache__ __annotate__ __annotate_func__ __static_attributes__ __firstlineno__
    __conditional_annotations__ _abc_impl __unittest_skip__ path_importer_cache""".split()
)
#: What `time.tzset` gives values to; the time zone is told of by itself.
ZONE = frozenset("timezone altzone tzname daylight".split())
#: Of the standard library, what is kept in containers and changed in place.
STANDARD_CONTAINERS = (
    ("sys", "argv"),
    ("sys", "meta_path"),
    ("sys", "path_hooks"),
    ("copyreg", "dispatch_table"),
    ("mimetypes", "types_map"),
    ("sqlite3", "adapters"),
    ("sqlite3", "converters"),
)
SCALARS = frozenset((int, float, complex, str, bytes, bool, type(None), type(Ellipsis), range, slice))
ROUTINES = (
    types.FunctionType,
    types.BuiltinFunctionType,
    types.MethodType,
    types.MethodDescriptorType,
    types.WrapperDescriptorType,
    classmethod,
    staticmethod,
    property,
    functools.partial,
    functools._lru_cache_wrapper,
)
MISSING = type("Missing", (), {"__slots__": ()})()
#: Objects that say nothing about who holds them.
EVERYWHERE = frozenset(map(id, (MISSING, None, True, False, 0, 1, "", ())))

_type_names = type.__dict__["__dict__"].__get__
_type_bases = type.__dict__["__mro__"].__get__
_type_name = type.__dict__["__name__"].__get__
_module_names = types.ModuleType.__dict__["__dict__"].__get__
_Cache = functools._lru_cache_wrapper


def _module_dict(module):
    # One that was made but never begun has none.
    names = _module_names(module)
    return {} if names is None else names


def _type_dict(kind):
    # Nor has a built-in type that nobody has used.
    names = _type_names(kind)
    return {} if names is None else names


def _type_mro(kind):
    return _type_bases(kind) or ()


class Change:
    """Something that is otherwise than it was."""

    __slots__ = ("key", "kind", "name", "before", "after", "undo", "owner", "attribute", "ids", "left_by")

    def __init__(self, key, kind, name, before, after, undo=None, owner=None, attribute=None, ids=()):
        self.key, self.kind, self.name = key, kind, name
        self.before, self.after = before, after
        self.undo = undo
        #: Whose attribute it is, and which objects it is about, to see who reads it.
        self.owner, self.attribute, self.ids = owner, attribute, frozenset(ids) - EVERYWHERE
        self.left_by = None


class Tiers:
    """To whom a module belongs: the project, others, Python, or who runs tests."""

    def __init__(self, root):
        paths = sysconfig.get_paths()
        folder = lambda name: os.path.join(_realpath(paths[name]), "")  # noqa: E731
        self._root = os.path.join(_realpath(root), "")
        self._standard = tuple({folder(name) for name in ("stdlib", "platstdlib") if name in paths})
        self._installed = tuple({folder(name) for name in ("purelib", "platlib") if name in paths})
        self._names = getattr(sys, "stdlib_module_names", frozenset(sys.builtin_module_names))

    def is_project_file(self, path):
        """Whether a file, by its real path, is the project's own."""
        foreign = path.startswith(self._installed) or "/site-packages/" in path or "/dist-packages/" in path
        return path.startswith(self._root) and not foreign and not path.startswith(self._standard)

    def of(self, name, namespace):
        top = name.partition(".")[0]
        if top in RUNNERS or top.startswith("pytest_"):
            return None
        file = namespace.get("__file__")
        path = _realpath(file) if type(file) is str else None
        if path is None:
            return "standard" if top in self._names else "other"
        if self.is_project_file(path):
            return "project"
        installed = path.startswith(self._installed) or "/site-packages/" in path or "/dist-packages/" in path
        return "standard" if path.startswith(self._standard) and not installed else "other"


class Namespace:
    """The names of a module or class, as they were."""

    __slots__ = ("owner", "label", "tier", "is_class", "names")

    def __init__(self, owner, label, tier, is_class):
        self.owner, self.label, self.tier, self.is_class = owner, label, tier, is_class
        self.names = dict(self.now())

    def now(self):
        return _type_dict(self.owner) if self.is_class else _module_dict(self.owner)

    def put_back(self, name):
        value = self.names.get(name, MISSING)
        if self.is_class:
            if value is MISSING:
                type.__delattr__(self.owner, name)
            else:
                type.__setattr__(self.owner, name, value)
        elif value is MISSING:
            _module_dict(self.owner).pop(name, None)
        else:
            _module_dict(self.owner)[name] = value


class Copy:
    """The contents of one object, as they were, and how it is reached first."""

    __slots__ = ("value", "form", "contents", "root", "path")

    def __init__(self, value, form, contents, root, path):
        self.value, self.form, self.contents, self.root, self.path = value, form, contents, root, path


class Heap:
    """All that modules held at one moment."""

    def __init__(self, tiers, test_files):
        self.namespaces = []
        self.copies = {}
        self.is_complete = True
        self._seen = set()
        self._deadline = _clock() + SECONDS
        modules = []
        for name, module in list(sys.modules.items()):
            if type(name) is str and isinstance_of(module, types.ModuleType):
                namespace = _module_dict(module)
                tier = tiers.of(name, namespace)
                if tier is not None:
                    modules.append((rank(tier, namespace, test_files), name, module, tier))
        # An object that several modules know is told of by the first of these.
        modules.sort(key=lambda entry: entry[:2])
        for _, name, module, tier in modules:
            self._add(module, name, tier, False)
        for place in range(len(self.namespaces)):
            self._walk_names(place)
        for name, attribute in STANDARD_CONTAINERS:
            if name in sys.modules:
                self._walk(getattr(sys.modules[name], attribute, None), (name, attribute, sys.modules[name]))

    def _add(self, owner, label, tier, is_class):
        if id(owner) in self._seen:
            return
        self._seen.add(id(owner))
        namespace = Namespace(owner, label, tier, is_class)
        self.namespaces.append(namespace)
        for name, value in list(namespace.names.items()):
            if type(name) is str and isinstance_of(value, type) and name not in NOISE:
                own = _type_dict(value)
                # Built-in types have no module in their names and cannot change.
                home = own.get("__module__")
                module = label if not is_class else namespace.names.get("__module__")
                if type(home) is str and home == module:
                    self._add(value, label + "." + name, tier, True)

    def _walk_names(self, place):
        namespace = self.namespaces[place]
        if namespace.tier == "standard":
            return
        for name, value in list(namespace.names.items()):
            if type(name) is str and not name.startswith("__") and name not in NOISE:
                self._walk(value, (namespace.label, name, namespace.owner))

    def _walk(self, value, root):
        queue = [(value, "", 0)]
        while queue:
            value, path, depth = queue.pop()
            if type(value) in SCALARS or id(value) in self._seen:
                continue
            if len(self._seen) >= OBJECTS or (len(self._seen) & 255 == 0 and _clock() > self._deadline):
                self.is_complete = False
                return
            try:
                form = form_of(value)
                if form is None:
                    continue
                self._seen.add(id(value))
                contents = contents_of(value, form)
                self.copies[id(value)] = Copy(value, form, contents, root, path)
                if depth < DEPTH:
                    queue.extend((child, path + step, depth + 1) for step, child in children(value, form, contents))
            except Exception:
                continue

    def changes(self):
        """What is otherwise now, by key."""
        found = {}
        for namespace in self.namespaces:
            try:
                for name, now in list(rebound(namespace)):
                    change = self._rebinding(namespace, name, now)
                    if change is not None:
                        found[change.key] = change
            except Exception:
                continue
        mutated = {}
        for copy in list(self.copies.values()):
            try:
                now = contents_of(copy.value, copy.form)
                if not equal(copy.form, copy.contents, now):
                    mutated.setdefault(copy.root[:2], []).append((copy, now))
            except Exception:
                continue
        for root, copies in mutated.items():
            try:
                change = self._mutation(root, copies)
            except Exception:
                continue
            known = found.get(change.key)
            if known is None:
                found[change.key] = change
            elif known.undo is not None:
                known.undo = in_turn(known.undo, change.undo)
        return found

    def _rebinding(self, namespace, name, now):
        before = namespace.names.get(name, MISSING)
        routine = is_routine(before)
        if namespace.tier == "standard" or (namespace.tier == "other" and name.startswith("_")):
            # Much is made on first use, and kept for the next.
            is_own = before is None or before is MISSING or name.startswith("_")
            if is_own and not routine and not (is_routine(now) and shadows(namespace, name)):
                if namespace.label != "builtins" or before is not MISSING:
                    return None
        if isinstance_of(now, types.ModuleType) and (before is MISSING or isinstance_of(before, types.ModuleType)):
            if sys.modules.get("%s.%s" % (namespace.label, name)) is now:
                # An import, which is told of as such.
                return None
        hides = before is MISSING and is_routine(now) and shadows(namespace, name)
        is_patch = routine or hides or namespace.tier == "standard"
        kind = "patch" if is_patch else ("class" if namespace.is_class else "global")
        return Change(
            "%s:%s:%s" % (kind, namespace.label, name),
            kind,
            "%s.%s" % (namespace.label, name),
            described(before),
            described(now),
            lambda: namespace.put_back(name),
            owner=namespace.owner,
            attribute=name,
            ids=[id(value) for value in (now,) if type(value) not in SCALARS and value is not MISSING],
        )

    def _mutation(self, root, copies):
        label, name = root
        first, now = copies[0]
        owner = first.root[2]
        path = first.path if len(copies) == 1 else ""
        is_cache = all(copy.form == "cache" for copy, _ in copies)
        is_class = isinstance_of(owner, type)
        kind = "cache" if is_cache else "class" if is_class else "global"
        value = namespace_value(owner, name)
        if path == "" and first.path != "":
            before = after = described(value)
        else:
            before, after = told(first, first.contents), told(first, now)
        can_undo = all(copy.form != "count" or copy.path == "" for copy, _ in copies)

        def undo():
            for copy, _ in copies:
                put_back(copy, owner, name)

        return Change(
            "%s:%s:%s" % (kind, label, name),
            kind,
            "%s.%s%s" % (label, name, path),
            before,
            after,
            undo if can_undo else None,
            owner=owner,
            attribute=name,
            ids={id(value)} | {id(copy.value) for copy, _ in copies},
        )


def rank(tier, namespace, test_files):
    if tier == "project":
        return 1 if namespace.get("__file__") in test_files else 0
    return 2 if tier == "other" else 3


def rebound(namespace):
    """Names that stand for something else now, and what."""
    before, after = namespace.names, dict(namespace.now())
    for name, value in before.items():
        now = after.get(name, MISSING)
        if now is not value and type(name) is str and not is_noise(name, namespace) and not same(value, now):
            yield name, now
    for name in after.keys() - before.keys():
        if type(name) is str and not is_noise(name, namespace):
            yield name, after[name]


def is_noise(name, namespace):
    if namespace.label == "time" and name in ZONE:
        return True
    return name in NOISE or (name.startswith("__") and name.endswith("__") and not namespace.is_class)


def shadows(namespace, name):
    """Whether a new name hides another: a method of a base class, a built-in."""
    if namespace.is_class:
        return any(name in _type_dict(base) for base in _type_mro(namespace.owner)[1:])
    return name in _module_dict(sys.modules["builtins"])


def namespace_value(owner, name):
    names = _type_dict(owner) if isinstance_of(owner, type) else _module_dict(owner)
    return names.get(name, MISSING)


def isinstance_of(value, kind):
    """As `isinstance`, without asking the value."""
    return kind in _type_mro(type(value))


def is_routine(value):
    return type(value) in ROUTINES or isinstance_of(value, type)


def in_turn(*actions):
    def run():
        for action in actions:
            if action is not None:
                action()

    return run


# The contents of objects


def form_of(value):
    """How the contents of an object are read; none if they are not."""
    kind = type(value)
    if kind in FORMS:
        return FORMS[kind]
    mro = _type_mro(kind)
    for base in mro:
        if base in INHERITED:
            return INHERITED[base]
    if type in mro or types.ModuleType in mro or BaseException in mro:
        return None
    home = _type_dict(kind).get("__module__")
    top = home.partition(".")[0] if type(home) is str else "builtins"
    # Locks, threads and loggers have states of their own; weak references come
    # and go; paths and the like keep what they have worked out.
    if top in RUNNERS or top in OPAQUE:
        return None
    return "instance" if dict_of(value) is not None or slots_of(kind) else None


OPAQUE = frozenset(
    """builtins threading _thread logging weakref _weakrefset _weakref typing types ast abc io _io socket re pathlib uuid
    ipaddress zoneinfo inspect string fractions codecs importlib _frozen_importlib _frozen_importlib_external""".split()
)
FORMS = {
    dict: "dict",
    list: "list",
    set: "set",
    tuple: "tuple",
    frozenset: "tuple",
    bytearray: "bytes",
    collections.deque: "deque",
    types.FunctionType: "function",
    types.MethodType: "wrapper",
    classmethod: "wrapper",
    staticmethod: "wrapper",
    property: "wrapper",
    functools.partial: "wrapper",
    types.CellType: "cell",
    _Cache: "cache",
    itertools.count: "count",
    types.SimpleNamespace: "instance",
    threading.local: "instance",
}
INHERITED = {
    kind: FORMS[kind]
    for kind in (types.SimpleNamespace, threading.local, dict, list, set, tuple, collections.deque)
}


def contents_of(value, form):
    if form == "dict":
        method = collections.OrderedDict.items if isinstance_of(value, collections.OrderedDict) else dict.items
        items = list(itertools.islice(method(value), ITEMS))
        # A subclass may have attributes as well.
        return items, instance_contents(value) if type(value) is not dict else []
    if form == "list":
        return list.__getitem__(value, slice(0, ITEMS))
    if form == "deque":
        return list(itertools.islice(collections.deque.__iter__(value), ITEMS))
    if form == "set":
        return list(itertools.islice(set.__iter__(value), ITEMS))
    if form == "bytes":
        return bytes(memoryview(value)[:ITEMS])
    if form == "instance":
        return instance_contents(value)
    if form == "cell":
        try:
            return [value.cell_contents]
        except ValueError:
            return []
    if form == "cache":
        return _Cache.cache_info(value)[1:4:2]
    if form == "count":
        return repr(value)
    return None


def instance_contents(value):
    names = dict_of(value)
    contents = list(names.items()) if names is not None else []
    for name, slot in slots_of(type(value)):
        try:
            contents.append((name, slot.__get__(value)))
        except AttributeError:
            pass
    return contents


def dict_of(value):
    if isinstance_of(value, threading.local):
        # What this thread has. If it has nothing yet, an `__init__` of the project's
        # would be called.
        begins = any("__init__" in _type_dict(base) for base in _type_mro(type(value)) if base is not object)
        return None if begins else threading.local.__getattribute__(value, "__dict__")
    for base in _type_mro(type(value)):
        getter = _type_dict(base).get("__dict__")
        if getter is not None:
            plain = type(getter) in (types.GetSetDescriptorType, types.MemberDescriptorType)
            return getter.__get__(value) if plain else None
    return None


def slots_of(kind):
    found = []
    for base in _type_mro(kind):
        own = _type_dict(base)
        if "__slots__" in own:
            found += [(name, slot) for name, slot in own.items() if type(slot) is types.MemberDescriptorType]
    return found


def children(value, form, contents):
    """What is inside, each with how one gets there."""
    if form == "dict":
        items, attributes = contents
        return [(step_of(key), child) for key, child in items] + [("." + str(name), child) for name, child in attributes]
    if form in ("list", "deque"):
        return [("[%d]" % place, child) for place, child in enumerate(contents)]
    if form == "tuple":
        base = frozenset if isinstance_of(value, frozenset) else tuple
        return [("[%d]" % place, child) for place, child in enumerate(itertools.islice(base.__iter__(value), ITEMS))]
    if form == "instance":
        return [("." + name if type(name) is str else "", child) for name, child in contents]
    if form == "cell":
        return [("", child) for child in contents]
    if form == "function":
        inside = [(" (a default)", child) for child in value.__defaults__ or ()]
        inside += [(" (a default)", child) for child in (value.__kwdefaults__ or {}).values()]
        inside += [(" (closed over)", child) for child in value.__closure__ or ()]
        return inside + ([("", value.__dict__)] if value.__dict__ else [])
    if form == "cache":
        return [("", value.__dict__)]
    if form == "wrapper":
        return [("", child) for child in wrapped(value)]
    return []


def wrapped(value):
    kind = type(value)
    if kind is property:
        return [value.fget, value.fset]
    if kind is functools.partial:
        return [value.func, value.args, value.keywords]
    if kind is types.MethodType:
        return [value.__func__, value.__self__]
    return [value.__func__]


def step_of(key):
    return "[%s]" % described(key, 40) if type(key) in SCALARS else ""


def same(one, other, depth=3):
    """Whether two values are one, or plain and equal."""
    if one is other:
        return True
    if type(one) is not type(other):
        return False
    if type(one) in SCALARS:
        return one == other or (one != one and other != other)
    if type(one) is tuple and depth:
        return len(one) == len(other) and all(same(a, b, depth - 1) for a, b in zip(one, other))
    return False


def equal(form, before, now):
    if form == "dict":
        return pairs_equal(before[0], now[0]) and pairs_equal(before[1], now[1])
    if form in ("list", "deque", "cell"):
        return len(before) == len(now) and all(map(same, before, now))
    if form == "set":
        return len(before) == len(now) and set(map(told_apart, before)) == set(map(told_apart, now))
    if form == "instance":
        return pairs_equal(before, now)
    return before == now


def pairs_equal(before, now):
    return len(before) == len(now) and all(
        same(key, other) and same(value, others) for (key, value), (other, others) in zip(before, now)
    )


def told_apart(value):
    return (type(value), value) if type(value) in SCALARS - {slice} else id(value)


def put_back(copy, owner, name):
    value, form, contents = copy.value, copy.form, copy.contents
    if form == "dict":
        items, attributes = contents
        base = collections.OrderedDict if isinstance_of(value, collections.OrderedDict) else dict
        base.clear(value)
        for key, child in items:
            base.__setitem__(value, key, child)
        if type(value) is not dict:
            put_back_attributes(value, attributes)
    elif form == "list":
        list.__setitem__(value, slice(0, ITEMS), contents)
    elif form == "deque":
        collections.deque.clear(value)
        collections.deque.extend(value, contents)
    elif form == "set":
        set.clear(value)
        set.update(value, contents)
    elif form == "bytes":
        value[:ITEMS] = contents
    elif form == "instance":
        put_back_attributes(value, contents)
    elif form == "cell":
        if contents:
            value.cell_contents = contents[0]
        else:
            del value.cell_contents
    elif form == "cache":
        # It cannot be filled again, but who asks will fill it.
        _Cache.cache_clear(value)
    elif form == "count":
        start, _, step = contents[len("count(") : -1].partition(", ")
        again = itertools.count(int(start), int(step or 1))
        if isinstance_of(owner, type):
            type.__setattr__(owner, name, again)
        else:
            _module_dict(owner)[name] = again


def put_back_attributes(value, contents):
    names = dict_of(value)
    slots = dict(slots_of(type(value)))
    before = dict(contents)
    if names is not None:
        for name in [name for name in names if name not in before]:
            del names[name]
    for name, child in contents:
        if name in slots:
            slots[name].__set__(value, child)
        elif names is not None:
            names[name] = child


# Words


def told(copy, contents):
    """The contents of an object, in few words."""
    form = copy.form
    if form == "dict":
        items = contents[0]
        parts = ["%s: %s" % (described(key, 30), described(value, 30)) for key, value in items[:4]]
        return brief("{", "}", parts, len(items))
    if form in ("list", "deque"):
        return brief("[", "]", [described(value, 30) for value in contents[:5]], len(contents))
    if form == "set":
        parts = sorted(described(value, 30) for value in contents[:5])
        return brief("{", "}", parts, len(contents)) if contents else "set()"
    if form == "instance":
        return brief("(", ")", ["%s=%s" % (name, described(value, 30)) for name, value in contents[:4]], len(contents))
    if form == "cell":
        return described(contents[0]) if contents else "unset"
    if form == "cache":
        return "%d kept" % contents[1]
    return contents if form == "count" else described(contents)


BRACKETS = {dict: "{}", list: "[]", tuple: "()", set: "{}", frozenset: "{}"}


def brief(begin, end, parts, count):
    more = ", …" if count > len(parts) else ""
    return begin + ", ".join(parts) + more + end


def described(value, width=80):
    """A value in few words, without asking it."""
    kind = type(value)
    if value is MISSING:
        return "unset"
    if kind in SCALARS:
        if kind in (str, bytes) and len(value) > width:
            value = value[:width]
            return repr(value) + "…"
        if kind is int and value.bit_length() > 4096:
            return "a large int"
        return repr(value)[: width + 10]
    if kind in BRACKETS:
        begin, end = BRACKETS[kind]
        if width <= 20:
            return begin + "…" + end
        parts = [described(part, 20) for part in itertools.islice(value, 4)]
        if kind is dict:
            parts = ["%s: %s" % (key, described(part, 20)) for key, part in zip(parts, itertools.islice(value.values(), 4))]
        return brief(begin, end, parts, len(value))
    if isinstance_of(value, type):
        return "class %s" % qualified(value)
    if kind is types.FunctionType:
        return "function %s.%s" % (value.__module__, value.__qualname__)
    if kind is types.BuiltinFunctionType:
        return "built-in function %s" % value.__name__
    if kind is types.ModuleType:
        return "module %s" % _module_dict(value).get("__name__")
    if kind is itertools.count:
        return repr(value)
    return "a %s" % qualified(kind)


def qualified(kind):
    home = _type_dict(kind).get("__module__")
    name = _type_name(kind)
    return name if type(home) is not str or home == "builtins" else "%s.%s" % (home, name)
