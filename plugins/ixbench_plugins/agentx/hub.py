"""Traces from a data set hub, by plain HTTP: one file of one commit, checked against its hash and kept in the user's cache.

`hf:OWNER/NAME[@REVISION][:FILE][#sha256=HEX]`. Only a commit is for good, so any other revision is looked up first.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import tempfile
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from ixbench.api.workload import Fault, InputError, user_cache

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

PREFIX = "hf:"
FORM = "hf:OWNER/NAME, then optionally @REVISION, :FILE and #sha256=HEX"
BASE_VARIABLE = "HF_ENDPOINT"
"""URL of the hub, where it is not the public one."""
TOKEN_VARIABLE = "HF_TOKEN"  # noqa: S105 - a variable's name
"""Holds the token for data sets that need one."""
PUBLIC_HUB = "https://huggingface.co"
DEFAULT_FILE = "traces.jsonl"
FOLDER = "traces"
"""Of ixbench's folder in the user's cache: where downloads are kept."""

MOST_BYTES = 16 * 1024**3
_MOST_BYTES_OF_API = 1024**2
CONNECT_S = 10.0
READ_S = 60.0
"""Longest silence of the hub."""
TOTAL_S = 2 * 3600.0
"""Longest download."""

_SOURCE = re.compile(
    r"hf:(?P<owner>[\w-][\w.-]*)/(?P<name>[\w-][\w.-]*)(?:@(?P<revision>[\w][\w./-]*))?"
    r"(?::(?P<file>[\w-][\w./-]*\.jsonl?))?(?:#sha256=(?P<sha256>[0-9a-f]{64}))?",
    re.ASCII,
)
_COMMIT = re.compile(r"[0-9a-f]{40}")
_CHUNK = 1 << 20
_REDIRECTS = 5
_UNAUTHORIZED = 401
_FORBIDDEN = 403
_NOT_FOUND = 404


@dataclass(frozen=True, slots=True, kw_only=True)
class HubFile:
    """One file of a data set."""

    owner: str
    name: str
    revision: str = "main"
    """A commit, a branch or a tag."""
    file: str = DEFAULT_FILE
    sha256: str | None = None

    @classmethod
    def parse(cls, source: str) -> HubFile:
        """Return the file that a source names.

        :raises InputError: if it names none.
        """
        found = _SOURCE.fullmatch(source)
        if found is None or ".." in source:
            raise InputError(Fault(where=source, problem="names no file of a hub", allowed=FORM))
        return cls(**{key: value for key, value in found.groupdict().items() if value is not None})

    @property
    def pinned(self) -> bool:
        """Whether the revision can never mean anything else."""
        return _COMMIT.fullmatch(self.revision) is not None

    def __str__(self) -> str:
        text = f"{PREFIX}{self.owner}/{self.name}@{self.revision}:{self.file}"
        return text if self.sha256 is None else f"{text}#sha256={self.sha256}"


def fetch(
    wanted: HubFile, *, base: str | None = None, cache: Path | None = None, note: Callable[[str], None] | None = None
) -> tuple[Path, HubFile]:
    """Return the file in the cache, downloaded if it is not there, and its name with commit and hash.

    `base` is the hub's URL and `cache` the folder of the cache, where they are not the user's own; `note` is told of a download.

    :raises InputError: if there is no such file, the hub can't be reached, or the content has another hash.
    """
    hub = _Hub(base or os.environ.get(BASE_VARIABLE) or PUBLIC_HUB)
    exact = wanted if wanted.pinned else replace(wanted, revision=hub.commit(wanted))
    path = (cache or user_cache(FOLDER)) / hub.host.replace(":", "_") / f"{exact.owner}--{exact.name}" / exact.revision / exact.file
    if path.is_file():
        found = _sha256(path)
        if wanted.sha256 in (None, found):
            return path, replace(exact, sha256=found)
    if note is not None:
        note(f"downloading {exact} from {hub.host}")
    return path, replace(exact, sha256=hub.download(exact, path))


class _Hub:
    """A hub: where it is, and what it may be told."""

    def __init__(self, base: str) -> None:
        import httpx

        try:
            url = httpx.URL(base)
        except httpx.InvalidURL:
            url = httpx.URL("")
        if url.scheme not in ("http", "https") or not url.host or url.userinfo:
            raise InputError(Fault(where=BASE_VARIABLE, problem="is no URL of a hub", allowed="http:// or https://, and no password"))
        self.host = url.netloc.decode()
        self._base = str(url).rstrip("/")
        token = os.environ.get(TOKEN_VARIABLE, "").strip()
        self._headers = {"Authorization": f"Bearer {token}"} if token and url.scheme == "https" else {}

    def commit(self, wanted: HubFile) -> str:
        """Return the commit that a revision means now."""
        address = f"{self._base}/api/datasets/{wanted.owner}/{wanted.name}/revision/{wanted.revision}"
        found = b""
        for piece in self._pieces(wanted, address, _MOST_BYTES_OF_API):
            found += piece
        try:
            commit = json.loads(found)["sha"]
        except (ValueError, TypeError, KeyError, RecursionError):
            commit = None
        if not isinstance(commit, str) or not _COMMIT.fullmatch(commit):
            raise _error(wanted, f"{self.host} names no commit for revision '{wanted.revision}'", "write a commit after the name: @COMMIT")
        return commit

    def download(self, wanted: HubFile, path: Path) -> str:
        """Put the file in its place in one step, and return its SHA-256."""
        address = f"{self._base}/datasets/{wanted.owner}/{wanted.name}/resolve/{wanted.revision}/{wanted.file}"
        digest = hashlib.sha256()
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.NamedTemporaryFile(dir=path.parent, prefix=".part-", delete=False) as part:
                try:
                    for piece in self._pieces(wanted, address, MOST_BYTES):
                        digest.update(piece)
                        part.write(piece)
                    found = digest.hexdigest()
                    if wanted.sha256 not in (None, found):
                        raise _error(wanted, f"has the SHA-256 {found}, not the one that was asked for", "check the hash and the revision")
                    part.close()
                    Path(part.name).replace(path)
                finally:
                    Path(part.name).unlink(missing_ok=True)
        except OSError as error:
            raise _error(
                wanted, f"cannot be kept in {path.parent}: {error.strerror}", "set XDG_CACHE_HOME to a folder with room"
            ) from error
        return found

    def _pieces(self, wanted: HubFile, address: str, most: int) -> Iterator[bytes]:
        """Give the body of an answer, bounded in size and time."""
        import httpx

        deadline = time.monotonic() + TOTAL_S
        received = 0
        timeout = httpx.Timeout(READ_S, connect=CONNECT_S)
        try:
            with (
                httpx.Client(timeout=timeout, follow_redirects=True, max_redirects=_REDIRECTS, headers=self._headers) as client,
                client.stream("GET", address) as answer,
            ):
                if not answer.is_success:
                    raise _error(wanted, *_refusal(self.host, answer.status_code))
                for piece in answer.iter_bytes(_CHUNK):
                    received += len(piece)
                    if received > most:
                        raise _error(wanted, f"{self.host} sends more than {most} bytes")
                    if time.monotonic() > deadline:
                        raise _error(wanted, f"{self.host} takes more than {TOTAL_S:.0f} seconds to send it", "try again later")
                    yield piece
        except httpx.HTTPError as error:
            raise _error(
                wanted, f"{self.host} cannot be asked for it: {error or type(error).__name__}", f"check the network, or set {BASE_VARIABLE}"
            ) from error


def _refusal(host: str, status: int) -> tuple[str, str]:
    if status == _NOT_FOUND:
        return f"{host} has no such data set, revision or file", f"check the name; {FORM}"
    if status in (_UNAUTHORIZED, _FORBIDDEN):
        return f"{host} does not give it to everyone", f"accept its terms there, and set {TOKEN_VARIABLE}"
    return f"{host} answers with status {status}", "try again later"


def _error(wanted: HubFile, problem: str, advice: str = "") -> InputError:
    return InputError(Fault(where=str(wanted), problem=problem, advice=advice))


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
