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
        _remove_whole(str(folder))


def remove_of(pid):
    """Removes the folders that a process has locked which was killed."""
    # `gettempdir` would decide it for all who come later.
    root = _environment.get("PYTEST_DEBUG_TEMPROOT") or tempfile.tempdir or _environment.get("TMPDIR") or "/tmp"
    for users in _names(root, "pytest-of-"):
        for folder in _names(users, "pytest-"):
            try:
                with open(os.path.join(folder, ".lock"), "rb") as file:
                    is_its_own = file.read(32) == b"%d" % pid and os.fstat(file.fileno()).st_uid == os.getuid()
            except OSError:
                continue
            if is_its_own:
                _remove_whole(folder)


def _remove_whole(folder):
    """Removes a folder, and the link by which pytest calls it the newest."""
    _remove(folder, ignore_errors=True)
    link = os.path.join(os.path.dirname(folder), "pytest-current")
    try:
        if os.readlink(link) == folder:
            os.unlink(link)
    except OSError:
        pass


def _names(folder, prefix):
    try:
        names = os.listdir(folder)
    except OSError:
        return []
    return [os.path.join(folder, name) for name in names if name.startswith(prefix)]
