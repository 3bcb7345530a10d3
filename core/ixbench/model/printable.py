"""Text that strangers chose - a server's error, a file's name, a title - made harmless before a terminal sees it."""

from __future__ import annotations

_BLANKS = dict.fromkeys(map(ord, "\n\t\r"), " ")
_CONTROLS = (*range(0x20), *range(0x7F, 0xA0))
"""C0, DEL and C1: what a terminal obeys instead of showing."""
_SEPARATORS = {0x2028: " ", 0x2029: " "}
_DIRECTIONS = (*range(0x200E, 0x2010), 0x061C, *range(0x202A, 0x202F), *range(0x2066, 0x206A))
"""Characters that turn the direction of writing, by which a line can seem to say something else."""
_SURROGATES = range(0xD800, 0xE000)
"""Bytes of a file's name that are no UTF-8; printing them would fail."""

_TABLE = (
    {code: f"\\x{code:02x}" for code in _CONTROLS}
    | {code: f"\\u{code:04x}" for code in (*_DIRECTIONS, *_SURROGATES)}
    | {0xDC00 + byte: f"\\x{byte:02x}" for byte in range(0x80, 0x100)}
    | _BLANKS
    | _SEPARATORS
)


def printable(text: str) -> str:
    r"""Return the text on one line: line ends and tabs as spaces, other control characters as visible escapes such as \x1b."""
    return text.translate(_TABLE)


def is_text(text: str) -> bool:
    """Say whether a word of the command line, or the name of a file, is text that every file can hold: UTF-8, and no other bytes."""
    return not any(ord(character) in _SURROGATES for character in text)


def as_text(text: str) -> str:
    """Return the text as every file can hold it: half of a surrogate pair, which JSON can escape alone, is a replacement character."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def is_header_value(text: str) -> bool:
    """Say whether a text can be sent as the value of a header: printable ASCII."""
    return text.isascii() and text.isprintable()


def printable_lines(text: str) -> str:
    """Return the text as `printable` does, but with its lines kept."""
    return "\n".join(map(printable, text.split("\n")))
