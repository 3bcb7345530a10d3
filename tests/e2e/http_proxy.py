"""An HTTP proxy as a process: it forwards requests and opens tunnels, to one server whatever they name, and prints what it was asked for.

    python http_proxy.py HOST PORT [USER:PASSWORD]

prints its port as the first line, then the first line of each request.
"""

from __future__ import annotations

import asyncio
import sys
from base64 import b64encode


def tell(line: object) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


async def copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
    except OSError:
        pass
    finally:
        writer.close()


async def serve(host: str, port: int, password: str | None) -> None:
    wanted = None if password is None else b"basic " + b64encode(password.encode()).lower()
    going_on = set()

    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        going_on.add(asyncio.current_task())
        there_reader, there = await asyncio.open_connection(host, port)
        back = None
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                line, *headers = head.removesuffix(b"\r\n\r\n").split(b"\r\n")
                tell(line.decode())
                given = [header.partition(b": ")[2] for header in headers if header.lower().startswith(b"proxy-authorization:")]
                if wanted is not None and [value.lower() for value in given] != [wanted]:
                    writer.write(b"HTTP/1.1 407 Proxy Authentication Required\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
                    await writer.drain()
                    return
                method, target, version = line.split(b" ")
                if method == b"CONNECT":
                    writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
                    await asyncio.gather(copy(reader, there), copy(there_reader, writer))
                    return
                back = back or asyncio.create_task(copy(there_reader, writer))
                # Absolute form in, origin form out.
                path = b"/" + target.split(b"/", 3)[3]
                kept = [h for h in headers if not h.lower().startswith(b"proxy-")]
                length = next((int(h.partition(b":")[2]) for h in headers if h.lower().startswith(b"content-length:")), 0)
                there.write(b"\r\n".join([b" ".join([method, path, version]), *kept, b"", b""]) + await reader.readexactly(length))
                await there.drain()
        except (asyncio.IncompleteReadError, OSError):
            pass
        finally:
            there.close()
            writer.close()
            going_on.discard(asyncio.current_task())

    server = await asyncio.start_server(accept, "127.0.0.1", 0)
    tell(server.sockets[0].getsockname()[1])
    await server.serve_forever()


if __name__ == "__main__":
    given = sys.argv[1:]
    asyncio.run(serve(given[0], int(given[1]), given[2] if len(given) > 2 else None))
