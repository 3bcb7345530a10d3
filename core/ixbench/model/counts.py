"""Counts with their nouns in print: "1 point", "3 points"."""

from __future__ import annotations

_HISSING = ("ch", "ss")


def counted(number: float, noun: str, form: str = "") -> str:
    """Return "1 point" or "3 points".

    :param noun: in the singular; words before it stay as they are.
    :param form: how the number is written, as for `format`: "," for thousands, "g" for a count that came as a float.
    """
    plural = f"{noun}es" if noun.endswith(_HISSING) else f"{noun}s"
    return f"{number:{form}} {noun if number == 1 else plural}"
