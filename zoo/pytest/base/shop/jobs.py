"""A job in the background, one per process."""
import threading

_STOP = threading.Event()
_THREAD = None


def start():
    global _THREAD
    _STOP.clear()
    _THREAD = threading.Thread(target=_STOP.wait, daemon=True)
    _THREAD.start()


def finish():
    _STOP.set()
    _THREAD.join()


def busy():
    return _THREAD is not None and _THREAD.is_alive()
