"""Chat messages and JSON values as users give them: judged in one way, and told of in one way."""

from __future__ import annotations

from typing import Any

from ixbench.model.errors import did_you_mean
from ixbench.model.prompt import Message

ROLES = ("system", "developer", "user", "assistant")
_MESSAGE_KEYS = ("role", "content")
_SHOWN_CHARACTERS = 40

Problem = tuple[str, str, str]
"""What was found, what is allowed, what to do."""


def read_messages(value: object, path: str = "messages") -> tuple[list[Message], list[Problem]]:
    """Return the messages that a JSON value is, and what is wrong with it. Pure.

    :param path: what the value is called.
    """
    if not isinstance(value, list) or not value:
        return [], [(f"{path} is {describe_value(value)}", "a list of messages", "")]
    messages: list[Message] = []
    problems: list[Problem] = []
    for place, item in enumerate(value):
        where = f"{path}[{place}]"
        if not isinstance(item, dict):
            problems.append((f"{where} is {describe_value(item)}, not an object", '{"role": "...", "content": "..."}', ""))
            continue
        problems += [
            (f"{where}: unknown key '{key}'", ", ".join(_MESSAGE_KEYS), did_you_mean(key, _MESSAGE_KEYS))
            for key in item
            if key not in _MESSAGE_KEYS
        ]
        role, content = item.get("role"), item.get("content")
        if role not in ROLES:
            advice = did_you_mean(role, ROLES) if isinstance(role, str) else ""
            problems.append((f"{where}: role is {describe_value(role)}", ", ".join(ROLES), advice))
        elif not isinstance(content, str) or not is_sendable(content):
            problems.append((f"{where}: content is {describe_value(content)}", "a text", ""))
        else:
            messages.append(Message(role=role, content=content))
    if not problems and not any(message.role == "user" for message in messages):
        problems.append((f"{path} holds none of the user, so there is nothing to ask", "at least one message with role user", ""))
    return messages, problems


def is_sendable(text: str) -> bool:
    """Whether the text has a form in UTF-8; JSON can escape half a character, which has none."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def describe_value(value: Any) -> str:  # noqa: ANN401 - JSON values have any type
    """Return a JSON value in a few words."""
    if value is None:
        return "missing or null"
    if isinstance(value, str):
        return repr(value if len(value) <= _SHOWN_CHARACTERS else f"{value[:_SHOWN_CHARACTERS]}...") if value else "an empty text"
    if isinstance(value, list):
        return "a list" if value else "an empty list"
    if isinstance(value, dict):
        return "an object"
    text = repr(value)
    return text if len(text) <= _SHOWN_CHARACTERS else f"{text[:_SHOWN_CHARACTERS]}... ({len(text)} characters)"
