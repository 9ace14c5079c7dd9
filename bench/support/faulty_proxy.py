"""A proxy in front of a server that speaks HTTP, with faults.

A request may be answered late, with 503, or not at all: the connection is reset
before the server sees the request, or after it has answered it. Who wrote
something then does not know whether it is there.
"""

import asyncio
import collections
import random
import socket
import struct
import threading

FAULTS = ("slow", "unavailable", "reset", "lost")
METHODS = (b"GET ", b"PUT ", b"POST ", b"HEAD ", b"DELETE ")
UNAVAILABLE = b"HTTP/1.1 503 Slow Down\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
CHUNK = 1 << 16


class FaultyProxy:
    """Listens on a free port until it is closed."""

    def __init__(self, target, seed, share):
        self.target = target
        # The share of requests that something happens to.
        self.share = share
        self.random = random.Random(seed)
        self.counts = collections.Counter()
        self.loop = asyncio.new_event_loop()
        self.server = None
        self.thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self.thread.start()
        asyncio.run_coroutine_threadsafe(self._listen(), self.loop).result()

    @property
    def port(self):
        return self.server.sockets[0].getsockname()[1]

    def close(self):
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join()

    async def _listen(self):
        self.server = await asyncio.start_server(self._serve, "127.0.0.1", 0)

    def _fault(self, request):
        self.counts["requests"] += 1
        self.counts[kind(request)] += 1
        if self.random.random() >= self.share:
            return None
        fault = self.random.choice(FAULTS)
        self.counts[fault] += 1
        return fault

    async def _serve(self, reader, writer):
        try:
            upstream, to_server = await asyncio.open_connection("127.0.0.1", self.target)
        except OSError:
            reset(writer)
            return
        state = {"lost": False}
        answers = asyncio.ensure_future(self._answers(upstream, writer, state))
        try:
            while chunk := await reader.read(CHUNK):
                fault = self._fault(chunk) if chunk.startswith(METHODS) else None
                if fault == "slow":
                    await asyncio.sleep(self.random.uniform(0.05, 0.5))
                elif fault == "unavailable":
                    writer.write(UNAVAILABLE)
                    await writer.drain()
                    break
                elif fault == "reset":
                    reset(writer)
                    break
                elif fault == "lost":
                    state["lost"] = True
                to_server.write(chunk)
                await to_server.drain()
        except OSError:
            pass
        finally:
            if not state["lost"]:
                answers.cancel()
            else:
                # The server shall have seen it all.
                await asyncio.wait([answers], timeout=30)
            to_server.close()
            writer.close()

    async def _answers(self, upstream, writer, state):
        try:
            while chunk := await upstream.read(CHUNK):
                if state["lost"]:
                    reset(writer)
                    return
                writer.write(chunk)
                await writer.drain()
            writer.close()
        except OSError:
            pass


def kind(request):
    """What a request is, as a price list has it."""
    method, target = request.split(None, 2)[:2]
    if method == b"GET":
        return "list" if b"list-type=" in target else "get"
    return {b"HEAD": "get", b"DELETE": "delete"}.get(method, "put")


def reset(writer):
    """Closes a connection so that the other side sees an error."""
    own = writer.get_extra_info("socket")
    if own is not None:
        own.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()
