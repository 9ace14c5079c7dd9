"""Which lines of changed files a test executed: the same in every version, and
never fewer than the interpreter itself sees."""

import subprocess
import sys

import pytest
from host import LIMIT, PYTHON, environment

PROGRAM = '''
"""A module with a docstring."""
from __future__ import annotations

import contextlib
import functools
import sys

TEXT = """one
two
three"""
TABLE = {
    "a": 1,
    # A comment.
    "b": [
        2,
    ],
}

count = 0


def decorate(function):
    @functools.wraps(function)
    def inner(*arguments):
        return function(*arguments)

    return inner


@decorate
@decorate
def decorated(
    first,
    second=(
        1,
        2,
    ),
):
    """Its docstring."""
    global count
    count += 1
    return first


def only_a_docstring():
    """Nothing else."""


def one_liner(): return 1


def branches(value):
    if value == 1: return "one"
    elif value == 2:
        return "two"
    else:
        result = "many"
    while value:
        value -= 1
        if value == 1:
            break
    else:
        result = "none"
    for item in range(2):
        continue
    else:
        result += "!"
    return result


def exceptions(kind):
    log = []
    try:
        log.append(1)
        if kind: raise kind("x")
    except KeyError:
        log.append("key")
    except (
        ValueError,
        TypeError,
    ) as error:
        log.append(str(error))
        return log
    else:
        log.append("else")
    finally:
        log.append("finally")
    return log


@contextlib.contextmanager
def manager():
    yield 1


def contexts():
    with manager() as one, manager() as two:
        total = one + two
    with contextlib.suppress(ValueError):
        raise ValueError
    return total


def closures():
    value = 0

    def change():
        nonlocal value
        value += 1

    change()
    double = lambda number: (
        number * 2
    )
    return double(value), [
        n
        for n in range(3)
        if n
    ], lambda: (
        undefined
    )


async def asynchronous():
    async def inner():
        return 1

    return await inner()


def generator(limit):
    for n in range(limit):
        yield n
    return


class Thing:
    """A thing."""

    attribute = 1

    class Inner:
        pass

    @property
    def value(self):
        return self.attribute

    @staticmethod
    def static(): return 3

    def never(self):
        return (
            "never"
        )


def asserts(value):
    assert value, "nothing"
    del value
    pass
    return None
'''

MATCH = """
def matches(value):
    match value:
        case 1:
            return "one"
        case [first, *_] if first:
            return first
        case {"key": (
            1 | 2
        )}:
            return "key"
        case _:
            pass
    return None
"""

USE = """
    import asyncio
    assert {m}decorated(1) == 1 and {m}count == 1
    {m}only_a_docstring()
    {m}one_liner()
    assert [{m}branches(n) for n in (1, 2, 3, 0)] == ["one", "two", "many!", "none!"]
    {m}exceptions(None); {m}exceptions(ValueError)
    {m}contexts()
    {m}closures()
    assert asyncio.run({m}asynchronous()) == 1
    assert list({m}generator(2)) == [0, 1]
    assert {m}Thing().value == 1
    {m}Thing.static()
    {m}asserts(1)
"""

ORACLE = """
import json, sys
path, test = sys.argv[1:]
lines = set()
def local(frame, event, _):
    if event == "line": lines.add(frame.f_lineno)
    return local
def trace(frame, event, _):
    return local if frame.f_code.co_filename == path else None
sys.path.insert(0, sys.argv[1].rpartition("/")[0])
sys.settrace(trace)
import program
exec(test)
sys.settrace(None)
print(json.dumps(sorted(lines)))
"""


def executed(peer, path):
    return sorted(line for entry in peer.trail for kind, value in entry.items() if kind == "executed" and value[0] == str(path) for line in [value[1]])


