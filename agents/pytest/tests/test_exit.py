"""How pytest ends: it waits for verdicts, and exits with the code they ask for."""

import pytest

FLAKE = """
    count = 0
    def test_flake():
        global count
        count += 1
        assert count > 1
    def test_b(): pass
"""


def statuses(host):
    return [(message["status"], message["changed"]) for message in host.main.all("finished")]


def kinds(host):
    told = [message["t"] for message in host.main.messages]
    return told[told.index("suite_end") :]


def test_a_run_that_is_let_go_fails_as_it_would(run):
    host = run(FLAKE, held=[])
    assert kinds(host) == ["suite_end", "held", "finished", "bye"]
    assert host.exit_code == 1 and statuses(host) == [(1, False)]
    assert "tolerated" not in host.text


def test_a_forgiven_run_exits_as_if_its_tests_had_passed(run, project):
    project.write(
        "conftest.py",
        """
        import pathlib
        def pytest_sessionfinish(session, exitstatus):
            pathlib.Path("seen").write_text("%d %d" % (exitstatus, session.testsfailed))
        """,
    )
    host = run(FLAKE, "--junitxml=report.xml", held=[["test_flake"], ["test_flake"]], forgive=True)
    assert kinds(host) == [
        "suite_end", "held", "start", "end", "ran", "start", "end", "ran", "finished", "bye",
    ]  # fmt: skip
    assert host.exit_code == 0 and statuses(host) == [(0, False)]
    assert (project.folder / "seen").read_text() == "0 0"
    # It does not hide what happened.
    assert "1 failed, 1 passed" in host.text and "are tolerated" in host.text
    assert 'failures="1"' in (project.folder / "report.xml").read_text()


def test_nothing_is_to_be_forgiven_without_a_failure(run):
    host = run("def test_a(): pass\n", held=[], forgive=True)
    assert host.exit_code == 0 and "tolerated" not in host.text


def test_without_hold_a_run_can_be_forgiven_too(run):
    host = run(FLAKE, forgive=True)
    assert host.exit_code == 0 and kinds(host) == ["suite_end", "finished", "bye"]


def test_the_session_ends_before_it_waits_and_is_set_up_again_for_each_run(run, project):
    host = run(
        """
        import pytest

        def log(text):
            with open("log", "a") as file:
                file.write(text + "\\n")

        @pytest.fixture(scope="session")
        def server():
            log("up")
            yield
            log("down")

        def test_a(server):
            log("a")
            assert 0
        def test_b(server): log("b")
        """,
        postpone=[["test_a"]],
        held=[["test_a"], ["test_a", "test_b"]],
    )
    log = (project.folder / "log").read_text().split()
    assert log == ["up", "a", "b", "a", "down", "up", "a", "down", "up", "a", "b", "down"]
    ran = [message for message in kinds(host) if message in ("ran", "held")]
    assert ran == ["ran", "held", "ran", "ran"]
    assert not host.main.all("broken") and host.exit_code == 1


def test_what_breaks_in_a_teardown_while_it_waits_is_told_and_not_forgiven(run):
    host = run(
        """
        import pytest
        count = 0
        @pytest.fixture(scope="session")
        def server():
            global count
            count += 1
            yield
            if count > 1: raise OSError("still in use")
        def test_a(server): assert 0
        """,
        held=[["test_a"]],
        forgive=True,
    )
    (broken,) = host.main.all("broken")
    assert broken["text"] == "the session's tear-down failed with OSError: still in use"
    assert kinds(host).index("broken") < kinds(host).index("ran")
    assert host.exit_code == 1


def test_a_plugin_that_objects_at_the_end_is_heard(run, project):
    project.write("conftest.py", "def pytest_sessionfinish(session): session.exitstatus = 9\n")
    host = run(FLAKE, held=[], forgive=True)
    assert host.exit_code == 9 and statuses(host) == [(9, True)]
    assert host.main.all("ready")[0]["finishers"] == [str(project.folder / "conftest.py")]


LATE = """
    import pytest
    class Late:
        @pytest.hookimpl(hookwrapper=True, tryfirst=True)
        def pytest_sessionfinish(self, session):
            yield
            session.exitstatus = 8
    def pytest_sessionstart(session):
        session.config.pluginmanager.register(Late())
"""


def test_a_plugin_that_comes_after_us_has_the_last_word(run, project):
    project.write("conftest.py", LATE)
    host = run(FLAKE, held=[], forgive=True)
    assert host.exit_code == 8 and statuses(host) == [(0, False), (8, True)]
    assert host.main.said_bye


