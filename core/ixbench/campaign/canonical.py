"""The campaign's table in its canonical form, secrets hidden, and its hash: how a run folder is found again."""

from __future__ import annotations

import json
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from ixbench.model.secrets import redact_table

if TYPE_CHECKING:
    from collections.abc import Mapping


def canonical(table: Mapping[str, Any]) -> dict[str, Any]:
    """Return the table as JSON values with every secret hidden; dates become texts, and 50.0 is the same as 50."""
    plain: dict[str, Any] = _plain(redact_table(table))
    return plain


def table_hash(table: Mapping[str, Any]) -> str:
    """Return the SHA-256 of a canonical table, in hex; the order of keys does not count, and neither do secrets."""
    return sha256(json.dumps(table, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()).hexdigest()


def _plain(value: object) -> Any:  # noqa: ANN401 - TOML values have any shape
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value if isinstance(value, str | int | float | bool) else str(value)