@pytest.fixture
def fresh(project):
    from host import Host

    hosts = []

    def fresh(name, changed, **keywords):
        host = Host(project.folder)
        hosts.append(host)
        peer = host.fresh(name, arguments=project.options, observe=True, changed={str(path): lines for path, lines in changed.items()}, **keywords)
        return host, peer

    yield fresh
    for host in hosts:
        host.__exit__()


def indent(text):
    return "\n".join("    " + line.strip() for line in text.strip().splitlines())


@pytest.mark.parametrize("where", ["module", "test file"])
def test_lines_are_statements_that_were_reached(project, fresh, where):
    from conftest import VERSION

    text = PROGRAM.lstrip("\n") + (MATCH if VERSION >= (3, 10) else "")
    use = USE + ("    {m}matches(1); {m}matches(9); {m}matches([5]); {m}matches({{'key': 2}})\n" if VERSION >= (3, 10) else "")
    path = project.write("program.py", text)
    call = indent(use.format(m="program."))
    done = subprocess.run(
        [PYTHON, "-c", ORACLE, str(path), "\n".join(line.strip() for line in call.splitlines())],
        env=environment(), stdout=subprocess.PIPE, timeout=LIMIT, check=True,
    )  # fmt: skip
    oracle = set(eval(done.stdout))
    if where == "module":
        project.write("test_it.py", "import program\ndef test_a():\n" + call + "\n")
    else:
        path = project.write("test_it.py", text + "\n\ndef test_a():\n" + indent(use.format(m="")) + "\n")
    host, peer = fresh("test_it.py::test_a", {path: []})
    assert host.ends(peer) == [("test_a", "passed")], host.explain()
    assert peer.all("observed")[0]["lines"] is True
    assert peer.all("observed")[0]["entries"] == len(peer.trail)
    seen = {line for line in executed(peer, path) if line <= len(text.splitlines())}
    # Some versions return from a function on the line of its docstring.
    texts = {number for number, line in enumerate(text.splitlines(), 1) if "Nothing else" in line}
    assert not oracle - seen - texts, sorted(oracle - seen)
    assert not seen ^ expected(text), sorted(seen ^ expected(text))


def expected(text):
    """All lines of statements but those never reached: the same in all versions."""
    lines = dict(enumerate(text.splitlines(), 1))
    start = next(number for number, line in lines.items() if "def never" in line)
    never = {start + 1, start + 2, start + 3} | {number for number, line in lines.items() if 'append("key")' in line}
    texts = {number for number, line in lines.items() if line in ('    """Its docstring."""', '    """Nothing else."""')}
    return {number for number, line in lines.items() if line.strip()} - never - texts


class TestInserted:
    TEXT = """
        import pytest

        def old():
            return 1

        def new():
            return 2

        class New:
            '''New.'''
            def method(self):
                return 3

        class Error(ValueError):
            pass

        @pytest.mark.parametrize("n", [
            1,
        ])
        def test_new(n):
            assert New().method() == 3

        @print
        def noisy(): pass

        def test_old():
            assert old() == 1
        """

    def test_new_definitions_are_not_executed_by_being_defined(self, project, fresh):
        path = project.write("test_it.py", self.TEXT)
        host, peer = fresh("test_it.py::test_old", {path: [[6, 24]]}, file=str(path))
        assert host.ends(peer) == [("test_old", "passed")], host.explain()
        # `@print` is no definition like the others.
        assert executed(peer, path) == [1, 3, 4, 23, 24, 26, 27]

    def test_new_definitions_are_executed_by_being_used(self, project, fresh):
        path = project.write("test_it.py", self.TEXT)
        host, peer = fresh("test_it.py::test_new[1]", {path: [[6, 24]]}, file=str(path))
        assert host.ends(peer) == [("test_new[1]", "passed")], host.explain()
        assert executed(peer, path) == [1, 3, 11, 12, 17, 18, 19, 20, 21, 23, 24, 26]

    def test_a_decorator_added_to_an_old_definition_is_executed(self, project, fresh):
        path = project.write("test_it.py", self.TEXT)
        _, peer = fresh("test_it.py::test_old", {path: [[17, 19]]}, file=str(path))
        assert {17, 18, 19} <= set(executed(peer, path))


