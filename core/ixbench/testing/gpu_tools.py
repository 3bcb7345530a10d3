"""Stand-ins for vendors' tools on PATH: real processes that print recorded output with its timing, and can be told to misbehave."""

from __future__ import annotations

import stat
import sys
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

_SCRIPT = """#!{python} -IS
import os, sys, time

def say(text):
    sys.stdout.write(text)
    sys.stdout.flush()

arguments = " ".join(sys.argv[1:])
{body}
"""

_AMD = """
mode = {mode!r}
ticks = {ticks!r}
if arguments.startswith("list"):
    if mode == "old" and "-e" in arguments:
        sys.exit("unknown option -e")
    say({listed!r})
elif "-E" in arguments:
    told = time.time() - {began!r}
    say("gpu,socket_power,total_energy_consumption\\n")
    for gpu in {gpus!r}:
        say(f"{{gpu}},N/A,{{1e8 + {joules_s!r} * told}}\\n")
else:
    assert arguments == "metric -p -c -t -u -w 1 --csv", arguments
    say("WARNING: User is missing the following required groups: render, video.\\n\\n")
    header = {header!r} + "\\n"
    held = header
    for tick in range(ticks):
        now = int(time.time())
        rows = "".join({row!r}.format(now=now, gpu=gpu, watts={watts!r}, celsius=70 + gpu) + "\\n" for gpu in {gpus!r})
        rows = header + rows if tick and tick % 2 == 0 else rows
        if mode == "buffered":
            held += rows
        else:
            say(held + rows)
            held = ""
        time.sleep({step_s!r})
    if mode == "buffered":
        say(held)
        time.sleep(600)
    if mode == "cut":
        say(f"{{int(time.time())}},0,9")
    sys.exit("amdgpu: the device was lost")
"""

_AMD_HEADER = "timestamp,gpu,gfx_activity,umc_activity,socket_power,gfx_0_clk,mem_0_clk,edge,hotspot,mem"
_AMD_ROW = "{now},{gpu},90,40,{watts!r},2200,2000,N/A,{celsius},57"

_NVIDIA = """
ticks = {ticks!r}
known = "timestamp,index,uuid,power.draw,clocks.sm,temperature.gpu,utilization.gpu,memory.used".split(",") + [{field!r}]
if arguments == "--help-query-gpu":
    say("".join(f'"{{name}}"\\nWhat it means.\\n\\n' for name in known if name))
    sys.exit()
asked = arguments.split()[0].removeprefix("--query-gpu=").split(",")
for name in asked:
    if name not in known:
        say(f'Field "{{name}}" is not a valid field to query.\\n')
        sys.exit(2)
told = ", " + {reasons!r} if {field!r} in asked else ""
for tick in range(ticks):
    now = time.time()
    stamp = time.strftime("%Y/%m/%d %H:%M:%S", time.localtime(now)) + f".{{int(now % 1 * 1000):03d}}"
    say("".join(f"{{stamp}}, {{gpu}}, GPU-{{gpu:08x}}, {watts!r}, 1980, {{60 + gpu}}, 97, 70123{{told}}\\n" for gpu in {gpus!r}))
    time.sleep({step_s!r})
sys.exit("Unable to determine the device handle: GPU is lost.")
"""


def write_amd_smi(
    folder: Path,
    *,
    gpus: int = 8,
    listed: str = "",
    watts: float = 1000.0,
    joules_s: float | None = None,
    ticks: int = 10**6,
    step_s: float = 1.0,
    mode: str = "",
    header: str = _AMD_HEADER,
    row: str = _AMD_ROW,
) -> Path:
    """Write a stand-in for amd-smi and return its path.

    :param listed: what `amd-smi list` prints.
    :param watts: power of each GPU.
    :param joules_s: by how much each GPU's own counter grows in a second; None = as its power says.
    :param ticks: how often it prints rows before it dies.
    :param step_s: seconds between two prints.
    :param mode: "cut" breaks off within a row when it dies, "buffered" keeps all rows back until the last one, "old" knows no HIP indices.
    :param header: names of the columns.
    :param row: cells of a row, made of `now`, `gpu`, `watts` and `celsius`.
    """
    body = _AMD.format(
        mode=mode,
        header=header,
        row=row,
        ticks=ticks,
        listed=listed,
        began=time.time(),
        gpus=list(range(gpus)),
        joules_s=watts if joules_s is None else joules_s,
        watts=watts,
        step_s=step_s,
    )
    return _write(folder / "amd-smi", body)


def write_nvidia_smi(
    folder: Path,
    *,
    gpus: int = 8,
    watts: float = 700.0,
    ticks: int = 10**6,
    step_s: float = 1.0,
    field: str = "clocks_event_reasons.active",
    reasons: str = "0x0000000000000000",
) -> Path:
    """Write a stand-in for nvidia-smi and return its path; the other parameters are those of `write_amd_smi`.

    :param field: the name under which this version tells why the clocks are not higher; empty = it does not.
    :param reasons: what it tells, as a mask.
    """
    body = _NVIDIA.format(ticks=ticks, gpus=list(range(gpus)), watts=watts, step_s=step_s, field=field, reasons=reasons)
    return _write(folder / "nvidia-smi", body)


def _write(path: Path, body: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(_SCRIPT.format(python=sys.executable, body=body), encoding="utf-8")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path
