"""Running a test again, at once or after the suite."""

import pytest


def first_only(name, phase):
    return phase == "first"


def test_outer_fixtures_stay_and_function_fixtures_are_new(run):
    host = run(
        """
        import pytest
        counts = {}
        def make(scope):
            @pytest.fixture(scope=scope)
            def fixture():
                counts[scope] = counts.get(scope, 0) + 1
                yield counts[scope]
                counts[scope + " down"] = counts.get(scope + " down", 0) + 1
            return fixture
        session, module, cls, function = map(make, ("session", "module", "class", "function"))

        def test_before(session, module): pass

        class TestIt:
            instances = set()
            def test_a(self, session, module, cls, function):
                assert "mark" not in vars(self)
                self.mark = 1
                self.instances.add(self)
                assert (session, module, cls) == (1, 1, 1)
                assert function == 3, function
                assert len(self.instances) == 3
                assert counts.get("function down") == 2
                assert "class down" not in counts
        """,
        again=lambda name, phase: True,
    )
    assert [outcome for _, outcome in host.ends()] == ["passed", "failed", "failed", "passed"]


def test_a_broken_outer_fixture_is_set_up_anew(run):
    host = run(
        """
        import pytest
        tries = []
        @pytest.fixture(scope="session")
        def whole():
            tries.append("session")
            if tries.count("session") == 1: raise ValueError("session")
        @pytest.fixture(scope="module")
        def shared(whole):
            tries.append("module")
            if tries.count("module") == 1: raise ValueError("module")
        def test_a(shared): pass
        def test_b(shared): assert tries == ["session", "session", "module", "module"]
        """,
        again=lambda name, phase: True,
    )
    assert host.ends() == [("test_a", "errored"), ("test_a", "errored"), ("test_a", "passed"), ("test_b", "passed")]


def test_unittest_classes_are_set_up_once_and_instances_anew(run):
    host = run(
        """
        import unittest
        log = []
        class TestIt(unittest.TestCase):
            @classmethod
            def setUpClass(cls): log.append("class")
            @classmethod
            def tearDownClass(cls): log.append("class down")
            def setUp(self):
                assert not hasattr(self, "mark")
                self.mark = True
                log.append("set up")
            def tearDown(self): log.append("down")
            def test_a(self):
                assert log.count("set up") == 3
        class TestAsync(unittest.IsolatedAsyncioTestCase):
            count = 0
            async def test_b(self):
                type(self).count += 1
                self.assertEqual(self.count, 2)
        def test_log():
            assert log == ["class", "set up", "down", "set up", "down", "set up", "down", "class down"]
        """,
        again=lambda name, phase: True,
    )
    assert host.ends() == [
        ("TestIt::test_a", "failed"),
        ("TestIt::test_a", "failed"),
        ("TestIt::test_a", "passed"),
        ("TestAsync::test_b", "failed"),
        ("TestAsync::test_b", "passed"),
        ("test_log", "passed"),
    ]


def test_a_broken_set_up_class_is_tried_anew(run):
    host = run(
        """
        import unittest
        class TestIt(unittest.TestCase):
            tries = 0
            @classmethod
            def setUpClass(cls):
                cls.tries += 1
                if cls.tries == 1: raise ValueError
            def test_a(self): pass
        """,
        again=first_only,
    )
    assert host.ends() == [("TestIt::test_a", "errored"), ("TestIt::test_a", "passed")]


def test_doctests_run_again_with_all_their_names(run, project):
    project.write(
        "thing.py",
        '''
        calls = []
        def call():
            """
            >>> calls.append(1)
            >>> len(calls)
            2
            """
        ''',
    )
    host = run(None, "--doctest-modules", "thing.py", again=first_only, postpone=[["thing.call"]])
    assert host.ends() == [("thing.call", "failed"), ("thing.call", "passed"), ("thing.call", "failed")]
    assert "Got:" in host.failures("thing.call")[-1]["trace"] and "NameError" not in host.failures("thing.call")[-1]["trace"]


