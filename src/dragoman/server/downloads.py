"""Translated documents that wait to be fetched: for a while, not too many, in a folder that nobody else can read."""

from __future__ import annotations

import re
import secrets
import shutil
import tempfile
import time
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from dragoman.server.errors import Overloaded

__all__ = ["Downloads", "Waiting"]

_MIB = 1 << 20
_UNSAFE = re.compile(r"[^\w.-]+")
_LONGEST_NAME = 100
_DIRECTLY = "ask for it directly, with Accept: application/octet-stream"


@dataclass(frozen=True)
class Waiting:
    """A document to be fetched: where it is, what it is called, and until when, by the monotonic clock."""

    path: Path
    name: str
    bytes: int
    until: float


class Downloads:
    """Documents by names that cannot be guessed. The folder is made with the first, and goes with the process."""

    def __init__(
        self,
        *,
        seconds: float = 1800.0,
        most: int = 100,
        most_bytes: int = 256 * _MIB,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._seconds, self._most, self._most_bytes = seconds, most, most_bytes
        self._clock = clock
        self._waiting: dict[str, Waiting] = {}
        self._folder: Path | None = None

    def __len__(self) -> int:
        return len(self._waiting)

    def add(self, name: str, data: bytes) -> str:
        """Keep a document, and return the name to fetch it by. The oldest go where there is no room."""
        if len(data) > self._most_bytes:
            raise Overloaded(f"the translated document is larger than the server may keep; {_DIRECTLY}")
        self._forget_old(room=len(data))
        shown = plain_name(name)
        key = f"{secrets.token_urlsafe(24)}.{shown}"
        try:
            path = self._made_folder() / secrets.token_hex(16)
            path.write_bytes(data)
        except OSError:
            raise Overloaded(f"the server has no room to keep the document; {_DIRECTLY}") from None
        self._waiting[key] = Waiting(path, shown, len(data), self._clock() + self._seconds)
        return key

    def get(self, key: str) -> Waiting | None:
        """The document of a name, if it is still there."""
        self._forget_old()
        return self._waiting.get(key)

    def close(self) -> None:
        """Delete all of them."""
        self._waiting.clear()
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = None

    def _forget_old(self, room: int | None = None) -> None:
        now = self._clock()
        total = sum(each.bytes for each in self._waiting.values())
        for key, each in list(self._waiting.items()):  # the oldest first
            is_full = room is not None and (total + room > self._most_bytes or len(self._waiting) >= self._most)
            if each.until <= now or is_full:
                each.path.unlink(missing_ok=True)
                total -= each.bytes
                del self._waiting[key]

    def _made_folder(self) -> Path:
        if self._folder is None:
            self._folder = Path(tempfile.mkdtemp(prefix="dragoman-documents-"))
            weakref.finalize(self, shutil.rmtree, str(self._folder), ignore_errors=True)
        return self._folder


def plain_name(name: str) -> str:
    """A file's name without folders, and with letters, digits, dots, - and _ only."""
    last = re.split(r"[/\\]", name)[-1]
    return _UNSAFE.sub("_", last).lstrip(".")[-_LONGEST_NAME:] or "document"
