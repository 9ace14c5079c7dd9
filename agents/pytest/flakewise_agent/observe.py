"""What a process depends on: every file it opened, loaded, listed or looked
for, and which changed lines it executed.

Only for the run that asks: it costs too much for a suite.
"""

import os
import sys

from . import wire

_fspath, _fsdecode = os.fspath, os.fsdecode
_open, _write, _close, _fstat = os.open, os.write, os.close, os.fstat
_getcwd = os.getcwd
_frame = sys._getframe
#: Modules through which a call only passes on its way.
PASSING = ("os", "posixpath", "genericpath", "pathlib", "pathlib._local", "pathlib._abc", "pathlib._os")
#: Packages that look around for their own purposes: how tests are found and
#: modules are imported says nothing about the test. What comes of it does: it
#: is loaded.
MACHINERY = ("_pytest", "pluggy", "importlib", "_frozen_importlib_external", "_frozen_importlib", "zipimport")


def is_machinery():
    """Whether the caller's caller is the runner or the import system."""
    try:
        frame = _frame(1)
        while frame is not None:
            name = frame.f_globals.get("__name__") or ""
            if name not in PASSING and not name.startswith("flakewise_agent"):
                return name.split(".")[0] in MACHINERY
            frame = frame.f_back
    except ValueError:
        pass
    return False


class Trail:
    """A file of JSON lines, written as things happen: a process that dies has
    told all it did until then."""

    def __init__(self, path):
        self.path = path
        self._descriptor = -1
        self._identity = None
        self.entries = 0

    def write(self, kind, value):
        line = (wire._encode({kind: value}) + "\n").encode()
        try:
            if not self._is_ours():
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
        status = _fstat(self._descriptor)
        self._identity = (status.st_dev, status.st_ino)

    def _is_ours(self):
        # Tests close descriptors that are not theirs.
        try:
            status = _fstat(self._descriptor)
        except OSError:
            return False
        return (status.st_dev, status.st_ino) == self._identity


class Observer:
    def __init__(self, trail, changed):
        self.trail = Trail(trail)
        self.seen = {kind: set() for kind in ("opened", "loaded", "listed", "looked_for", "imports", "hidden")}
        self.inserted = {file: [tuple(lines) for lines in ranges] for file, ranges in changed.items()}
        self.changed = frozenset(changed)
        self.lines = set()
        self.pid = os.getpid()
        self.running = False
        self.can_see_lines = True

    def start(self):
        self.running = True
        sys.addaudithook(self.audit)
        for name in ("stat", "lstat", "access"):
            setattr(os, name, self.looking(getattr(os, name)))
        if self.changed:
            if hasattr(sys, "monitoring"):
                self.can_see_lines = self.monitor_lines()
            else:
                self.can_see_lines = self.probe_lines()

    def branch(self, number):
        """For a fork: what it does is told in a trail of its own."""
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
        # What a forked child does is not seen, and that it was forked is told.
        if value in seen or os.getpid() != self.pid:
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
            self.say("hidden", "something could not be watched (%s)" % type(error).__name__)

    def note(self, event, arguments):
        if event == "open":
            self.add("opened", arguments[0])
        elif event == "import":
            self.say("imports", str(arguments[0]))
            if arguments[1]:
                self.add("opened", arguments[1])
        elif event in ("os.listdir", "os.scandir", "glob.glob", "pathlib.Path.glob"):
            if is_machinery():
                return
            self.add("listed", arguments[0] if arguments[0] is not None else ".")
        elif event in ("sqlite3.connect", "ctypes.dlopen", "os.chdir", "shutil.copyfile", "os.rename", "os.link"):
            self.add("opened", arguments[0])
        elif event in ("subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.spawn"):
            self.say("hidden", "it started a process (`%s`)" % wire.text(program(arguments), 80))
        elif event in ("os.fork", "os.forkpty", "pty.spawn"):
            self.say("hidden", "it forked")

    def looking(self, function):
        def look(path, *arguments, **keywords):
            if self.running and not is_machinery():
                self.add("looked_for", path)
            return function(path, *arguments, **keywords)

        look.__name__ = function.__name__
        # Code asks `os.stat in os.supports_fd` and the like.
        for supports in (os.supports_fd, os.supports_dir_fd, os.supports_follow_symlinks, os.supports_effective_ids):
            if function in supports:
                supports.add(look)
        return look

    # Lines

    def hit(self, file, line):
        key = (file, line)
        if key not in self.lines and os.getpid() == self.pid:
            self.lines.add(key)
            running, self.running = self.running, False
            self.trail.write("executed", (wire.text(file, 4096), line))
            self.running = running

    def is_inserted(self, file, line):
        return any(first <= line <= last for first, last in self.inserted.get(file, ()))

    def monitor_lines(self):
        """Line events for changed files only; everything else is left alone
        after its first call."""
        import inspect

        monitoring = sys.monitoring
        for tool in (4, 3, 5):
            if monitoring.get_tool(tool) is None:
                break
        else:
            return False
        monitoring.use_tool_id(tool, "flakewise")
        events = monitoring.events
        changed, hit = self.changed, self.hit
        definitions = {}
        is_inserted = self.is_inserted

        def started(code, _):
            if code.co_filename in changed:
                monitoring.set_local_events(tool, code, events.LINE)
                hit(code.co_filename, code.co_firstlineno)
            return monitoring.DISABLE

        def line(code, number):
            file = code.co_filename
            if not code.co_flags & inspect.CO_OPTIMIZED:
                # The body of a module or class.
                if file not in definitions:
                    definitions[file] = definition_lines(file)
                if number in definitions[file] and is_inserted(file, number):
                    return monitoring.DISABLE
            hit(file, number)
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
            if path not in observer.changed:
                return original(self, name)
            tree = ast.parse(self.get_data(path), path)
            return compile(probed(tree, path), path, "exec", dont_inherit=True)

        def probed(tree, path):
            return Probe(ast, path, observer.is_inserted).visit(tree)

        builtins.__flakewise_hit__ = self.hit
        loader.get_code = get_code
        return self.probe_rewritten(probed)

    def probe_rewritten(self, probed):
        """The same for test files, which pytest loads in its own way."""
        from _pytest.assertion import rewrite

        changed = self.changed
        try:
            asserts, read, write = rewrite.rewrite_asserts, rewrite._read_pyc, rewrite._write_pyc
        except AttributeError:
            return False

        def rewrite_asserts(tree, source, module_path=None, config=None):
            asserts(tree, source, module_path, config)
            if module_path in changed:
                probed(tree, module_path)

        def read_pyc(source, *arguments):
            return None if str(source) in changed else read(source, *arguments)

        def write_pyc(state, code, *arguments):
            return False if code.co_filename in changed else write(state, code, *arguments)

        rewrite.rewrite_asserts, rewrite._read_pyc, rewrite._write_pyc = rewrite_asserts, read_pyc, write_pyc
        return True

    # Telling the host

    def report(self, connection, config):
        self.note_loaded()
        if getattr(config, "inipath", None) is not None:
            self.say("opened", str(config.inipath))
        connection.send({"t": "observed", "entries": self.trail.entries, "lines": self.can_see_lines})


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


