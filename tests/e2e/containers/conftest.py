"""Container tools for tests: podman with storage of its own, docker with the machine's daemon or one for the tests, and a small image.

The image holds no files: the interpreter, the libraries and ixbench itself are this machine's, mounted where they lie.
"""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import ixbench
import ixbench_plugins

if TYPE_CHECKING:
    from collections.abc import Iterator

IMAGE = "localhost/ixbench-tests:1"
LIMIT_S = 60.0
_DAEMON_LIMIT_S = 30.0
_FOLDERS = ("usr", "etc", "tmp", "proc", "sys", "dev", "root", "run", "var", "sbin")
_LINKS = {"bin": "usr/bin", "lib": "usr/lib", "lib64": "usr/lib64"}
_FILES = {"etc/passwd": "root:x:0:0:root:/root:/bin/sh\n", "etc/group": "root:x:0:\n"}


class NotUsableError(Exception):
    """Why a tool cannot be used here."""


@dataclass(frozen=True, kw_only=True)
class Tool:
    """A container tool that works here and has the image."""

    name: str
    command: tuple[str, ...]
    image: str = IMAGE

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([*self.command, *words], capture_output=True, text=True, timeout=LIMIT_S, check=False)

    def containers(self) -> list[str]:
        """Return the names of all containers of ixbench, running or not."""
        return self.run("ps", "--all", "--filter", "label=ixbench-launch", "--format", "{{.Names}}").stdout.split()

    def table(self, **keys: str) -> str:
        """Return `[runtime]` for a campaign."""
        folders = dict.fromkeys(
            str(path)
            for path in (
                Path("/usr"),
                Path(sys.prefix),
                Path(sys.base_prefix),
                *(Path(module.__file__).parents[1] for module in (ixbench, ixbench_plugins)),
            )
            if path == Path("/usr") or not path.is_relative_to("/usr")
        )
        table = {
            "use": f'"{self.name}"',
            "command": str(list(self.command)),
            "mounts": str(list(folders)),
            # What a sandbox allows: neither more locked memory nor the tool's own defaults.
            "ulimits": '{ memlock = false, nofile = "1024:4096", nproc = "1000:1000" }',
        }
        return "\n".join(["[runtime]", *(f"{key} = {value}" for key, value in (table | keys).items())])


def podman(folder: Path) -> Iterator[Tool]:
    """Yield podman with its storage in a folder."""
    if shutil.which("podman") is None:
        raise NotUsableError("podman is not installed")
    runtime = ("--runtime", "runc") if shutil.which("runc") else ()
    storage = ("--root", str(folder / "storage"), "--runroot", str(folder / "state"), "--storage-driver=vfs", "--cgroup-manager=cgroupfs")
    yield _ready(Tool(name="podman", command=("podman", *storage, *runtime)), folder)


def docker(folder: Path) -> Iterator[Tool]:
    """Yield docker with the machine's daemon, or with one of the tests' own, which is ended afterwards."""
    if shutil.which("docker") is None:
        raise NotUsableError("docker is not installed")
    tool = Tool(name="docker", command=("docker",))
    if tool.run("ps").returncode == 0:
        yield _ready(tool, folder)
        return
    if shutil.which("dockerd") is None or os.geteuid() != 0:
        raise NotUsableError("no docker daemon runs, and this user cannot start one")
    socket = f"unix://{folder}/docker.sock"
    flags = ("--iptables=false", "--ip6tables=false", "--bridge=none", "--storage-driver=vfs", "-H", socket)
    places = ("--data-root", f"{folder}/data", "--exec-root", f"{folder}/exec", "--pidfile", f"{folder}/pid")
    with (folder / "dockerd.log").open("wb") as log:
        daemon = subprocess.Popen(["dockerd", *flags, *places], stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)
    try:
        tool = Tool(name="docker", command=("docker", "-H", socket))
        end = time.monotonic() + _DAEMON_LIMIT_S
        while tool.run("ps").returncode != 0:
            if daemon.poll() is not None or time.monotonic() > end:
                raise NotUsableError(f"a docker daemon does not start here: {_last((folder / 'dockerd.log').read_text())}")
            time.sleep(0.2)
        yield _ready(tool, folder)
    finally:
        daemon.terminate()
        try:
            daemon.wait(LIMIT_S)
        except subprocess.TimeoutExpired:
            daemon.kill()
            daemon.wait()


def _ready(tool: Tool, folder: Path) -> Tool:
    """Give the tool the image, and see that it can run it."""
    if not Path("/lib").is_symlink():
        raise NotUsableError("this machine keeps its libraries outside /usr")
    archive = folder / "image.tar"
    with tarfile.open(archive, "w") as tar:
        for name in _FOLDERS:
            entry = tarfile.TarInfo(name)
            entry.type, entry.mode = tarfile.DIRTYPE, 0o1777 if name == "tmp" else 0o755
            tar.addfile(entry)
        for name, target in _LINKS.items():
            entry = tarfile.TarInfo(name)
            entry.type, entry.linkname = tarfile.SYMTYPE, target
            tar.addfile(entry)
        for name, text in _FILES.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(text)
            tar.addfile(entry, io.BytesIO(text.encode()))
    limits = ("--ulimit", "nofile=1024:4096", "--ulimit", "nproc=1000:1000")
    mounts = ("--mount", "type=bind,source=/usr,target=/usr,readonly")
    for words in (("import", str(archive), IMAGE), ("run", "--rm", "--init", "--network=host", *limits, *mounts, IMAGE, "true")):
        done = tool.run(*words)
        if done.returncode != 0:
            raise NotUsableError(f"{tool.name} {words[0]} does not work here: {_last(done.stderr)}")
    return tool


def _unmount(folder: Path) -> None:
    """Undo what a tool mounted under a folder and left there, so that pytest can remove it."""
    rows = [line.split() for line in Path("/proc/self/mounts").read_text().splitlines()]
    for point in sorted((row[1] for row in rows if row[1].startswith(f"{folder}/")), reverse=True):
        subprocess.run(["umount", "--lazy", point], check=False, timeout=LIMIT_S)


def _last(text: str) -> str:
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("Run '")]
    return lines[-1] if lines else "it says nothing"


TOOLS = {"podman": podman, "docker": docker}


@pytest.fixture(scope="session")
def storage():
    """Return a folder for what the tools keep on disk; podman wants a path of 50 characters at most."""
    with tempfile.TemporaryDirectory(prefix="ixbench-", ignore_cleanup_errors=True) as folder:
        yield Path(folder)
        _unmount(Path(folder))


@pytest.fixture(scope="session", params=TOOLS)
def tool(request, storage):
    """Return a tool that can start containers here; the test is skipped, with the reason, where there is none."""
    folder = storage / request.param
    folder.mkdir()
    made = TOOLS[request.param](folder)
    try:
        found = next(made)
    except NotUsableError as error:
        pytest.skip(str(error))
    yield found
    for name in found.containers():
        found.run("rm", "--force", name)
    found.run("rmi", "--force", IMAGE)
    next(made, None)
