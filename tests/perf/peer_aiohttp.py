"""The load of `bench_wire.py` through aiohttp, in the shape of serving benchmarks: JSON parsed and stamped chunk by chunk.

It is run by `bench_wire.py`, which skips it where aiohttp is not installed: python peer_aiohttp.py PORT STREAMS TOKENS GAP_US TOGETHER
"""

from __future__ import annotations

import asyncio
import json
import resource
import sys
import time

import aiohttp
import numpy as np

_START_NS = 400_000_000


def cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


async def stream(session: aiohttp.ClientSession, url: str) -> list[tuple[int, int]]:
    """Return (stamp after reading, the server's own stamp) of each chunk."""
    found: list[tuple[int, int]] = []
    buffer = ""
    async with session.post(url, json={"prompt": "x" * 480, "stream": True}) as response:
        async for piece in response.content.iter_any():
            buffer += piece.decode()
            *events, buffer = buffer.split("\n\n")
            for event in events:
                text = event.strip().removeprefix("data: ")
                if not text or text == "[DONE]":
                    continue
                chunk = json.loads(text)
                if chunk.get("choices"):
                    found.append((time.monotonic_ns(), int(chunk.get("ts", 0))))
    return found


async def main(port: int, streams: int, tokens: int, gap_us: int, together: int) -> None:
    """Run the load and print one JSON line."""
    base = f"http://127.0.0.1:{port}/v1/chat/completions"
    limit = aiohttp.TCPConnector(limit=0, keepalive_timeout=60)
    async with aiohttp.ClientSession(connector=limit, timeout=aiohttp.ClientTimeout(total=None)) as session:
        await asyncio.gather(*(stream(session, f"{base}?n=1&d=20000&s={together}&b=1") for _ in range(streams)))
        begin_ns, wall, cpu = time.monotonic_ns(), time.monotonic(), cpu_s()
        load = (stream(session, f"{base}?n={tokens}&d={gap_us}&s={together}&b=1") for _ in range(streams))
        found = [pair for chunks in await asyncio.gather(*load) for pair in chunks]
        wall, cpu = time.monotonic() - wall, cpu_s() - cpu
    errors = [stamp - sent for stamp, sent in found if sent >= begin_ns + _START_NS]
    result = {"us_per_chunk": cpu / len(found) * 1e6, "chunks": len(found), "chunks_per_s": len(found) / wall, "cpu_share": cpu / wall}
    result |= {f"e{name}": float(np.percentile(errors, at)) / 1e3 for name, at in (("50", 50), ("99", 99), ("999", 99.9), ("max", 100))}
    print(json.dumps(result))


if __name__ == "__main__":
    asyncio.run(main(*map(int, sys.argv[1:6])))
