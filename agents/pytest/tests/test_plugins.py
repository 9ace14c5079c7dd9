"""Other plugins, where the target has them."""

import pytest


def first_only(name, phase):
    return phase == "first"


@pytest.mark.plugin("xdist")
@pytest.mark.parametrize("arguments", [["-n", "2"], ["-n2", "--dist=loadfile"], ["--dist=load", "--tx=2*popen"]], ids=" ".join)
def test_xdist_is_set_aside(run, arguments):
    host = run(
        """
        import os
        pids = set()
        def test_a(worker_id): pids.add(os.getpid()); assert worker_id == "master"
        def test_b(): pids.add(os.getpid())
        def test_c(): assert len(pids) == 1
        """,
        *arguments,
    )
    assert [outcome for _, outcome in host.ends()] == ["passed"] * 3 and host.exit_code == 0
    (notice,) = host.notices()
    assert notice == "pytest-xdist is disabled: the suite runs in one process instead of 2"
    ready = host.message(host.main, "ready")
    assert ready["forks"] is True and ready["seeds"]["numprocesses"] == "0"


@pytest.mark.plugin("pytest_rerunfailures")
def test_other_reruns_are_switched_off(run):
    host = run(
        """
        import pytest
        tries = []
        @pytest.mark.flaky(reruns=5)
        def test_a():
            tries.append(1)
            assert len(tries) > 1
        def test_b(): assert 0
        """,
        "--reruns=3",
        "--strict-markers",
    )
    assert host.ends() == [("test_a", "failed"), ("test_b", "failed")]
    assert "2 failed" in host.text.splitlines()[-1] and "rerun" not in host.text.splitlines()[-1]
    assert any("rerunfailures" in notice for notice in host.notices())
    assert host.message(host.main, "ready")["forks"] is True


@pytest.mark.plugin("flaky")
def test_the_flaky_plugin_is_switched_off(run):
    host = run(
        """
        from flaky import flaky
        tries = []
        @flaky(max_runs=5)
        def test_a():
            tries.append(1)
            assert len(tries) > 1
        """,
        "--strict-markers",
    )
    assert host.ends() == [("test_a", "failed")]


@pytest.mark.plugin("pytest_randomly")
def test_the_seed_is_told_and_kept(run, project):
    project.options = []
    text = """
        import random
        values = []
        def test_a():
            values.append(random.random())
            assert len(values) == 2 and values[0] == values[1]
        """
    host = run(text, "-p", "randomly", "-p", "no:rerunfailures", "-p", "no:xdist", again=first_only)
    seeds = host.message(host.main, "ready")["seeds"]
    assert int(seeds["randomly_seed"]) >= 0
    assert host.ends() == [("test_a", "failed"), ("test_a", "passed")]
    host = run(text, "-p", "randomly", "-p", "no:rerunfailures", "-p", "no:xdist", "-p", "randomly", "--randomly-seed=7")
    assert host.message(host.main, "ready")["seeds"] == {"randomly_seed": "7"}


ASYNC = """
    import asyncio
    import pytest
    tries = {}
    @pytest.fixture
    def value(): return 1
    %s
    async def test_a(value):
        await asyncio.sleep(0)
        tries["a"] = tries.get("a", 0) + 1
        assert tries["a"] == 2
    %s
    async def test_b(): await asyncio.sleep(0)
"""


@pytest.mark.plugin("pytest_asyncio")
def test_asyncio_tests_run_again(run):
    mark = "@pytest.mark.asyncio"
    host = run(ASYNC % (mark, mark), "-p", "no:anyio", again=first_only)
    assert host.ends() == [("test_a", "failed"), ("test_a", "passed"), ("test_b", "passed")], host.text
    child, _ = host.fork("test_b")
    assert host.ends(child) == [("test_b", "passed")]


@pytest.mark.plugin("anyio")
def test_anyio_tests_run_again(run, project):
    project.write("conftest.py", "import pytest\n@pytest.fixture\ndef anyio_backend(): return 'asyncio'\n")
    mark = "@pytest.mark.anyio"
    host = run(ASYNC % (mark, mark), again=first_only)
    assert host.ends() == [("test_a", "failed"), ("test_a", "passed"), ("test_b", "passed")], host.text


@pytest.mark.plugin("pytest_timeout")
def test_timeouts_work_in_reruns(run):
    # Setting up the test counts too, and is far quicker than this on any machine.
    host = run("import time\ndef test_a(): time.sleep(600)\n", "--timeout=5", again=first_only)
    assert host.ends() == [("test_a", "failed")] * 2


@pytest.mark.plugin("pytest_cov")
def test_coverage_is_of_the_suite(run, project):
    import sqlite3

    project.write("thing.py", "def call(): return 1\n")
    project.write("pytest.ini", "[pytest]\naddopts = --cov=thing\n")
    host = run("import thing\ndef test_a(): thing.call(); assert 0\n", again=first_only)
    before = (project.folder / ".coverage").read_bytes()
    host.fork("test_a")
    host.fresh("test_a", arguments=project.options)
    assert (project.folder / ".coverage").read_bytes() == before
    sqlite3.connect(project.folder / ".coverage").close()


@pytest.mark.plugin("pytest_subtests")
def test_subtests_of_the_plugin(run):
    host = run("def test_a(subtests):\n    with subtests.test(): assert 0\n")
    assert host.ends() == [("test_a", "failed")]


def test_hooks_of_the_project_see_the_first_attempt_only(run, project):
    project.write(
        "conftest.py",
        """
        seen = []
        def pytest_runtest_logreport(report): seen.append((report.nodeid.split("::")[1], report.when, report.outcome))
        def pytest_runtest_logstart(nodeid): seen.append("start")
        def pytest_sessionfinish(): open("seen", "w").write(repr(seen))
        """,
    )
    run("def test_a(): assert 0\n", again=first_only, postpone=[["test_a"]])
    seen = eval((project.folder / "seen").read_text())
    assert seen == ["start", ("test_a", "setup", "passed"), ("test_a", "call", "failed"), ("test_a", "teardown", "passed")]
