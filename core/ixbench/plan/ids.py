"""Ids of points and launches: made of what was asked for and of nothing else, so that they are equal in every run."""

from __future__ import annotations

import json
from hashlib import sha256
from typing import TYPE_CHECKING

from ixbench.campaign.campaign import slug
from ixbench.model.point import repeat_suffix

if TYPE_CHECKING:
    from collections.abc import Collection

    from ixbench.campaign.campaign import Case

LONGEST = 120
"""Characters of an id, which is a folder's name: longer ones are cut and keep a hash of the whole."""

_HASH = 8


def point_id(case: Case, taken: Collection[str]) -> str:
    """Return `<deployment>-c<concurrency>` or `-r<rate>` with the matrix settings after it; a number where that id is taken."""
    parts = [case.deployment.name, str(case.load)]
    for key, value in case.settings.items():
        text = str(value).lower() if isinstance(value, bool) else str(value)
        parts += [key.removeprefix("args.").removeprefix("env."), text]
    return _unique(_short("-".join(part for part in map(slug, parts) if part)), taken)


def repeat_id(first: str, repeat: int, taken: Collection[str]) -> str:
    """Return the id of a repeat of a point: that of the first, `-rep2`, `-rep3` and so on appended."""
    return _unique(f"{first}{repeat_suffix(repeat)}", taken)


def launch_id(deployment: str, content: object, taken: Collection[str]) -> str:
    """Return `<deployment>-<hash of the launch plan>`.

    :param content: the plan as JSON values, secrets hidden.
    """
    digest = sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:_HASH]
    return _unique(f"{_short(slug(deployment))}-{digest}", taken)


def _short(text: str) -> str:
    if len(text) <= LONGEST:
        return text
    digest = sha256(text.encode()).hexdigest()[:_HASH]
    return f"{text[: LONGEST - _HASH - 1].rstrip('-.')}-{digest}"


def _unique(name: str, taken: Collection[str]) -> str:
    if name not in taken:
        return name
    number = 2
    while f"{name}-{number}" in taken:
        number += 1
    return f"{name}-{number}"
