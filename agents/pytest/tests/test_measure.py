"""What is measured of a test."""

import importlib.util
import os
import sys
import types
from pathlib import Path

import pytest

from host import AGENT

COUNTERS = {"ns", "switches", "wait_ns", "reads", "writes", "memory"}
EVERYTHING = COUNTERS | {"threads", "children", "files"}


def measured(host, name, kind="everything"):
    """What one execution of a test in a fork said of itself."""
    peer, _ = host.fork(name, measure=kind)
    [message] = peer.all("measured")
    assert host.name_of(peer, message["i"]) == name
    return {key: value for key, value in message.items() if key not in ("t", "i")}


def lines_of(message, file):
    found = [entry for entry in message["files"] if Path(entry["path"]).name == file]
    assert len(found) <= 1, found
    return [line for first, last in found[0]["lines"] for line in range(first, last + 1)] if found else None


def test_reads_and_writes_are_those_of_the_test(run):
    host = run(
        """
        import os
        def test_nothing(): pass
        def test_writes():
            with open(os.devnull, "wb", buffering=0) as file:
                for _ in range(100): file.write(b"x")
        def test_reads():
            with open("/dev/zero", "rb", buffering=0) as file:
                for _ in range(100): file.read(1)
        """
    )
    nothing, writes, reads = (measured(host, "test_" + name) for name in ("nothing", "writes", "reads"))
    assert writes["writes"] - nothing["writes"] == 100
    assert reads["reads"] - nothing["reads"] == 100
    assert writes["reads"] == nothing["reads"] and reads["writes"] == nothing["writes"]
    assert measured(host, "test_nothing", "counters")["reads"] == nothing["reads"]


def test_counters_are_told_by_main_too_if_wanted(run):
    host = run("def test_a(): pass\ndef test_b(): assert 0\n", measure="counters")
    said = host.main.all("measured")
    assert [message["i"] for message in said] == [0, 1]
    for message in said:
        assert set(message) - {"t", "i"} == COUNTERS
        assert message["ns"] > 0 and message["memory"] > 1 << 20
    # Its forks are measured only if that is asked for.
    assert host.fork("test_a")[0].all("measured") == []
    assert set(measured(host, "test_a")) == EVERYTHING


def test_nothing_is_measured_unasked(run):
    host = run("def test_a(): pass\n")
    assert host.main.all("measured") == [] and host.fork("test_a")[0].all("measured") == []


def test_measures_come_before_the_end(run):
    host = run("def test_a(): pass\ndef test_b(): assert 0\n")
    peer, _ = host.fork("test_a", "test_b", measure="everything")
    kinds = [message["t"] for message in peer.messages]
    assert kinds == ["start", "measured", "end", "start", "measured", "end", "bye"]


def test_memory_is_the_peak_of_each_test_alone(run):
    host = run(
        """
        def test_small(): pass
        def test_large():
            x = b"x" * (64 << 20)
            del x
        """
    )
    peer, _ = host.fork("test_small", "test_large", "test_small", measure="counters")
    before, large, after = (message["memory"] for message in peer.all("measured"))
    assert large - before > 60 << 20
    assert large - after > 60 << 20


def test_switches_are_those_that_waited(run):
    host = run(
        """
        import select
        def test_nothing(): pass
        def test_waits():
            for _ in range(50): select.select([], [], [], 0.0005)
        """
    )
    waits, nothing = (measured(host, name)["switches"] for name in ("test_waits", "test_nothing"))
    # On a busy machine the time may be over before a wait begins.
    assert waits >= 25 > nothing


def test_threads_are_counted_however_short_they_live(run):
    host = run(
        """
        import threading
        def test_none(): pass
        def test_three_at_once():
            gate = threading.Barrier(4)
            threads = [threading.Thread(target=gate.wait) for _ in range(3)]
            for thread in threads: thread.start()
            gate.wait()
            for thread in threads: thread.join()
        """
    )
    assert measured(host, "test_none")["threads"] == 1
    assert measured(host, "test_three_at_once")["threads"] == 4


def test_children_are_counted_however_short_they_live(run):
    host = run(
        """
        import os, subprocess, sys
        def test_none(): pass
        def test_one_after_another():
            for _ in range(3): subprocess.run(["true"], check=True)
        def test_two_at_once():
            first = subprocess.Popen(["cat"], stdin=subprocess.PIPE)
            second = subprocess.Popen(["cat"], stdin=subprocess.PIPE)
            for process in (second, first): process.communicate()
        def test_forks():
            child = os.fork()
            if child == 0: os._exit(0)
            os.waitpid(child, 0)
        """
    )
    counts = [measured(host, "test_" + name)["children"] for name in ("none", "one_after_another", "two_at_once", "forks")]
    assert counts == [0, 1, 2, 1]


