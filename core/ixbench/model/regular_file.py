"""Files that may come from anywhere: a pipe would be waited for, a device has no end, and a link may lead where nobody may look."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import BinaryIO

NOT_REGULAR = "it is no regular file"


def open_regular(path: Path) -> BinaryIO:
    """Open a file for reading; what is no regular file is refused at once, whoever holds its other end.

    :raises OSError: if it cannot be opened, or is a folder, a pipe, a socket or a device.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, NOT_REGULAR, str(path))
    return os.fdopen(descriptor, "rb")


def is_regular(path: Path) -> bool:
    """Say whether it is a regular file, or a link to one; what is where nobody may look is none."""
    return os.path.isfile(path)  # noqa: PTH113 - is_file breaks where nobody may look


def real_path(path: Path) -> Path:
    """Return the path without links. Unlike `resolve` it does not break on links that lead round in a circle."""
    return Path(os.path.realpath(path))
