"""Exchange two folders in one atomic operation."""

from __future__ import annotations

import ctypes
import errno
import os
from pathlib import Path

_AT_FDCWD = -100  # paths are relative to the working directory
_RENAME_EXCHANGE = 2
_UNSUPPORTED = {errno.ENOSYS, errno.EINVAL, errno.EOPNOTSUPP, errno.ENOTSUP}


def swap_folders(one: Path, other: Path) -> bool:
    """Swap two folders atomically; False if the system or the file system does not support it."""
    if os.name == "nt":
        return False
    rename = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)  # Linux; not in the standard library
    if rename is None:
        return False
    if rename(_AT_FDCWD, os.fsencode(one), _AT_FDCWD, os.fsencode(other), _RENAME_EXCHANGE) == 0:
        return True
    error = ctypes.get_errno()
    if error in _UNSUPPORTED:
        return False
    raise OSError(error, os.strerror(error), str(other))
