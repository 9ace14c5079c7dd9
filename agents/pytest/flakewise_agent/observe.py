"""What a process depends on: every file it opened, loaded, listed or looked
for, and which changed lines it executed.

Only for the run that asks: it costs too much for a suite.
"""

import os
import sys

from . import errors, wire

_fspath, _fsdecode = os.fspath, os.fsdecode
_open, _write, _close = os.open, os.write, os.close
_getcwd, _getpid = os.getcwd, os.getpid
_frame = sys._getframe
#: Modules through which a call only passes on its way.
PASSING = ("os", "posixpath", "genericpath", "glob", "pathlib", "pathlib._local", "pathlib._abc", "pathlib._os")
#: Packages that look around for their own purposes: how tests are found and
#: modules are imported says nothing about the test. What comes of it does: it
#: is loaded.
#: Modules through which a file is opened on behalf of somebody else.
OPENING = PASSING + ("codecs", "configparser", "io", "tokenize")
MACHINERY = ("_pytest", "pluggy", "importlib", "_frozen_importlib_external", "_frozen_importlib", "zipimport")


#: Packages that read a configuration file for their own settings only. Which of
#: its keys changed tells whether that matters.
READERS = ("_pytest", "iniconfig", "coverage", "pytest_cov", "pytest_env")
#: How the names of configuration files end.
CONFIGURATION = (".ini", ".toml", ".cfg", ".coveragerc")
#: Where pytest looks for its configuration, in the root of the suite.
CANDIDATES = (
    "pytest.toml", ".pytest.toml", "pytest.ini", ".pytest.ini", "pyproject.toml", "tox.ini", "setup.cfg",
)  # fmt: skip
#: How many addresses are reported.
ADDRESSES = 16


def is_machinery():
    """Whether the caller's caller is the runner or the import system."""
    return caller(PASSING) in MACHINERY


def caller(passing):
    """The package on whose behalf something happens."""
    try:
        frame = _frame(1)
        while frame is not None:
            name = frame.f_globals.get("__name__") or ""
            if name not in passing and not name.startswith("flakewise_agent"):
                return name.split(".")[0]
            frame = frame.f_back
    except ValueError:
        pass
    return ""


def is_ours():
    """Whether it is the agent's own connection that is opened."""
    frame = _frame(1)
    while frame is not None:
        if frame.f_globals is wire.__dict__:
            return True
        frame = frame.f_back
    return False


def worded(address):
    """An address for people: `127.0.0.1:5432`, or the path of a socket."""
    if isinstance(address, tuple) and len(address) >= 2:
        return "%s:%s" % address[:2]
    return address.decode("utf-8", "replace") if isinstance(address, bytes) else str(address)


#: What a trail tells of.
KINDS = ("opened", "configured", "loaded", "listed", "looked_for", "imports", "hidden", "connected")


class Trail:
    """A file of JSON lines, written as things happen: a process that dies has
    told all it did until then."""

    def __init__(self, path):
        self.path = path
        self._descriptor = -1
        self._identity = ()
        self.entries = 0

    def write(self, kind, value):
        line = (wire._encode({kind: value}) + "\n").encode()
        try:
            if wire.identity(self._descriptor) != self._identity:
                self._open()
            if _write(self._descriptor, line) == len(line):
                self.entries += 1
                return
        except OSError:
            pass
        # Never the number of lines there are: the trail is incomplete.
        self.entries += 1 << 40

    def _open(self):
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
        first = _open(self.path, flags, 0o600)
        self._descriptor = wire._fcntl(first, wire._duplicate, wire.LOWEST_DESCRIPTOR + 1)
        _close(first)
        self._identity = wire.identity(self._descriptor)


