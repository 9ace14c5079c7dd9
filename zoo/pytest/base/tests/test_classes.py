"""State of instances and classes."""
from zoohelp import nth


class TestInstance:
    def test_new_instance_every_time(self):
        # transient: fails once, and asks for a new instance the second time.
        # It is broken for good if a rerun keeps the instance.
        assert not hasattr(self, "used"), "the instance of the first attempt was kept"
        self.used = True
        assert nth("instance") > 1, "first time in this class"

    def test_no_shared_instance(self):
        # passes: another test's instance is another instance.
        assert not hasattr(self, "used")


class TestClassAttribute:
    seen = []

    def test_a_adds(self):
        # passes, and leaves its entry in a list of the class.
        self.seen.append("a")

    def test_b_expects_none(self):
        # state-dependent: victim of test_a_adds.
        assert "a" not in self.seen, "the list of the class is not empty"


class TestNested:
    class TestInner:
        def test_deep_down(self):
            # transient: fails once, in a nested class.
            assert nth("nested") > 1, "first time in a nested class"
