"""What `ixbench doctor` looks at: each thing about this machine that stops a run or spoils its numbers, with what to do about it.

Only what applies is looked at. What cannot be found out is "unknown", never "ok".
"""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from ixbench.host.contracts.book import Checkup
from ixbench.launch.gpu_gate import USED_LIMIT, GpuGate, describe_holders, describe_memory, is_busy
from ixbench.model.counts import counted
from ixbench.model.fp4 import native_fp4
from ixbench.model.visibility import VARIABLES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from ixbench.host.contracts.book import DetectedGpu, GpuHolder, HardwareBook
    from ixbench.launch.leftover import Leftover

    Ask = Callable[[Sequence[str]], tuple[int | None, str]]
    """Runs a command: its exit code and what it printed; None = it did not answer in time."""

T = TypeVar("T")

GIB = 2**30
OPEN_FILES = 65_535
STACK_BYTES = 64 * 2**20
SHM_GPU_BYTES = 16 * GIB
"""What containers of multi-GPU engines are given."""
SHM_BYTES = GIB
DISK_PROBLEM_BYTES = GIB
DISK_WARNING_BYTES = 20 * GIB
"""A long agentic campaign writes some gigabytes of raw chunks and logs."""
BUSY_CORES = 0.25
"""Share of the cores that other programs may use."""
ASK_LIMIT_S = 5.0
ABSENT = 127
"""What a shell says of a command that is not there."""
_LIMITS = {"open files": resource.RLIMIT_NOFILE, "memlock": resource.RLIMIT_MEMLOCK, "stack": resource.RLIMIT_STACK}
RUNTIMES = {"docker": ("docker", "version", "--format", "{{.Server.Version}}"), "podman": ("podman", "version", "--format", "{{.Version}}")}
"""Commands that only answer where the runtime works: docker's needs its daemon."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """Where the answers come from."""

    books: Sequence[HardwareBook]
    leftovers: Sequence[Leftover] = ()
    root: Path = Path("/")
    """Of /proc, /sys and /dev."""
    environ: Mapping[str, str]
    results: Path
    """Where run folders go."""
    ask: Ask


def ask_command(argv: Sequence[str]) -> tuple[int | None, str]:
    """Run a command of a container runtime, for at most 5 s; an absent one answers 127."""
    executable = shutil.which(argv[0])
    if executable is None:
        return ABSENT, ""
    try:
        done = subprocess.run(  # noqa: S603 - fixed arguments
            [executable, *argv[1:]], stdin=subprocess.DEVNULL, capture_output=True, timeout=ASK_LIMIT_S, check=False
        )
    except OSError:
        return ABSENT, ""
    except subprocess.TimeoutExpired:
        return None, ""
    return done.returncode, done.stdout.decode("utf-8", errors="replace").strip()


def examine(machine: Machine) -> tuple[Checkup, ...]:
    """Return all checks that apply to a machine, its accelerators first."""
    detected = [gpu for book in machine.books for gpu in _asked(book.detect, ())]
    limits = {name: resource.getrlimit(number)[0] for name, number in _LIMITS.items()}
    return (
        accelerators(detected),
        *(_gpu_checks(machine.books, detected) if detected else ()),
        *(checkup for book in machine.books for checkup in _asked(book.checkups, (_broken(book),))),
        *visibility(machine.environ, gpus=bool(detected)),
        open_files(limits["open files"]),
        *((memlock(limits["memlock"]), stack(limits["stack"])) if detected else ()),
        shared_memory(machine.root / "dev/shm", gpus=bool(detected)),
        governor(machine.root / "sys/devices/system/cpu"),
        load(machine.root / "proc/loadavg", os.cpu_count() or 1),
        *(container_runtime(name, command, machine.ask) for name, command in RUNTIMES.items()),
        disk(machine.results),
        left_behind(machine.leftovers),
    )


def is_fit(checkups: Iterable[Checkup]) -> bool:
    """Whether nothing would stop a run or spoil its numbers, as far as is known."""
    return all(checkup.status != "problem" for checkup in checkups)


def accelerators(detected: Sequence[DetectedGpu]) -> Checkup:
    """Return which accelerators there are."""
    names = Counter(f"{gpu.name} ({gpu.gfx})" if gpu.gfx else gpu.name for gpu in detected)
    none = f"none; engines run on the CPU, {counted(os.cpu_count() or 1, 'core')}"
    value = ", ".join(f"{count} x {name}" for name, count in names.items()) or none
    return Checkup(id="accelerators", title="accelerators", value=value, status="ok")


def partitions(detected: Sequence[DetectedGpu]) -> Checkup:
    """Return whether GPUs are split."""
    title, split = "partitions", [gpu for gpu in detected if gpu.partitions > 1]
    if not split:
        return Checkup(id="partitions", title=title, value="every GPU is one device", status="ok")
    value = f"{counted(len(split), 'GPU')} split into {sum(gpu.partitions for gpu in split)} devices"
    advice = "make them whole, on AMD with: amd-smi set --compute-partition SPX"
    return Checkup(id="partitions", title=title, value=value, status="problem", advice=advice)


def fp4(detected: Sequence[DetectedGpu], cuda_archs: Mapping[str, str | None]) -> Checkup:
    """Return whether the GPUs compute in FP4.

    :param cuda_archs: compile targets of NVIDIA's GPUs by SKU.
    """
    found = {native_fp4(gfx_target=gpu.gfx, cuda_arch=cuda_archs.get(gpu.sku or "")) for gpu in detected}
    if found == {True}:
        return Checkup(id="fp4", title="native FP4", value="yes", status="ok")
    if None in found:
        return Checkup(id="fp4", title="native FP4", value="not known for this GPU", status="unknown")
    return Checkup(id="fp4", title="native FP4", value="no; FP4 checkpoints do not run, or are unpacked to 16 bit", status="ok")


def gpu_memory(gate: GpuGate) -> tuple[Checkup, ...]:
    """Return how full the GPUs are, and who has memory on them."""
    reading, holders = gate.read(), gate.holders()
    busy = [gpu for gpu in reading.memory if is_busy(gpu)]
    if busy:
        value = f"{describe_memory(busy)}; {describe_holders(busy, holders or ())}"
        advice = f"end what holds it: launches wait until every GPU has at most {USED_LIMIT:.0%} in use"
        memory = Checkup(id="gpu_memory", title="GPU memory", value=value, status="problem", advice=advice)
    elif reading.unknown:
        advice = "install amd-smi or nvidia-smi, so that launches can tell whether the GPUs are free"
        memory = Checkup(id="gpu_memory", title="GPU memory", value="; ".join(reading.unknown), status="unknown", advice=advice)
    else:
        most = max((gpu.used_bytes / gpu.total_bytes for gpu in reading.memory if gpu.total_bytes), default=0.0)
        memory = Checkup(id="gpu_memory", title="GPU memory", value=f"free, at most {most:.1%} in use", status="ok")
    return memory, gpu_processes(holders)


def gpu_processes(holders: Sequence[GpuHolder] | None) -> Checkup:
    """Return which processes are on the GPUs."""
    title = "processes on GPUs"
    if holders is None:
        return Checkup(id="gpu_processes", title=title, value="not known", status="unknown")
    if not holders:
        return Checkup(id="gpu_processes", title=title, value="none that is visible from here", status="ok")
    value = ", ".join(f"{holder.name} (pid {holder.pid}) on {' and '.join(holder.gpus) or 'a GPU'}" for holder in holders)
    return Checkup(id="gpu_processes", title=title, value=value, status="warning", advice="end them before anything is measured")


def visibility(environ: Mapping[str, str], *, gpus: bool) -> tuple[Checkup, ...]:
    """Return what the environment, which engines inherit, hides of the GPUs; nothing where it says nothing and there is none."""
    title, found = "visibility variables", [name for name in VARIABLES if name in environ]
    if not found:
        return (Checkup(id="visibility", title=title, value="none is set", status="ok"),) if gpus else ()
    value = ", ".join(f"{name}={environ[name]!r}" for name in found)
    if len(found) > 1:
        advice = f"unset all but one: each filters what the other has left (unset {' '.join(found[1:])})"
        return (Checkup(id="visibility", title=title, value=value, status="problem", advice=advice),)
    advice = f"engines inherit it and see only these GPUs; unset {found[0]} and use the deployment's gpus instead"
    return (Checkup(id="visibility", title=title, value=value, status="warning", advice=advice),)


def open_files(limit: int) -> Checkup:
    """Return the limit of open files (soft)."""
    if limit == resource.RLIM_INFINITY or limit >= OPEN_FILES:
        return Checkup(id="open_files", title="open files", value=_limit(limit), status="ok")
    advice = f"raise it to {OPEN_FILES} for many streams at once: ulimit -n {OPEN_FILES}"
    return Checkup(id="open_files", title="open files", value=_limit(limit), status="warning", advice=advice)


def memlock(limit: int) -> Checkup:
    """Return the limit of locked memory in bytes."""
    if limit == resource.RLIM_INFINITY:
        return Checkup(id="memlock", title="locked memory", value="unlimited", status="ok")
    advice = "make it unlimited (ulimit -l unlimited): GPU drivers and KV offload pin host memory"
    return Checkup(id="memlock", title="locked memory", value=f"{limit // 1024} KiB", status="warning", advice=advice)


def stack(limit: int) -> Checkup:
    """Return the limit of the stack in bytes."""
    if limit == resource.RLIM_INFINITY or limit >= STACK_BYTES:
        return Checkup(id="stack", title="stack", value=_mib(limit), status="ok")
    advice = "raise it to 64 MiB (ulimit -s 65536): kernel compilers recurse deeply"
    return Checkup(id="stack", title="stack", value=_mib(limit), status="warning", advice=advice)


def shared_memory(folder: Path, *, gpus: bool) -> Checkup:
    """Return the size of /dev/shm, through which the ranks of an engine talk."""
    title = "shared memory (/dev/shm)"
    try:
        usage = shutil.disk_usage(folder)
    except OSError as error:
        advice = "mount a tmpfs there: engines with several processes fail without"
        return Checkup(id="shm", title=title, value=f"not there: {error.strerror or error}", status="problem", advice=advice)
    wanted = SHM_GPU_BYTES if gpus else SHM_BYTES
    value = f"{usage.total / GIB:.1f} GiB, {usage.free / GIB:.1f} GiB free"
    if usage.free >= wanted:
        return Checkup(id="shm", title=title, value=value, status="ok")
    advice = f"have {wanted / GIB:.0f} GiB free: start the container with --ipc=host or a larger --shm-size, or remove what fills it"
    return Checkup(id="shm", title=title, value=value, status="warning", advice=advice)


def governor(folder: Path) -> Checkup:
    """Return the frequency governors of the cores."""
    title = "CPU governor"
    found: Counter[str] = Counter()
    for path in folder.glob("cpu[0-9]*/cpufreq/scaling_governor"):
        try:
            found[path.read_text(encoding="ascii", errors="replace").strip()] += 1
        except OSError:
            continue
    value = ", ".join(f"{name} ({counted(count, 'core')})" for name, count in found.most_common())
    if not found:
        return Checkup(id="cpu_governor", title=title, value="this kernel does not tell, as in most virtual machines", status="unknown")
    if set(found) == {"performance"}:
        return Checkup(id="cpu_governor", title=title, value=value, status="ok")
    advice = "set it to performance for steady latencies: cpupower frequency-set -g performance"
    return Checkup(id="cpu_governor", title=title, value=value, status="warning", advice=advice)


def load(path: Path, cores: int) -> Checkup:
    """Return how busy the cores are."""
    title = "CPU load"
    try:
        minute = float(path.read_text(encoding="ascii").split()[0])
    except (OSError, ValueError, IndexError):
        return Checkup(id="cpu_load", title=title, value="can't be read", status="unknown")
    value = f"{minute:.1f} of {counted(cores, 'core')} over the last minute"
    if minute <= BUSY_CORES * cores:
        return Checkup(id="cpu_load", title=title, value=value, status="ok")
    advice = "other programs compete with the client and the engine; end them before anything is measured"
    return Checkup(id="cpu_load", title=title, value=value, status="warning", advice=advice)


def container_runtime(name: str, command: Sequence[str], ask: Ask) -> Checkup:
    """Return whether a container runtime works; none is needed for engines that are installed here."""
    code, said = ask(command)
    version = said.splitlines()[0].strip() if said else ""
    if code == 0 and version:
        return Checkup(id=name, title=name, value=f"version {version}", status="ok")
    if code == ABSENT:
        return Checkup(id=name, title=name, value="not installed", status="ok")
    value = "does not answer in time" if code is None else "is installed and does not work for this user"
    advice = f"find out with: {' '.join(command[:2])}; it is only needed for [runtime] use = {name!r}"
    return Checkup(id=name, title=name, value=value, status="warning", advice=advice)


def disk(results: Path) -> Checkup:
    """Return the free space where run folders go."""
    folder = results.absolute()
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    title = f"disk under {results}"
    try:
        free = shutil.disk_usage(folder).free
    except OSError as error:
        return Checkup(id="disk", title=title, value=str(error.strerror or error), status="unknown")
    value = f"{free / GIB:.1f} GiB free"
    if free >= DISK_WARNING_BYTES:
        return Checkup(id="disk", title=title, value=value, status="ok")
    advice = "a long campaign writes some gigabytes; make room, or run with --results on another disk"
    return Checkup(id="disk", title=title, value=value, status="problem" if free < DISK_PROBLEM_BYTES else "warning", advice=advice)


def left_behind(found: Sequence[Leftover]) -> Checkup:
    """Return what earlier runs left."""
    title = "leftovers of earlier runs"
    strays, kept = [item for item in found if not item.kept], [item for item in found if item.kept]
    parts = [describe_leftover(item) for item in (*strays, *kept)]
    if not parts:
        return Checkup(id="leftovers", title=title, value="none", status="ok")
    if strays:
        alive = any(item.pids or item.cleanup for item in strays)
        advice = "end and remove them: ixbench doctor --clean"
        return Checkup(id="leftovers", title=title, value="; ".join(parts), status="problem" if alive else "warning", advice=advice)
    advice = f"they were kept on purpose; end them with: {'; '.join(item.kill_command for item in kept)}"
    return Checkup(id="leftovers", title=title, value="; ".join(parts), status="warning", advice=advice)


def describe_leftover(item: Leftover) -> str:
    """Return what is left of a launch, in words."""
    parts = [
        f"processes {', '.join(map(str, item.pids))}" if item.pids else "",
        f"ports {', '.join(map(str, item.ports))}" if item.ports else "",
        f"folder {item.tmp}" if item.tmp else "",
        "a container" if item.cleanup else "",
    ]
    what = ", ".join(part for part in parts if part)
    return f"launch {item.launch_id}{f' ({item.engine})' if item.engine else ''}{', kept on purpose' if item.kept else ''}: {what}"


def _gpu_checks(books: Sequence[HardwareBook], detected: Sequence[DetectedGpu]) -> tuple[Checkup, ...]:
    archs = {sku.sku: sku.cuda_arch for book in books for sku in book.skus()}
    return partitions(detected), fp4(detected, archs), *gpu_memory(GpuGate(books=books))


def _asked(ask: Callable[[], Sequence[T]], otherwise: Sequence[T]) -> Sequence[T]:
    try:
        return ask()
    except Exception:  # noqa: BLE001 - a plugin's code may raise anything; the rest of the machine can still be examined
        return otherwise


def _broken(book: HardwareBook) -> Checkup:
    return Checkup(id=f"{book.name}_checks", title=f"checks of hardware book {book.name}", value="failed", status="unknown")


def _limit(limit: int) -> str:
    return "unlimited" if limit == resource.RLIM_INFINITY else str(limit)


def _mib(limit: int) -> str:
    return "unlimited" if limit == resource.RLIM_INFINITY else f"{limit / 2**20:g} MiB"
