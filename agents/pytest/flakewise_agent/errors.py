"""Exceptions inside of the agent that it survives: counted, and reported to the host.

What tests and plug-ins do may surprise the agent anywhere. It then knows less, but
a bug of the agent must not stay unknown.
"""

#: How many sites are distinguished. What is raised elsewhere counts for the last.
SITES = 50
TEXT_LIMIT = 200

_found = {}
_is_busy = False


def note(error):
    """Counts an exception that is caught and survived. Reading a traceback raises an
    audit event, and our own audit hook may call this again."""
    global _is_busy
    if not _is_busy:
        _is_busy = True
        try:
            count(error)
        finally:
            _is_busy = False


def count(error):
    site = "unknown"
    entry = error.__traceback__
    while entry is not None:
        code = entry.tb_frame.f_code
        if code.co_filename.startswith("<flakewise "):
            site = "%s:%d in %s" % (code.co_filename[len("<flakewise ") : -1], entry.tb_lineno, code.co_name)
        entry = entry.tb_next
    if site not in _found:
        if len(_found) >= SITES:
            site = next(reversed(_found))
        else:
            _found[site] = [0, worded(error)]
    _found[site][0] += 1


def worded(error):
    """The exception in a line."""
    name = type(error).__name__
    try:
        return ("%s: %s" % (name, error)).split("\n")[0][:TEXT_LIMIT]
    except Exception:  # One of the project's own may raise anything here.
        return name


def clear():
    """For a process that was forked: its parent tells what happened before."""
    _found.clear()


def taken():
    """Messages for the host, each once."""
    messages = [
        {"t": "internal_error", "site": site, "error": error.encode("utf-8", "backslashreplace").decode(), "count": count}
        for site, (count, error) in _found.items()
    ]
    clear()
    return messages
