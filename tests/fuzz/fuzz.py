"""Throws bytes at what reads bytes of others, for as long as one likes.

    python tests/fuzz/fuzz.py TARGET [--seconds 60]

Guided by coverage where atheris is installed (`pip install -e '.[fuzz]'`), else by chance alone. Without a target all of them have their
turn. Bytes that break a reader are kept in a file, and `python tests/fuzz/fuzz.py TARGET --bytes FILE` shows the failure again.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import random
import subprocess
import sys
import tempfile
import time
import traceback
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

LONGEST = 1 << 14
"""Bytes of one try: faults of parsers show in short texts, and those are tried more often."""
SLOW_S = 20
"""A reader that takes longer hangs."""
MEMORY_MIB = 3072


def mutated(chance: random.Random, data: bytes, words: Sequence[bytes]) -> bytes:
    """Return the bytes with a few changes."""
    found = bytearray(data)
    for _ in range(chance.randint(1, 6)):
        start = chance.randint(0, len(found))
        end = min(len(found), start + chance.choice((0, 1, 1, 2, 8, 40)))
        piece = chance.choice(
            (
                chance.randbytes(chance.randint(0, 4)),
                chance.choice(words),
                bytes(found[(other := chance.randint(0, len(found))) : other + chance.randint(1, 60)]),
                b"",
            )
        )
        found[start:end] = piece
    return bytes(found[:LONGEST])


def by_chance(name: str, seconds: float, seed: int) -> int:
    """Try mutated seeds; return the exit code."""
    from targets import TARGETS, WORDS

    target = TARGETS[name]
    chance = random.Random(seed)
    end = time.monotonic() + seconds
    tries = 0
    while time.monotonic() < end:
        data = mutated(chance, chance.choice((*target.seeds, b"")), WORDS)
        tries += 1
        try:
            target.read(data)
        except Exception:  # noqa: BLE001 - whatever it is, it is a fault
            kept = Path(f"crash-{name}-{tries}")
            kept.write_bytes(data)
            print(f"{name}: {kept} breaks it:")
            traceback.print_exc()
            return 1
    print(f"{name}: {tries} tries by chance, nothing found")
    return 0


def by_coverage(name: str, seconds: float) -> None:
    """Let atheris search; it ends the process itself."""
    import atheris

    with atheris.instrument_imports(include=["ixbench", "ixbench_plugins", "ixbench_vllm", "ixbench_atom"]):
        from targets import TARGETS, folder
    target = TARGETS[name]
    corpus = folder() / "corpus"
    corpus.mkdir()
    for number, seed in enumerate(target.seeds):
        (corpus / str(number)).write_bytes(seed)
    options = (f"-max_total_time={seconds:.0f}", f"-max_len={LONGEST}", f"-timeout={SLOW_S}", f"-rss_limit_mb={MEMORY_MIB}")
    atheris.Setup([sys.argv[0], *options, f"-artifact_prefix={name}-", "-verbosity=0", "-print_final_stats=1", str(corpus)], target.read)
    atheris.Fuzz()


def main() -> int:
    """Fuzz one target, or each in a process of its own."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("target", nargs="?")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--bytes", type=Path, metavar="FILE")
    parser.add_argument("--by-chance", action="store_true", help="do without atheris")
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.inside:
        by_coverage(given.target, given.seconds)
        return 0
    if given.target is None:
        from targets import TARGETS

        common = ["--seconds", str(given.seconds), "--seed", str(given.seed), *["--by-chance"] * given.by_chance]
        return max(subprocess.run([sys.executable, __file__, name, *common], check=False).returncode for name in TARGETS)
    there = "/dev/shm"  # files are written by the thousand
    with tempfile.TemporaryDirectory(dir=there if Path(there).is_dir() else None) as made:
        tempfile.tempdir = made
        if given.bytes is not None:
            from targets import TARGETS

            TARGETS[given.target].read(given.bytes.read_bytes())
            return 0
        if given.by_chance or importlib.util.find_spec("atheris") is None:
            return by_chance(given.target, given.seconds, given.seed)
        # atheris ends its process without a word to Python, which would leave the folder behind.
        command = [sys.executable, __file__, given.target, "--seconds", str(given.seconds), "--inside"]
        return subprocess.run(command, env={**os.environ, "TMPDIR": made}, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
