"""What modules and classes hold: remembered, compared, and put back.

Every object that can change has a shallow copy of its own, so that nothing is
copied deeply and each can be put back in place.
"""

import functools
import os
import sys
import sysconfig
import time
import types

from . import errors
from .values import (
    MISSING,
    RUNNERS,
    SCALARS,
    Copy,
    children,
    contents_of,
    described,
    equal,
    form_of,
    isinstance_of,
    module_dict,
    put_back,
    same,
    told,
    type_dict,
    type_mro,
)

_clock = time.perf_counter
_realpath = os.path.realpath

#: How deep, how many and how long. What is beyond is not compared.
DEPTH = 6
OBJECTS = 400_000
SECONDS = 3.0
#: Names that Python, pytest and unittest give values to as they go.
NOISE = frozenset(
    """last_type last_value last_traceback last_exc _class_cleanups tearDown_exceptions _classSetupFailed
    _previousTestClass __warningregistry__ __pytest_wrapped__ __abstractmethods__ __doc__ __dict__ __weakref__
    __annotations__ __annotations_cache__ __annotate__ __annotate_func__ __static_attributes__ __firstlineno__
    __conditional_annotations__ _abc_impl __unittest_skip__ path_importer_cache""".split()
)
#: What `time.tzset` gives values to; the time zone is reported separately.
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
#: Objects that say nothing about who holds them.
EVERYWHERE = frozenset(map(id, (MISSING, None, True, False, 0, 1, "", ())))


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
        return type_dict(self.owner) if self.is_class else module_dict(self.owner)

    def put_back(self, name):
        value = self.names.get(name, MISSING)
        if self.is_class:
            if value is MISSING:
                type.__delattr__(self.owner, name)
            else:
                type.__setattr__(self.owner, name, value)
        elif value is MISSING:
            module_dict(self.owner).pop(name, None)
        else:
            module_dict(self.owner)[name] = value


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
                namespace = module_dict(module)
                tier = tiers.of(name, namespace)
                if tier is not None:
                    modules.append((rank(tier, namespace, test_files), name, module, tier))
        # An object that several modules know is reported by the first of these.
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
                own = type_dict(value)
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
            except RuntimeError:
                # A thread changes it right now.
                continue
            except Exception as error:
                errors.note(error)
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
            except RuntimeError:
                # A thread changes it right now.
                continue
            except Exception as error:
                errors.note(error)
                continue
        mutated = {}
        for copy in list(self.copies.values()):
            try:
                now = contents_of(copy.value, copy.form)
                if not equal(copy.form, copy.contents, now):
                    mutated.setdefault(copy.root[:2], []).append((copy, now))
            except RuntimeError:
                # A thread changes it right now.
                continue
            except Exception as error:
                errors.note(error)
                continue
        for root, copies in mutated.items():
            try:
                change = self._mutation(root, copies)
            except RuntimeError:
                # A thread changes it right now.
                continue
            except Exception as error:
                errors.note(error)
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
                # An import, which is reported as such.
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
        return any(name in type_dict(base) for base in type_mro(namespace.owner)[1:])
    return name in module_dict(sys.modules["builtins"])


def namespace_value(owner, name):
    names = type_dict(owner) if isinstance_of(owner, type) else module_dict(owner)
    return names.get(name, MISSING)


def is_routine(value):
    return type(value) in ROUTINES or isinstance_of(value, type)


def in_turn(*actions):
    def run():
        for action in actions:
            if action is not None:
                action()

    return run
