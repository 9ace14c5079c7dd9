"""New interpreters: what they run, what they leave alone, what they see."""

import os

import pytest
from host import Host


@pytest.fixture
def host(project):
    with Host(project.folder) as host:
        yield host


def told(peer, kind):
    return {value for entry in peer.trail for name, value in entry.items() if name == kind}


def snapshot(folder):
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None
        for path in sorted(folder.rglob("*"))
        if "__pycache__" not in path.parts
    }


def test_only_the_named_test_runs_and_nothing_is_written(project, host):
    project.write("pytest.ini", "[pytest]\naddopts = -k 'not excluded' --junitxml=report.xml\nmarkers = known\n")
    project.write("test_other.py", "raise RuntimeError('collected')\n")
    project.write(
        "test_it.py",
        """
        def test_a(): assert 0
        def test_b(): pass
        def test_excluded(): pass
        """,
    )
    host.run(*project.options, "test_it.py")
    before = snapshot(project.folder)
    assert ".pytest_cache/v/cache/lastfailed" in before and "report.xml" in before
    fresh = host.fresh("test_b", arguments=[*project.options, "--cache-clear", "-x"])
    assert host.story(fresh) == ["test_b fresh", "test_b passed", "bye"]
    assert fresh.all("tests") == [{"t": "tests", "ids": ["test_it.py::test_b"]}]
    fresh = host.fresh("test_b", "test_a", arguments=project.options)
    assert host.ends(fresh) == [("test_b", "passed"), ("test_a", "failed")]
    # What the options exclude is not there.
    fresh = host.fresh("test_it.py::test_excluded", arguments=project.options)
    assert fresh.messages == [{"t": "bye"}]
    # What goes wrong before the tests is told, and written nowhere.
    fresh = host.fresh("test_b", arguments=project.options, file=str(project.folder / "missing.py"))
    assert "missing.py" in fresh.all("trouble")[0]["text"]
    fresh = host.fresh("test_other.py::test_a", arguments=project.options)
    assert fresh.all("collect_error")[0]["id"] == "test_other.py"
    assert snapshot(project.folder) == before


def test_data_of_coverage_is_not_wiped_out(project, host):
    # Stands in for pytest-cov, which begins by deleting the file.
    project.write(
        "standin.py",
        """
        import os, pytest
        def pytest_addoption(parser):
            parser.addoption("--no-cov", action="store_true", default=False)
        @pytest.hookimpl(tryfirst=True)
        def pytest_load_initial_conftests(early_config):
            if not early_config.known_args_namespace.no_cov and os.path.exists("data"):
                os.remove("data")
        def pytest_sessionfinish(session):
            if not session.config.option.no_cov:
                open("data", "w").write("of the suite")
        """,
    )
    project.write("test_it.py", "def test_a(): assert 0\n")
    project.write("pytest.ini", "[pytest]\naddopts = -p standin\n")
    host.variables = {"PYTHONPATH": "."}
    host.run(*project.options)
    assert (project.folder / "data").read_text() == "of the suite"
    host.fork("test_a")
    host.fresh("test_a", arguments=project.options)
    assert (project.folder / "data").read_text() == "of the suite"


@pytest.mark.parametrize("statement", ["raise KeyboardInterrupt", "pytest.exit('x')", "os._exit(5)", "sys.exit(5)"])
def test_a_test_may_end_the_process(project, host, statement):
    project.write("test_it.py", "import os, sys, pytest\ndef test_a(): %s\n" % statement)
    fresh = host.fresh("test_it.py::test_a", arguments=project.options)
    if statement.startswith("os"):
        assert host.exit_code == 5 and host.story(fresh) == ["test_a fresh"]
    else:
        assert fresh.said_bye and host.ends(fresh)[0][1] in ("errored", "failed")


