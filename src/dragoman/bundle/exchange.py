"""Two folders change places in one step, where the system can do that."""

from __future__ import annotations

import ctypes
import errno
import os
from pathlib import Path

__all__ = ["exchange"]

_HERE = -100  # AT_FDCWD: paths are relative to the working directory
_EXCHANGE = 2  # RENAME_EXCHANGE
_CANNOT = {errno.ENOSYS, errno.EINVAL, errno.EOPNOTSUPP, errno.ENOTSUP}


def exchange(one: Path, other: Path) -> bool:
    """Let two folders change places, both at once; False where the system or the file system has no such operation."""
    rename = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)  # Linux; Python does not offer it
    if rename is None:
        return False
    if rename(_HERE, os.fsencode(one), _HERE, os.fsencode(other), _EXCHANGE) == 0:
        return True
    fault = ctypes.get_errno()
    if fault in _CANNOT:
        return False
    raise OSError(fault, os.strerror(fault), str(other))
