"""What builds said about their flags in earlier runs: asking takes an engine ten seconds of processor time and more, for the same text.

A text is found again by what would be started: the executable and what lies around it, or the image's id, with the command and its
environment. It is never the reason to refuse a launch: whoever finds a fault in it asks the build itself before saying so, and a flag that
the build lost meanwhile is refused by the build as it starts. So a text that is out of date costs a question, and nothing else.
"""

from __future__ import annotations

import json
import os
import shutil
import time
from contextlib import suppress
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import TYPE_CHECKING

from ixbench.model.secrets import is_secret_name
from ixbench.model.user_cache import user_cache

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from ixbench.model.deployment import EnvVar

_FORMAT = "1"
_LONGEST_AGE_S = 30 * 86_400.0
_FIRST_LINE_BYTES = 512


def _cache_folder() -> Path | None:
    try:
        return user_cache("help")
    except RuntimeError:
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class HelpCache:
    """Texts in the user's cache folder, one file each."""

    folder: Path | None = field(default_factory=_cache_folder)
    """None: the user has no home, and nothing is kept."""

    def get(self, key: str | None) -> str | None:
        """Return a text that was kept, None where there is none that can be read or is young enough."""
        if key is None or self.folder is None:
            return None
        path = self.folder / key
        try:
            if time.time() - path.stat().st_mtime > _LONGEST_AGE_S:
                return None
            digest, _, text = path.read_text(encoding="utf-8").partition("\n")
        except (OSError, UnicodeDecodeError):
            return None
        return text if digest == sha256(text.encode()).hexdigest() else None

    def put(self, key: str | None, text: str) -> None:
        """Keep a text; a folder that cannot be written to is none of a run's business."""
        if key is None or self.folder is None:
            return
        with suppress(OSError):
            self.folder.mkdir(parents=True, exist_ok=True)
            with NamedTemporaryFile("w", encoding="utf-8", dir=self.folder, delete=False) as file:
                file.write(f"{sha256(text.encode()).hexdigest()}\n{text}")
            Path(file.name).replace(self.folder / key)


def help_key(command: Sequence[str], env: Mapping[str, EnvVar], *, runtime: str, image_id: str | None, starts_images: bool) -> str | None:
    """Return what finds the text of a build again; None where the build cannot be told from others.

    :param image_id: the hash of the image's content.
    :param starts_images: whether the command is one of an image, and not of this machine.
    """
    if starts_images:
        build: list[str] | None = None if image_id is None else [image_id]
    else:
        search = env["PATH"].value if "PATH" in env else None
        build = _prints(command[0], search)
        for name in sorted(env):
            # A script may start what a variable names.
            if build is not None and Path(env[name].value).is_absolute() and os.access(env[name].value, os.X_OK):
                build += _prints(env[name].value, None) or []
    if build is None:
        return None
    variables = {name: variable.value for name, variable in env.items() if not is_secret_name(name)}
    facts = [_FORMAT, runtime, build, list(command), sorted(variables.items())]
    return sha256(json.dumps(facts).encode()).hexdigest()


def _prints(command: str, search: str | None) -> list[str] | None:
    """Return what changes when a command of this machine is another one: its file, its interpreter, and the packages of that."""
    found = shutil.which(command, path=search)
    if found is None:
        return None
    try:
        return [text for path in _files(Path(found)) for text in (str(path), _stamp(path))]
    except OSError:
        return None


def _files(command: Path) -> Iterator[Path]:
    yield command.resolve()
    interpreter = command
    with command.open("rb") as file:
        first = file.readline(_FIRST_LINE_BYTES)
    if first.startswith(b"#!"):
        words = os.fsdecode(first[2:]).split()
        if words and Path(words[0]).is_absolute() and Path(words[0]).exists():
            interpreter = Path(words[0])
            yield interpreter.resolve()
    # A package that is installed, updated or removed changes the folder of all packages.
    for prefix in dict.fromkeys((interpreter.parent.parent, interpreter.resolve().parent.parent)):
        for name in ("site-packages", "dist-packages"):
            yield from sorted(prefix.glob(f"lib*/python*/{name}"))


def _stamp(path: Path) -> str:
    status = path.stat()
    return f"{status.st_mtime_ns} {status.st_size}"
