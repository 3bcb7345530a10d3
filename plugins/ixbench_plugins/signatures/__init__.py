"""Failure signatures of engines and their stack, as data: the file's own header tells how a reader matches and chooses."""

from __future__ import annotations

from importlib.resources import files

import tomli

from ixbench.api.engine import Signature


def read_signatures(text: str) -> tuple[Signature, ...]:
    """Return the entries of a signature file in its order, which decides between several on one line."""
    return tuple(Signature(**entry) for entry in tomli.loads(text)["signature"])


def _shipped(name: str) -> tuple[Signature, ...]:
    return read_signatures(files(__name__).joinpath(name).read_text(encoding="utf-8"))


SIGNATURES = (*_shipped("failure_signatures.toml"), *_shipped("container_signatures.toml"), *_shipped("window_signatures.toml"))
