"""Cannot be imported, so that unittest reports a failed test in its place."""

import no_such_module_anywhere  # noqa: F401
