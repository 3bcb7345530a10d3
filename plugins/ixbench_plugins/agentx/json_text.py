"""One JSON text, judged as a whole: encoding, syntax, numbers that are none. What it holds is opened object by object.

msgspec cuts the text into raw values without copying them. Nothing is converted before it is known to be small enough.
"""

from __future__ import annotations

import codecs
import re
from typing import TYPE_CHECKING

import msgspec

from ixbench_plugins.agentx.id_lists import MARK, IdLists
from ixbench_plugins.agentx.json_object import ObjectText, kind_of, shown_json

if TYPE_CHECKING:
    from ixbench_plugins.agentx.faults import FaultList

_OBJECT = msgspec.json.Decoder(dict[str, msgspec.Raw])
_LIST = msgspec.json.Decoder(list[msgspec.Raw])
_SPACED_COLONS = (b" :", b"\n:", b"\t:", b"\r:")
_NOT_FINITE = re.compile(rb'"(?:[^"\\]++|\\.)*+"|-?Infinity|NaN', re.DOTALL)
_HALF_CHARACTER = re.compile(rb"\\u[dD](?:[89abAB][0-9a-fA-F]{2}(?!\\u[dD][c-fC-F])|[c-fC-F][0-9a-fA-F]{2})")
_BYTE = re.compile(r"\(byte (\d+)\)")
_CHUNK = 1 << 20
_MOST_VALUES = 1 << 22
"""Beside block ids. A hundred times what the longest session has; each takes memory before it can be judged."""


class UnreadableError(Exception):
    """The text as a whole is no JSON object: the fault has been noted, and nothing more can be found out."""


