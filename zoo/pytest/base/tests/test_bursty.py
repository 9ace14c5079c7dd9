"""Something is in the way for a while: later, in the same process, it is gone.

Each has a test that puts it in the way and a later one that takes it away. The
victim between them fails, fails again at once, and passes after the suite.
"""
import fcntl
import os
import socket

from shop import jobs
from zoohelp import nth, state

HELD = {}


def test_port_a_is_taken():
    # passes, and holds a port that test_port_c gives back.
    HELD["port"] = socket.socket()
    HELD["port"].bind(("127.0.0.1", 0))
    HELD["port"].listen()
    state("port").write_text(str(HELD["port"].getsockname()[1]))


def test_port_b_is_needed():
    # bursty: the port is in use until test_port_c.
    port = int(state("port").read_text()) if state("port").exists() else 0
    with socket.socket() as server:
        server.bind(("127.0.0.1", port))


def test_port_c_is_free_again():
    # passes.
    if "port" in HELD:
        HELD.pop("port").close()


def test_lock_a_is_taken():
    # passes, and holds the lock of a file that test_lock_c gives back.
    HELD["lock"] = open(state("lock"), "w")
    fcntl.flock(HELD["lock"], fcntl.LOCK_EX)


def test_lock_b_is_needed():
    # bursty: the file is locked until test_lock_c. BlockingIOError.
    with open(state("lock"), "a") as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


def test_lock_c_is_free_again():
    # passes.
    if "lock" in HELD:
        HELD.pop("lock").close()


def test_job_a_starts():
    # passes, and leaves a thread running that test_job_c ends.
    jobs.start()


def test_job_b_wants_quiet():
    # bursty: the thread runs until test_job_c.
    assert not jobs.busy(), "a job in the background is still running"


def test_job_c_ends():
    # passes.
    if jobs.busy():
        jobs.finish()


def test_queue_drains():
    # bursty, by a counter: every look takes one message out of two, so the
    # third look finds nothing.
    left = max(0, 3 - nth("queue"))
    assert left == 0, f"{left} messages are still in the queue"


def test_window_a_opens():
    # passes; maintenance goes on until test_window_c.
    state("maintenance").touch()


def test_window_b_is_maintenance():
    # bursty: within the time window of the maintenance.
    if state("maintenance").exists():
        raise RuntimeError("the shop is under maintenance")


def test_window_c_closes():
    # passes.
    state("maintenance").unlink(missing_ok=True)


def test_folder_a_is_left(tmp_path):
    # passes, and leaves the process in another folder until test_folder_c.
    HELD["folder"] = os.getcwd()
    os.chdir(tmp_path)


def test_folder_b_is_relative():
    # bursty: polluted by test_folder_a and cleaned by test_folder_c, so it is
    # green when it runs later. FileNotFoundError.
    with open("pytest.ini") as file:
        assert file.read()


def test_folder_c_comes_back():
    # passes.
    if "folder" in HELD:
        os.chdir(HELD.pop("folder"))
