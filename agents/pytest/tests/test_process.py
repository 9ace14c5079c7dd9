"""Tests that treat their process badly, and what they see of us."""

import os
import signal
import sys

import pytest
from host import PYTHON, is_alive, wait_for_death


def passed(host, peer=None):
    return {name for name, outcome in host.ends(peer) if outcome == "passed"}


def explain(host):
    return "\n".join(message["failure"]["trace"] for message in host.main.all("end") if message.get("failure"))


def test_tests_see_nothing_of_us(run, project):
    project.write("lib/present.py", "")
    host = run(
        """
        import os, subprocess, sys
        import pytest
        import present

        def test_environment():
            assert not [name for name in os.environ if name.startswith("FLAKEWISE")]
            assert os.environ["PYTEST_ADDOPTS"] == "--strict-markers"
            assert os.environ["PYTHONPATH"] == "lib"

        def test_path():
            assert not [entry for entry in sys.path if "/flakewise-" in entry]

        def test_nothing_is_inherited():
            code = "import os, sys; print(sorted(os.environ), sys.path)"
            printed = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, close_fds=False, check=True).stdout
            assert b"FLAKEWISE" not in printed and b"/flakewise-" not in printed

        def test_no_children():
            with pytest.raises(ChildProcessError):
                os.waitpid(-1, os.WNOHANG)
            assert open("/proc/self/task/%d/children" % os.getpid()).read() == ""

        def test_descriptors_are_not_inherited():
            code = "import os; print(sorted(map(int, os.listdir('/proc/self/fd'))))"
            printed = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, close_fds=False, check=True).stdout
            assert not [fd for fd in eval(printed) if fd >= 500], printed

        def test_pytest_inside_is_not_ours(tmp_path):
            (tmp_path / "test_inner.py").write_text("def test_inner(): assert 0")
            done = subprocess.run([sys.executable, "-m", "pytest", "-q", str(tmp_path)], stdout=subprocess.PIPE)
            assert done.returncode == 1 and b"1 failed" in done.stdout

        def test_pytester_inside(pytester):
            pytester.makepyfile("import pytest\\ndef test_inner(): assert 0\\ndef test_other(): pass")
            result = pytester.runpytest_inprocess("-p", "no:randomly")
            result.assert_outcomes(passed=1, failed=1)

        def test_last(): pass
        """,
        "-p",
        "pytester",
        variables={"PYTEST_ADDOPTS": "--strict-markers", "PYTHONPATH": "lib"},
    )
    assert len(passed(host)) == 8 == len(host.ends()), explain(host)
    assert [peer.role for peer in host.peers] == ["main", "zygote"]
    child, _ = host.fork("test_environment", "test_path", "test_no_children", "test_pytester_inside")
    assert len(passed(host, child)) == 4, host.failures("test_pytester_inside", child)
    fresh = host.fresh("test_environment", "test_path", "test_no_children", "test_pytest_inside_is_not_ours")
    assert len(passed(host, fresh)) == 4


def test_a_connection_that_a_test_closed_is_resumed(run):
    host = run(
        """
        import os
        def test_a(): pass
        def test_closes(): os.closerange(3, 4096)
        def test_closes_and_opens():
            os.closerange(3, 4096)
            files = [os.open("/dev/null", os.O_RDWR) for _ in range(600)]
            assert max(files) > 550
        def test_closes_and_fails():
            os.closerange(3, 4096)
            assert 0
        def test_b(): assert 0
        """,
        "--capture=sys",
        "-p",
        "no:faulthandler",
        again=lambda name, phase: phase == "first",
    )
    assert host.story() == [
        "test_a first",
        "test_a passed",
        "test_closes first",
        "test_closes passed",
        "test_closes_and_opens first",
        "test_closes_and_opens passed",
        "test_closes_and_fails first",
        "test_closes_and_fails ask",
        "test_closes_and_fails failed",
        "test_closes_and_fails rerun",
        "test_closes_and_fails ask",
        "test_closes_and_fails failed",
        "test_b first",
        "test_b ask",
        "test_b failed",
        "test_b rerun",
        "test_b ask",
        "test_b failed",
        "suite_end",
        "bye",
    ]
    assert host.main.resumed >= 3
    child, ended = host.fork("test_closes_and_fails")
    assert host.ends(child) == [("test_closes_and_fails", "failed")] and ended["status"] == 0


