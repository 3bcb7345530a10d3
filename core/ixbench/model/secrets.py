"""What counts as a secret and how it is hidden: the one rule that keeps keys out of every file, log and message."""

from __future__ import annotations

import re
from base64 import b64encode
from functools import lru_cache
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from ixbench.model.launch import LaunchPlan

HIDDEN = "***"
"""What stands in place of a secret."""

SHORTEST_SECRET = 4
"""Shorter values are not searched for in texts: hiding every "1" would make a log unreadable and protect nothing."""

_WORDS_ANYWHERE = ("SECRET", "PASSWORD", "PASSWD", "PASSPHRASE", "CREDENTIAL", "COOKIE", "OAUTH")
_WORDS_WHOLE = frozenset({"AUTH", "AUTHORIZATION", "AUTHORISATION", "BEARER", "KEYS", "PASS"})
_WORDS_AT_END = ("KEY", "TOKEN", "AUTH")
_COUNTED_TOKENS = frozenset(
    {"THRESHOLD", "BUDGET", "LIMIT", "COUNT", "RATIO", "INTERVAL", "SIZE", "LENGTH", "MODE", "TYPE", "ID", "IDS", "PER", "RATE"}
)
_NAMES_OF_NAMES = ("KEY_ENV", "TOKEN_ENV")
_NO_UTF8 = "surrogateescape"
"""How Python keeps bytes of a variable that are no UTF-8."""
_HARMLESS = frozenset({"true", "false", "none", "null", "auto", "default", "enabled", "disabled"})

# Of the scheme its last character: looking for where it begins would take the square of a text's length.
_USERINFO = re.compile(r"(?P<scheme>[a-zA-Z0-9+.-]://)(?P<userinfo>[^/\s?#\"'<>]*)@")
_QUERY_VALUE = re.compile(r"(?P<lead>[?&;])(?P<name>[\w.%-]+)=(?P<value>[^&;#\s\"'<>]+)")
_SUSPECT = re.compile(r"[@=\s]")
"""What every text has in which one of these three finds something: most names and words of a result have none of it."""
_AUTH_HEADER = re.compile(r"(?P<lead>\b(?:bearer|basic)\s+)(?P<value>[A-Za-z0-9._~+/=-]{8,})", re.IGNORECASE)


@lru_cache(maxsize=4096)  # tables of one kind ask for the same few names again and again
def is_secret_name(name: str) -> bool:
    """Say whether a variable, header, flag or key with this name holds a secret: one named like KEY, TOKEN, SECRET, PASSWORD or AUTH.

    A name that counts tokens (`--long-prefill-token-threshold`, `MAX_TOKENS`, `joules_per_token`) or that names another variable
    (`api_key_env`) does not.
    """
    words = [word for word in re.split(r"[^A-Z0-9]+", name.upper()) if word]
    if "_".join(words).endswith(_NAMES_OF_NAMES):
        return False
    for index, word in enumerate(words):
        following = words[index + 1] if index + 1 < len(words) else ""
        if any(part in word for part in _WORDS_ANYWHERE) or word in _WORDS_WHOLE:
            return True
        counted = word.endswith("TOKEN") and (following in _COUNTED_TOKENS or "PER" in words[:index])
        if word.endswith(_WORDS_AT_END) and not counted:
            return True
    return False


def redact_url(text: str) -> str:
    """Return the text with the userinfo and the secret query values of every URL in it hidden."""
    text = _USERINFO.sub(lambda match: f"{match['scheme']}{HIDDEN}@", text)
    return _QUERY_VALUE.sub(lambda match: f"{match['lead']}{match['name']}={HIDDEN}" if is_secret_name(match["name"]) else match[0], text)


def redact_text(text: str) -> str:
    """Return the text without what shows by its form that it is secret: userinfo in URLs, secret query values, auth headers' values."""
    if _SUSPECT.search(text) is None:
        return text
    return _AUTH_HEADER.sub(lambda match: f"{match['lead']}{HIDDEN}", redact_url(text))


def redact_table(table: Mapping[str, Any]) -> dict[str, Any]:
    """Return a copy of a TOML or JSON table with every secret hidden.

    Hidden are the values of keys that `is_secret_name` knows, all values of a table named `headers`, and what `redact_text` finds.
    A reason beside a value (`{ value = "...", reason = "..." }`) stays.
    """
    return {key: _redact_entry(key, value) for key, value in table.items()}


def redact_argv(argv: Sequence[str]) -> tuple[str, ...]:
    """Return a command line with the values of secret flags (`--api-key X`, `--api-key=X`, `NAME_TOKEN=X`) hidden."""
    return tuple(redact_text(item) if secret is None else item.removesuffix(secret) + HIDDEN for item, secret in _with_secrets(argv))


def secret_arguments(argv: Sequence[str]) -> tuple[str, ...]:
    """Return the values that `redact_argv` hides for their flag's name."""
    return tuple(secret for _, secret in _with_secrets(argv) if secret)


