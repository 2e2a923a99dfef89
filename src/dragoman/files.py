"""Atomic writes, JSON files, file locks and hashes."""

from __future__ import annotations

import errno
import fcntl
import hashlib
import json
import os
import re
import secrets
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from dragoman.errors import DataError

_BLOCK = 1 << 20


@contextmanager
def atomic_write(path: Path) -> Iterator[Path]:
    """Write a file atomically: yield a temporary path, which replaces `path` if no error occurs.

    The content is on the disk before its name is, so a crash at any moment leaves the old file, the new one or none.
    """
    draft = path.with_name(f"{path.name}.{secrets.token_hex(8)}.tmp")  # a name that cannot be predicted
    try:
        yield draft
        fsync(draft)
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


def remove_temporary_files(path: Path) -> None:
    """Remove the temporary files of killed writers of a file. Only the process that writes the file may call this."""
    draft = re.compile(rf"{re.escape(path.name)}\.[0-9a-f]+\.tmp")  # as named by `atomic_write`
    for found in path.parent.iterdir():
        if draft.fullmatch(found.name):
            found.unlink(missing_ok=True)


def write_json(path: Path, value: Any) -> None:
    """Write indented JSON atomically."""
    with atomic_write(path) as draft:
        text = json.dumps(value, indent=1, ensure_ascii=False) + "\n"
        draft.write_bytes(
            text.encode("utf-8", "backslashreplace")
        )  # a file name that is not UTF-8 becomes a JSON escape


@contextmanager
def usual_permissions(path: Path) -> Iterator[None]:
    """Give a file that a library creates as private (0600) the permissions of other new files, by the umask."""
    path.touch()
    mode = stat.S_IMODE(path.stat().st_mode)
    yield
    path.chmod(mode)


def fsync(path: Path) -> None:
    """Flush a file, or the entries of a folder, to the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def open_without_links(path: Path, flags: int) -> IO[bytes]:
    """Open a file to write; a symbolic link raises a `DataError`, since its target must not be changed."""
    try:
        descriptor = os.open(path, flags | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise DataError(f"{path} must be a file, got a symbolic link; rename the link") from None
        raise
    return os.fdopen(descriptor, "ab+" if flags & os.O_APPEND else "rb+")


@contextmanager
def file_lock(path: Path) -> Iterator[bool]:
    """Lock a file while the block runs; yield False if another process holds the lock. It ends with the process."""
    with open_without_links(path, os.O_RDWR | os.O_CREAT) as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
        else:
            yield True


def read_json(path: Path) -> Any | None:
    """Read JSON from a file; None if it does not exist, a `DataError` if it is not JSON."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (ValueError, RecursionError) as error:
        fix = "restore it from a copy, or rename it and run the command again"
        raise DataError(f"{path} must be valid JSON, got: {error}; {fix}") from None


def read_json_lines(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the JSON objects of a log, one per line; none if it does not exist.

    Other lines are skipped: the last line of a running training may be incomplete.
    """
    if not path.is_file():
        return
    with path.open("rb") as file:
        for line in file:
            try:
                entry = json.loads(line)
            except (ValueError, RecursionError):
                continue
            if isinstance(entry, dict):
                yield entry


def sha256_of(read: Callable[[int], bytes]) -> str:
    """The SHA-256 of all bytes that `read` returns."""
    digest = hashlib.sha256()
    while block := read(_BLOCK):
        digest.update(block)
    return digest.hexdigest()


def sha256_of_file(path: Path) -> str:
    """The SHA-256 of a file's content."""
    with path.open("rb") as file:
        return sha256_of(file.read)