def test_a_fork_that_runs_on_is_not_heard(run):
    host = run(
        """
        import os, time
        forked = None
        def test_forks():
            global forked
            forked = os.fork()
        def test_fails(): assert 0
        def test_fails_too(): assert 0
        def test_waits():
            if forked: os.waitpid(forked, 0)
        """,
        again=lambda name, phase: phase == "first",
        postpone=[["test_fails"]],
    )
    assert host.ends() == [
        ("test_forks", "passed"),
        ("test_fails", "failed"),
        ("test_fails", "failed"),
        ("test_fails_too", "failed"),
        ("test_fails_too", "failed"),
        ("test_waits", "passed"),
        ("test_fails", "failed"),
    ]
    assert len(host.main.all("suite_end")) == 1 and host.main.said_bye


def test_patched_modules_do_not_matter(run):
    host = run(
        """
        import fcntl, json, os, select, signal, socket, time
        import pytest

        def broken(*arguments, **keywords): raise RuntimeError("patched")

        def test_patched(monkeypatch):
            for module in (json, socket, time, fcntl, select):
                for name in dir(module):
                    if callable(getattr(module, name)) and not name.startswith("_") and not isinstance(getattr(module, name), type):
                        setattr(module, name, broken)
            json.JSONEncoder.encode = json.JSONEncoder.iterencode = json.JSONDecoder.decode = broken
            socket.socket = broken
            for name in ("write", "read", "close", "fstat", "getpid", "fork", "setsid", "waitpid", "wait4", "_exit"):
                setattr(os, name, broken)
            assert 0

        def test_after(): assert 0
        """,
        "--capture=sys",
        "-p",
        "no:faulthandler",
        again=lambda name, phase: phase == "first",
    )
    assert [name for name, _ in host.ends()] == ["test_patched"] * 2 + ["test_after"] * 2, host.explain()
    child, ended = host.fork("test_patched", "test_after")
    assert host.ends(child) == [("test_patched", "failed"), ("test_after", "failed")] and ended["status"] == 0


def test_a_thread_at_collection_means_no_forks(run):
    host = run(
        """
        import threading
        threading.Thread(target=threading.Event().wait, daemon=True).start()
        def test_a(): pass
        """
    )
    ready = host.message(host.main, "ready")
    assert ready["forks"] is False and ready["reason"] == "2 threads were running before the first test"
    assert [peer.role for peer in host.peers] == ["main"]


