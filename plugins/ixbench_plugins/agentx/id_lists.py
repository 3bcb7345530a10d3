"""Takes the lists of block ids out of a trace's text: they are nine tenths of it, and need no JSON reader.

Nearly every prompt begins with the whole prompt before it. So a list is first compared as text with those before it; only the ids that
are new are converted, and lists that begin each other share one array: a recording takes a fraction of its file in memory.
"""

from __future__ import annotations

import re
from typing import NamedTuple

import numpy as np

from ixbench_plugins.agentx.json_object import LARGEST_INTEGER
from ixbench_plugins.agentx.trace import BlockIds, read_only

MARK = b"\x7f"
"""Begins the text that stands in the place of what was taken out. A document that holds this character itself is left as it is."""

_MARK = b'"' + MARK

_Int64s = np.ndarray[tuple[int], np.dtype[np.int64]]

_KEY = b'"hash_ids"'
_LIST = re.compile(rb"\s*:\s*\[")
_SPACE = b" \t\r\n"
_SPACED_DIGITS = re.compile(rb"\d\s+\d")
_LEADING_ZERO = re.compile(rb"(?:^|,)0\d")
_IDS = b"0123456789,"
_LARGEST_INT32 = 2**31 - 1
_CANDIDATES = 4
"""Agents whose requests alternate in a file; more are read as well, but share less."""
_NONE = read_only(np.empty(0, np.int32))


class IdSlice(NamedTuple):
    """The first ids of an array that may still grow."""

    array: int
    length: int


NO_IDS = IdSlice(-1, 0)


class _Growing:
    """An array that lists were found to begin with."""

    __slots__ = ("ids", "number", "text")

    def __init__(self, number: int, text: bytes, ids: _Int64s) -> None:
        self.number = number
        self.text = text
        self.ids = ids


class IdLists:
    """The lists of ids of one document."""

    def __init__(self) -> None:
        self._slices: list[IdSlice] = []
        self._arrays: list[BlockIds] = []
        self._growing: list[_Growing] = []
        """Newest first."""

    def take_out(self, data: bytes) -> bytes:
        """Return the text with a mark and a number, as a JSON text, in the place of each list that holds nothing but ids.

        Lists that hold anything else stay where they are, for a reader that can tell what is wrong with them.
        """
        if MARK in data:
            return data
        pieces: list[bytes] = []
        done = 0
        at = data.find(_KEY)
        while at >= 0:
            behind = at + len(_KEY)
            found = _LIST.match(data, behind)
            # After a backslash the quote is not the key's first but part of another text.
            if found and data[at - 1 : at] != b"\\":
                start, end = found.end(), data.find(b"]", found.end())
                place = self._read(data[start:end]) if end >= 0 else None
                if place is not None:
                    pieces += (data[done : start - 1], b'"%b%d"' % (MARK, len(self._slices)))
                    self._slices.append(place)
                    done = behind = end + 1
            at = data.find(_KEY, behind)
        return b"".join((*pieces, data[done:])) if pieces else data

    def place(self, raw: bytes) -> IdSlice | None:
        """Return the list that a JSON value stands for; None if it is no mark of a list."""
        if not self._slices or not raw.startswith(_MARK) or not raw[len(_MARK) : -1].isdigit():
            return None
        return self._slices[int(raw[len(_MARK) : -1])]

    def add(self, ids: list[int]) -> IdSlice:
        """Keep ids that were read in another way."""
        if not ids:
            return NO_IDS
        self._arrays.append(_narrow(np.array(ids, np.int64)))
        return IdSlice(len(self._arrays) - 1, len(ids))

    def ids(self, place: IdSlice, most: int) -> BlockIds:
        """Return the ids of a list, cut to at most `most`."""
        while self._growing:
            self._end(self._growing.pop())
        return self._arrays[place.array][: min(place.length, most)] if place.length else _NONE

    def _read(self, text: bytes) -> IdSlice | None:
        if b" " in text or b"\n" in text or b"\t" in text or b"\r" in text:
            if _SPACED_DIGITS.search(text):
                return None
            text = text.translate(None, _SPACE)
        if not text:
            return NO_IDS
        begin = max((one for one in self._growing if _begins(one.text, text)), key=lambda one: len(one.text), default=None)
        if begin is None:
            return self._begin(text)
        if len(begin.text) < len(text):
            added = _ids(text[len(begin.text) + 1 :])
            if added is None:
                return None
            begin.ids = np.concatenate((begin.ids, added))
            begin.text = text
        self._growing.remove(begin)
        self._growing.insert(0, begin)
        return IdSlice(begin.number, len(begin.ids))

    def _begin(self, text: bytes) -> IdSlice | None:
        ids = _ids(text)
        if ids is None:
            return None
        if len(self._growing) == _CANDIDATES:
            self._end(self._growing.pop())
        self._arrays.append(_NONE)
        self._growing.insert(0, _Growing(len(self._arrays) - 1, text, ids))
        return IdSlice(len(self._arrays) - 1, len(ids))

    def _end(self, grown: _Growing) -> None:
        self._arrays[grown.number] = _narrow(grown.ids)


def _begins(begin: bytes, text: bytes) -> bool:
    return text.startswith(begin) and text[len(begin) : len(begin) + 1] in (b",", b"")


def _narrow(ids: _Int64s) -> BlockIds:
    return read_only(ids.astype(np.int32) if int(ids.max()) <= _LARGEST_INT32 else ids)


def _ids(text: bytes) -> _Int64s | None:
    """Return the ids of `1,2,3`; None if that is not what stands there, or if it might not fit."""
    if text.translate(None, _IDS) or b",," in text or text[:1] in (b",", b"") or text[-1:] == b",":
        return None
    if (b",0" in text or text[:1] == b"0") and _LEADING_ZERO.search(text):
        return None
    ids = np.fromstring(text, np.int64, sep=",")
    # A number that is too large is read as the largest one.
    return None if int(ids.max()) == LARGEST_INTEGER else ids
