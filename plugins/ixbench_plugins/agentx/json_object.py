"""One object of a JSON text, whose values are judged by their own text: a message can show what stands there, and no value is guessed."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from typing import TYPE_CHECKING, Any

import msgspec

from ixbench.api.workload import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Collection

    from ixbench_plugins.agentx.json_text import JsonText

MOST_SECONDS = 1e10
"""Three hundred years: a later time is a mistake, and would overflow where it is multiplied."""

LARGEST_INTEGER = 2**63 - 1

_TEXT = msgspec.json.Decoder(str)
_INTEGER = re.compile(rb"-?\d+")
_DIGITS_OF_64_BITS = 20
_SHOWN = 40
_TWO = 2
_KINDS = {b'"': "a text", b"{": "an object", b"[": "a list", b"t": "a boolean", b"f": "a boolean", b"n": "null"}


class ObjectText:
    """An object with its path. Every getter returns None for a value that is missing or wrong, and notes the fault."""

    __slots__ = ("_document", "_twice", "path", "values")

    def __init__(self, document: JsonText, values: dict[str, msgspec.Raw], path: str) -> None:
        self.values = values
        self.path = path
        self._document = document
        self._twice: frozenset[str] = frozenset()

    def at(self, key: str) -> str:
        """Return the path of one of its values."""
        return f"{self.path}.{key}" if self.path and key else self.path or key

    def tell(self, key: str, problem: str, *, allowed: str = "", advice: str = "") -> None:
        """Note a fault of one of its values."""
        self._document.faults.add(self.at(key), problem, allowed=allowed, advice=advice)

    def tell_unknown(self, known: Collection[str]) -> None:
        """Note every key that is not known."""
        for key in self.values:
            if key not in known:
                name = quoted(key)
                self.tell(name.strip("'\""), f"unknown key {name}", advice=did_you_mean(key, known))

    def tell_repeated(self, text: bytes) -> None:
        """Note every key that stands twice in the object's text, whose nested objects have been taken out."""
        pairs: list[list[str]] = []
        json.loads(text, parse_int=str, object_pairs_hook=lambda found: pairs.append([key for key, _ in found]))
        counts = Counter(pairs[-1])
        self._twice = frozenset(key for key, count in counts.items() if count > 1)
        for key in sorted(self._twice):
            self.tell(key, f"the key {quoted(key)} appears {'twice' if counts[key] == _TWO else f'{counts[key]} times'} in one object")

    def integer(self, key: str, *, least: int | None, most: int, required: bool = False) -> int | None:
        """Return a whole number; null and a missing key are None, and a fault where the key is required."""
        text = self._text(key, required=required)
        if text is None:
            return None
        allowed = f"at most {most}" if least is None else f"at least {least}, at most {most}"
        if not _INTEGER.fullmatch(text):
            self.tell(key, self._no_integer(text), allowed=f"a whole number, {allowed}")
            return None
        value = int(text) if len(text) <= _DIGITS_OF_64_BITS else (math.inf, -math.inf)[text.startswith(b"-")]
        if least is not None and value < least:
            problem = f"{self._document.shown(text)} is {'negative' if value < 0 else 'too small'}"
        elif not -most <= value <= most:
            problem = f"{self._document.shown(text)} is too large"
        else:
            return int(value)
        self.tell(key, problem, allowed=allowed)
        return None

    def seconds(self, key: str, *, least: float | None = None, scale: float = 1.0, required: bool = False) -> float | None:
        """Return a number of seconds; null and a missing key are None, and a fault where the key is required."""
        text = self._text(key, required=required)
        if text is None:
            return None
        name = self._document.not_finite(text)
        if name is None and text[:1] not in b"-0123456789":
            self.tell(key, f"{self._document.shown(text)} where a number is required")
            return None
        value = math.nan if name else float(text) * scale
        if name or math.isinf(value):
            self.tell(key, f"{self._document.shown(text)} is not a finite number")
        elif least is not None and value < least:
            self.tell(key, f"{self._document.shown(text)} is negative", allowed=f"at least {least:g}")
        elif abs(value) > MOST_SECONDS:
            self.tell(key, f"{self._document.shown(text)} is too large", allowed=f"at most {MOST_SECONDS:.0f} seconds")
        else:
            return value
        return None

    def text(self, key: str, *, required: bool = False, empty: bool = True) -> str | None:
        """Return a text."""
        raw = self._text(key, required=required, null=False)
        if raw is None:
            return None
        if not raw.startswith(b'"') or self._document.not_finite(raw):
            self.tell(key, f"{self._document.shown(raw)} where a text is required")
            return None
        value = _TEXT.decode(raw)
        if not value and not empty:
            self.tell(key, "is empty", allowed="a text of at least one character")
            return None
        return value

    def texts(self, key: str, *, required: bool = False) -> tuple[str, ...]:
        """Return a list of texts."""
        raw = self._text(key, required=required, null=False)
        if raw is None:
            return ()
        values: list[str] = []
        for number, element in enumerate(self._document.elements(self.values[key], self.at(key), "texts") or ()):
            text = bytes(element)
            if text.startswith(b'"') and not self._document.not_finite(text):
                values.append(_TEXT.decode(element))
            else:
                self.tell(f"{key}[{number}]", f"{self._document.shown(text)} where a text is required")
        return tuple(values)

    def raw(self, key: str, *, required: bool = False) -> msgspec.Raw | None:
        """Return the text of a value; None, with a fault if it is required, where it is missing or stands twice."""
        if key in self._twice:
            return None
        value = self.values.get(key)
        if value is None and required:
            self.tell(key, "is missing")
        return value

    def _text(self, key: str, *, required: bool, null: bool = True) -> bytes | None:
        value = self.raw(key, required=required)
        if value is None:
            return None
        text = bytes(value)
        return None if text == b"null" and null and not required else text

    def _no_integer(self, text: bytes) -> str:
        if name := self._document.not_finite(text):
            return f"{name} is not a finite number"
        kind = kind_of(text)
        if kind in ("a number", "a boolean"):
            return f"{shown_json(text)} is {'' if kind == 'a number' else 'a boolean, '}not a whole number"
        return f"{shown_json(text)} where a whole number is required"


def kind_of(text: bytes) -> str:
    """Return what kind of JSON value a text is."""
    return _KINDS.get(text[:1], "a number")


def quoted(text: str) -> str:
    """Return a text as a message shows it: short, with quotes."""
    return repr(text) if len(text) <= _SHOWN else f"{text[:_SHOWN]!r}..."


def shown_json(text: bytes) -> str:
    """Return a value as a message shows it: short, and a text as Python would write it."""
    first = text[:1]
    if first in (b"[", b"{"):
        return kind_of(text)
    value: Any = text.decode("utf-8", "replace")
    if first == b'"':
        return f"text {quoted(_TEXT.decode(text))}"
    return value if len(value) <= _SHOWN else f"{value[:_SHOWN]}... ({len(value)} characters)"
