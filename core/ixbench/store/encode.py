"""How values become bytes on disk: JSON without NaN, without secrets, and whole files that are either there or not."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import msgspec

from ixbench.model.errors import Fault, InputError, IxbenchError
from ixbench.model.printable import as_text
from ixbench.model.regular_file import open_regular
from ixbench.model.secrets import redact_argv

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from ixbench.model.secrets import Redactor

LARGEST_DOCUMENT_BYTES = 64 << 20
"""Of run.json, launch.json, point.json and replicas.jsonl."""
UNDECODABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""What decoding raises for bytes that are not what they should be; the last for those that nest too deep."""


def to_json(value: object, redactor: Redactor) -> bytes:
    """Return a value as indented JSON that ends with a newline; every text in it is redacted, NaN and infinities are null."""
    plain = redact_texts(msgspec.to_builtins(value, enc_hook=_plain), redactor)
    return msgspec.json.format(msgspec.json.encode(plain), indent=2) + b"\n"


def to_line(value: object, redactor: Redactor) -> bytes:
    """Return a value as one line of JSON, in the same way."""
    return msgspec.json.encode(redact_texts(msgspec.to_builtins(value, enc_hook=_plain), redactor)) + b"\n"


def redact_texts(value: Any, redactor: Redactor) -> Any:  # noqa: ANN401 - JSON values have any type
    """Return JSON-like data with all its texts redacted, and as files can hold them, keys included."""
    if isinstance(value, str):
        return as_text(redactor.text(value))
    if isinstance(value, dict):
        return {as_text(redactor.text(key)) if isinstance(key, str) else key: redact_texts(item, redactor) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [redact_texts(item, redactor) for item in value]
    return value


def hide_named(value: object, redactor: Redactor) -> Any:  # noqa: ANN401 - JSON values have any type
    """Return a value as JSON-like data without secrets: values of secret-named keys, and of secret flags in each `argv`, are hidden too.

    For what users and engines named: campaigns, launches, provenance. Not for metrics, whose names count tokens.
    """
    return redactor.value(_hide_flags(msgspec.to_builtins(value, enc_hook=_plain)))


def read_document(path: Path) -> bytes:
    """Return the content of one of our JSON files, which may come from anywhere.

    :raises OSError: if it cannot be read.
    :raises InputError: if it is larger than any of ours.
    """
    with open_regular(path) as file:
        content = file.read(LARGEST_DOCUMENT_BYTES + 1)
    if len(content) > LARGEST_DOCUMENT_BYTES:
        raise InputError(Fault(where=str(path), problem=f"is larger than {LARGEST_DOCUMENT_BYTES >> 20} MiB, which no run writes"))
    return content


def read_versioned(path: Path, newest: int) -> bytes:
    """Return the content of one of our JSON files that say their format.

    :param newest: the latest format that can be read.
    :raises OSError: if it cannot be read.
    :raises InputError: if it is larger than any of ours, or of a later format.
    :raises msgspec.DecodeError: if it says none.
    """
    content = read_document(path)
    found = msgspec.json.decode(content, type=_Format).format
    if found > newest:
        raise InputError(
            Fault(where=str(path), problem=f"has format {found}", allowed=f"up to {newest}", advice="use a newer ixbench to read it")
        )
    return content


class _Format(msgspec.Struct):
    format: int


def write_atomic(path: Path, content: bytes) -> None:
    """Write a file that is either absent, old or complete, also after a crash of the machine.

    :raises IxbenchError: if the disk refuses.
    """
    part = path.with_name(path.name + ".part")
    with refusals(path):
        part.unlink(missing_ok=True)  # never written through: it may be a link that somebody else put there
        with part.open("xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
        sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Make the names in a folder survive a crash of the machine."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def readable(path: Path) -> Iterator[None]:
    """Turn what the operating system refuses inside the block, where `path` is read, into wrong input."""
    try:
        yield
    except OSError as error:
        raise InputError(Fault(where=str(error.filename or path), problem=f"cannot be read: {error.strerror or error}")) from error


@contextmanager
def refusals(path: Path) -> Iterator[None]:
    """Turn what the operating system refuses inside the block into one sentence about `path`."""
    try:
        yield
    except OSError as error:
        raise IxbenchError(f"{path}: cannot be written: {error.strerror or error}; what was sealed before is safe") from error


def _hide_flags(value: Any) -> Any:  # noqa: ANN401 - JSON values have any type
    if isinstance(value, dict):
        return {
            key: redact_argv([str(word) for word in item]) if key == "argv" and isinstance(item, list | tuple) else _hide_flags(item)
            for key, item in value.items()
        }
    if isinstance(value, list | tuple):
        return [_hide_flags(item) for item in value]
    return value


def _plain(value: object) -> object:
    if isinstance(value, Mapping):
        return dict(value)
    item = getattr(value, "item", None)  # numpy's scalars, without importing numpy
    if callable(item):
        return item()
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    raise NotImplementedError(f"{type(value).__name__} has no JSON form")
