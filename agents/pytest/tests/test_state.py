"""What tests leave behind for another one."""

import os
import pathlib
import tempfile

import pytest


def state(host, *names, undo=(), reads=True):
    """The changes that the last test met, by key, and how it ended."""
    peer, _ = host.fork(*names, state={"undo": list(undo), "reads": reads})
    [message] = peer.all("state")
    assert peer.all("trouble") == []
    changes = {change["key"]: change for change in message["changes"]}
    told = peer.all("state_read")
    places = {key: (file, line) for key, file, line in (told[0]["reads"] if told else [])}
    return changes, places, peer.all("end")[-1]["outcome"]


def only(changes):
    [change] = changes.values()
    return change["before"], change["after"], change["can_undo"]


def check(host, polluter, victim, key):
    """One change, which can be undone, and that is what matters; the victim's line."""
    changes, places, outcome = state(host, polluter, victim)
    assert list(changes) == [key] and outcome == "failed"
    assert changes[key]["can_undo"]
    changes, _, outcome = state(host, polluter, victim, undo=[key], reads=False)
    assert list(changes) == [key] and outcome == "passed"
    return places.get(key)


def test_a_test_that_does_nothing_leaves_nothing(run):
    host = run("def test_a(): pass\ndef test_b(): pass\n")
    assert state(host, "test_a", "test_b") == ({}, {}, "passed")
    assert state(host, "test_b") == ({}, {}, "passed")


def test_a_test_that_fails_leaves_nothing_of_pytest(run):
    host = run("def test_a(): assert [1] * 50 == {'a': list(range(40))}\ndef test_b(): pass\n")
    assert state(host, "test_a", "test_b") == ({}, {}, "passed")


def test_fixtures_that_clean_up_leave_nothing(run):
    host = run(
        """
        import logging, os, tempfile, unittest.mock
        THINGS = {"a": [1]}
        def test_a(monkeypatch, tmp_path, tmp_path_factory, caplog, capsys, recwarn):
            monkeypatch.setenv("X", "1")
            monkeypatch.chdir(tmp_path)
            monkeypatch.setitem(THINGS, "b", 2)
            monkeypatch.setattr("os.getpid", lambda: 0)
            caplog.set_level(logging.DEBUG)
            print("x")
            (tmp_path / "x").write_text("x")
            tmp_path_factory.mktemp("y")
            with tempfile.TemporaryDirectory() as folder, open(os.path.join(folder, "z"), "w") as file:
                file.write("z")
            with unittest.mock.patch("os.path.join") as join:
                join()
        def test_b(): pass
        """
    )
    assert state(host, "test_a", "test_b") == ({}, {}, "passed")


def test_nothing_is_looked_at_unasked(run):
    host = run("import os\ndef test_a(): os.environ['X'] = '1'\ndef test_b(): pass\n")
    peer, _ = host.fork("test_a", "test_b")
    assert peer.all("state") == [] and peer.all("state_read") == []


def test_a_variable_is_seen_to_be_read_where_the_project_reads_it(run, project):
    project.write("shop.py", "import os\ndef region():\n    return os.environ.get('REGION', 'eu')\n")
    host = run(
        """
        import os, shop
        def test_a(): os.environ["REGION"] = "us"
        def test_b(): assert shop.region() == "eu"
        def test_c(): os.environ["OTHER"]
        """
    )
    assert check(host, "test_a", "test_b", "env:REGION") == ("shop.py", 3)
    # One that is not read is not said to be.
    assert state(host, "test_a", "test_c")[1] == {}


def test_globals_are_found_in_the_module_that_has_them(run, project):
    project.write("shop.py", "RATE = 1\nCART = []\nSTOCK = {'a': {'b': [1, 2]}}\ndef total():\n    return len(CART) * RATE\n")
    host = run(
        """
        import shop
        from shop import CART, STOCK
        def test_rebinds(): shop.RATE = 2
        def test_adds(): CART.append("x")
        def test_deep(): STOCK["a"]["b"].append(3)
        def test_total():
            CART.append("mine")
            assert shop.total() == 1
        def test_stock(): assert STOCK == {"a": {"b": [1, 2]}}
        """
    )
    assert check(host, "test_rebinds", "test_total", "global:shop:RATE") == ("shop.py", 5)
    assert check(host, "test_adds", "test_total", "global:shop:CART") == ("shop.py", 5)
    assert check(host, "test_deep", "test_stock", "global:shop:STOCK") == ("test_it.py", 9)
    changes, _, _ = state(host, "test_deep", "test_stock")
    assert changes["global:shop:STOCK"]["name"] == "shop.STOCK['a']['b']"
    assert only(changes) == ("[1, 2]", "[1, 2, 3]", True)


