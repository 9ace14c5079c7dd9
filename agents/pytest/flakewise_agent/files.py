"""Files that tests make, change and remove; and how they were before.

What a file held is kept when this process is about to write to it, as Python's
audit events tell, so nothing is read that nobody touches. What other processes and
compiled code do shows in a look at all files of the project before and after.

Only what this process did is ever put back, only below the project and the folder
for temporary files, and nothing is removed that was there before: a file that
somebody else made meanwhile may be their work.
"""

import os
import re
import shutil
import stat
import sys
import time

from . import errors
from .heap import Change

_getpid, _getcwd, _readlink, _lstat, _scandir = os.getpid, os.getcwd, os.readlink, os.lstat, os.scandir
_open, _read, _write, _close, _unlink = os.open, os.read, os.write, os.close, os.unlink
_symlink, _utime, _chmod, _makedirs, _rmtree = os.symlink, os.utime, os.chmod, os.makedirs, shutil.rmtree
_fsdecode, _join, _normpath, _clock = os.fsdecode, os.path.join, os.path.normpath, time.perf_counter

#: How much is kept of one file, and of all of them.
FILE_LIMIT = 4 << 20
TOTAL_LIMIT = 64 << 20
#: How many files of a project are looked at, and for how long.
ENTRIES = 50_000
SECONDS = 2.0
SKIPPED = frozenset(
    """.git .hg .svn __pycache__ .pytest_cache .mypy_cache .ruff_cache .hypothesis .tox .nox .venv venv node_modules
    .eggs .coverage""".split()
)
#: What is below is no file, but for files that are kept in memory.
ELSEWHERE = ("/dev/", "/proc/", "/sys/")
IN_MEMORY = "/dev/shm/"
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
#: Events that name a path to be changed, with the places of paths and of the
#: folder they are relative to.
EVENTS = {
    "os.remove": ((0, 1),),
    "os.rmdir": ((0, 1),),
    "os.mkdir": ((0, 2),),
    "os.rename": ((0, 2), (1, 3)),
    "os.link": ((1, 3),),
    "os.symlink": ((1, 2),),
    "os.truncate": ((0, None),),
    "os.chmod": ((0, 2),),
    "sqlite3.connect": ((0, None),),
}
#: Names that `tempfile` makes up.
MADE_UP = re.compile(r"tmp[a-z0-9_]{8}")


class Kept:
    """A path as it was before this process touched it."""

    __slots__ = ("status", "contents", "target", "is_fixed")

    def __init__(self, status, contents=None, target=None):
        self.status, self.contents, self.target = status, contents, target
        #: Whether it must be left as it is now.
        self.is_fixed = False

    @property
    def can_be_made_again(self):
        return self.status is None or self.contents is not None or self.target is not None


