"""Files that are either whole or not there."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from dragoman.errors import DataError

__all__ = ["clear_drafts", "flush", "locked", "read_json", "sha256_of", "sha256_of_file", "whole", "write_json"]

_BLOCK = 1 << 20


@contextmanager
def whole(path: Path) -> Iterator[Path]:
    """A path to write to; what was written takes the place of `path` when the block ends well, and vanishes else.

    The content is on the disk before its name is, so a crash at any moment leaves the old file, the new one or none.
    """
    draft = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    try:
        yield draft
        flush(draft)
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


def clear_drafts(path: Path) -> None:
    """Remove what writers of a file that were killed left beside it; only for the one process that writes it."""
    draft = re.compile(rf"{re.escape(path.name)}\.\d+\.tmp")  # as `whole` names it
    for found in path.parent.iterdir():
        if draft.fullmatch(found.name):
            found.unlink(missing_ok=True)


def write_json(path: Path, value: Any) -> None:
    """Write plain values, readable by people, whole."""
    with whole(path) as draft:
        text = json.dumps(value, indent=1, ensure_ascii=False) + "\n"
        draft.write_bytes(text.encode("utf-8", "backslashreplace"))  # of a file's name that is no UTF-8: a JSON escape


def flush(path: Path) -> None:
    """Wait until a file, or the names in a folder, are on the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def locked(path: Path) -> Iterator[bool]:
    """Hold a file for this process while the block runs; whether nobody else holds it. Its end frees it in any case."""
    with path.open("w", encoding="utf-8") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
        else:
            yield True


def read_json(path: Path) -> Any | None:
    """Plain values from a file, or None where there is none; one that is no JSON is a `DataError`."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except ValueError as error:
        raise DataError(
            f"{path} must be as it was written, got damage: {error}; delete it, and run this again"
        ) from None


def sha256_of(read: Callable[[int], bytes]) -> str:
    """The SHA-256 of all that there is to read."""
    digest = hashlib.sha256()
    while block := read(_BLOCK):
        digest.update(block)
    return digest.hexdigest()


def sha256_of_file(path: Path) -> str:
    """The SHA-256 of a file's content."""
    with path.open("rb") as file:
        return sha256_of(file.read)