def _with_secrets(argv: Sequence[str]) -> Iterator[tuple[str, str | None]]:
    """Yield each item with the secret that it ends with, or None."""
    hide_next = False
    for item in argv:
        name, equals, value = item.partition("=")
        if hide_next and not item.startswith("-"):
            hide_next = False
            yield item, item
            continue
        hide_next = item.startswith("-") and not equals and is_secret_name(item)
        named = re.fullmatch(r"-*[\w.-]+", name) is not None
        yield item, value if equals and named and is_secret_name(name) else None


class Redactor:
    """Hides known secret values in any text, whatever stands around them."""

    def __init__(self, values: Iterable[str] = ()) -> None:
        """Keep the values, also in the forms that they take in URLs and JSON; very short and harmless ones are left out."""
        forms: set[str] = set()
        for value in values:
            text = value.strip()
            if len(text) >= SHORTEST_SECRET and text.lower() not in _HARMLESS:
                forms |= {text, quote(text, safe="", errors=_NO_UTF8), text.replace("\\", "\\\\").replace('"', '\\"')}
                # What is no UTF-8 in a variable is not what it becomes where it is read as text.
                forms.add(text.encode(errors=_NO_UTF8).decode(errors="replace"))
        ordered = sorted(forms, key=lambda form: (-len(form), form))
        self._pattern = re.compile("|".join(re.escape(form) for form in ordered)) if ordered else None
        self._values = frozenset(forms)

    @classmethod
    def of_environment(cls, environment: Mapping[str, str], *, names: Iterable[str] = (), urls: Iterable[str] = ()) -> Redactor:
        """Return a redactor of the variables that hold secrets: by their names, by `names`, and of the userinfo in `urls`."""
        wanted = set(names)
        values = [value for name, value in environment.items() if name in wanted or is_secret_name(name)]
        for url in environment.values():
            values += [password for user, password in _userinfo(url) if password]
        for url in urls:
            for user, password in _userinfo(url):
                # A user without a password is a key, and HTTP sends both as base64.
                values += [password or user, b64encode(f"{user}:{password}".encode(errors=_NO_UTF8)).decode()]
        return cls(values)

    @classmethod
    def of_plans(cls, plans: Iterable[LaunchPlan], environment: Mapping[str, str]) -> Redactor:
        """Return a redactor of all that launches may hold: header values, keys, userinfo, and values of secret variables and flags."""
        plans = tuple(plans)
        names = [plan.api_key_env for plan in plans if plan.api_key_env is not None]
        urls = [plan.url for plan in plans if plan.url is not None]
        values: list[str] = []
        for name, value in (item for plan in plans for item in plan.headers.items()):
            # The scheme ("Bearer") is no part of what a server may repeat.
            values += [value, *(value.split()[-1:] if is_secret_name(name) else ())]
        planned: list[str] = []
        for process in (process for plan in plans for process in plan.processes):
            values += secret_arguments(process.argv)
            values += [variable.value for name, variable in process.env.items() if is_secret_name(name)]
            planned += [*process.argv, *(variable.value for variable in process.env.values())]
        values += [password for text in planned for _, password in _userinfo(text) if password]
        return cls.of_environment(environment, names=names, urls=urls).extended(values)

    @property
    def forms(self) -> frozenset[str]:
        """The values in all the forms that are looked for."""
        return self._values

    def extended(self, values: Iterable[str]) -> Redactor:
        """Return a redactor that knows further values."""
        return Redactor((*self._values, *values))

    def text(self, text: str) -> str:
        """Return the text with every known value, and all that `redact_text` finds, hidden."""
        known = self._pattern.sub(HIDDEN, text) if self._pattern else text
        return redact_text(known)

    def value(self, value: Any) -> Any:  # noqa: ANN401 - JSON values have any shape
        """Return a JSON-like value with the same done to all texts in it, and with secret-named keys hidden."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, dict):
            return {self.text(str(key)): self.value(item) for key, item in redact_table(value).items()}
        if isinstance(value, list | tuple):
            return [self.value(item) for item in value]
        return value


def _userinfo(text: str) -> Iterator[tuple[str, str]]:
    """Yield user and password of every URL in the text, as written and as meant."""
    for match in _USERINFO.finditer(text):
        user, _, password = match["userinfo"].partition(":")
        yield user, password
        if "%" in match["userinfo"]:
            yield unquote(user), unquote(password)


def _redact_entry(key: str, value: Any) -> Any:  # noqa: ANN401 - TOML values have any shape
    if is_secret_name(key):
        if isinstance(value, dict) and "value" in value:
            return {name: HIDDEN if name == "value" else _redact_value(item) for name, item in value.items()}
        return HIDDEN if value not in (None, "") else value
    if key == "headers" and isinstance(value, dict):
        return dict.fromkeys(value, HIDDEN)
    return _redact_value(value)


def _redact_value(value: Any) -> Any:  # noqa: ANN401 - TOML values have any shape
    if isinstance(value, str):
        return redact_text(value)
    if isinstance(value, dict):
        return redact_table(value)
    if isinstance(value, list | tuple):
        # A list of texts may be a command line, or a part of one.
        texts = all(isinstance(item, str) for item in value)
        return list(redact_argv(value)) if texts else [_redact_value(item) for item in value]
    return value