class Observer:
    def __init__(self, trail, changed):
        self.trail = Trail(trail)
        self.seen = {kind: set() for kind in KINDS}
        self.changed = changed
        self.lines = set()
        self.files = {}
        self.sources = {}
        self.pid = _getpid()
        self.running = False
        self.can_see_lines = True

    def start(self):
        self.running = True
        sys.addaudithook(self.audit)
        self.watch_looking()
        if self.changed:
            # What is loaded already has executed lines unseen.
            loaded = [getattr(module, "__file__", None) for module in list(sys.modules.values())]
            late = any(isinstance(file, str) and self.changed_file(file) for file in loaded)
            seen = self.monitor_lines() if hasattr(sys, "monitoring") else self.probe_lines()
            self.can_see_lines = seen and not late

    def branch(self, number):
        """For a fork: what it does is reported in a trail of its own."""
        self.pid = os.getpid()
        self.running = True
        self.trail = Trail("%s.%d" % (self.trail.path, number))

    def note_loaded(self):
        """Takes note of all modules there are."""
        for module in list(sys.modules.values()):
            file = getattr(module, "__file__", None)
            if isinstance(file, str):
                self.add("loaded", file)

    def stop(self):
        self.running = False

    # Files

    def path(self, value):
        try:
            path = _fsdecode(_fspath(value))
        except (TypeError, ValueError):
            return None
        return path if path.startswith("/") else os.path.join(_getcwd(), path)

    def add(self, kind, value):
        if isinstance(value, int) or value is None:
            return
        path = self.path(value)
        if path is not None:
            self.say(kind, path)

    def say(self, kind, value):
        seen = self.seen[kind]
        # What a forked child does is not seen, and that it was forked is reported.
        if value in seen or _getpid() != self.pid:
            return
        seen.add(value)
        running, self.running = self.running, False
        self.trail.write(kind, wire.text(value, 4096))
        self.running = running

    def audit(self, event, arguments):
        if not self.running:
            return
        try:
            self.note(event, arguments)
        except Exception as error:
            errors.note(error)
            self.say("hidden", "a dependency could not be observed (%s)" % type(error).__name__)

    def note(self, event, arguments):
        if event == "open":
            self.add("configured" if self.is_configuration(arguments[0]) else "opened", arguments[0])
        elif event == "import":
            self.say("imports", str(arguments[0]))
            if arguments[1]:
                self.add("opened", arguments[1])
        elif event in ("os.listdir", "os.scandir"):
            if is_machinery():
                return
            self.add("listed", arguments[0] if arguments[0] is not None else ".")
        elif event in ("sqlite3.connect", "ctypes.dlopen", "os.chdir", "shutil.copyfile", "os.rename", "os.link"):
            self.add("opened", arguments[0])
        elif event in ("subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.spawn"):
            self.say("hidden", "it started a process (`%s`)" % wire.text(program(arguments), 80))
        elif event in ("os.fork", "os.forkpty", "pty.spawn"):
            self.say("hidden", "it forked")
        elif event in ("socket.connect", "socket.sendto", "socket.sendmsg"):
            # A message may go to where the socket is connected already.
            if arguments[1] is not None and len(self.seen["connected"]) < ADDRESSES and not is_ours():
                self.say("connected", wire.text(worded(arguments[1]), 120))

    def is_configuration(self, file):
        """Whether the runner reads a file as its configuration right now."""
        path = None if isinstance(file, int) else self.path(file)
        return path is not None and path.endswith(CONFIGURATION) and caller(OPENING) in READERS

    def watch_looking(self):
        # Before Python 3.11, pathlib keeps the functions for itself.
        accessor = getattr(sys.modules.get("pathlib"), "_NormalAccessor", None)
        for name in ("stat", "lstat", "access"):
            original = getattr(os, name)
            look = self.looking(original)
            setattr(os, name, look)
            if accessor is not None and vars(accessor).get(name) is original:
                setattr(accessor, name, staticmethod(look))

    def looking(self, function):
        def look(path, *arguments, **keywords):
            if self.running and keywords.get("dir_fd") is None and not is_machinery():
                self.add("looked_for", path)
            return function(path, *arguments, **keywords)

        look.__name__ = function.__name__
        # Code asks `os.stat in os.supports_fd` and the like.
        for supports in (os.supports_fd, os.supports_dir_fd, os.supports_follow_symlinks, os.supports_effective_ids):
            if function in supports:
                supports.add(look)
        return look

    # Lines

    def changed_file(self, file):
        """The changed file that this name leads to, if any."""
        try:
            return self.files[file]
        except KeyError:
            pass
        known = file
        if file not in self.changed:
            running, self.running = self.running, False
            known = os.path.realpath(file)
            self.running = running
        self.files[file] = known = known if known in self.changed else None
        return known

    def source(self, file):
        if file not in self.sources:
            running, self.running = self.running, False
            self.sources[file] = Source(file, self.changed[file])
            self.running = running
        return self.sources[file]

    def hit(self, file, line):
        """A statement was reached: all its lines count."""
        for number in self.source(file).lines_with(line):
            key = (file, number)
            if key not in self.lines and _getpid() == self.pid:
                self.lines.add(key)
                running, self.running = self.running, False
                self.trail.write("executed", (wire.text(file, 4096), number))
                self.running = running

    def monitor_lines(self):
        """Line events for changed files only; everything else is left alone
        after its first call."""
        import inspect

        monitoring = sys.monitoring
        tool = free_tool()
        if tool is None:
            return False
        monitoring.use_tool_id(tool, "flakewise")
        events = monitoring.events
        is_function = inspect.CO_OPTIMIZED

        def started(code, _):
            file = self.changed_file(code.co_filename)
            if file is not None:
                monitoring.set_local_events(tool, code, events.LINE)
                if code.co_flags & is_function:
                    self.hit(file, code.co_firstlineno)
            return monitoring.DISABLE

        def line(code, number):
            file = self.changed_file(code.co_filename)
            if file is not None and (code.co_flags & is_function or number not in self.source(file).silent):
                self.hit(file, number)
            return monitoring.DISABLE

        monitoring.register_callback(tool, events.PY_START, started)
        monitoring.register_callback(tool, events.LINE, line)
        monitoring.set_events(tool, events.PY_START)
        return True

    def probe_lines(self):
        """Puts a call before each statement of changed files as they are
        loaded: there are no line events that leave other files alone."""
        import ast
        import builtins
        import importlib.machinery

        loader = importlib.machinery.SourceFileLoader
        original = loader.get_code
        observer = self

        def get_code(self, name):
            path = self.get_filename(name)
            if observer.changed_file(path) is None:
                return original(self, name)
            tree = ast.parse(self.get_data(path), path)
            return compile(probed(tree, path), path, "exec", dont_inherit=True)

        def probed(tree, path):
            file = observer.changed_file(path)
            return Probe(ast, file, observer.source(file)).visit(tree)

        builtins.__flakewise_hit__ = self.hit
        loader.get_code = get_code
        return self.probe_rewritten(probed)

    def probe_rewritten(self, probed):
        """The same for test files, which pytest loads in its own way."""
        from _pytest.assertion import rewrite

        changed_file = self.changed_file
        try:
            asserts, read, write = rewrite.rewrite_asserts, rewrite._read_pyc, rewrite._write_pyc
        except AttributeError:
            return False

        def rewrite_asserts(tree, source, module_path=None, config=None):
            asserts(tree, source, module_path, config)
            if module_path is not None and changed_file(module_path):
                probed(tree, module_path)

        def read_pyc(source, *arguments):
            return None if changed_file(str(source)) else read(source, *arguments)

        def write_pyc(state, code, *arguments):
            return False if changed_file(code.co_filename) else write(state, code, *arguments)

        rewrite.rewrite_asserts, rewrite._read_pyc, rewrite._write_pyc = rewrite_asserts, read_pyc, write_pyc
        return True

    # Telling the host

    def configuration(self, config):
        """The file that configures pytest, and those it reads to find that one.
        It has read them before anything is watched."""
        running, self.running = self.running, False
        root = str(getattr(config, "rootpath", None) or config.rootdir)
        candidates = [os.path.join(root, name) for name in CANDIDATES]
        found = [file for file in candidates if os.path.isfile(file)]
        self.running = running
        inipath = getattr(config, "inipath", None)
        return found + ([str(inipath)] if inipath is not None else [])

    def report(self, connection, config):
        self.note_loaded()
        for file in self.configuration(config):
            self.say("configured", file)
        connection.send({"t": "observed", "entries": self.trail.entries, "lines": self.can_see_lines})


