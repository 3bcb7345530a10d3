"""The C server and the C client that benchmarks of the wire compare with: compiled, pinned to cores, started and ended in one way."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

TOOLS = Path(__file__).resolve().parents[3] / "shared" / "tools" / "wire"
"""Where the sources are unless the command line says otherwise: in the folder `shared` beside the checkout."""
CLIENT_CORE, SERVER_CORE = 0, 1
_REAL_TIME = ("chrt", "--fifo", "1")
_START_LIMIT_S = 10.0


def compiled(source: Path, name: str, folder: Path) -> Path:
    """Compile `name`.c of one folder into another and return the program."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        raise SystemExit("needs a C compiler")
    program = folder / name
    subprocess.run([compiler, "-O2", "-w", "-o", program, source / f"{name}.c"], check=True)
    return program


def pinned(core: int, *command: object, first: bool = False) -> list[str]:
    """Return a command that runs on one core, if there is a second for the other side.

    :param first: before all other work of the machine, as far as the system allows it to us.
    """
    alone = ["taskset", "-c", str(core)] if (os.cpu_count() or 1) > 1 else []
    return [*alone, *(_REAL_TIME if first else ()), *map(str, command)]


@contextmanager
def c_server(program: Path, *arguments: int, first: bool = False) -> Iterator[int]:
    """Run the server on a free port until the block ends, and give the port.

    :param arguments: what it takes after the port: padding, time between tokens (us), steps together, time to the first token (us).
    """
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with subprocess.Popen(pinned(SERVER_CORE, program, port, *arguments, first=first)) as process:
        try:
            deadline = time.monotonic() + _START_LIMIT_S
            while time.monotonic() < deadline:
                with socket.socket() as probe:
                    if probe.connect_ex(("127.0.0.1", port)) == 0:
                        break
                time.sleep(0.05)
            yield port
        finally:
            process.terminate()
