"""What main says, and in which order."""

import pytest


def test_every_outcome_is_told_in_order(run):
    host = run(
        """
        import pytest

        def test_passes(): pass
        def test_fails(): assert 1 == 2
        @pytest.mark.skip(reason="not today")
        def test_skips(): pass
        def test_skips_itself(): pytest.skip("not now")
        @pytest.mark.xfail(reason="known")
        def test_xfails(): assert 0
        @pytest.mark.xfail
        def test_xpasses(): pass
        @pytest.mark.xfail(strict=True, reason="should not")
        def test_xpasses_strictly(): pass
        @pytest.fixture
        def broken(): raise ValueError("set-up")
        def test_is_not_set_up(broken): pass
        @pytest.fixture
        def leaves(): yield; raise OSError("tear-down")
        def test_is_not_torn_down(leaves): pass
        def test_fails_and_is_not_torn_down(leaves): raise KeyError("call")
        def test_last(): pass
        """
    )
    assert host.story() == [
        "test_passes first",
        "test_passes passed",
        "test_fails first",
        "test_fails ask",
        "test_fails failed",
        "test_skips first",
        "test_skips skipped",
        "test_skips_itself first",
        "test_skips_itself skipped",
        "test_xfails first",
        "test_xfails skipped",
        "test_xpasses first",
        "test_xpasses passed",
        "test_xpasses_strictly first",
        "test_xpasses_strictly ask",
        "test_xpasses_strictly failed",
        "test_is_not_set_up first",
        "test_is_not_set_up ask",
        "test_is_not_set_up errored",
        "test_is_not_torn_down first",
        "test_is_not_torn_down ask",
        "test_is_not_torn_down errored",
        "test_fails_and_is_not_torn_down first",
        "test_fails_and_is_not_torn_down ask",
        "test_fails_and_is_not_torn_down failed",
        "test_last first",
        "test_last passed",
        "suite_end",
        "bye",
    ]
    assert host.exit_code == 1

    def failure(name):
        (failure,) = host.failures(name)
        return failure["kind"], failure["when"], failure["message"].split("\n")[0]

    assert failure("test_fails") == ("AssertionError", "call", "assert 1 == 2")
    assert failure("test_skips")[1:] == ("setup", "Skipped: not today")
    assert failure("test_skips_itself")[1:] == ("call", "Skipped: not now")
    assert failure("test_xfails")[2] == "known"
    assert failure("test_xpasses_strictly")[2] == "[XPASS(strict)] should not"
    assert failure("test_is_not_set_up") == ("ValueError", "setup", "ValueError: set-up")
    assert failure("test_is_not_torn_down") == ("OSError", "teardown", "OSError: tear-down")
    assert failure("test_fails_and_is_not_torn_down") == ("KeyError", "call", "KeyError: 'call'")
    (told,) = host.failures("test_fails")
    assert told["file"].endswith("test_it.py") and told["line"] == 4
    assert ">" in told["trace"] and "assert 1 == 2" in told["trace"]


def test_tests_and_readiness_come_before_the_first_test(run, project):
    host = run("def test_a(): pass\ndef test_b(): pass\n")
    assert [message["t"] for message in host.main.messages] == [
        "tests", "ready", "start", "end", "start", "end", "suite_end", "finished", "bye",
    ]  # fmt: skip
    tests, ready = host.main.messages[:2]
    assert tests == {"t": "tests", "ids": ["test_it.py::test_a", "test_it.py::test_b"]}
    packages, finishers = ready.pop("packages"), ready.pop("finishers")
    root = str(project.folder)
    assert ready == {"t": "ready", "total": 2, "forks": True, "reason": None, "root": root, "seeds": {}}
    assert packages == sorted(packages) and isinstance(finishers, list)
    assert any(package.startswith("pytest==") for package in packages)
    hello = host.main.hello
    assert hello["runner"] == "pytest" and hello["cwd"] == str(project.folder)
    assert hello["argv"][1:3] == ["-m", "pytest"] and hello["env"]["COLUMNS"] == "100"
    assert host.zygote.hello["job"] == 0


def test_durations_do_not_count_our_questions(run):
    host = run("import time\ndef test_a(): time.sleep(0.05)\n")
    (end,) = host.main.all("end")
    assert 0.05e9 <= end["ns"] < 20e9


def test_no_tests_are_none(run):
    host = run("")
    assert host.exit_code == 5
    assert host.story() == ["suite_end", "bye"]
    assert host.main.all("ready")[0]["total"] == 0 and host.main.all("tests") == []


def test_what_cannot_be_collected_is_told(run, project):
    project.write("test_broken.py", "import missing_thing\n")
    host = run("def test_a(): pass\n")
    (error,) = host.main.all("collect_error")
    assert error["id"] == "test_broken.py" and error["failure"]["when"] == "collect"
    assert "missing_thing" in error["failure"]["message"]
    assert host.exit_code == 2 and host.main.said_bye and not host.main.all("start")


def test_collection_errors_need_not_stop_the_suite(run, project):
    project.write("test_broken.py", "import missing_thing\n")
    host = run("def test_a(): pass\n", "--continue-on-collection-errors")
    assert len(host.main.all("collect_error")) == 1
    assert host.ends() == [("test_a", "passed")]


@pytest.mark.parametrize("options", ["--collect-only", "--help", "--fixtures", "--markers", "--version --version"])
def test_sessions_without_tests_end_well(run, project, options):
    host = run("def test_a(): pass\n", *options.split())
    assert host.exit_code == 0 and host.main.said_bye and not host.main.all("start")


