"""The connection to the host: one JSON object per line over a unix socket.

Every process has a connection of its own. Tests may patch, close or freeze
whatever they like, so everything needed here is bound when this module is
imported, and a connection that a test closed is opened again.
"""

import errno
import fcntl
import json
import os
import shutil
import signal
import socket

from . import errors

PROTOCOL = (1, 0)
# What a connection says whose other end has died.
GONE = (errno.EPIPE, errno.ECONNRESET, errno.ECONNREFUSED)
# The host refuses longer lines.
LINE_LIMIT = 1 << 20
TEXT_LIMIT = 64 * 1024
# The longest word of a command line or environment that Linux takes. Even with
# every byte escaped it fits into a message.
WORD_LIMIT = 1 << 17
# Lists are sent in parts of this size.
PART_LIMIT = LINE_LIMIT // 4
# Tests that close descriptors usually begin with the low ones.
LOWEST_DESCRIPTOR = 500


class _Encoder(json.JSONEncoder):
    # As they are now: some replace them for everybody.
    encode, iterencode, default = json.JSONEncoder.encode, json.JSONEncoder.iterencode, json.JSONEncoder.default


class _Decoder(json.JSONDecoder):
    decode, raw_decode = json.JSONDecoder.decode, json.JSONDecoder.raw_decode


_encode = _Encoder(allow_nan=False, separators=(",", ":")).encode
_decode = _Decoder().decode
_write, _read, _close, _fstat, _getpid = os.write, os.read, os.close, os.fstat, os.getpid
_fcntl, _duplicate = fcntl.fcntl, fcntl.F_DUPFD_CLOEXEC
_socket, _family, _kind = socket.socket, socket.AF_UNIX, socket.SOCK_STREAM


def text(value, limit=TEXT_LIMIT):
    """A string that every JSON parser takes, cut in its middle to a length."""
    value = str(value)
    if len(value) > limit:
        half = limit // 2
        value = value[:half] + "\n[…]\n" + value[-half:]
    # Lone surrogates, as in undecodable file names, are not valid in JSON.
    return value.encode("utf-8", "backslashreplace").decode("utf-8")


def encoded(message):
    """A message as a line that the host takes."""
    line = (_encode(message) + "\n").encode()
    if len(line) > LINE_LIMIT:
        line = (_encode({"t": "oversized", "was": message.get("t"), "length": len(line)}) + "\n").encode()
    return line


def parts(values):
    """Lists of values that each fit into a message, in order."""
    part, size = [], 0
    for value in values:
        # What JSON makes of it, quotes and comma included.
        length = len(_encode(value)) + 1
        if part and size + length > PART_LIMIT:
            yield part
            part, size = [], 0
        part.append(value)
        size += length
    if part:
        yield part


def identity(descriptor):
    """What a descriptor stands for; none if it is closed. Tests close descriptors
    that are not theirs, and something else may be opened in their place."""
    try:
        status = _fstat(descriptor)
    except OSError:
        return None
    return status.st_dev, status.st_ino


class Connection:
    """A connection of this process to the host."""

    def __init__(self, path, token):
        self._path = path
        self._token = token
        self._hello = {}
        self._descriptor = -1
        self._identity = ()
        self._unsent = b""
        self._unread = b""
        self._pid = 0
        self.lost = False
        #: What to do if the host was killed. Its process group is ours.
        self.if_gone = self.give_up

    def open(self, role, **facts):
        """Opens a connection for this process, leaving any inherited one."""
        self._drop()
        self._unsent = self._unread = b""
        self._pid = _getpid()
        self._hello = dict(facts, t="hello", role=role, proto=PROTOCOL, token=self._token, pid=_getpid())
        more = self._shorten_hello()
        self._connect()
        for message in more:
            self.send(message)

    def _shorten_hello(self):
        """Keeps the hello below the host's limit; what follows it instead."""
        if len(_encode(self._hello)) <= LINE_LIMIT // 2:
            return []
        more = [{"t": "more", "argv": part} for part in parts(self._hello.pop("argv", ()))]
        more += [{"t": "more", "env": dict(part)} for part in parts(self._hello.pop("env", {}).items())]
        return more

    def _connect(self):
        connection = _socket(_family, _kind)
        try:
            connection.connect(self._path)
            try:
                self._descriptor = _fcntl(connection.fileno(), _duplicate, LOWEST_DESCRIPTOR)
            except OSError:
                self._descriptor = _fcntl(connection.fileno(), _duplicate, 3)
        finally:
            connection.close()
        self._identity = identity(self._descriptor)
        self._write_all((_encode(self._hello) + "\n").encode())
        self._hello["resumed"] = True

    def _is_ours(self):
        return identity(self._descriptor) == self._identity

    def _drop(self):
        if self._descriptor >= 0 and self._is_ours():
            _close(self._descriptor)
        self._descriptor = -1

    def later(self, line):
        """Keeps an encoded message until the next one is sent."""
        self._unsent += line

    def send(self, message):
        """Sends a message, and what was kept before it."""
        self.send_line(encoded(message))

    def send_line(self, line):
        """Sends an encoded message, and what was kept before it."""
        # A process that a test forked is none of ours.
        if self.lost or _getpid() != self._pid:
            return
        data, self._unsent = self._unsent + line, b""
        try:
            if not self._is_ours():
                self._connect()
            self._write_all(data)
        except OSError as error:
            if error.errno == errno.EBADF:
                try:
                    self._connect()
                    self._write_all(data)
                    return
                except OSError as other:
                    error = other
            self.lost = True
            if error.errno in GONE and self.if_gone is not None:
                self.if_gone()

    def _write_all(self, data):
        while data:
            data = data[_write(self._descriptor, data) :]

    def receive(self):
        """The host's next message; none once it is gone."""
        # A process that a test forked must not take what is meant for us.
        while not self.lost and _getpid() == self._pid:
            line, newline, rest = self._unread.partition(b"\n")
            if newline:
                self._unread = rest
                return _decode(line.decode("utf-8"))
            try:
                data = _read(self._descriptor, 65536)
                gone = not data
            except OSError:
                data, gone = b"", False
            if not data:
                self.lost = True
            if gone and self.if_gone is not None:
                self.if_gone()
            self._unread += data
        return None

    def give_up(self):
        """The host was killed: nobody wants to know how this ends."""
        self.remove_folder()
        os.killpg(os.getpgrp(), signal.SIGKILL)

    def remove_folder(self):
        """Removes the host's private folder, if the host cannot any more."""
        folder = os.path.dirname(self._path)
        if os.path.basename(folder).startswith("flakewise-"):
            shutil.rmtree(folder, ignore_errors=True)

    def fileno(self):
        """For waiting until there is something to receive."""
        return self._descriptor

    def has_unread(self):
        """Whether a whole message has been read already."""
        return b"\n" in self._unread

    def close(self):
        """Says goodbye: without it, the end of a connection is a crash."""
        for message in errors.taken():
            self.send(message)
        self.send({"t": "bye"})
        self._drop()
        self.lost = True