@pytest.mark.parametrize(
    "before, change, key",
    [
        ("X = {1, 2}", "X.add(3)", "global"),
        ("import collections\nX = collections.OrderedDict(a=1)", "X.move_to_end('a'); X['b'] = 2", "global"),
        ("import collections\nX = collections.defaultdict(list)", "X['a']", "global"),
        ("import collections\nX = collections.deque([1], maxlen=3)", "X.append(2)", "global"),
        ("X = bytearray(b'a')", "X.extend(b'b')", "global"),
        ("import types\nX = types.SimpleNamespace(a=1)", "X.a = 2", "global"),
        ("import threading\nX = threading.local()\nX.a = 1", "X.b = 2", "global"),
        ("import threading\nclass L(threading.local): a = 1\nX = L()", "X.a = 2", "global"),
        ("class C:\n    __slots__ = ('a',)\nX = C()\nX.a = 1", "X.a = 2", "global"),
        ("class C:\n    def __init__(self): self.a = 1\nX = C()", "X.b = 2", "global"),
        ("class D(dict): pass\nX = D()", "X['a'] = 1", "global"),
        ("def make():\n    n = 0\n    def count():\n        nonlocal n\n        n += 1\n        return n\n    return count\nX = make()", "X()", "global"),
        ("import functools\n@functools.lru_cache\ndef X(n=1): return n", "X()", "cache"),
        ("import itertools\nX = itertools.count(5, 5)", "next(X)", "global"),
    ],
)
def test_what_is_changed_in_place_can_be_put_back(run, project, before, change, key):
    project.write("shop.py", before + "\n")
    looks = "shop.X.cache_info().currsize == 0" if key == "cache" else "True"
    host = run(
        """
        import shop
        def test_a():
            X = shop.X
            %s
        def test_b(): assert %s
        """
        % (change, looks)
    )
    changes, _, _ = state(host, "test_a", "test_b", reads=False)
    assert list(changes) == [key + ":shop:X"] and changes[key + ":shop:X"]["can_undo"]
    # If it was put back, a second polluter that is none finds nothing.
    peer, _ = host.fork("test_a", "test_b", state={"undo": [key + ":shop:X"], "reads": False})
    assert peer.all("end")[-1]["outcome"] == "passed"


def test_leaked_patches_are_found_wherever_they_are(run):
    host = run(
        """
        import json, os.path, unittest.mock, decimal
        def test_function(): unittest.mock.patch("os.path.exists", return_value=False).start()
        def test_method(): json.JSONEncoder.default = lambda self, o: str(o)
        def test_exists(): assert os.path.exists("/")
        def test_encode():
            try: json.dumps(object())
            except TypeError: return
            assert 0
        """
    )
    assert check(host, "test_function", "test_exists", "patch:os.path:exists") is not None
    check(host, "test_method", "test_encode", "patch:json.encoder.JSONEncoder:default")


def test_who_left_it_is_the_last_who_changed_it(run):
    host = run(
        """
        import os
        def test_a(): os.environ["A"] = os.environ["B"] = "1"
        def test_b(): os.environ["B"] = "2"
        def test_c(): os.environ.pop("A")
        def test_d(): pass
        """
    )
    changes, _, _ = state(host, "test_a", "test_b", "test_d")
    assert {key: change["left_by"] for key, change in changes.items()} == {"env:A": 0, "env:B": 1}
    assert list(state(host, "test_a", "test_c", "test_d")[0]) == ["env:B"]


