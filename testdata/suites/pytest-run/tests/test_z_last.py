"""The end of the burst: the file comes last."""


def test_burst_ends(process):
    process.burst_is_over = True
