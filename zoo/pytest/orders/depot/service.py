"""The depot as a service: signals and workers."""
import signal
import threading


def on_signal(action):
    signal.signal(signal.SIGUSR2, action)


def listens():
    return signal.getsignal(signal.SIGUSR2) not in (signal.SIG_DFL, signal.SIG_IGN)


def start_worker(until):
    """A worker that waits for an event."""
    worker = threading.Thread(target=until.wait, name="depot-worker", daemon=True)
    worker.start()
    return worker


def workers():
    return [thread for thread in threading.enumerate() if thread.name.startswith("depot-")]
