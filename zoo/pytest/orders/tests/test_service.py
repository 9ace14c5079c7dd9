"""The service: its signals and its workers."""
import signal
import threading

from depot import service


def test_nobody_listens():
    # A victim of whoever leaves a handler.
    assert not service.listens()


def test_no_worker_is_there():
    # A victim of whoever leaves a thread.
    assert service.workers() == []


class TestRunning:
    def test_listens(self):
        # A polluter: leaves its handler.
        service.on_signal(lambda *_: None)
        assert service.listens()

    def test_worker_waits(self):
        # A polluter: leaves its thread.
        service.start_worker(threading.Event())
        assert service.workers()

    def test_worker_ends(self):
        # Innocent: waits for its thread.
        event = threading.Event()
        worker = service.start_worker(event)
        event.set()
        worker.join()
        assert not worker.is_alive()

    def test_listens_for_a_while(self):
        # Innocent: sets back the handler it found.
        before = signal.getsignal(signal.SIGUSR2)
        service.on_signal(lambda *_: None)
        try:
            assert service.listens()
        finally:
            service.on_signal(before)
