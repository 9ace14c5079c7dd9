"""Cannot be imported, so that pytest reports a collection error."""

import no_such_module_anywhere  # noqa: F401


def test_never_collected():
    # Never found, as the import above fails.
    pass