def free_tool():
    """A tool id of `sys.monitoring` that nobody uses, if there is one."""
    return next((tool for tool in (4, 3, 5) if sys.monitoring.get_tool(tool) is None), None)


def program(arguments):
    first = arguments[0] if arguments else "?"
    if isinstance(first, bytes):
        first = first.decode("utf-8", "replace")
    return str(first).strip().split("\n")[0].split("/")[-1]


def is_definition(ast, statement):
    """Whether a statement only gives a function or class its name. That alone
    changes nothing for a test that does not use it, and every test in a file
    would otherwise depend on every test that is added to it."""
    if not isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return False
    for decorator in statement.decorator_list:
        node = decorator.func if isinstance(decorator, ast.Call) else decorator
        while isinstance(node, ast.Attribute):
            node = node.value
        if not (isinstance(node, ast.Name) and node.id == "pytest"):
            return False
    return True


class Source:
    """The statements of a changed file.

    However lines are watched, what counts is statements: one that is reached
    counts with all its lines, up to the next statement inside it. The lines of
    `except`, `else` and `case` belong to the statement that they are part of.
    """

    def __init__(self, file, inserted):
        import ast

        self.lines = {}
        #: Lines of new definitions, which do nothing by being defined.
        self.silent = set()
        try:
            with open(file, "rb") as source:
                tree = ast.parse(source.read(), file)
        except (OSError, SyntaxError, ValueError):
            return
        inserted = [range(first, last + 1) for first, last in inserted]
        for node in ast.walk(tree):
            if not isinstance(node, ast.stmt):
                continue
            own = own_lines(ast, node)
            for block in (getattr(node, field, None) or () for field in ("body", "orelse", "finalbody")):
                # A declaration is not executed itself, but what follows it is.
                for place, statement in enumerate(block[:-1]):
                    if isinstance(statement, (ast.Global, ast.Nonlocal)):
                        lines = {*own_lines(ast, statement), *own_lines(ast, block[place + 1])}
                        self.lines.update((line, lines) for line in lines)
            for line in own:
                self.lines.setdefault(line, set()).update(own)
            if is_definition(ast, node) and all(any(line in lines for lines in inserted) for line in own):
                self.silent.update(own)
                if isinstance(node, ast.ClassDef):
                    self.silent.update(*(own_lines(ast, part) for part in node.body if is_idle(ast, part)))

    def lines_with(self, line):
        """All lines of the statements that are on this one."""
        return sorted(self.lines.get(line, ())) or [line]


