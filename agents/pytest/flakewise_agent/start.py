"""What Flakewise does inside pytest; runs in the namespace of the package.

The host injects this package with ``-p flakewise_agent``; nothing is installed.
It decides nothing: which test runs again, and when, is the host's business.

There are four kinds of process, each with a connection of its own:

*main*    runs the suite, as pytest would without us. When a test fails, the host
          is asked whether to run it again at once; after the suite, it may ask
          for tests to be run again before the session's fixtures go away.
*zygote*  is forked from main when everything is collected and nothing has run.
          It only forks.
*child*   is forked from the zygote: a process in which no test has run yet.
*fresh*   is a new interpreter, started by the host, that runs a few tests and
          can watch what they depend on.
"""

import os
import sys


def _start():
    environment = os.environ
    path = environment.get("FLAKEWISE_SOCKET")
    if not path:
        return None
    # Whatever the tests start must not find us.
    variables = {name: environment.pop(name) for name in list(environment) if name.startswith("FLAKEWISE_AGENT_")}
    token = environment.pop("FLAKEWISE_TOKEN", "")
    del environment["FLAKEWISE_SOCKET"]
    role = variables.get("FLAKEWISE_AGENT_ROLE", "main")
    changed = ("PYTEST_ADDOPTS", "PYTHONPATH") + (("COVERAGE_FILE",) if role == "fresh" else ())
    for name in changed:
        original = variables.get("FLAKEWISE_AGENT_OLD_" + name)
        if original is None:
            environment.pop(name, None)
        else:
            environment[name] = original
    from . import plugin, wire

    connection = wire.Connection(path, token)
    facts = plugin.facts(variables)
    folder = os.path.dirname(loader.folder)
    facts["path"] = [entry for entry in facts["path"] if entry != folder]
    if role == "main":
        limit = wire.WORD_LIMIT
        facts["env"] = {wire.text(name, limit): wire.text(value, limit) for name, value in environment.items()}
    try:
        connection.open(role, **facts)
    except OSError:
        return None
    job = connection.receive()
    if job is None:
        return None
    observer = None
    if role == "fresh" and job.get("observe"):
        from . import observe

        observer = observe.Observer(job["trail"], job["changed"])
        observer.start()
    # Nobody else may import us.
    sys.path[:] = [entry for entry in sys.path if entry != folder]
    return plugin.start(role, connection, job, observer)


_agent = _start()

if _agent is not None:
    import pytest

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_cmdline_main(config):
        """Takes part once all plugins are known, until pytest returns."""
        _agent.configure(config)
        outcome = yield
        _agent.returned(outcome)

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_load_initial_conftests(early_config):
        _agent.prepare(early_config)
        yield
