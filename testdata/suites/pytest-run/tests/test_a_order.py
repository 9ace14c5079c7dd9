"""A test that spoils the process, and its victim. The file comes first."""


def test_polluter(process):
    process.polluted = True


def test_victim(process):
    # Fails wherever the polluter ran, and passes alone.
    assert not process.polluted


def test_in_a_burst(burst):
    # Fails until the last test of the suite has run.
    assert burst.exists()