def test_a_rerun_is_no_gentler(run):
    host = run(
        """
        import logging
        import warnings
        def test_warning(): warnings.warn("careful", DeprecationWarning)
        def test_explained():
            numbers = [1, 2]
            assert sum(numbers) == 4
        def test_captured(capsys, caplog, recwarn, tmp_path, monkeypatch):
            print("out")
            logging.getLogger().warning("log")
            assert capsys.readouterr().out == "out\\n" and len(caplog.records) == 1
            assert not list(tmp_path.iterdir())
            (tmp_path / "file").write_text("")
            assert 0
        """,
        "-W",
        # Some plugins warn of themselves.
        "error:careful",
        again=first_only,
        postpone=[["test_warning", "test_explained", "test_captured"]],
    )
    assert [outcome for _, outcome in host.ends()] == ["failed"] * 9
    assert {failure["kind"] for failure in host.failures("test_warning")} == {"DeprecationWarning"}
    for failure in host.failures("test_explained"):
        assert "assert 3 == 4" in failure["message"] and "sum([1, 2])" in failure["message"]
    for failure in host.failures("test_captured"):
        assert failure["message"].startswith("assert 0")
    fork, _ = host.fork("test_explained")
    assert "sum([1, 2])" in host.failures("test_explained", fork)[0]["message"]
    fork, _ = host.fork("test_warning")
    assert host.failures("test_warning", fork)[0]["kind"] == "DeprecationWarning"


def test_a_test_that_fails_in_its_teardown_runs_again(run):
    host = run(
        """
        import pytest
        downs = []
        @pytest.fixture
        def leaves():
            yield
            downs.append(1)
            assert len(downs) > 1
        def test_a(leaves): pass
        """,
        again=first_only,
    )
    assert host.story()[:6] == [
        "test_a first", "test_a ask", "test_a errored", "test_a rerun", "test_a passed", "suite_end",
    ]  # fmt: skip


def test_postponed_runs_come_before_the_session_ends(run):
    host = run(
        """
        import pytest
        log = []
        @pytest.fixture(scope="session")
        def whole():
            log.append("session")
            yield log
            log.append("session down")
        @pytest.fixture(scope="module")
        def shared(whole):
            log.append("module")
            yield
            log.append("module down")
        def test_first(shared): assert len(log) > 2, log
        def test_between(): pass
        def test_last(shared): assert log[-1] == "module" and log.count("module") == 4, log
        """,
        postpone=[["test_first", "test_last"], ["test_last"]],
    )
    assert host.story() == [
        "test_first first",
        "test_first ask",
        "test_first failed",
        "test_between first",
        "test_between passed",
        "test_last first",
        "test_last ask",
        "test_last failed",
        "suite_end",
        "test_first postpone",
        "test_first passed",
        "test_last postpone",
        "test_last ask",
        "test_last failed",
        "ran",
        "test_last postpone",
        "test_last passed",
        "ran",
        "bye",
    ]
    assert not host.notices()


def test_reruns_do_not_count_for_maxfail_and_stop_is_obeyed(run):
    host = run(
        "import pytest\n@pytest.mark.parametrize('n', range(5))\ndef test_a(n): assert 0\n",
        "--maxfail=2",
        again=first_only,
        postpone=[["test_a[0]"]],
    )
    assert host.ends() == [("test_a[0]", "failed")] * 2 + [("test_a[1]", "failed")] * 2 + [("test_a[0]", "failed")]
    assert "2 failed" in host.text and host.exit_code == 1


@pytest.mark.parametrize("statement", ["raise SystemExit(3)", "pytest.exit('out')", "pytest.skip('later')"])
def test_a_rerun_may_end_otherwise(run, statement):
    host = run(
        """
        import pytest
        tries = []
        def test_a():
            tries.append(1)
            assert len(tries) > 1
            %s
        def test_b(): pass
        """
        % statement,
        again=first_only,
        postpone=[["test_b"]],
    )
    outcomes = {"raise SystemExit(3)": "failed", "pytest.exit('out')": "errored", "pytest.skip('later')": "skipped"}
    assert host.ends() == [
        ("test_a", "failed"),
        ("test_a", outcomes[statement]),
        ("test_b", "passed"),
        ("test_b", "passed"),
    ]
    assert "1 failed, 1 passed" in host.text
    assert "PluggyTeardownRaisedWarning" not in host.text


def test_an_interrupt_in_a_rerun_ends_the_suite(run):
    host = run(
        """
        import os, signal
        tries = []
        def test_a():
            tries.append(1)
            if len(tries) > 1: os.kill(os.getpid(), signal.SIGINT)
            assert 0
        def test_b(): pass
        """,
        again=first_only,
    )
    assert host.exit_code == 2
    assert ("test_b", "passed") not in host.ends()
    assert host.main.all("suite_end")[0]["wanted"] is False


def test_fixture_parameters_survive(run):
    host = run(
        """
        import pytest
        counts = {}
        @pytest.fixture(scope="module", params=["x", "y"])
        def shared(request): return request.param
        @pytest.mark.parametrize("n", [1, 2])
        def test_a(shared, n, request):
            key = shared, n
            counts[key] = counts.get(key, 0) + 1
            assert counts[key] == 2
        """,
        again=first_only,
    )
    assert len(host.ends()) == 8
    assert [outcome for _, outcome in host.ends()] == ["failed", "passed"] * 4