def test_what_a_test_touches_is_told(project, host):
    for name in ("read.txt", "asked.txt", "asked_too.txt", "folder/one.txt", "walked/two.txt"):
        project.write(name, "x")
    project.write("late.py", "")
    project.write("early.py", "")
    project.write("conftest.py", "")
    project.write(
        "test_it.py",
        """
        import os, pathlib, subprocess, sys
        import pytest
        import early

        def test_a(tmp_path):
            import late
            with pytest.raises(ImportError):
                import missing_module
            open("read.txt").close()
            pathlib.Path("read_not.txt").exists()
            with pytest.raises(OSError):
                open("absent.txt")
            assert os.path.exists("asked.txt") and pathlib.Path("asked_too.txt").is_file()
            assert not os.access("access.txt", os.R_OK)
            os.listdir("folder")
            list(pathlib.Path("walked").glob("*.txt"))
            os.path.isdir("is_dir")
            os.chdir(tmp_path)
            os.path.exists("elsewhere.txt")

        def test_hidden():
            subprocess.run([sys.executable, "-c", ""])
            if os.fork() == 0: os._exit(0)
            os.wait()

        def test_dies():
            open("read.txt").close()
            os._exit(1)

        def test_plain(): pass
        """,
    )
    root = str(project.folder) + "/"
    fresh = host.fresh("test_it.py::test_a", arguments=project.options, observe=True)
    assert host.ends(fresh) == [("test_a", "passed")], host.failures("test_a", fresh)
    (observed,) = fresh.all("observed")
    assert observed["entries"] == len(fresh.trail)
    opened, loaded, looked_for = told(fresh, "opened"), told(fresh, "loaded"), told(fresh, "looked_for")
    assert {root + name for name in ("read.txt", "absent.txt")} <= opened
    assert root + "pytest.ini" in told(fresh, "configured") - opened and not told(fresh, "connected")
    assert {root + name for name in ("test_it.py", "conftest.py", "early.py", "late.py")} <= loaded
    asked = {os.path.basename(path) for path in looked_for}
    assert {"asked.txt", "asked_too.txt", "access.txt", "is_dir", "read_not.txt", "elsewhere.txt"} <= asked, asked
    assert root + "elsewhere.txt" not in looked_for
    # How tests and modules are found is not what the test depends on.
    listed = {path for path in told(fresh, "listed") if path.startswith(root)}
    assert {path.rstrip("/") for path in listed} == {root + "folder", root + "walked"}
    assert root + "folder/one.txt" not in looked_for | opened
    assert "missing_module" in told(fresh, "imports") and not told(fresh, "hidden")

    fresh = host.fresh("test_it.py::test_hidden", arguments=project.options, observe=True)
    hidden = " ".join(sorted(told(fresh, "hidden")))
    assert "forked" in hidden and "started a process (`python" in hidden
    fresh = host.fresh("test_it.py::test_dies", arguments=project.options, observe=True)
    assert root + "read.txt" in told(fresh, "opened") and root + "test_it.py" in told(fresh, "loaded")
    assert not fresh.all("observed")
    fresh = host.fresh("test_it.py::test_plain", arguments=project.options, observe=True)
    assert not {path for path in told(fresh, "listed") | told(fresh, "looked_for") if path.startswith(root)}


def test_who_reads_a_configuration_file_is_told(project, host):
    """pytest reads its own options only; a test may read anything."""
    project.write("pyproject.toml", "[project]\nversion = '1'\n")
    project.write("setup.cfg", "[metadata]\nversion = 1\n")
    project.write(
        "test_it.py",
        """
        import configparser, pathlib

        def test_plain(): pass

        def test_reads():
            assert "version" in pathlib.Path("pyproject.toml").read_text()
            assert configparser.ConfigParser().read("setup.cfg") == ["setup.cfg"]
            open("pytest.ini").close()
        """,
    )
    root = str(project.folder) + "/"
    names = {root + name for name in ("pyproject.toml", "setup.cfg", "pytest.ini")}
    fresh = host.fresh("test_it.py::test_plain", arguments=project.options, observe=True)
    assert not names & told(fresh, "opened") and names <= told(fresh, "configured")
    fresh = host.fresh("test_it.py::test_reads", arguments=project.options, observe=True)
    assert host.ends(fresh) == [("test_reads", "passed")], host.failures("test_reads", fresh)
    assert names <= told(fresh, "opened")


def test_connections_are_told(project, host):
    project.write(
        "test_it.py",
        """
        import socket

        def test_a():
            with socket.create_server(("127.0.0.1", 0)) as server:
                socket.create_connection(server.getsockname()).close()
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
                try:
                    sender.sendto(b"x", "missing.sock")
                except OSError:
                    pass
            one, other = socket.socketpair()
            one.close(), other.close()
        """,
    )
    fresh = host.fresh("test_it.py::test_a", arguments=project.options, observe=True)
    assert host.ends(fresh) == [("test_a", "passed")], host.failures("test_a", fresh)
    connected = sorted(told(fresh, "connected"))
    assert len(connected) == 2 and connected[0].startswith("127.0.0.1:") and connected[1] == "missing.sock"
    assert fresh.all("observed")[0]["entries"] == len(fresh.trail)


def test_observation_survives_hostile_tests(project, host):
    project.write("read.txt", "")
    project.write(
        "test_it.py",
        """
        import os
        def test_a(monkeypatch):
            monkeypatch.setattr(os, "getpid", lambda: 1)
            os.closerange(3, 4096)
            open("read.txt").close()
            assert os.stat in os.supports_fd and os.stat in os.supports_follow_symlinks
            os.stat(0), os.stat(b"read.txt"), os.stat("read.txt", follow_symlinks=False)
        """,
    )
    fresh = host.fresh("test_it.py::test_a", arguments=[*project.options, "--capture=sys", "-p", "no:faulthandler"], observe=True)
    assert host.ends(fresh) == [("test_a", "passed")], host.failures("test_a", fresh)
    assert str(project.folder / "read.txt") in told(fresh, "opened")
    assert fresh.all("observed")[0]["entries"] == len(fresh.trail)
