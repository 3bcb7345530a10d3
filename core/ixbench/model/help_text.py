"""What a program's help text declares, as argparse and its like print it."""

from __future__ import annotations

import re

_DECLARED = re.compile(r"^ {1,4}(-\S.*)$", re.MULTILINE)
_FLAG = re.compile(r"(?:^|, )(--?[A-Za-z][\w-]*)")


def declared_flags(text: str) -> frozenset[str]:
    """Return every flag that a help text declares, short forms and other spellings too."""
    return frozenset(flag for line in _DECLARED.findall(text) for flag in _FLAG.findall(line))