class Files:
    """Hears of every path that is about to be changed, from now on."""

    def __init__(self, root, looks=True, since=None):
        self.root = os.path.realpath(root)
        self._folders = tuple(folder + "/" for folder in {self.root, os.path.realpath(temporary()), temporary()})
        self._kept = {}
        self._total = 0
        self._pid = _getpid()
        self._busy = False
        self._is_complete = False
        self._looks = looks
        # What changed after this moment is another fork's, who puts it back itself;
        # what was not there then goes, no matter which process made it.
        self._since = since
        self._listed = self.look_around() if looks else {}
        sys.addaudithook(self._hear)

    # What happens

    def _hear(self, event, arguments):
        if self._busy or _getpid() != self._pid:
            return
        try:
            if event == "open":
                path, _, flags = arguments
                if type(flags) is int and flags & WRITING and not isinstance(path, int):
                    self._keep(path, None)
            elif event in EVENTS:
                kept = []
                for place, folder in EVENTS[event]:
                    above = arguments[folder] if folder is not None and folder < len(arguments) else None
                    kept.append(self._keep(arguments[place], above))
                if event == "os.rename" and (kept[0] is None or not kept[0].can_be_made_again):
                    # What was there before lives on under its new name.
                    for one in kept:
                        if one is not None:
                            one.is_fixed = True
        except (OSError, ValueError):
            # No file can have that name, or nobody may look at it.
            pass
        except Exception as error:
            errors.note(error)

    def _keep(self, path, above):
        self._busy = True
        try:
            path = self._absolute(path, above)
            if path is None or self._is_skipped(path):
                return None
            if path in self._kept:
                return self._kept[path]
            kept = self._look(path)
            if self._since is not None and kept.status is not None and kept.status.st_mtime_ns >= self._since:
                if not is_new(path):
                    return None
                kept = Kept(None)
            kept.is_fixed = not path.startswith(self._folders)
            self._kept[path] = kept
            return kept
        finally:
            self._busy = False

    def _absolute(self, path, above):
        if isinstance(path, int):
            return None
        path = _fsdecode(path)
        if path.startswith("/"):
            return _normpath(path)
        if not path or path == ":memory:" or path.startswith("file:"):
            return None
        folder = _readlink("/proc/self/fd/%d" % above) if type(above) is int and above >= 0 else _getcwd()
        return _normpath(_join(folder, path))

    def _is_skipped(self, path):
        if path.startswith(ELSEWHERE) and not path.startswith(IN_MEMORY) or path.endswith(".pyc"):
            return True
        # The project may be anywhere.
        parts = (path[len(self.root) :] if path.startswith(self.root + "/") else path).split("/")
        # pytest's own folders, and ours.
        return any(part in SKIPPED or part.startswith(("pytest-of-", "flakewise-", ".coverage.")) for part in parts)

    def _look(self, path, with_contents=True):
        try:
            status = _lstat(path)
        except OSError:
            return Kept(None)
        kept = Kept(status)
        if stat.S_ISLNK(status.st_mode):
            kept.target = _readlink(path)
        elif stat.S_ISREG(status.st_mode) and with_contents and status.st_size <= FILE_LIMIT:
            if self._total + status.st_size <= TOTAL_LIMIT:
                kept.contents = read(path)
                self._total += status.st_size
        return kept

    # What is otherwise

    def look_around(self):
        """Every file of the project, with what tells whether it changed."""
        found = {}
        deadline = _clock() + SECONDS
        folders = [self.root]
        while folders and len(found) < ENTRIES and _clock() < deadline:
            try:
                with _scandir(folders.pop()) as entries:
                    listed = list(entries)
                if any(entry.name == "pyvenv.cfg" for entry in listed):
                    continue
                for entry in listed:
                    if self._is_skipped("/" + entry.name):
                        continue
                    status = entry.stat(follow_symlinks=False)
                    is_folder = entry.is_dir(follow_symlinks=False)
                    found[entry.path] = None if is_folder else (status.st_mtime_ns, status.st_size, status.st_ino)
                    if is_folder:
                        folders.append(entry.path)
            except OSError:
                continue
        self._is_complete = not folders
        return found

    def changes(self):
        """What is otherwise now, by key. Paths that `tempfile` made up share one."""
        self._busy = True
        try:
            return self._changes()
        finally:
            self._busy = False

    def _changes(self):
        different = {}
        for path, kept in self._kept.items():
            what = self._difference(path, kept)
            if what is not None:
                different[path] = (what, kept)
        was_complete, now = self._is_complete, self.look_around() if self._looks else {}
        if was_complete and self._is_complete:
            for path in self._listed.keys() | now.keys():
                if path not in self._kept and self._listed.get(path, 0) != now.get(path, 0):
                    if path not in self._listed:
                        different[path] = (("not there", "made"), None)
                    else:
                        different[path] = (("there", "changed" if path in now else "gone"), None)
        found = {}
        fixed = [path for path, kept in self._kept.items() if kept.is_fixed]
        made = {path for path, ((_, after), _) in different.items() if after == "made"}
        for path in sorted(different):
            (before, after), kept = different[path]
            if path in made and any(above in made for above in folders_above(path)):
                continue
            shown = os.path.relpath(path, self.root) if path.startswith(self.root + "/") else path
            key = "file:" + MADE_UP.sub("tmp*", shown)
            can_undo = kept is not None and self._can_undo(kept)
            holds_fixed = any(other.startswith(path + "/") for other in fixed)
            undo = self._undo(path, kept) if can_undo and not holds_fixed else None
            if key in found:
                known = found[key]
                known.undo = both(known.undo, undo)
                known.ids |= {path}
            else:
                found[key] = Change(key, "file", shown, before, after, undo, attribute=path, ids={path})
        return found

    def _can_undo(self, kept):
        is_folder = kept.status is not None and stat.S_ISDIR(kept.status.st_mode)
        return not kept.is_fixed and (is_folder or kept.can_be_made_again)

    def _difference(self, path, kept):
        try:
            status = _lstat(path)
        except OSError:
            return None if kept.status is None else ("there", "gone")
        if kept.status is None:
            return "not there", "made"
        if stat.S_IFMT(status.st_mode) != stat.S_IFMT(kept.status.st_mode):
            return "there", "of another kind"
        if stat.S_IMODE(status.st_mode) != stat.S_IMODE(kept.status.st_mode):
            return "mode %o" % stat.S_IMODE(kept.status.st_mode), "mode %o" % stat.S_IMODE(status.st_mode)
        if stat.S_ISREG(status.st_mode):
            if kept.contents is not None and status.st_size == len(kept.contents) and read(path) == kept.contents:
                return None
            times = [each.st_mtime_ns for each in (status, kept.status)]
            if kept.contents is not None or times[0] != times[1] or status.st_size != kept.status.st_size:
                return "%d bytes" % kept.status.st_size, "%d bytes, changed" % status.st_size
        return None

    def _undo(self, path, kept):
        def undo():
            self._busy = True
            try:
                restore(path, kept)
            finally:
                self._busy = False

        return undo

    def restore(self):
        """Leaves all files as they were: the next fork must find them so. Says how
        many were otherwise."""
        changes = self.changes()
        for change in changes.values():
            if change.undo is not None:
                try:
                    change.undo()
                except OSError:
                    continue
                except Exception as error:
                    errors.note(error)
                    continue
        return len(changes)


