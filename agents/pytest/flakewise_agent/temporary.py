"""pytest's folders for `tmp_path`, of processes that end without pytest's own clean-up.

pytest keeps the folders of the last three sessions and removes older ones, unless
they are locked: by a file that holds the number of a process and that goes away
when the session ends in order. Processes that we start end at once, so they
remove their folders themselves.
"""

import os
import shutil
import tempfile

_environment = os.environ
_remove = shutil.rmtree


def base(config):
    """The folder of this session, if it has one already and the user did not choose it."""
    factory = getattr(config, "_tmp_path_factory", None)
    if getattr(factory, "_given_basetemp", None) is not None:
        return None
    return getattr(factory, "_basetemp", None)


def remove(config, inherited=None):
    """Removes the folder that this process has made, but not one that it has inherited."""
    folder = base(config)
    if folder is not None and folder != inherited:
        _remove_whole(str(folder), os.getpid())


def remove_of(pid):
    """Removes the folders that a process has locked, or begun to remove, which was killed."""
    # `gettempdir` would decide it for all who come later.
    root = _environment.get("PYTEST_DEBUG_TEMPROOT") or tempfile.tempdir or _environment.get("TMPDIR") or "/tmp"
    for users in _names(root, "pytest-of-"):
        for folder in _names(users, "pytest-"):
            try:
                with open(os.path.join(folder, ".lock"), "rb") as file:
                    is_its_own = file.read(32) == b"%d" % pid and os.fstat(file.fileno()).st_uid == os.getuid()
            except OSError:
                continue
            if is_its_own and not os.path.islink(folder):
                _remove_whole(folder, pid)
        garbage = _garbage(users, pid)
        try:
            is_its_own = os.lstat(garbage).st_uid == os.getuid()
        except OSError:
            continue
        if is_its_own:
            _remove(garbage, ignore_errors=True)


def _remove_whole(folder, pid):
    """Removes a folder, and the link by which pytest calls it the newest.

    A process that is killed meanwhile leaves a folder that `remove_of` finds: by its
    lock, or by its new name.
    """
    users = os.path.dirname(folder)
    link = os.path.join(users, "pytest-current")
    try:
        if os.readlink(link) == folder:
            os.unlink(link)
    except OSError:
        pass
    garbage = _garbage(users, pid)
    try:
        os.rename(folder, garbage)
    except OSError:
        garbage = folder
    _remove(garbage, ignore_errors=True)


def _garbage(users, pid):
    # pytest removes folders with this prefix, should nobody else.
    return os.path.join(users, "garbage-flakewise-%d" % pid)


def _names(folder, prefix):
    try:
        names = os.listdir(folder)
    except OSError:
        return []
    return [os.path.join(folder, name) for name in names if name.startswith(prefix)]
