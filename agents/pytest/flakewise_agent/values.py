"""Objects, looked at without asking them: what is in them, in what words to tell of
it, and how to put it back.

No method of the project's is called: its `__eq__`, `__repr__` and `__hash__` may do
anything. Objects are told apart by who they are; only plain values are compared.
"""

import collections
import functools
import itertools
import threading
import types

#: Of one container. What is beyond is not compared.
ITEMS = 20_000
#: Packages that change while tests run because tests run.
RUNNERS = frozenset(
    """pytest _pytest pluggy py iniconfig exceptiongroup flakewise_agent pygments tomli coverage pytest_cov xdist execnet
    pytest_asyncio anyio pytest_timeout pytest_mock pytest_randomly random_order pytest_rerunfailures flaky pytest_subtests
    hypothesis _hypothesis_pytestplugin __main__""".split()
)
SCALARS = frozenset((int, float, complex, str, bytes, bool, type(None), type(Ellipsis), range, slice))
MISSING = type("Missing", (), {"__slots__": ()})()

_type_names = type.__dict__["__dict__"].__get__
_type_bases = type.__dict__["__mro__"].__get__
_type_name = type.__dict__["__name__"].__get__
_module_names = types.ModuleType.__dict__["__dict__"].__get__
_Cache = functools._lru_cache_wrapper


def module_dict(module):
    # One that was made but never begun has none.
    names = _module_names(module)
    return {} if names is None else names


def type_dict(kind):
    # Nor has a built-in type that nobody has used.
    names = _type_names(kind)
    return {} if names is None else names


def type_mro(kind):
    return _type_bases(kind) or ()


def isinstance_of(value, kind):
    """As `isinstance`, without asking the value."""
    return kind in type_mro(type(value))


class Copy:
    """The contents of one object, as they were, and how it is reached first."""

    __slots__ = ("value", "form", "contents", "root", "path")

    def __init__(self, value, form, contents, root, path):
        self.value, self.form, self.contents, self.root, self.path = value, form, contents, root, path


def form_of(value):
    """How the contents of an object are read; none if they are not."""
    kind = type(value)
    if kind in FORMS:
        return FORMS[kind]
    mro = type_mro(kind)
    for base in mro:
        if base in INHERITED:
            return INHERITED[base]
    if type in mro or types.ModuleType in mro or BaseException in mro:
        return None
    home = type_dict(kind).get("__module__")
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
        begins = any("__init__" in type_dict(base) for base in type_mro(type(value)) if base is not object)
        return None if begins else threading.local.__getattribute__(value, "__dict__")
    for base in type_mro(type(value)):
        getter = type_dict(base).get("__dict__")
        if getter is not None:
            plain = type(getter) in (types.GetSetDescriptorType, types.MemberDescriptorType)
            return getter.__get__(value) if plain else None
    return None


def slots_of(kind):
    found = []
    for base in type_mro(kind):
        own = type_dict(base)
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
            module_dict(owner)[name] = again


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
        return "module %s" % module_dict(value).get("__name__")
    if kind is itertools.count:
        return repr(value)
    return "a %s" % qualified(kind)


def qualified(kind):
    home = type_dict(kind).get("__module__")
    name = _type_name(kind)
    return name if type(home) is not str or home == "builtins" else "%s.%s" % (home, name)
