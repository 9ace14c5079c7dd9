"""One test for each thing that unittest-xml-reporting can express."""

import os
import sys
import unittest


class Orders(unittest.TestCase):
    def test_passes(self):
        # Nothing to see: the plain green case, with no output.
        self.assertEqual(2 + 2, 4)

    def test_described(self):
        """A test with a description: <what> & why."""

    def test_fails_with_awkward_message(self):
        # Everything an XML writer must escape, over more than one line.
        print("to stdout: \x1b[31mred\x1b[0m <tag> & \"quotes\" café 日本語")
        print("a control char: [\x01] and ]]> the end of a CDATA section")
        print("to stderr: \x1b[1;33mwarning\x1b[0m", file=sys.stderr)
        self.fail(
            "expected <total> & \"tax\" to be 'équal': 3 ≠ 4\n"
            "second line: \x1b[32mnaïve\x1b[0m café 日本語 🦀\n"
            "\tthird line with a control char [\x01]"
        )

    def test_raises(self):
        # An exception that is no failed assertion: an error.
        raise ValueError("no such order: <42>")

    @unittest.skip("not on <this> platform & \"never\" — é")
    def test_skipped(self):
        # Skipped where it is declared, with a reason.
        self.fail("must not run")

    def test_skipped_while_running(self):
        # Skipped from inside the body.
        self.skipTest("decided at run time")

    @unittest.expectedFailure
    def test_expected_failure(self):
        # Fails as foretold.
        self.assertEqual(1, 2)

    @unittest.expectedFailure
    def test_unexpected_success(self):
        # Passes although it was foretold to fail.
        self.assertEqual(1, 1)

    def test_sub_tests(self):
        # Two of the three fail, one with awkward text.
        for text in ("ok", "not ok :: [1] (x)", "naïve"):
            with self.subTest("case", text=text):
                self.assertEqual(text, "ok")

    def test_output(self):
        # A green test which writes to both streams.
        print("hello from stdout")
        print("hello from stderr", file=sys.stderr)

    def test_flaky_by_round(self):
        # Fails in round 1 only, so that two runs of one commit differ.
        self.assertNotEqual(os.environ.get("FLAKEWISE_ROUND"), "1", "failed in round 1")


class BrokenSetUp(unittest.TestCase):
    def setUp(self):
        raise RuntimeError("set-up broke: cannot reach <db> & co")

    def test_never_runs(self):
        # Never runs: see the set-up.
        pass


class BrokenClass(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        raise RuntimeError("the class's set-up broke")

    def test_never_runs(self):
        # Never runs: see the set-up.
        pass


class BrokenTearDown(unittest.TestCase):
    def tearDown(self):
        raise RuntimeError("tear-down broke")

    def test_passes_then_teardown_breaks(self):
        # The body passes.
        pass

    def test_fails_then_teardown_breaks(self):
        # The body fails, and then the tear-down raises too.
        self.fail("the body failed")


class Outer:
    class Inner(unittest.TestCase):
        def test_in_nested_class(self):
            # A method of a class within a class.
            pass


class Inherited(Outer.Inner):
    # Finds the method above, which unittest would not find by itself.
    pass
