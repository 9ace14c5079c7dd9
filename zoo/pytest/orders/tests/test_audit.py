"""What is written down. The logger is one for the whole process."""
import logging

from depot import audit


def test_note_is_written_down(caplog):
    # A victim of whoever makes the logger quiet.
    audit.note("opened")
    assert caplog.messages == ["opened"]


def test_note_at_any_level(caplog):
    # Innocent: caplog sets the level back.
    with caplog.at_level(logging.ERROR, logger="depot.audit"):
        audit.note("opened")
    assert caplog.messages == []


def test_logger_is_of_the_depot():
    assert audit.LOGGER.name == "depot.audit"


class TestOther:
    """Loggers that are nobody's concern."""

    def test_other_logger(self):
        # Innocent: leaves a level behind that nobody looks at.
        logging.getLogger("depot.other").setLevel(logging.CRITICAL)
        assert not logging.getLogger("depot.other").isEnabledFor(logging.WARNING)

    def test_handler_is_removed(self):
        # Innocent: cleans up after itself.
        handler = logging.NullHandler()
        audit.LOGGER.addHandler(handler)
        try:
            assert handler in audit.LOGGER.handlers
        finally:
            audit.LOGGER.removeHandler(handler)
