"""The end of the burst: the file comes last."""


def test_burst_ends(burst):
    burst.touch()
