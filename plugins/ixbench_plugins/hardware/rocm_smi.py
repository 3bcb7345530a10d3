"""What rocm-smi prints, as values, for machines whose ROCm has no amd-smi. Pure, like `amd_smi`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ixbench_plugins.hardware.tool_json import find_json, size

if TYPE_CHECKING:
    from collections.abc import Iterator

MEMORY = ("rocm-smi", "--showmeminfo", "vram", "--json")
FIRMWARE = ("rocm-smi", "--showfw")
MEC_WITHOUT_WORKAROUND = 177
"""First MEC firmware with which RCCL needs no HSA_NO_SCRATCH_RECLAIM=1."""


def read_memory(text: str) -> dict[int, tuple[int, int]]:
    """Return bytes used and in total, by card; empty where the text tells nothing, or not all of it."""
    found: dict[int, tuple[int, int]] = {}
    for card, values in _cards(text):
        used = size(values.get("VRAM Total Used Memory (B)"), unit="B")
        total = size(values.get("VRAM Total Memory (B)"), unit="B")
        if used is None or total is None:
            return {}
        found[card] = (used, total)
    return found


def read_mec_firmware(text: str) -> int | None:
    """Return the lowest MEC firmware version of all GPUs, or None where the text does not tell."""
    versions = [int(version) for version in re.findall(r"\bMEC firmware version:\s*(\d+)\s*$", text, re.MULTILINE)]
    return min(versions, default=None)


def needs_no_scratch_reclaim(mec: int | None) -> bool:
    """Whether RCCL needs HSA_NO_SCRATCH_RECLAIM=1; where the firmware is not known, it is safer set."""
    return mec is None or mec < MEC_WITHOUT_WORKAROUND


def _cards(text: str) -> Iterator[tuple[int, dict[str, object]]]:
    found = find_json(text)
    for name, values in found.items() if isinstance(found, dict) else ():
        card = re.fullmatch(r"card(\d+)", name)
        if card and isinstance(values, dict):
            yield int(card[1]), values
