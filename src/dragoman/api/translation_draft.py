"""The output of a translation in the making, and the journal that says how much of it is done for good."""

from __future__ import annotations

import fcntl
import gzip
import hashlib
import json
import os
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

from dragoman.api.text_lines import LineSource, Window
from dragoman.errors import ConfigError, DataError
from dragoman.files import clear_drafts, flush, read_json, write_json

__all__ = ["ANEW", "Draft", "Journal", "journal_of", "part_of"]

ANEW = "use --force to begin anew"
"""How messages end about what cannot be gone on with."""

_FORMAT = {"format": "dragoman-translation", "version": 1}
_EVERY = 1.0  # seconds, at least, between two journals
_BLOCK = 1 << 20


def part_of(output: Path) -> Path:
    """Where the draft of an output is."""
    return output.with_name(f"{output.name}.part")


def journal_of(output: Path) -> Path:
    """Where its journal is."""
    return output.with_name(f"{output.name}.part.json")


@dataclass(frozen=True)
class Journal:
    """What is done for good: so many lines, which are so many bytes of text, became so many bytes of output."""

    lines: int
    input_bytes: int
    input_sha256: str
    output_bytes: int
    output_sha256: str


class _Count:
    """Bytes as they pass: how many, and what they are."""

    def __init__(self) -> None:
        self.bytes = 0
        self._digest = hashlib.sha256()

    def add(self, data: bytes) -> None:
        self.bytes += len(data)
        self._digest.update(data)

    @property
    def sha256(self) -> str:
        return self._digest.hexdigest()


class Draft:
    """The output in the making, held by one process."""

    def __init__(self, output: Path, job: Mapping[str, Any]) -> None:
        self._output = output
        self._job = json.loads(json.dumps(dict(job)))  # as it comes back from the journal: tuples are lists
        self._path, self._journal_path = part_of(output), journal_of(output)
        self._read, self._written = _Count(), _Count()
        self.lines = 0
        self._journal = self._now()
        self._saved_at = time.monotonic()
        self._file: IO[bytes] = self._path.open("ab+")

    def __enter__(self) -> Self:
        if not self._is_ours():
            self._file.close()
            raise DataError(
                f"{self._path} must be written by one process at a time, got another that is at it; wait for that one"
            )
        clear_drafts(self._journal_path)
        return self

    def _is_ours(self) -> bool:
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return os.path.samestat(os.fstat(self._file.fileno()), self._path.stat())
        except (BlockingIOError, FileNotFoundError):  # the other may just have finished: the file has another name now
            return False

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        self._file.close()

    def begin(self) -> Journal:
        """Begin with nothing, whatever was there."""
        self._journal_path.unlink(missing_ok=True)
        self._file.truncate(0)
        return self._write_journal()

    def go_on(self, source: LineSource) -> Journal:
        """Go on where the journal says, if all of it is true; the input is read up to there."""
        found = read_json(self._journal_path)
        if found is None:
            if self._path.stat().st_size:
                raise DataError(f"{self._path} must have its journal, {self._journal_path}, got none; {ANEW}")
            return self.begin()
        journal = self._understood(found)
        for block in source.blocks(journal.input_bytes):
            self._read.add(block)
        self._file.seek(0)
        while (rest := journal.output_bytes - self._written.bytes) and (block := self._file.read(min(_BLOCK, rest))):
            self._written.add(block)
        self.lines = source.lines
        self._verify(journal, source)
        self._file.truncate(journal.output_bytes)
        self._journal = journal
        return journal

    def _understood(self, found: Any) -> Journal:
        """The journal, if it is one, and if it is about the same work."""
        try:
            kind, job, done = found["kind"], found["job"], Journal(**found["done"])
        except (TypeError, KeyError):
            raise DataError(f"{self._journal_path} must be a journal, got something else; {ANEW}") from None
        if kind != _FORMAT:
            raise DataError(f"{self._journal_path} must be of the format {_FORMAT}, got {kind}; {ANEW}")
        others = _different(self._job, job)
        if others:
            raise ConfigError(
                f"a translation must go on as it began, got another {', '.join(others)}; type the same as at first, or "
                f"{ANEW}"
            )
        return done

    def _verify(self, journal: Journal, source: LineSource) -> None:
        """Whether input and output, as far as the journal goes, are what it says."""
        if self._read.bytes != journal.input_bytes or self._read.sha256 != journal.input_sha256:
            raise DataError(
                f"{source.name} must begin with the {journal.lines:,} lines that are translated already, got others; "
                f"take the input that this began with, or {ANEW}"
            )
        if self._now() != journal:
            raise DataError(
                f"{self._path} must be what {self._journal_path.name} says, got other content; one of them was changed:"
                f" {ANEW}"
            )

    def add(self, window: Window, data: bytes) -> None:
        """Write what became of a window, and now and then the journal. That of the last window is the output itself."""
        if self._output.name.endswith(".gz"):
            data = gzip.compress(data, 6, mtime=0)  # one member a window, so that it can be cut off behind any of them
        self._file.write(data)
        self._read.add(window.data)
        self._written.add(data)
        self.lines += window.rows
        if not window.is_last:
            self._journal = self._now()
            if time.monotonic() - self._saved_at >= _EVERY:
                self.save()

    def save(self) -> None:
        """Wait for the disk, and then say so in the journal."""
        self._file.flush()
        flush(self._path)
        self._write_journal()
        self._saved_at = time.monotonic()

    def finish(self) -> None:
        """Give the output its name."""
        if self._output.name.endswith(".gz") and not self._written.bytes:
            self._file.write(gzip.compress(b"", mtime=0))  # an empty file is no gzip data
        self._file.flush()
        flush(self._path)
        self._path.replace(self._output)
        flush(self._output.parent)
        self._journal_path.unlink(missing_ok=True)  # another run may have seen that the output is there

    def _now(self) -> Journal:
        return Journal(self.lines, self._read.bytes, self._read.sha256, self._written.bytes, self._written.sha256)

    def _write_journal(self) -> Journal:
        write_json(self._journal_path, {"kind": _FORMAT, "job": self._job, "done": asdict(self._journal)})
        return self._journal


def _different(one: Mapping[str, Any], other: Mapping[str, Any]) -> list[str]:
    """What is not the same in two jobs, as it is typed: a group of settings is named by those that differ."""
    names: list[str] = []
    for name in {**one, **other}:
        mine, theirs = one.get(name), other.get(name)
        if isinstance(mine, Mapping) and isinstance(theirs, Mapping):
            names += _different(mine, theirs)
        elif mine != theirs:
            names.append(name.replace("_", "-"))
    return list(dict.fromkeys(names))
