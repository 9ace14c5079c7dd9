"""What tests leave behind for the next one: before the first of them everything is
looked at, and before the last one again. What is otherwise can be undone before that
last test runs, so that it shows whether that is what they share.
"""

import gc

from . import errors, files, heap, reads, surroundings

# By the process that forks, so that it is part of no test.
surroundings.prepare()

#: At most this many changes are reported; more help nobody.
CHANGES = 300
#: In which order changes are undone: modules before what is in them, variables
#: before what is made of them.
ORDER = ("module", "path", "global", "class", "patch", "cache", "env", "timezone")


class State:
    """Watches the tests of one job, one after another."""

    def __init__(self, order, agent):
        self._undo = frozenset(order.get("undo") or ())
        self._watches = bool(order.get("reads"))
        self._connection = agent.connection
        self._root = str(agent.config.rootpath)
        self._test_files = {str(item.path) for item in agent.items}
        self._left_by = {}
        self._changes = []
        self._reads = None
        with surroundings.Calm():
            self._tiers = heap.Tiers(self._root)
            self._files = files.Files(self._root)
            self._heap = heap.Heap(self._tiers, self._test_files)
            self._surroundings = surroundings.Surroundings(self._connection, self._root)
            # Nor must it be collected sooner than without us.
            gc.freeze()

    def left(self, index):
        """A test has ended that is not the last: what is otherwise since the
        beginning, whoever it was."""
        with surroundings.Calm():
            changes = dict(self._heap.changes(), **self._surroundings.changes())
            changes.update(self._files.changes())
        known, self._left_by = self._left_by, {}
        for key, change in changes.items():
            before = known.get(key)
            is_same = before is not None and before[1] == change.after
            self._left_by[key] = (before[0] if is_same else index, change.after)
            change.left_by = self._left_by[key][0]
        self._changes = list(changes.values())

    def before_last(self):
        """The last test is about to begin."""
        changes = self._changes
        undone = [change for change in changes if change.key in self._undo and change.undo is not None]
        place = {kind: number for number, kind in enumerate(ORDER)}
        failed = set()
        with surroundings.Calm():
            for change in sorted(undone, key=lambda change: place.get(change.kind, len(ORDER))):
                try:
                    change.undo()
                except OSError:
                    failed.add(change.key)
                except Exception as error:
                    errors.note(error)
                    failed.add(change.key)
        told = changes[:CHANGES]
        self._connection.send(
            {
                "t": "state",
                "complete": self._heap.is_complete and len(told) == len(changes),
                "changes": [
                    {
                        "key": surroundings.text(change.key, 400),
                        "kind": change.kind,
                        "name": surroundings.text(change.name),
                        "before": surroundings.text(change.before),
                        "after": surroundings.text(change.after),
                        "can_undo": change.undo is not None and change.key not in failed,
                        "left_by": change.left_by,
                    }
                    for change in told
                ],
            }
        )
        if self._watches and told:
            self._reads = reads.Reads(self._tiers, self._root, self._test_files, told)
            self._reads.start()

    def after_last(self):
        """It has ended."""
        if self._reads is not None:
            told = []
            for key, (file, line) in self._reads.stop().items():
                told.append([surroundings.text(key, 400), file and surroundings.text(file, 4096), line])
            self._connection.send({"t": "state_read", "reads": told})
        self._files.restore()