def test_a_probed_program_behaves_the_same(project, fresh):
    path = project.write(
        "program.py",
        '''
        """Doc."""
        from __future__ import annotations
        import sys

        def doc():
            """Doc of doc."""

        def annotated(x: undefined) -> undefined: return x

        class Kept:
            """Doc of Kept."""
            value: undefined = 1
            names = sorted(name for name in locals() if not name.startswith("__"))

        def raises():
            x = 1
            raise ValueError(
                x,
            )

        def empty(): ...
        async def coroutine(): pass
        def generates():
            """Yields nothing."""
            return
            yield
        def scope():
            global made
            made = 1
            def inner():
                nonlocal_ = 2
                return locals()
            return inner()
        ''',
    )
    host, peer = None, None
    project.write(
        "test_it.py",
        '''
        """Doc of the test."""
        import inspect, traceback
        import pytest
        import program

        def test_a():
            assert __doc__ == "Doc of the test."
            assert program.__doc__ == "Doc." and program.doc.__doc__ == "Doc of doc."
            assert program.Kept.__doc__ == "Doc of Kept." and program.Kept.names == ["value"]
            assert program.annotated.__annotations__ == {"x": "undefined", "return": "undefined"}
            assert inspect.iscoroutinefunction(program.coroutine) and inspect.isgeneratorfunction(program.generates)
            assert list(program.generates()) == [] and program.generates.__doc__ == "Yields nothing."
            assert program.scope() == {"nonlocal_": 2} and program.made == 1
            try:
                program.raises()
            except ValueError as error:
                last = traceback.extract_tb(error.__traceback__)[-1]
                assert (last.lineno, last.name, last.filename) == (17, "raises", program.__file__)
            assert inspect.getsource(program.empty) == "def empty(): ...\\n"
            assert inspect.getsourcelines(program.Kept)[1] == 10
            assert not [name for name in vars(program) if "flakewise" in name]

        def test_explained():
            one = [1]
            assert one == [2]
        ''',
    )
    test = project.folder / "test_it.py"
    host, peer = fresh("test_it.py::test_a", {path: [], test: []})
    assert host.ends(peer) == [("test_a", "passed")], host.failures("test_a", peer)
    host, peer = fresh("test_it.py::test_explained", {test: []})
    (failure,) = host.failures("test_explained", peer)
    assert failure["line"] == 25 and "assert [1] == [2]" in failure["message"]
    # The next run is not the probed one.
    code, printed = project.bare("-q")
    assert code == 1 and "1 failed, 1 passed" in printed


def test_a_file_is_known_by_any_name(project, fresh):
    path = project.write("src/program.py", "def call():\n    return 1\n")
    (project.folder / "link").symlink_to("src")
    project.write("test_it.py", "import sys\nsys.path.insert(0, 'link')\nimport program\ndef test_a(): program.call()\n")
    _, peer = fresh("test_it.py::test_a", {path: []})
    assert executed(peer, path) == [1, 2]


def test_what_was_loaded_before_us_cannot_be_seen(project, fresh):
    path = project.write("early.py", "VALUE = 1\n")
    project.write("test_it.py", "import early\ndef test_a(): assert early.VALUE\n")
    project.write("pytest.ini", "[pytest]\naddopts = -p early\n")
    _, peer = fresh("test_it.py::test_a", {path: []}, variables={"PYTHONPATH": "."})
    assert peer.all("observed")[0]["lines"] is False


def test_conftests_are_seen(project, fresh):
    path = project.write("conftest.py", "import pytest\n@pytest.fixture\ndef thing():\n    return 1\ndef unused():\n    return 2\n")
    project.write("test_it.py", "def test_a(thing): assert thing\n")
    _, peer = fresh("test_it.py::test_a", {path: []})
    assert executed(peer, path) == [1, 2, 3, 4, 5]