class JsonText:
    """A JSON text whose encoding and syntax are right."""

    def __init__(self, data: bytes, faults: FaultList) -> None:
        """Check the text.

        :raises UnreadableError: if it is none.
        """
        self.faults = faults
        self.ids = IdLists()
        _check_encoding(data, faults)
        self._text, self._values = self._split(data)
        self._marked = MARK not in data
        """Whether marks are ours."""
        self._spaced = any(colon in self._text for colon in _SPACED_COLONS)

    def top(self, nested: tuple[str, ...]) -> ObjectText:
        """Return the object that the text is; `nested` are the keys whose values hold objects themselves."""
        return self._opened(self._text, self._values, "", nested)

    def open(self, raw: msgspec.Raw, path: str, nested: tuple[str, ...] = ()) -> ObjectText | None:
        """Return the object that a value is; None with a fault if it is none."""
        try:
            values = _OBJECT.decode(raw)
        except msgspec.ValidationError:
            self.faults.add(path, f"{self.shown(bytes(raw))} where an object is required")
            return None
        return self._opened(bytes(raw), values, path, nested)

    def elements(self, raw: msgspec.Raw, path: str, what: str) -> list[msgspec.Raw] | None:
        """Return the values of a list; None with a fault if it is none."""
        try:
            return _LIST.decode(raw)
        except msgspec.ValidationError:
            self.faults.add(path, f"{self.shown(bytes(raw))} where a list of {what} is required")
            return None

    def value(self, raw: msgspec.Raw, path: str) -> ObjectText:
        """Return a single value so that it can be judged like one of an object: under the empty key."""
        return ObjectText(self, {"": raw}, path)

    def may_repeat_keys(self, text: bytes, keys: int) -> bool:
        """Whether an object of so many keys may hold one twice, going by its text alone: that can hold more keys."""
        return self._spaced or text.count(b'":') != keys

    def shown(self, raw: bytes) -> str:
        """Return a value in a few words."""
        if self._marked and raw.startswith(b'"' + MARK):
            return self.not_finite(raw) or "a list"
        return shown_json(raw)

    def not_finite(self, raw: bytes) -> str | None:
        """Return `NaN`, `Infinity` or `-Infinity` if the value was that; None otherwise."""
        if self._marked and raw.startswith(b'"' + MARK) and not raw[2:-1].isdigit():
            return raw[2:-1].decode()
        return None

    def _opened(self, text: bytes, values: dict[str, msgspec.Raw], path: str, nested: tuple[str, ...]) -> ObjectText:
        opened = ObjectText(self, values, path)
        for key in nested:
            if key in values:
                text = text.replace(bytes(values[key]), b"[]", 1)
        if self.may_repeat_keys(text, len(values)):
            opened.tell_repeated(text)
        return opened

    def _split(self, data: bytes) -> tuple[bytes, dict[str, msgspec.Raw]]:
        text = self.ids.take_out(data)
        if text.count(b",") > _MOST_VALUES:
            self.faults.add("", f"holds more than {_MOST_VALUES} values beside its block ids", allowed="one trace")
            raise UnreadableError
        try:
            try:
                return text, _OBJECT.decode(text)
            except msgspec.DecodeError:
                if MARK in data:
                    raise
                text = _without_numbers_that_are_none(text)
                return text, _OBJECT.decode(text)
        except RecursionError:
            self.faults.add("", "is nested too deeply to be a trace")
        except msgspec.ValidationError:
            self.faults.add("", f"the top level is {kind_of(data.lstrip())}", allowed="one JSON object for a trace")
        except msgspec.DecodeError:
            self._tell_syntax(data)
        raise UnreadableError

    def _tell_syntax(self, data: bytes) -> None:
        """Say where the text stops being JSON: in its own words, which only the untouched text can tell."""
        try:
            _OBJECT.decode(data)
            message = ""
        except (msgspec.DecodeError, RecursionError) as error:
            message = str(error)
        found = _BYTE.search(message)
        if not data.strip():
            self.faults.add("", "is empty", allowed="one JSON object for a trace")
        elif (found is None or "escape" in message) and (half := _HALF_CHARACTER.search(data)):
            self.faults.add("", f"is no JSON: {half[0].decode()} is half of a character, at {self._place(data, half.start())}")
        elif found:
            reason = message[: found.start()].removeprefix("JSON is malformed:").strip()
            self.faults.add("", f"is no JSON: {reason} at {self._place(data, int(found[1]))}")
        else:
            self.faults.add("", f"is no complete JSON: the text ends early, at {self._place(data, len(data.rstrip()))}")

    def _place(self, data: bytes, offset: int) -> str:
        start = data.rfind(b"\n", 0, offset) + 1
        column = len(data[start:offset].decode("utf-8", "replace")) + 1
        if self.faults.line is not None:
            # Which of the file's lines it is, is told in front of the fault.
            return f"column {column}"
        line = data.count(b"\n", 0, offset) + 1
        return f"line {line} column {column}"


def _without_numbers_that_are_none(text: bytes) -> bytes:
    """Return the text with a mark and the name, as a JSON text, in the place of NaN and infinities: so the rest can be judged as well."""
    pieces: list[bytes] = []
    done = 0
    for found in _NOT_FINITE.finditer(text):
        if not found[0].startswith(b'"'):
            pieces += (text[done : found.start()], b'"%b%b"' % (MARK, found[0]))
            done = found.end()
    return b"".join((*pieces, text[done:]))


def _check_encoding(data: bytes, faults: FaultList) -> None:
    if data.startswith(codecs.BOM_UTF8):
        faults.add("", "starts with a UTF-8 byte order mark", advice="save it without one")
        raise UnreadableError
    if data.isascii():
        return
    decoder = codecs.getincrementaldecoder("utf-8")()
    for start in range(0, len(data), _CHUNK):
        end = start + _CHUNK
        try:
            decoder.decode(data[start:end], final=end >= len(data))
        except UnicodeDecodeError as error:
            # The decoder may have kept the first bytes of a character that began in the chunk before.
            kept = len(error.object) - len(data[start:end])
            faults.add("", f"is not valid UTF-8: {error.reason} at byte {start - kept + error.start}")
            raise UnreadableError from None
