"""The forms of recorded traffic, and the names that their files have."""

from __future__ import annotations

from typing import Literal

FormatName = Literal["weka", "mooncake", "azure"]
FORMATS: tuple[FormatName, ...] = ("weka", "mooncake", "azure")
SUFFIXES: dict[FormatName, tuple[str, ...]] = {"weka": (".jsonl", ".json"), "mooncake": (".jsonl",), "azure": (".csv",)}
