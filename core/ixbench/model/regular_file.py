"""Opening a file that may come from anywhere: a pipe would be waited for, and a device has no end."""

from __future__ import annotations

import errno
import os
import stat
from typing import TYPE_CHECKING, BinaryIO

if TYPE_CHECKING:
    from pathlib import Path

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