def is_idle(ast, statement):
    """Whether it does nothing at all."""
    constant = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
    return constant or isinstance(statement, ast.Pass)


def first_line(node):
    return min([node.lineno] + [decorator.lineno for decorator in getattr(node, "decorator_list", ())])


def own_lines(ast, node):
    """A statement's lines without those of the statements inside it."""
    parts = [*getattr(node, "handlers", ()), *getattr(node, "cases", ())]
    blocks = [getattr(node, field, None) for field in ("body", "orelse", "finalbody")]
    blocks = [block for block in blocks + [part.body for part in parts] if block]
    if not blocks:
        return range(first_line(node), node.end_lineno + 1)
    own = {node.lineno, *(getattr(part, "pattern", part).lineno for part in parts)}
    begin = first_line(node)
    for first, last in sorted((first_line(block[0]), block[-1].end_lineno) for block in blocks):
        own.update(range(begin, first))
        begin = last + 1
    return sorted(own)


def Probe(ast, path, source):
    """Inserts a call before every statement."""
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)

    class Transformer(ast.NodeTransformer):
        #: Functions around the code at hand.
        depth = 0

        def generic_visit(self, node):
            depth = self.depth
            if isinstance(node, functions):
                self.depth += 1
            elif isinstance(node, ast.ClassDef):
                # Its body is executed when it is defined, like a module's.
                self.depth = 0
            super().generic_visit(node)
            for field in ("body", "orelse", "finalbody"):
                statements = getattr(node, field, None)
                if isinstance(statements, list) and statements and isinstance(statements[0], ast.stmt):
                    setattr(node, field, self.probed(node, field, statements))
            self.depth = depth
            return node

        def probed(self, node, field, statements):
            result = []
            head = field == "body" and isinstance(node, (ast.Module, ast.ClassDef) + functions)
            called = head and isinstance(node, functions)
            late = []
            for place, statement in enumerate(statements):
                constant = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
                future = isinstance(statement, ast.ImportFrom) and statement.module == "__future__"
                line = getattr(statement, "lineno", None)
                text = head and place == 0 and constant and isinstance(statement.value.value, str)
                if called and not text:
                    # To call a function is to use its definition.
                    result.append(self.call(node.lineno))
                    called = False
                silent = line is None or (not self.depth and line in source.silent)
                if text or future:
                    # Nothing may come before it. A function's text is not executed.
                    late += [] if silent or isinstance(node, functions) else [self.call(line)]
                else:
                    result += late if silent else [*late, self.call(line)]
                    late = []
                result.append(statement)
            if called:
                result.append(self.call(node.lineno))
            return result + late

        def call(self, line):
            name = ast.Name("__flakewise_hit__", ast.Load())
            call = ast.Expr(ast.Call(name, [ast.Constant(path), ast.Constant(line)], []))
            for node in ast.walk(call):
                node.lineno = node.end_lineno = line
                node.col_offset = node.end_col_offset = 0
            return call

    return Transformer()
