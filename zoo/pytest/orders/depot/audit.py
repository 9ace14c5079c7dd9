"""What is written down for the auditors."""
import logging

LOGGER = logging.getLogger("depot.audit")


def note(text):
    LOGGER.warning("%s", text)


def quieten():
    LOGGER.setLevel(logging.CRITICAL)