class TestZygote:
    SUITE = """
        import os, signal, sys
        import pytest
        state = []
        def test_polluter(): state.append(1)
        def test_victim(): assert not state
        def test_exits(): os._exit(3) if state == [] else None
        def test_killed(): os.kill(os.getpid(), signal.SIGKILL) if state == [] else None
        def test_kills_its_group(): os.killpg(0, signal.SIGKILL) if state == [] else None
        def test_crashes():
            if state == []:
                import ctypes
                print("about to crash")
                ctypes.string_at(0)
        def test_raises(): 
            if state == []: raise KeyboardInterrupt("pressed")
        def test_leaves():
            if state == []: sys.exit(4)
        def test_gives_up():
            if state == []: pytest.exit("enough")
        def test_signals():
            assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
            assert signal.getsignal(signal.SIGCHLD) is signal.SIG_DFL
            assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
            assert signal.set_wakeup_fd(-1) == -1
        def test_interrupted():
            if state == []: os.kill(os.getpid(), signal.SIGINT)
        def test_noise(capfd):
            print("noise", flush=True)
            os.write(1, b"more noise")
            assert capfd.readouterr().out == "noise\\nmore noise"
            with capfd.disabled():
                if state == []: os.write(1, b"loud noise")
        @pytest.fixture(scope="session")
        def whole():
            yield
            if state == []: raise ValueError
        def test_session_teardown(whole): pass
    """

    @pytest.fixture
    def host(self, run):
        return run(self.SUITE)

    def test_children_start_clean(self, host):
        assert host.exit_code == 1 and host.ends()[1] == ("test_victim", "failed")
        child, ended = host.fork("test_victim")
        assert host.story(child) == ["test_victim fork", "test_victim passed", "bye"]
        assert ended["status"] == 0 and ended["wall_ns"] > 0 and ended["cpu_ns"] > 0
        child, _ = host.fork("test_polluter", "test_victim")
        assert host.ends(child) == [("test_polluter", "passed"), ("test_victim", "failed")]
        forked = host.zygote.all("forked")
        assert forked[0]["pid"] != forked[1]["pid"] == child.pid

        for name, status in (("test_exits", 3 << 8), ("test_killed", 9), ("test_kills_its_group", 9)):
            child, ended = host.fork(name)
            assert host.story(child) == [name + " fork"] and ended["status"] == status
        child, ended = host.fork("test_crashes")
        assert host.story(child) == ["test_crashes fork"] and ended["status"] & 0x7F == signal.SIGSEGV

        for name, outcome, kind in (
            ("test_raises", "errored", "KeyboardInterrupt"),
            ("test_interrupted", "errored", "KeyboardInterrupt"),
            ("test_leaves", "failed", "SystemExit"),
            ("test_gives_up", "errored", "Exit"),
        ):
            child, ended = host.fork(name, "test_signals")
            assert host.ends(child) == [(name, outcome), ("test_signals", "passed")], host.explain()
            assert host.failures(name, child)[0]["kind"] == kind and ended["status"] == 0
            assert child.said_bye

        for name in ("test_noise", "test_signals"):
            child, _ = host.fork(name)
            assert host.ends(child) == [(name, "passed")], host.failures(name, child)
        child, _ = host.fork("test_session_teardown")
        assert host.ends(child) == [("test_session_teardown", "errored")]
        # Nobody has seen any of this.
        assert host.printed(host.processes[0]) == host.text
        assert "loud noise" not in host.text and "Fatal" not in host.text

    def test_children_run_side_by_side(self, host):
        jobs = [host.fork("test_victim", wait=False) for _ in range(5)]
        for job in jobs:
            host.message(host.zygote, "exited", lambda message, job=job: message["job"] == job)
            assert host.ends(host.peer(job)) == [("test_victim", "passed")]

    def test_a_child_can_go_on_with_a_suite(self, host):
        host.again = lambda name, phase: phase == "fork"
        job = host.fork("test_polluter", "test_victim", wait=False, stay=True, ask=True)
        host.message(host.zygote, "exited", lambda message: message["job"] == job)
        child = host.peer(job)
        assert child.all("suite_end") and child.said_bye
        assert [m["phase"] for m in child.all("start")] == ["fork", "fork", "rerun"]

    def test_it_quits_when_told_and_ignores_interrupts(self, host):
        zygote = host.zygote
        os.kill(zygote.pid, signal.SIGINT)
        child, _ = host.fork("test_victim")
        assert passed(host, child) == {"test_victim"}
        zygote.send({"t": "quit"})
        host.message(zygote, "bye")
        wait_for_death(zygote.pid)

    def test_it_takes_the_suite_along_when_the_host_goes_away(self, project):
        from host import Host

        project.write("test_it.py", "import time\ndef test_hangs(): time.sleep(600)\n")
        with Host(project.folder) as host:
            process = host.start([PYTHON, "-m", "pytest", *project.options])
            host._wait(lambda: host.peers and host.main.all("start"), "the first test")
            job = host.fork("test_hangs", wait=False)
            host._wait(lambda: any(p.job == job and p.all("start") for p in host.peers), "the child")
            pids = [peer.pid for peer in host.peers]
            assert len(pids) == 3 and all(map(is_alive, pids))
            host.go_away()
            assert host.finish(process) == -signal.SIGKILL
            for pid in pids:
                wait_for_death(pid)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks at /proc")
def test_the_agent_costs_one_write_per_test(run):
    host = run(
        """
        import os, pytest
        counts = []
        @pytest.mark.parametrize("n", range(40))
        def test_a(n):
            with open("/proc/self/io") as file:
                counts.append(int(dict(line.split(": ") for line in file)["syscw"]))
        def test_count():
            steps = [b - a for a, b in zip(counts[5:], counts[6:])]
            assert min(steps) <= 1, steps
        """,
        "-p",
        "no:terminal",
        "--capture=sys",
    )
    assert host.ends()[-1] == ("test_count", "passed"), explain(host)


DRAWS = """
    import random
    {seed}
    def test_draws():
        open({file!r}, "a").write("%r\\n" % random.random())
    """


@pytest.mark.parametrize(
    "seed, numbers",
    [
        ("", 3),
        # To draw is not to seed.
        ("drawn = [random.random() for _ in range(5000)]", 3),
        ("random.seed(20)", 1),
        ("random.seed(20); drawn = [random.random() for _ in range(5000)]", 1),
    ],
)
def test_a_fork_draws_what_a_new_process_would(run, tmp_path, seed, numbers):
    file = tmp_path / "drawn"
    host = run(DRAWS.format(seed=seed, file=str(file)))
    file.unlink()
    for _ in range(3):
        host.fork("test_draws")
    assert len(set(file.read_text().split())) == numbers


def test_a_suite_that_is_not_wanted_does_not_run(run, tmp_path):
    file = tmp_path / "ran"
    host = run(
        """
        import atexit
        def test_a(): open(%r, "a").write("a")
        def test_b(): assert 0
        """
        % str(file),
        "--junitxml=report.xml",
        runs=False,
    )
    assert host.story() == ["bye"] and host.exit_code == 0
    assert not file.exists() and not (tmp_path / "report.xml").exists()
    child, _ = host.fork("test_a", "test_b")
    assert host.ends(child) == [("test_a", "passed"), ("test_b", "failed")]
