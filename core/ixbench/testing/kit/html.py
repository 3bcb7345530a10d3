"""What a page makes a browser do: what it fetches by itself, and which markup and which links came from a name."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from html.parser import HTMLParser

MARK = "ixkit"
"""Begins the tags and attributes that hostile names try to make."""

_FETCHED = frozenset({"src", "srcset", "poster", "data", "background", "action", "formaction", "manifest"})
_LINKS = frozenset({"a", "area"})
"""Tags whose `href` is followed only when someone clicks."""
_IN_STYLE = re.compile(r"url\(\s*['\"]?([^'\")]+)|@import\s+['\"]?([^'\";]+)")
_BROKEN_TAG = re.compile(r"<[a-zA-Z]")
"""A tag that Python's parser gives up on, such as one whose attribute a name has closed; a browser goes on with its attributes."""
_INSIDE = re.compile(r"(#|data:)", re.IGNORECASE)
_QUIET = frozenset({"canonical", "license", "author", "alternate"})
"""Relations of a `link` that fetch nothing."""
_SKIPPED = re.compile(r"^[\x00-\x20]+|[\t\n\r]")
"""What a browser leaves out of an address before it looks at the scheme."""
_RUN = (f"javascript:{MARK}", f"data:text/html,{MARK}")


def hostile_addresses(what: str) -> tuple[str, ...]:
    """Return addresses that run code where they are linked, also where a filter looks for the plain scheme alone.

    :param what: makes them others than those of other places.
    """
    return f"javascript:{MARK}('{what}')", f" \x01Java\tScript:{MARK}('{what}')", f"data:text/html,{MARK}-{what}"


def runs_code(address: str) -> bool:
    """Say whether an address is one of `hostile_addresses`, as a browser reads it."""
    return _SKIPPED.sub("", address).lower().startswith(_RUN)


@dataclass(slots=True)
class HtmlFacts:
    """What was found on a page."""

    fetched: list[str] = field(default_factory=list)
    """Addresses outside the page that a browser asks for by itself."""
    injected: list[str] = field(default_factory=list)
    """Tags, attributes and handlers that a hostile name made."""
    links: list[str] = field(default_factory=list)
    """Addresses that run what a name says."""

    @classmethod
    def of(cls, text: str) -> HtmlFacts:
        """Return what is found on a page."""
        facts = cls()
        reader = _Reader(facts)
        reader.feed(text)
        reader.close()
        return facts


class _Reader(HTMLParser):
    def __init__(self, facts: HtmlFacts) -> None:
        # Escaped text stays escaped, so that what begins like a tag is one.
        super().__init__(convert_charrefs=False)
        self._facts = facts
        self._inside = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._inside = tag
        given = {name: value or "" for name, value in attrs}
        if tag.startswith(MARK) or any(name.startswith(MARK) for name in given):
            self._facts.injected.append(self.get_starttag_text() or tag)
        for name, value in given.items():
            if (name in _FETCHED or name.endswith("href")) and runs_code(value):
                self._facts.links.append(value)
            if name in _FETCHED or (name.endswith("href") and tag not in _LINKS and given.get("rel", "") not in _QUIET):
                self._take(value)
            elif name == "style":
                self._take_style(value)
        if tag == "meta" and given.get("http-equiv", "").lower() == "refresh":
            self._facts.fetched.append(given.get("content", ""))

    def handle_endtag(self, tag: str) -> None:
        del tag
        self._inside = ""

    def handle_data(self, data: str) -> None:
        if self._inside == "style":
            self._take_style(data)
        elif self._inside == "script" and re.search(r"\b(fetch|XMLHttpRequest|importScripts|import)\s*\(", data):
            self._facts.fetched.append("what a script asks for")
        elif self._inside != "script" and MARK in data and _BROKEN_TAG.match(data):
            self._facts.injected.append(data)

    def _take(self, address: str) -> None:
        if address.strip() and not _INSIDE.match(address.strip()):
            self._facts.fetched.append(address)

    def _take_style(self, text: str) -> None:
        for match in _IN_STYLE.finditer(text):
            self._take(match[1] or match[2])
