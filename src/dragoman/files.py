"""Atomic writes, JSON files, file locks, hashes and similar names."""

import errno
import fcntl
import hashlib
import json
import math
import os
import re
import secrets
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from difflib import get_close_matches
from pathlib import Path
from typing import IO, Any

from dragoman.errors import ConfigError, DataError

CACHE = "DRAGOMAN_CACHE"
"""The environment variable with the path of the cache folder."""

_BLOCK = 1 << 20
_OTHERS = stat.S_IWGRP | stat.S_IWOTH
_NEAR = 0.8  # similarity of two names of which one is probably a typing error


def as_path(value: object) -> Path:
    """Return a path that a caller of the library gave; anything but text or a path is a `ConfigError`."""
    if isinstance(value, str | os.PathLike):
        return Path(value)
    raise ConfigError(f"a file or folder must be text or a pathlib.Path, got {type(value).__name__}; name one")


def cache_folder() -> Path:
    """The cache folder of the user, existing or not; an `OSError` if there is no home folder."""
    if named := os.environ.get(CACHE):
        return Path(named).absolute()
    import platformdirs  # noqa: PLC0415 -- only for the default

    with suppress(RuntimeError):  # of new versions; older ones return a relative path
        folder = platformdirs.user_cache_path("dragoman", appauthor=False)
        if folder.is_absolute():
            return folder
    raise OSError(errno.ENOENT, "there is no home folder")


def check_private(folder: Path) -> None:
    """Raise an `OSError` if another user than root could write to an existing folder of the cache."""
    try:
        found = folder.lstat()
    except FileNotFoundError:
        return
    if not stat.S_ISDIR(found.st_mode):
        raise OSError(errno.ENOTDIR, "it is not a folder", str(folder))
    if found.st_mode & _OTHERS or found.st_uid not in (os.geteuid(), 0):
        raise OSError(errno.EPERM, "other users can write to it", str(folder))


@contextmanager
def atomic_write(path: Path) -> Iterator[Path]:
    """Write a file atomically: yield a temporary path, whose content is on the disk before it replaces `path`."""
    draft = path.with_name(f"{path.name}.{secrets.token_hex(8)}.tmp")  # a name that cannot be predicted
    try:
        yield draft
        fsync(draft)
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


@contextmanager
def atomic_overwrite(path: Path) -> Iterator[Path]:
    """Write a file of a user atomically, as `atomic_write`: a link to it stays, and so do its permissions."""
    path = path.resolve()
    with atomic_write(path) as draft:
        if path.exists():
            draft.touch(0o600)
        yield draft
        copy_permissions(path, draft)


def copy_permissions(path: Path, draft: Path) -> None:
    """Give a new file the permissions of the one that it will replace, if any."""
    if path.exists():
        draft.chmod(stat.S_IMODE(path.stat().st_mode))


def remove_temporary_files(path: Path) -> None:
    """Remove the temporary files of killed writers of a file. Only the process that writes the file may call this."""
    draft = re.compile(rf"{re.escape(path.name)}\.[0-9a-f]+\.tmp")  # as named by `atomic_write`
    for found in path.parent.iterdir():
        if draft.fullmatch(found.name):
            found.unlink(missing_ok=True)


def write_json(path: Path, value: Any, *, is_private: bool = False) -> None:
    """Write indented JSON atomically; a private file is readable by its owner only."""
    with atomic_write(path) as draft:
        if is_private:
            draft.touch(0o600)
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
            raise DataError(f"{path} is a symbolic link, which is not followed; rename the link") from None
        raise
    return os.fdopen(descriptor, "ab+" if flags & os.O_APPEND else "rb+")


@contextmanager
def file_lock(path: Path) -> Iterator[bool]:
    """Lock a file while the block runs; yield False if another process holds the lock. It ends with the process."""
    with open_without_links(path, os.O_RDWR | os.O_CREAT) as file:
        yield lock_open_file(file)


def lock_open_file(file: IO[bytes]) -> bool:
    """Lock an open file until it is closed; return False if another process holds the lock."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


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
    """Yield the JSON objects of a log, none if it is missing; the last line of a running training may be incomplete."""
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


def finite_number(value: object) -> float | None:
    """Return a finite JSON number as a float, else None."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        return float(value) if math.isfinite(value) else None
    except OverflowError:  # an integer with hundreds of digits
        return None


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


def similar_path(missing: Path, endings: tuple[str, ...] = ("",)) -> str:
    """Return ``; did you mean …?`` with the most similar path in its folder, a folder or with an ending; else empty."""
    try:
        paths = {path.name: path for path in sorted(missing.parent.iterdir())}
        exchanged = [name for name in paths if sorted(name) == sorted(missing.name)]
        near = [*exchanged, *get_close_matches(missing.name, paths, n=3, cutoff=_NEAR)]
        found = next((paths[name] for name in near if name.endswith(endings) or paths[name].is_dir()), None)
    except OSError:
        return ""
    return f"; did you mean {found}?" if found else ""