@pytest.mark.parametrize(
    ("statement", "code", "told"),
    [
        ("import pytest; pytest.exit('no', 7)", 7, (7, True)),
        ("import pytest; pytest.exit('no')", 0, (0, False)),
        ("raise OSError('no')", 1, (1, True)),
        ("session.exitstatus = None", 0, (0, False)),
        ("session.exitstatus = 256", 0, (0, False)),
        ("session.exitstatus = 'no'", 1, (1, True)),
        ("session.exitstatus = -1", 255, (255, True)),
    ],
)
def test_however_a_plugin_objects_the_code_is_told_as_it_is(run, project, statement, code, told):
    project.write("conftest.py", "def pytest_sessionfinish(session): %s\n" % statement)
    host = run(FLAKE, held=[], forgive=True)
    assert host.exit_code == code and statuses(host)[-1] == told
    assert host.main.said_bye


def test_what_fails_after_the_session_is_told(run, project):
    project.write("conftest.py", "def pytest_unconfigure(): raise OSError('no')\n")
    host = run(FLAKE, held=[], forgive=True)
    assert host.exit_code == 1 and statuses(host) == [(0, False), (1, True)]
    assert host.main.said_bye


def test_a_failure_besides_the_tests_is_never_forgiven(run, project):
    project.write(
        "conftest.py",
        """
        import pytest
        @pytest.hookimpl(hookwrapper=True)
        def pytest_runtestloop(session):
            yield
            # As pytest-cov does if too little is covered.
            session.testsfailed += 1
        """,
    )
    host = run(FLAKE, held=[], forgive=True)
    assert host.exit_code == 1 and kinds(host) == ["suite_end", "broken", "held", "finished", "bye"]
    assert host.main.all("ready")[0]["finishers"] == [str(project.folder / "conftest.py")]


@pytest.mark.plugin("pytest_cov")
def test_too_little_coverage_is_never_forgiven(run, project):
    project.write("shop.py", "def a():\n    b = 1\n    return b\n")
    host = run(FLAKE, "--cov=shop", "--cov-fail-under=90", held=[], forgive=True)
    assert host.exit_code == 1 and len(host.main.all("broken")) == 1
    assert "_cov" in host.main.all("ready")[0]["finishers"]


@pytest.mark.parametrize("options", [["-x"], ["--maxfail=1"]])
def test_a_suite_that_stopped_early_is_not_forgiven(run, options):
    host = run("def test_a(): pass\ndef test_b(): assert 0\ndef test_c(): pass\n", *options, held=[], forgive=True)
    assert host.exit_code == 1 and statuses(host) == [(1, False)]


def test_an_interrupt_while_it_waits_is_not_forgiven(run):
    host = run(
        """
        count = 0
        def test_a():
            global count
            count += 1
            if count > 1: raise KeyboardInterrupt
            assert 0
        """,
        held=[["test_a"]],
        forgive=True,
    )
    assert host.ends() == [("test_a", "failed"), ("test_a", "errored")]
    assert host.exit_code == 1


def test_a_finisher_without_a_name_is_known_by_its_class(run, project):
    project.write(
        "conftest.py",
        """
        class Snapshots:
            def pytest_sessionfinish(self): pass
        def pytest_configure(config): config.pluginmanager.register(Snapshots())
        """,
    )
    assert run("def test_a(): pass\n").main.all("ready")[0]["finishers"] == ["conftest.Snapshots"]


def test_a_plugin_of_pytest_itself_is_no_finisher(run):
    assert run("def test_a(): pass\n", "--durations=1", "--junitxml=report.xml").main.all("ready")[0]["finishers"] == []


@pytest.mark.parametrize(
    ("files", "arguments", "code"),
    [
        ({"conftest.py": "import missing_thing\n"}, [], 4),
        ({}, ["--no-such-option"], 4),
        ({"conftest.py": "import pytest\ndef pytest_configure(): raise pytest.UsageError('no')\n"}, [], 4),
        ({"conftest.py": "raise SystemExit(3)\n"}, [], 3),
    ],
)
def test_a_pytest_that_cannot_begin_says_no_goodbye(run, project, files, arguments, code):
    for name, text in files.items():
        project.write(name, text)
    host = run("def test_a(): pass\n", *arguments)
    assert host.exit_code == code
    assert not host.main.all("ready") and not host.main.said_bye


@pytest.mark.parametrize(
    ("files", "arguments", "code"),
    [
        ({}, ["missing.py"], 4),
        ({"test_broken.py": "import missing_thing\n"}, [], 2),
        ({"conftest.py": "def pytest_collection(): raise OSError('no')\n"}, [], 3),
        ({"conftest.py": "import pytest\ndef pytest_configure(): pytest.exit('no', 6)\n"}, [], 6),
    ],
)
def test_a_session_without_tests_tells_its_status(run, project, files, arguments, code):
    for name, text in files.items():
        project.write(name, text)
    host = run("def test_a(): pass\n", *arguments)
    assert host.exit_code == code
    assert not host.main.all("ready") and host.main.said_bye
    assert statuses(host) == [(code, False)]