def test_covered_lines_are_exact(project, run):
    project.write(
        "shop.py",
        """
        LIMIT = 3

        def total(prices):
            result = 0
            for price in prices:
                if price > LIMIT:
                    result += LIMIT
                else:
                    result += price
            return result

        def each(prices):
            for price in prices:
                yield price
        """,
    )
    host = run(
        """
        import shop

        def test_total():
            assert shop.total([1, 2]) == 3

        def test_each():
            assert list(shop.each([1])) == [1]

        def test_thread():
            import threading
            thread = threading.Thread(target=shop.total, args=([5],))
            thread.start()
            thread.join()

        def test_none():
            import json
            json.dumps({})
        """
    )
    total = measured(host, "test_total")
    assert lines_of(total, "shop.py") == [4, 5, 6, 9, 10]
    assert lines_of(total, "test_it.py") == [4]
    assert {Path(entry["path"]).name: entry["test"] for entry in total["files"]} == {"shop.py": False, "test_it.py": True}
    assert lines_of(measured(host, "test_each"), "shop.py") == [13, 14]
    assert lines_of(measured(host, "test_thread"), "shop.py") == [4, 5, 6, 7, 10]
    none = measured(host, "test_none")
    assert [Path(entry["path"]).name for entry in none["files"]] == ["test_it.py"]


def test_each_test_of_a_process_has_lines_of_its_own(project, run):
    project.write("shop.py", "def a():\n    return 1\n\ndef b():\n    return a()\n")
    host = run("import shop\ndef test_a(): shop.a()\ndef test_b(): shop.b()\n")
    peer, _ = host.fork("test_b", "test_a", "test_b", measure="everything")
    assert [lines_of(message, "shop.py") for message in peer.all("measured")] == [[2, 5], [2], [2, 5]]


def test_a_project_inside_of_which_packages_are_installed_covers_only_its_own(project, run):
    project.write("env/lib/site-packages/other.py", "def f():\n    return 1\n")
    host = run(
        """
        import sys
        sys.path.insert(0, "env/lib/site-packages")
        import other
        def test_a():
            other.f()
            exec(compile("x = 1", "<made up>", "exec"))
        """
    )
    assert [Path(entry["path"]).name for entry in measured(host, "test_a")["files"]] == ["test_it.py"]


def test_lines_that_somebody_else_traces_are_missing(run):
    host = run(
        """
        import sys
        def test_a():
            if hasattr(sys, "monitoring"):
                for tool in range(6):
                    if sys.monitoring.get_tool(tool) == "flakewise": sys.monitoring.free_tool_id(tool)
            else:
                sys.settrace(None)
        """
    )
    message = measured(host, "test_a")
    assert message["files"] is None and message["ns"] > 0


def test_a_crash_leaves_no_measures(project, run):
    host = run("import os\ndef test_a():\n    if os.path.exists('now'): os._exit(3)\n")
    project.write("now", "")
    peer, ended = host.fork("test_a", measure="everything")
    assert [message["t"] for message in peer.messages] == ["start"] and ended["status"] == 3 << 8


# The module alone, on a machine as we want it


@pytest.fixture
def module(monkeypatch):
    package = types.ModuleType("agent_alone")
    package.__path__ = [str(AGENT)]
    monkeypatch.setitem(sys.modules, "agent_alone", package)
    for name in ("wire", "observe", "measure"):
        spec = importlib.util.spec_from_file_location("agent_alone." + name, str(AGENT / (name + ".py")))
        module = importlib.util.module_from_spec(spec)
        monkeypatch.setitem(sys.modules, spec.name, module)
        setattr(package, name, module)
        spec.loader.exec_module(module)
    return module


def test_what_the_kernel_does_not_tell_is_missing(module, tmp_path, monkeypatch):
    monkeypatch.setattr(module.Measurer, "process", str(tmp_path / "nowhere"))
    monkeypatch.setattr(module.Measurer, "accounting", str(tmp_path / "nothing"))
    measurer = module.Measurer("counters", str(tmp_path), [])
    measurer.start()
    measures = measurer.stop()
    assert {name for name, value in measures.items() if value is None} == {"reads", "writes", "wait_ns", "memory"}
    assert measures["ns"] > 0 and measures["switches"] >= 0


@pytest.mark.parametrize("accounts", ["0\n", "1\n"])
def test_waiting_is_missing_unless_the_kernel_accounts_for_it(module, tmp_path, monkeypatch, accounts):
    (tmp_path / "accounts").write_text(accounts)
    fields = ["R"] + ["0"] * 38 + ["7"] + ["0"] * 10
    (tmp_path / "stat").write_text("7 (a name) b) " + " ".join(fields))
    monkeypatch.setattr(module.Measurer, "process", str(tmp_path))
    monkeypatch.setattr(module.Measurer, "accounting", str(tmp_path / "accounts"))
    measurer = module.Measurer("counters", str(tmp_path), [])
    measurer.start()
    fields[39] = "9"
    (tmp_path / "stat").write_text("7 (a name) b) " + " ".join(fields))
    expected = None if accounts == "0\n" else 2 * 10**9 // os.sysconf("SC_CLK_TCK")
    assert measurer.stop()["wait_ns"] == expected


def test_lines_are_missing_rather_than_cut(module, tmp_path, monkeypatch):
    lines = module.Lines(str(tmp_path), [])
    lines._found = {"/p/a.py": set(range(0, 200_000, 2))}
    assert lines._told() is None
    lines._found = {"/p/a.py": {1, 2, 3, 7}}
    assert lines._told() == [{"path": "/p/a.py", "test": False, "lines": [[1, 3], [7, 7]]}]
