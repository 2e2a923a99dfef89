"""Write log.jsonl, one JSON object per line; truncate it to an earlier update on resume or rollback."""

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
from dragoman.files import atomic_write
from dragoman.training.callbacks.events import TrainingStarted

Entry = dict[str, Any]

# Some readers end a line at these characters. JSON escapes the other line breaks.
_LINE_BREAKS = str.maketrans({character: f"\\u{ord(character):04x}" for character in "\x85\u2028\u2029"})
_MESSAGES = ("note", "skipped")


@contextmanager
def writable(path: Path) -> Iterator[None]:
    """Convert an `OSError`, for instance of a full disk, to a `TrainingError`."""
    try:
        yield
    except OSError as error:
        raise TrainingError(f"{path} cannot be written: {error}; fix that, then continue with --resume") from None


@dataclass
class RetainedEntries:
    """The entries of earlier starts that remain valid."""

    best: Entry | None = None
    last: Entry | None = None
    unreadable: int = 0

    def add(self, entry: Entry) -> None:
        if entry.get("kind") == "validation":
            self.last = entry
            if entry.get("is_best"):
                self.best = entry


class RunLog:
    """A file of JSON objects, one per line. It is opened for each line, so no line stays in a buffer."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def append(self, kind: str, entry: Entry) -> None:
        """Write a line, and pass it to the operating system."""
        with writable(self._path), self._path.open("ab") as file:
            file.write(_line({"kind": kind, "time": timestamp(), **entry}))

    def sync(self) -> None:
        """Flush all lines to the disk."""
        with writable(self._path), self._path.open("ab") as file:
            os.fsync(file.fileno())

    def truncate(self, started: TrainingStarted) -> RetainedEntries:
        """Remove entries after the checkpoint that a run resumes from, and an incomplete last line."""

        def kept(entry: Entry) -> Entry | None:
            is_later = entry["update"] > started.update or entry.get("drawn", 0) > started.drawn
            is_repeated = entry.get("kind") == "validation" and entry["update"] > started.last_validated
            return None if is_later or is_repeated else entry

        return self._rewrite(kept)

    def roll_back(self, update: int) -> None:
        """Remove entries after an update. Later messages, which explain the rollback, are moved to that update."""

        def kept(entry: Entry) -> Entry | None:
            if entry["update"] <= update:
                return entry
            is_message = entry.get("kind") in _MESSAGES
            return {**entry, "update": update, "at_update": entry["update"]} if is_message else None

        self._rewrite(kept)

    def _rewrite(self, change: Callable[[Entry], Entry | None]) -> RetainedEntries:
        """Replace each entry by the result of `change`; None removes it."""
        kept = RetainedEntries()
        if not self._path.exists():
            return kept
        with (
            writable(self._path),
            atomic_write(self._path) as draft,
            draft.open("wb") as new,
            self._path.open("rb") as old,
        ):
            for line in old:
                entry = _read(line)
                if entry is None:
                    kept.unreadable += line.endswith(b"\n")  # otherwise it was cut off by a crash, which is expected
                elif (changed := change(entry)) is not None:
                    kept.add(changed)
                    new.write(line if changed is entry else _line(changed))
        return kept


def _line(entry: Entry) -> bytes:
    text = json.dumps(finite_or_null(entry), ensure_ascii=False, allow_nan=False).translate(_LINE_BREAKS)
    return f"{text}\n".encode("utf-8", "backslashreplace")  # text that is not valid Unicode becomes a JSON escape


def _read(line: bytes) -> Entry | None:
    """Parse a line; None if it is incomplete or not an entry."""
    try:
        entry = json.loads(line) if line.endswith(b"\n") else None
    except ValueError:
        return None
    is_entry = (
        isinstance(entry, dict) and isinstance(entry.get("update"), int) and isinstance(entry.get("drawn", 0), int)
    )
    return entry if is_entry else None


def finite_or_null(value: Any) -> Any:
    """Replace NaN and infinity, which JSON does not have, by null."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): finite_or_null(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [finite_or_null(item) for item in value]
    return value


def timestamp() -> str:
    """The current time in UTC, ISO 8601."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")