def test_files_are_put_back_and_left_as_they_were(run, project, tmp_path):
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "a").write_text("a")
    (tmp_path / "data" / "b").write_text("b")
    host = run(
        """
        import os, pathlib, shutil, subprocess
        HERE = pathlib.Path(__file__).parent
        def test_writes(): (HERE / "data" / "a").write_text("A")
        def test_removes(): shutil.rmtree(HERE / "data")
        def test_makes():
            (HERE / "new" / "deep").mkdir(parents=True)
            (HERE / "new" / "deep" / "x").write_text("x")
        def test_shell(): subprocess.run(["sh", "-c", "echo x > '%s/shell'" % HERE], check=True)
        def test_a(): assert (HERE / "data" / "a").read_text() == "a"
        def test_new(): assert not (HERE / "new").exists() and not (HERE / "shell").exists()
        """,
        runs=False,
    )
    line = check(host, "test_writes", "test_a", "file:data/a")
    assert line == ("test_it.py", 9)
    changes, _, _ = state(host, "test_removes", "test_a")
    assert set(changes) == {"file:data", "file:data/a", "file:data/b"}
    assert state(host, "test_removes", "test_a", undo=changes)[2] == "passed"
    check(host, "test_makes", "test_new", "file:new")
    # It may be the work of somebody else who is busy here.
    changes, _, _ = state(host, "test_shell", "test_new")
    assert [(key, change["can_undo"]) for key, change in changes.items()] == [("file:shell", False)]
    assert (tmp_path / "data" / "a").read_text() == "a" and (tmp_path / "data" / "b").exists()
    assert not (tmp_path / "new").exists() and (tmp_path / "shell").exists()


@pytest.mark.parametrize("how", [{"tidy": True}, {"state": {"undo": [], "reads": False}}])
def test_nothing_is_lost_that_was_there_before(run, project, tmp_path, how):
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / "work").write_text("days of work")
    (tmp_path / "large").write_bytes(b"x" * (5 << 20))
    host = run(
        """
        import os, pathlib, shutil
        HERE = pathlib.Path(__file__).parent
        def test_a():
            (HERE / "new").mkdir()
            shutil.move(HERE / "kept", HERE / "new")
            os.rename(HERE / "large", HERE / "larger")
            (HERE / "new" / "own").write_text("x")
        def test_b(): pass
        """,
        runs=False,
    )
    host.fork("test_a", "test_b", **how)
    places = [tmp_path / "kept" / "work", tmp_path / "new" / "kept" / "work"]
    assert [place.read_text() for place in places if place.exists()] == ["days of work"]
    sizes = [(tmp_path / name).stat().st_size for name in ("large", "larger") if (tmp_path / name).exists()]
    assert sizes == [5 << 20]


@pytest.fixture
def elsewhere():
    # Not below pytest's own folders, which are left alone in any case.
    with tempfile.TemporaryDirectory() as folder:
        yield pathlib.Path(folder, "log")


def test_files_outside_are_left_alone(run, elsewhere, tmp_path_factory, monkeypatch):
    elsewhere.write_text("a")
    os.utime(elsewhere, (1_000_000_000, 1_000_000_000))
    # Nothing here is below the folder for temporary files.
    monkeypatch.setenv("TMPDIR", str(tmp_path_factory.mktemp("temporary")))
    host = run(
        """
        import pathlib
        def test_a():
            with pathlib.Path(%r).open("a") as file: file.write("b")
        def test_b(): pass
        """
        % str(elsewhere),
        runs=False,
    )
    host.fork("test_a", "test_b", tidy=True)
    assert elsewhere.read_text() == "ab"


def test_a_tidy_job_leaves_files_as_it_found_them(run, tmp_path):
    host = run(
        """
        import pathlib
        FILE = pathlib.Path(__file__).parent / "file"
        OLD = pathlib.Path(__file__).parent / "pytest.ini"
        def test_a():
            FILE.write_text("x")
            OLD.write_text(OLD.read_text() + "# more\\n")
        def test_b(): assert not FILE.exists() and "more" not in OLD.read_text()
        """,
        runs=False,
    )
    for _ in range(2):
        assert host.ends(host.fork("test_a", "test_b", tidy=True)[0]) == [("test_a", "passed"), ("test_b", "failed")]
        assert host.ends(host.fork("test_b", tidy=True)[0]) == [("test_b", "passed")]
    assert host.ends(host.fresh("test_a", "test_b", tidy=True))[-1] == ("test_b", "failed")
    assert not (tmp_path / "file").exists() and "more" not in (tmp_path / "pytest.ini").read_text()
    host.fork("test_a")
    assert (tmp_path / "file").exists()


