"""log.jsonl: what happened in a run, one JSON object a line. It can be taken back to an earlier update."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from dragoman.errors import TrainingError
from dragoman.files import whole
from dragoman.training.progress import Began

__all__ = ["Entry", "Kept", "RunLog", "finite", "now", "writable"]

Entry = dict[str, Any]

# Lines end here for some readers. JSON escapes the other such characters by itself.
_BREAKS = str.maketrans({character: f"\\u{ord(character):04x}" for character in "\x85\u2028\u2029"})
_WORDS = ("note", "skipped")


@contextmanager
def writable(path: Path) -> Iterator[None]:
    """A disk that is full, or the like, ends training with a reason."""
    try:
        yield
    except OSError as error:
        raise TrainingError(
            f"{path} must be writable, got: {error}; mend that, and let the run go on with --resume"
        ) from None


@dataclass
class Kept:
    """What earlier starts wrote and what still holds."""

    best: Entry | None = None
    last: Entry | None = None
    unreadable: int = 0

    def see(self, entry: Entry) -> None:
        """An entry that is kept."""
        if entry.get("kind") == "validation":
            self.last = entry
            if entry.get("is_best"):
                self.best = entry


class RunLog:
    """A file of JSON objects, one a line. It is opened for each line, so that nothing is ever half in memory."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def append(self, kind: str, entry: Entry) -> None:
        """Write a line; it is with the system when this returns."""
        with writable(self._path), self._path.open("ab") as file:
            file.write(_line({"kind": kind, "time": now(), **entry}))

    def sync(self) -> None:
        """Bring all lines to the disk."""
        with writable(self._path), self._path.open("ab") as file:
            os.fsync(file.fileno())

    def cut_back(self, began: Began) -> Kept:
        """Keep what was written before the checkpoint that a run goes on from; a last line that was torn goes too."""

        def kept(entry: Entry) -> Entry | None:
            is_later = entry["update"] > began.update or entry.get("drawn", 0) > began.drawn
            is_said_again = entry.get("kind") == "validation" and entry["update"] > began.validated
            return None if is_later or is_said_again else entry

        return self._rewrite(kept)

    def go_back(self, update: int) -> None:
        """Keep what was written up to an update, and later notes as of that update: the run went back, they say why."""

        def kept(entry: Entry) -> Entry | None:
            if entry["update"] <= update:
                return entry
            is_word = entry.get("kind") in _WORDS
            return {**entry, "update": update, "at_update": entry["update"]} if is_word else None

        self._rewrite(kept)

    def _rewrite(self, change: Callable[[Entry], Entry | None]) -> Kept:
        """Let each entry be as it is, become another, or go."""
        kept = Kept()
        if not self._path.exists():
            return kept
        with (
            writable(self._path),
            whole(self._path) as draft,
            draft.open("wb") as new,
            self._path.open("rb") as old,
        ):
            for line in old:
                entry = _read(line)
                if entry is None:
                    kept.unreadable += line.endswith(b"\n")  # else it was torn, which is what cutting is for
                elif (changed := change(entry)) is not None:
                    kept.see(changed)
                    new.write(line if changed is entry else _line(changed))
        return kept


def _line(entry: Entry) -> bytes:
    text = json.dumps(finite(entry), ensure_ascii=False, allow_nan=False).translate(_BREAKS)
    return f"{text}\n".encode("utf-8", "backslashreplace")  # of text that is no Unicode: a JSON escape


def _read(line: bytes) -> Entry | None:
    """The entry in a line, if there is a whole one."""
    try:
        entry = json.loads(line) if line.endswith(b"\n") else None
    except ValueError:
        return None
    is_ours = (
        isinstance(entry, dict) and isinstance(entry.get("update"), int) and isinstance(entry.get("drawn", 0), int)
    )
    return entry if is_ours else None


def finite(value: Any) -> Any:
    """The value with null for each number that JSON does not have."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [finite(item) for item in value]
    return value


def now() -> str:
    """The time, as it is written down."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")