def definition_lines(file):
    """The lines of a file that only give names, decorators included."""
    import ast

    lines = set()
    try:
        with open(file, "rb") as source:
            tree = ast.parse(source.read(), file)
    except (OSError, SyntaxError, ValueError):
        return lines
    for node in ast.walk(tree):
        if is_definition(ast, node):
            first = min([node.lineno] + [decorator.lineno for decorator in node.decorator_list])
            lines.update(range(first, max(node.lineno, node.body[0].lineno - 1) + 1))
    return lines


def Probe(ast, path, is_inserted):
    """Inserts a call before every statement."""

    class Transformer(ast.NodeTransformer):
        def generic_visit(self, node):
            super().generic_visit(node)
            for field in ("body", "orelse", "finalbody"):
                statements = getattr(node, field, None)
                if isinstance(statements, list) and statements and isinstance(statements[0], ast.stmt):
                    setattr(node, field, self.probed(node, field, statements))
            return node

        def probed(self, node, field, statements):
            result = []
            head = field == "body" and isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef))
            for place, statement in enumerate(statements):
                constant = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
                future = isinstance(statement, ast.ImportFrom) and statement.module == "__future__"
                placed = getattr(statement, "lineno", None) is not None
                new = is_definition(ast, statement) and is_inserted(path, statement.lineno)
                silent = (head and place == 0 and constant) or future or new
                if placed and not silent:
                    result.append(self.call(statement))
                result.append(statement)
            return result

        def call(self, statement):
            # A compound statement's own lines end where its body begins.
            body = getattr(statement, "body", None)
            last = getattr(statement, "end_lineno", None) or statement.lineno
            if isinstance(body, list) and body and isinstance(body[0], ast.stmt):
                last = min(last, max(statement.lineno, first_line(body[0], last) - 1))
            first = first_line(statement, statement.lineno)
            calls = [
                ast.Call(
                    ast.Name("__flakewise_hit__", ast.Load()), [ast.Constant(path), ast.Constant(line)], []
                )
                for line in range(first, min(last, first + 200) + 1)
            ]
            expression = calls[0] if len(calls) == 1 else ast.Tuple(calls, ast.Load())
            call = ast.Expr(expression)
            for node in ast.walk(call):
                node.lineno = node.end_lineno = statement.lineno
                node.col_offset = node.end_col_offset = 0
            return call

    def first_line(statement, otherwise):
        decorators = getattr(statement, "decorator_list", None) or ()
        lines = [getattr(node, "lineno", None) for node in (statement, *decorators)]
        return min((line for line in lines if line is not None), default=otherwise)

    return Transformer()