_known = None


def remember(root):
    """Notes what is there before any test has run, once."""
    global _known
    if _known is None:
        files = Files(root, looks=False)
        # The process that forks writes nothing itself.
        files._pid = 0
        folder = temporary()
        try:
            names = {_join(folder, name) for name in os.listdir(folder)}
        except OSError:
            names = None
        listed = files.look_around()
        _known = (files.root, set(listed) if files._is_complete else None, folder, names)


def is_new(path):
    """Whether something is known not to have been there."""
    if _known is None:
        return False
    root, listed, folder, names = _known
    if path.startswith(root + "/"):
        return listed is not None and path not in listed
    if path.startswith(folder + "/"):
        return names is not None and _join(folder, path[len(folder) + 1 :].partition("/")[0]) not in names
    return False


def temporary():
    """The folder for temporary files."""
    return _normpath(os.environ.get("TMPDIR") or "/tmp")


def folders_above(path):
    while len(path) > 1:
        path = os.path.dirname(path)
        yield path


def both(one, other):
    if one is None or other is None:
        return None

    def run():
        one()
        other()

    return run


def read(path):
    descriptor = _open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    try:
        parts = []
        while True:
            part = _read(descriptor, 1 << 20)
            if not part:
                return b"".join(parts)
            parts.append(part)
    finally:
        _close(descriptor)


def restore(path, kept):
    if os.path.isdir(path) and not os.path.islink(path):
        if kept.status is not None and stat.S_ISDIR(kept.status.st_mode):
            _chmod(path, stat.S_IMODE(kept.status.st_mode))
            return
        _rmtree(path)
    elif kept.status is None or kept.target is not None:
        if os.path.lexists(path):
            _unlink(path)
    if kept.status is None:
        return
    _makedirs(os.path.dirname(path), exist_ok=True)
    if kept.target is not None:
        _symlink(kept.target, path)
        return
    if stat.S_ISDIR(kept.status.st_mode):
        _makedirs(path, exist_ok=True)
    else:
        descriptor = _open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        try:
            data = kept.contents
            while data:
                data = data[_write(descriptor, data) :]
        finally:
            _close(descriptor)
        _utime(path, ns=(kept.status.st_atime_ns, kept.status.st_mtime_ns))
    _chmod(path, stat.S_IMODE(kept.status.st_mode))
