"""Everything arrives, however long it is, and what the host cannot read is never said."""

import pytest

PARAMETERS = """
import pytest

@pytest.mark.parametrize("n", range(%d), ids=lambda n: "%%d-" %% n + "%s" * %d)
def test_it(n): assert n != 7
"""


def names(host):
    return [name for part in host.main.all("tests") for name in part["ids"]]


@pytest.mark.parametrize(("count", "letter", "length"), [(1203, "x", 10), (600, "x", 4000), (300, "é", 1000)])
def test_long_names_arrive_in_parts_and_are_as_many_as_announced(run, count, letter, length):
    host = run(PARAMETERS % (count, letter, length), "-q", "--tb=no", "-p", "no:cacheprovider")
    (ready,) = host.main.all("ready")
    assert ready["total"] == len(names(host)) == len(set(names(host))) == count
    assert not host.main.all("oversized")
    # The host refuses messages above a limit; the parts are well below.
    assert (len(host.main.all("tests")) > 1) == (length > 10)
    assert [end["i"] for end in host.main.all("end")] == list(range(count))
    failed = [names(host)[end["i"]] for end in host.main.all("end") if end["outcome"] == "failed"]
    assert len(failed) == 1 and failed[0].startswith("test_it.py::test_it[7-")


def test_12000_ids_on_the_command_line(run):
    # pytest looks for each among all tests, so these are few.
    named = ["test_it.py::test_it[%d-%s]" % (n % 100, "x" * 60) for n in range(12000)]
    host = run(PARAMETERS % (100, "x", 60), "-q", "--tb=no", "-p", "no:cacheprovider", *named)
    assert host.main.hello["argv"][-12000:] == named
    assert host.main.hello["argv"][1:3] == ["-m", "pytest"]
    assert host.main.hello["env"]["COLUMNS"] == "100"
    assert [name for part in host.main.all("more") for name in part.get("named", ())] == named
    assert host.main.all("ready")[0]["total"] == len(names(host)) >= 100
    assert not host.main.all("oversized") and len(host.main.all("end")) == len(names(host))


def test_long_words_of_the_command_line_and_environment_arrive_whole(run):
    # Linux takes words of 128 KiB.
    word, value = "not " + "x" * 100_000, "é" * 60_000
    variables = {"LONG_%d" % n: value for n in range(9)}
    host = run("def test_a(): pass\n", "-k", word, variables=variables)
    assert host.main.hello["argv"][-1] == word
    assert {name: host.main.hello["env"][name] for name in variables} == variables
    assert not host.main.all("oversized") and host.ends() == [("test_a", "passed")]
    # They are what a new interpreter is started with.
    assert host.main.all("ready")[0]["total"] == 1


def test_long_files_on_the_command_line_do_not_keep_it_from_being_ready(run, project):
    folder = "/".join(["x" * 200] * 15)
    project.write(folder + "/test_far.py", "def test_a(): pass\n")
    host = run(None, *["%s/test_far.py::test_a" % folder] * 500)
    assert host.main.all("ready")[0]["total"] == len(names(host)) > 0
    assert not host.main.all("oversized") and host.exit_code == 0


@pytest.mark.parametrize("duration", ["-1.5", "float('nan')", "float('inf')", "1e300", "None"])
def test_a_time_that_cannot_be_is_still_a_number(run, project, duration):
    project.write(
        "conftest.py",
        """
        import pytest
        @pytest.hookimpl(hookwrapper=True)
        def pytest_runtest_makereport(item):
            report = (yield).get_result()
            if report.when == "call":
                report.duration = %s
        """
        % duration,
    )
    host = run("def test_a(): pass\ndef test_b(): assert 0\n", "-p", "no:terminal")
    assert host.ends() == [("test_a", "passed"), ("test_b", "failed")]
    assert all(0 <= end["ns"] < 1 << 63 for end in host.main.all("end"))


def test_an_exception_with_an_endless_name_is_told(run):
    host = run("def test_a(): raise type('E' * 2_000_000, (Exception,), {})\n", "-p", "no:terminal")
    (failure,) = host.failures("test_a")
    assert len(failure["kind"]) < 300 and not host.main.all("oversized")


def test_packages_are_named_once_with_their_versions(run, project):
    for name in ("Zope.Interface-5.0.dist-info", "my_shop-1.0-py3.11.egg-info", "old-name-2.0.dist-info", "none.dist-info"):
        project.write(name + "/METADATA", "")
    host = run("def test_a(): pass\n")
    (ready,) = host.main.all("ready")
    found = set(ready["packages"])
    assert {"zope-interface==5.0", "my-shop==1.0", "old-name==2.0"} <= found
    assert ready["packages"] == sorted(found) and not any("none" in package for package in found)
