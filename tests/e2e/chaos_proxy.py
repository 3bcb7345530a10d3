"""A relay that spoils what servers send: late, dropped, reset, cut short, sent twice, byte by byte, or never.

    python chaos_proxy.py HOST PORT [SHARE]

prints its port as the first line, and with the end of its standard input how often it did what. Of SHARE (0.02) of all pieces that a
server sends it spoils each in one of these ways; while few connections are open it leaves all alone, so that a run can begin.
"""

from __future__ import annotations

import asyncio
import json
import random
import socket
import struct
import sys
from collections import Counter

FEW = 8
LATE_S = 1.0
LORIS_S = 0.05
LORIS_BYTES = 40
ENDS = ("drop", "reset", "cut", "never")
WAYS = ("late", "twice", "loris", *ENDS)
ABORT = struct.pack("ii", 1, 0)
"""SO_LINGER that makes a close a reset."""


def tell(line: object) -> None:
    """Print a line at once."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


class Relay:
    """All connections of one proxy."""

    def __init__(self, host: str, port: int, share: float) -> None:
        """Relay to one server."""
        self.there = (host, port)
        self.share = share
        self.chance = random.Random(7)
        self.done: Counter[str] = Counter()
        self.open = 0
        self.going_on: set[asyncio.Task[None] | None] = set()

    async def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one client."""
        self.going_on.add(asyncio.current_task())
        self.open += 1
        there = None
        up = None
        try:
            answer, there = await asyncio.open_connection(*self.there)
            up = asyncio.create_task(self.ask(reader, there))
            await self.answer(answer, writer)
        except OSError:
            pass
        finally:
            self.open -= 1
            if up is not None:
                up.cancel()
            for end in (writer, there):
                if end is not None:
                    end.close()
            self.going_on.discard(asyncio.current_task())

    async def ask(self, reader: asyncio.StreamReader, there: asyncio.StreamWriter) -> None:
        """Hand on what the client sends."""
        try:
            while data := await reader.read(65536):
                there.write(data)
                await there.drain()
        except OSError:
            pass
        there.close()

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Hand on what the server sends, and spoil some of it."""
        while data := await reader.read(65536):
            spoils = self.open > FEW and self.chance.random() < self.share
            way = self.chance.choice(WAYS) if spoils else "pass"
            self.done[way] += 1
            if way in ENDS:
                await self.end(way, data, reader, writer)
                return
            if way == "late":
                await asyncio.sleep(self.chance.uniform(0, LATE_S))
            elif way == "twice":
                writer.write(data)
            elif way == "loris":
                for byte in data[:LORIS_BYTES]:
                    writer.write(bytes((byte,)))
                    await writer.drain()
                    await asyncio.sleep(LORIS_S)
                data = data[LORIS_BYTES:]
            writer.write(data)
            await writer.drain()

    async def end(self, way: str, data: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Spoil a connection for good; whoever called closes it."""
        if way == "reset":
            connection: socket.socket = writer.get_extra_info("socket")
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, ABORT)
            writer.transport.abort()
        elif way == "cut":
            writer.write(data[: len(data) // 2])
            await writer.drain()
        elif way == "never":
            # Until the client gives up, or the server closes.
            while await reader.read(65536):
                pass


async def serve(host: str, port: int, share: float) -> None:
    """Relay until standard input ends."""
    relay = Relay(host, port, share)
    server = await asyncio.start_server(relay.accept, "127.0.0.1", 0, backlog=4096)
    tell(server.sockets[0].getsockname()[1])
    await asyncio.to_thread(sys.stdin.read)
    tell(json.dumps(relay.done))
    server.close()
    for task in relay.going_on:
        if task is not None:
            task.cancel()


if __name__ == "__main__":
    asyncio.run(serve(sys.argv[1], int(sys.argv[2]), float(sys.argv[3]) if len(sys.argv) > 3 else 0.02))
