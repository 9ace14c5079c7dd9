"""pytest's folders of processes that are killed."""

import importlib.util
import os
import pathlib
import signal
import types

import pytest

AGENT = pathlib.Path(__file__).resolve().parent.parent / "flakewise_agent"
spec = importlib.util.spec_from_file_location("temporary", AGENT / "temporary.py")
temporary = importlib.util.module_from_spec(spec)
spec.loader.exec_module(temporary)


@pytest.fixture
def users(tmp_path, monkeypatch):
    """Where pytest keeps the folders of one user, with a folder that is somebody else's."""
    monkeypatch.setenv("PYTEST_DEBUG_TEMPROOT", str(tmp_path))
    users = tmp_path / "pytest-of-me"
    (users / "pytest-1").mkdir(parents=True)
    (users / "pytest-1" / ".lock").write_text("1")
    return users


def made(users):
    """The folder of this process, as pytest makes it."""
    folder = users / "pytest-2"
    folder.mkdir()
    (folder / "file").write_text("x")
    (folder / ".lock").write_text(str(os.getpid()))
    (users / "pytest-current").symlink_to(folder)
    return types.SimpleNamespace(_tmp_path_factory=types.SimpleNamespace(_given_basetemp=None, _basetemp=folder))


def killed(users, prepare):
    """The number of a process that was killed while it removed its folder."""
    child = os.fork()
    if child == 0:
        try:
            prepare()
            temporary.remove(made(users))
        finally:
            os._exit(1)
    assert os.WTERMSIG(os.waitpid(child, 0)[1]) == signal.SIGKILL
    return child


def die(*_, **__):
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.parametrize("module, name", [(temporary, "_remove"), (os, "rename"), (os, "readlink"), (os, "rmdir")])
def test_what_a_killed_process_had_begun_to_remove_is_removed(users, module, name):
    child = killed(users, lambda: setattr(module, name, die))
    assert [path.name for path in users.iterdir()] != ["pytest-1"]
    temporary.remove_of(child)
    assert [path.name for path in users.iterdir()] == ["pytest-1"]


def test_a_folder_is_removed_with_the_link_to_it(users):
    temporary.remove(made(users))
    assert [path.name for path in users.iterdir()] == ["pytest-1"]


def test_a_link_to_a_folder_of_another_process_stays(users):
    config = made(users)
    (users / "pytest-current").unlink()
    (users / "pytest-current").symlink_to(users / "pytest-1")
    temporary.remove(config)
    assert sorted(path.name for path in users.iterdir()) == ["pytest-1", "pytest-current"]