@pytest.mark.skipif(not os.access("/dev/shm", os.W_OK), reason="this system keeps no files in memory")
def test_files_in_memory_are_files(run, project, request):
    folder = tempfile.TemporaryDirectory(dir="/dev/shm", prefix="project-")
    request.addfinalizer(folder.cleanup)
    project.folder = pathlib.Path(folder.name)
    project.write("pytest.ini", "[pytest]\n")
    host = run(
        """
        import pathlib
        FILE = pathlib.Path(__file__).parent / "file"
        def test_a(): FILE.touch()
        def test_b(): assert not FILE.exists()
        """,
        runs=False,
    )
    check(host, "test_a", "test_b", "file:file")


def test_hostile_values_are_not_asked_anything(run, project):
    project.write(
        "shop.py",
        """
        class Evil:
            def __eq__(self, other): raise SystemExit("asked")
            def __hash__(self): return 1
            def __repr__(self): raise SystemExit("asked")
            def __getattribute__(self, name): raise SystemExit("asked")
            def __bool__(self): raise SystemExit("asked")
            def __len__(self): raise SystemExit("asked")
            def __iter__(self): raise SystemExit("asked")
        class Meta(type):
            def __getattribute__(cls, name): raise SystemExit("asked")
            def __eq__(cls, other): raise SystemExit("asked")
            def __hash__(cls): return 1
        class Strange(metaclass=Meta): pass
        class List(list):
            def __iter__(self): raise SystemExit("asked")
            def __len__(self): raise SystemExit("asked")
        EVIL, THINGS, MORE = Evil(), [Evil()], List([1])
        LOOP = []
        LOOP.append(LOOP)
        DEEP = []
        for _ in range(5000): DEEP = [DEEP]
        BIG = {n: [n] for n in range(100000)}
        """,
    )
    host = run(
        """
        import shop
        def test_a():
            shop.EVIL = shop.Evil()
            shop.THINGS.append(shop.EVIL)
            list.append(shop.MORE, 2)
            shop.LOOP.append(shop.EVIL)
        def test_b(): pass
        """
    )
    changes, _, outcome = state(host, "test_a", "test_b")
    assert {"global:shop:EVIL", "global:shop:THINGS", "global:shop:MORE", "global:shop:LOOP"} <= set(changes)
    assert state(host, "test_a", "test_b", undo=changes)[2] == outcome == "passed"


def test_looking_around_collects_no_garbage(run):
    # What only a weak reference finds would go, and with it what a victim meets.
    host = run(
        """
        import gc, sys
        SEEN = set()
        def note(phase, info):
            frame = sys._getframe(1)
            while frame:
                SEEN.add(frame.f_code.co_filename.rpartition("/")[2])
                frame = frame.f_back
        def test_a():
            gc.callbacks.append(note)
            gc.set_threshold(1)
        def test_b(): assert SEEN and not SEEN & {"heap.py", "files.py"}
        """,
        runs=False,
    )
    changes, _, outcome = state(host, "test_a", "test_b", reads=False)
    assert outcome == "passed" and "interpreter:garbage collection threshold" in changes
    assert "interpreter:garbage collection" not in changes


def test_many_changes_are_cut_and_said_to_be(run):
    host = run("import os\ndef test_a():\n    for n in range(1000): os.environ['V%d' % n] = 'x' * 10000\ndef test_b(): pass\n")
    peer, _ = host.fork("test_a", "test_b", state={"undo": [], "reads": True})
    [message] = peer.all("state")
    assert len(message["changes"]) == 300 and not message["complete"]
    assert all(len(change["after"]) < 200 for change in message["changes"])


def test_a_victim_that_dies_has_been_told_of_what_it_met(run):
    host = run("import os\ndef test_a(): os.environ['X'] = '1'\ndef test_b():\n    if 'X' in os.environ: os._exit(3)\n")
    peer, ended = host.fork("test_a", "test_b", state={"undo": [], "reads": True})
    assert [change["key"] for change in peer.all("state")[0]["changes"]] == ["env:X"]
    assert ended["status"] != 0
    assert state(host, "test_a", "test_b", undo=["env:X"])[2] == "passed"


def test_modules_are_undone_with_all_that_is_below_them(run, project):
    project.write("shop/__init__.py", "")
    project.write("shop/extra/__init__.py", "")
    project.write("shop/extra/deep.py", "")
    host = run(
        """
        import sys, shop
        def test_a(): import shop.extra.deep
        def test_b(): assert "shop.extra.deep" not in sys.modules and not hasattr(shop, "extra")
        """
    )
    check(host, "test_a", "test_b", "module:shop.extra")
