"""Writes the tiny model as a folder that vLLM serves: `python -m ixbench_plugins.tiny FOLDER`."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from ixbench_plugins.tiny.hub_folder import write_folder
from ixbench_plugins.tiny.model import WIDTH_STEP, TinyModel


def main() -> None:
    """Write the model; exits with code 2 and one sentence where the command line is wrong."""
    tiny = TinyModel()
    parser = argparse.ArgumentParser(prog="python -m ixbench_plugins.tiny", description=__doc__, allow_abbrev=False)
    parser.add_argument("folder", type=Path, help="folder to write; files of an earlier model in it are replaced")
    parser.add_argument("--width", type=int, default=tiny.width, help=f"size of the hidden state, a multiple of {WIDTH_STEP}")
    parser.add_argument("--layers", type=int, default=tiny.layers, help="number of layers")
    parser.add_argument("--seed", type=int, default=tiny.seed, help="seed of the weights")
    settings = parser.parse_args()
    if settings.width < WIDTH_STEP or settings.width % WIDTH_STEP or settings.layers < 1 or settings.seed < 0:
        parser.error(f"--width must be a multiple of {WIDTH_STEP}, --layers 1 or more, --seed 0 or more")
    try:
        write_folder(TinyModel(width=settings.width, layers=settings.layers, seed=settings.seed), settings.folder)
    except OSError as error:
        sys.exit(f"error: the tiny model cannot be written: {error}")


if __name__ == "__main__":
    main()