def test_equal_names_are_told_apart(run, project):
    project.write(
        "conftest.py",
        """
        import pytest
        def fails(): assert 0
        def pytest_collection_modifyitems(items):
            items.append(pytest.Function.from_parent(items[0].parent, name="test_a", callobj=fails))
        """,
    )
    host = run("def test_a(): pass\n")
    assert host.names == ["test_it.py::test_a", "test_it.py::test_a#2"]
    assert host.ends() == [("test_a", "passed"), ("test_a#2", "failed")]
    # A new interpreter knows them by the same names.
    assert host.ends(host.fresh("test_a#2")) == [("test_a#2", "failed")]


def test_any_name_is_valid_json(run):
    host = run(
        """
        import pytest

        @pytest.mark.parametrize("value", [pytest.param(1, id="caf\\u00e9"), pytest.param(2, id="a::b[c]/d e")])
        def test_names(value): pass
        def test_ünïcode(): pass
        def test_message(): raise ValueError("\\udc80 \\x00 \\U0001f600")
        """,
        "-p",
        "no:terminal",
    )
    assert [outcome for _, outcome in host.ends()] == ["passed", "passed", "passed", "failed"]
    assert "test_it.py::test_ünïcode" in host.names
    assert "\\udc80" in host.failures("test_message")[0]["message"]


def test_a_long_message_is_cut_and_one_that_cannot_be_shown_is_none(run):
    host = run(
        """
        def test_long(): raise ValueError("x" * 10_000_000)
        def test_hostile():
            class Hostile(Exception):
                def __str__(self): raise RuntimeError("no")
                __repr__ = __str__
            raise Hostile
        """,
        "-p",
        "no:terminal",
    )
    assert host.ends() == [("test_long", "failed"), ("test_hostile", "failed")]
    assert len(host.failures("test_long")[0]["trace"]) < 70_000
    assert not host.main.all("oversized")


def test_one_end_that_stops_the_suite(run):
    host = run("def test_a(): assert 0\ndef test_b(): pass\n", "-x")
    (end,) = host.main.all("suite_end")
    assert end["wanted"] and end["stopped"] == "stopping after 1 failures"
    assert host.exit_code == 1


@pytest.mark.parametrize(
    ("statement", "code", "wanted"),
    [("raise KeyboardInterrupt", 2, False), ("pytest.exit('enough', 7)", 7, True)],
)
def test_an_exception_that_ends_pytest(run, statement, code, wanted):
    host = run("import pytest\ndef test_a(): pass\ndef test_b(): %s\ndef test_c(): pass\n" % statement)
    assert host.exit_code == code
    assert host.ends() == [("test_a", "passed"), ("test_b", "errored")]
    (end,) = host.main.all("suite_end")
    assert end["wanted"] is wanted and end["stopped"]
    assert host.main.said_bye


class TestSubtests:
    def test_unittest_subtests_belong_to_their_test(self, run, request):
        host = run(
            """
            import unittest

            class TestIt(unittest.TestCase):
                def test_one_fails(self):
                    for n in range(3):
                        with self.subTest(n=n):
                            self.assertNotEqual(n, 1)
                def test_none_fails(self):
                    for n in range(3):
                        with self.subTest(n=n):
                            pass
            """
        )
        # Without support for sub-tests, the first failing one ends the test.
        assert sorted(host.ends()) == [("TestIt::test_none_fails", "passed"), ("TestIt::test_one_fails", "failed")]

    @pytest.mark.runner(9)
    def test_a_failed_subtest_fails_its_test(self, run):
        host = run(
            """
            import time
            def test_one(subtests):
                for n in range(3):
                    with subtests.test(n=n):
                        time.sleep(0.02)
                        assert n != 1
            def test_two(subtests):
                with subtests.test(n=0):
                    pass
            def test_three(subtests):
                import pytest
                with subtests.test(n=0):
                    pytest.skip("this part")
            """
        )
        assert host.ends() == [("test_one", "failed"), ("test_two", "passed"), ("test_three", "passed")]
        assert 0.06e9 <= host.main.all("end")[0]["ns"] < 20e9

    @pytest.mark.runner(9)
    def test_a_rerun_counts_its_own_subtests_only(self, run):
        host = run(
            """
            count = 0
            def test_one(subtests):
                global count
                count += 1
                with subtests.test():
                    assert count > 1
            def test_two(subtests):
                with subtests.test():
                    assert 0
            """,
            again=lambda name, phase: phase == "first",
        )
        assert host.ends() == [("test_one", "failed"), ("test_one", "passed"), ("test_two", "failed"), ("test_two", "failed")]


def test_a_terse_job_tells_outcomes_and_works_out_no_traces(run):
    host = run(
        """
        import unittest, pytest
        def test_a(): assert 1 == 2
        class TestIt(unittest.TestCase):
            def test_b(self): self.assertEqual(1, 2)
        @pytest.fixture
        def broken(): raise ValueError("broken")
        def test_c(broken): pass
        @pytest.mark.xfail
        def test_d(): assert 0
        """,
        runs=False,
    )
    names = ("test_a", "TestIt::test_b", "test_c", "test_d")
    outcomes = list(zip(names, ("failed", "failed", "errored", "skipped")))
    for order, traces in (({}, True), ({"terse": True}, False)):
        for peer in (host.fork(*names, **order)[0], host.fresh(*names, **order)):
            assert host.ends(peer) == outcomes
            assert all(("def test_a" in failure["trace"]) == traces for failure in host.failures("test_a", peer))
            assert "1 == 2" in host.failures("test_a", peer)[0]["message"]
