import unittest

from zoohelp import nth


class TestLedger(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.entries = ["opening"]

    def setUp(self):
        self.mine = list(self.entries)

    def test_entry_fails_once(self):
        # transient.
        self.mine.append("entry")
        self.assertEqual(len(self.mine), 2)
        self.assertGreater(nth("ledger"), 1, "the ledger needs a second look")

    def test_opening(self):
        # passes.
        self.assertEqual(self.entries, ["opening"])

    def test_sub_test_fails_once(self):
        # transient: one of three sub-tests fails, once.
        first = nth("sub-test") == 1
        for name in ["one", "two", "three"]:
            with self.subTest(name=name):
                self.assertFalse(first and name == "two", "the second sub-test fails once")


class TestLateServer(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if nth("set-up-class") == 1:
            raise OSError("the server of the class did not come up")

    def test_server(self):
        # transient if a rerun sets the class up again; bursty if a rerun gets
        # the error that pytest keeps with fixtures of the class.
        pass


class TestCleanUp(unittest.TestCase):
    def test_clean_up_fails_once(self):
        # transient: a clean-up fails, once.
        def clean_up():
            if nth("clean-up") == 1:
                raise OSError("the ledger could not be closed")

        self.addCleanup(clean_up)


class TestAsync(unittest.IsolatedAsyncioTestCase):
    async def test_coroutine_fails_once(self):
        # transient.
        self.assertGreater(nth("coroutine"), 1, "the coroutine needs a second look")
